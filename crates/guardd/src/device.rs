//! A network device.

use crate::error::GuardError;
use fairweir_units::During;
use nix::net::if_::{if_indextoname, if_nameindex, if_nametoindex};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, socket};
use std::io;
use std::os::fd::AsRawFd;

/// `ARPHRD_ETHER` and `ARPHRD_LOOPBACK`: devices with 14 bytes of link header before the IP header.
const WITH_ETHERNET: [u16; 2] = [1, 772];
/// `ARPHRD_PPP`, `_TUNNEL`, `_TUNNEL6`, `_SIT`, `_RAWIP`, `_NONE`: devices without a link header.
const WITHOUT_HEADER: [u16; 6] = [512, 768, 769, 776, 519, 65534];
const ETHERNET_HEADER: u32 = 14;

/// A device of the process's network namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// Name shown by `ip link`.
    pub name: String,
    /// The kernel's index of the device; a later device of the same name has a different index.
    pub index: u32,
    /// Length of the link header, bytes.
    pub(crate) link_header: u32,
}

impl Device {
    /// Finds the device `name`.
    ///
    /// # Errors
    /// If the device does not exist, or its link layer is not supported.
    pub fn find(name: &str) -> Result<Device, GuardError> {
        let index = if_nametoindex(name).map_err(|_| {
            let there: Vec<String> = if_nameindex()
                .map(|all| all.iter().map(|i| i.name().to_string_lossy().into_owned()).collect())
                .unwrap_or_default();
            GuardError::refused(format!("no such interface: `{name}`"), format!("there are {}", there.join(", ")))
        })?;
        // A device may have alternative names (`ip link property add`), but at most one guard.
        let name = if_indextoname(index).during(|| format!("look for the name of `{name}`"))?;
        let name = name.to_string_lossy().into_owned();
        let kind = kind_of(&name)?;
        Ok(Device { index, link_header: header_of(&name, kind)?, name })
    }

    /// Returns all supported devices.
    ///
    /// # Errors
    /// If the system call fails.
    pub fn all() -> Result<Vec<Device>, GuardError> {
        let all = if_nameindex().during(|| "list the interfaces".into())?;
        Ok(all.iter().filter_map(|entry| Device::find(entry.name().to_str().ok()?).ok()).collect())
    }

    /// Returns whether the device still exists.
    pub fn is_there(&self) -> bool {
        if_nametoindex(self.name.as_str()).is_ok_and(|index| index == self.index)
    }
}

/// Returns the device's `ARPHRD_...` type. It is not read from /sys, which may show the devices of another namespace.
fn kind_of(name: &str) -> Result<u16, GuardError> {
    let what = || format!("ask for the kind of `{name}`");
    let socket = socket(AddressFamily::Unix, SockType::Datagram, SockFlag::SOCK_CLOEXEC, None).during(what)?;
    // SAFETY: all zeroes are a valid request.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero, because device names are shorter than IFNAMSIZ.
    for (place, byte) in request.ifr_name[..libc::IFNAMSIZ - 1].iter_mut().zip(name.bytes()) {
        *place = byte as libc::c_char;
    }
    // SAFETY: the request outlives the call, which writes no more than an ifreq.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCGIFHWADDR, &raw mut request) } < 0 {
        return Ok(Err(io::Error::last_os_error()).during(what)?);
    }
    // SAFETY: the call has written this member of the union.
    Ok(unsafe { request.ifr_ifru.ifru_hwaddr.sa_family })
}

fn header_of(name: &str, kind: u16) -> Result<u32, GuardError> {
    if WITH_ETHERNET.contains(&kind) {
        Ok(ETHERNET_HEADER)
    } else if WITHOUT_HEADER.contains(&kind) {
        Ok(0)
    } else {
        Err(GuardError::refused(
            format!("`{name}` has an unsupported link type: {kind}"),
            "Ethernet, loopback, TUN, PPP and IP tunnels are",
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_units::Hint;

    #[test]
    fn loopback_has_an_ethernet_header_and_others_are_named() {
        assert_eq!(Device::find("lo").unwrap().link_header, ETHERNET_HEADER);
        assert!(Device::find("lo").unwrap().is_there());
        let error = Device::find("nosuch0").unwrap_err();
        assert_eq!(error.to_string(), "no such interface: `nosuch0`");
        assert!(error.hint().unwrap().contains("lo"), "{error:?}");
        assert_eq!(header_of("tun0", 65534).unwrap(), 0);
        assert!(header_of("can0", 280).unwrap_err().to_string().contains("280"));
    }
}
