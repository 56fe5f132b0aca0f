//! A TUN device: a descriptor from which packets sent by a namespace are read, and to which packets for the namespace
//! are written.

use crate::EmuError;
use fairweir_units::During;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open};
use nix::sys::stat::Mode;
use nix::unistd::{read, write};
use std::mem::size_of;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

/// Size of `struct virtio_net_hdr`, which precedes each packet if the device segments for TCP.
pub(crate) const VNET_HEADER_BYTES: usize = 10;
/// Maximum size of an IP packet, whose length field has 16 bits.
const LARGEST_PACKET_BYTES: usize = 65_535;

/// Flags of `linux/if_tun.h` that libc does not define.
const TUN_F_CSUM: i32 = 0x01;
const TUN_F_TSO4: i32 = 0x02;
const TUN_F_TSO_ECN: i32 = 0x08;

mod ioctls {
    use std::mem::size_of;
    nix::ioctl_write_ptr_bad!(
        set_interface,
        nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()),
        libc::ifreq
    );
    nix::ioctl_write_int_bad!(set_offload, nix::request_code_write!(b'T', 208, size_of::<libc::c_uint>()));
}

/// A TUN device at one end of the emulator.
#[derive(Debug)]
pub(crate) struct Tun {
    fd: OwnedFd,
    /// Size of the header that precedes each packet in a frame.
    header_bytes: usize,
}

impl Tun {
    /// Creates the device `name` in the calling thread's namespace; the device is removed when the descriptor is
    /// closed.
    ///
    /// With `segments_for_tcp`, frames start with a header of [`VNET_HEADER_BYTES`] and may contain super-packets.
    pub(crate) fn new(name: &str, segments_for_tcp: bool) -> Result<Tun, EmuError> {
        let flags = OFlag::O_RDWR | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
        let fd = open("/dev/net/tun", flags, Mode::empty()).during(|| "open /dev/net/tun".into())?;
        let mode = libc::IFF_TUN | libc::IFF_NO_PI | if segments_for_tcp { libc::IFF_VNET_HDR } else { 0 };
        let request = interface_request(name, mode as i16);
        // SAFETY: the request outlives the call, and TUNSETIFF reads at most an ifreq.
        unsafe { ioctls::set_interface(fd.as_raw_fd(), &raw const request) }
            .during(|| format!("make the TUN device {name}"))?;
        if segments_for_tcp {
            // SAFETY: TUNSETOFFLOAD takes its argument by value.
            unsafe { ioctls::set_offload(fd.as_raw_fd(), TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO_ECN) }
                .during(|| format!("let {name} segment for TCP"))?;
        }
        Ok(Tun { fd, header_bytes: if segments_for_tcp { VNET_HEADER_BYTES } else { 0 } })
    }

    /// Returns another descriptor of the same device.
    pub(crate) fn try_clone(&self) -> Result<Tun, EmuError> {
        let fd = self.fd.try_clone().during(|| "copy a TUN device's descriptor".into())?;
        Ok(Tun { fd, header_bytes: self.header_bytes })
    }

    /// Returns the size of the header that precedes the packet in a frame.
    pub(crate) fn header_bytes(&self) -> usize {
        self.header_bytes
    }

    /// Returns the maximum size of a frame if packets on the wire have at most `mtu` bytes.
    pub(crate) fn frame_bytes(&self, mtu: usize) -> usize {
        if self.header_bytes > 0 { self.header_bytes + LARGEST_PACKET_BYTES } else { mtu }
    }

    /// Reads the next frame; returns `None` if no frame is waiting.
    #[inline]
    pub(crate) fn read(&self, frame: &mut [u8]) -> Result<Option<usize>, Errno> {
        match read(&self.fd, frame) {
            Ok(bytes) => Ok(Some(bytes)),
            Err(Errno::EAGAIN | Errno::EINTR) => Ok(None),
            Err(errno) => Err(errno),
        }
    }

    /// Writes a frame to the namespace, whose IP and TCP process it before this function returns.
    #[inline]
    pub(crate) fn write(&self, frame: &[u8]) -> Result<(), Errno> {
        write(&self.fd, frame).map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

fn interface_request(name: &str, flags: i16) -> libc::ifreq {
    // SAFETY: an ifreq is plain data, for which zeros are valid.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    assert!(name.len() < size_of::<[libc::c_char; libc::IFNAMSIZ]>(), "device name `{name}` is too long");
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = flags;
    request
}
