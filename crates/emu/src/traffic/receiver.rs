//! The receivers: they accept connections and discard the data.
//!
//! Data are discarded inside the kernel (`MSG_TRUNC`), and a receiver wakes up only after a certain amount of data. A
//! thread that ran for every packet would disturb the emulator, and also the delayed ACKs, because reading lets the
//! kernel send window updates.

use super::socket::{bound, set_option};
use super::wait::wait;
use crate::tcp_info::TcpInfo;
use fairweir_units::Dur;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use socket2::Socket;
use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Minimum bytes for which a receiver with an unlimited window wakes up.
const WAKE_UP_BYTES: libc::c_int = 64 << 10;
/// Minimum bytes for which a receiver with an autotuned window wakes up: an eighth of the initial window, because
/// unread data prevent the window's growth.
const AUTOTUNED_WAKE_UP_BYTES: libc::c_int = 8 << 10;
/// Interval at which the stop flag is checked.
const STOP_CHECK: Dur = Dur::from_millis(20);
/// Maximum bytes that one call discards.
const DISCARD_BYTES: usize = 1 << 20;

/// The window that a receiver advertises.
#[derive(Clone, Copy, Debug)]
enum Window {
    /// As large as at the start. The kernel acknowledges each packet at once while its window grows
    /// (`tcp_grow_window`); an unlimited window would grow, and ACKs would not be delayed, for the whole run.
    Constant,
    /// At most this many bytes.
    Limited(u32),
    /// Chosen by the kernel.
    Autotuned,
}

/// The receiving endpoint of one flow.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    /// Local address and port.
    pub address: SocketAddrV4,
    window: Window,
    wake_up_bytes: libc::c_int,
}

impl Listening {
    /// Returns a listener with an unlimited window.
    pub fn unlimited(address: SocketAddrV4) -> Listening {
        Listening { address, window: Window::Constant, wake_up_bytes: WAKE_UP_BYTES }
    }

    /// Returns a listener whose window the kernel autotunes.
    pub fn autotuned(address: SocketAddrV4) -> Listening {
        Listening { address, window: Window::Autotuned, wake_up_bytes: AUTOTUNED_WAKE_UP_BYTES }
    }

    /// Returns a listener with a window of at most `bytes`.
    pub fn limited(address: SocketAddrV4, bytes: u32) -> Listening {
        Listening { address, window: Window::Limited(bytes), wake_up_bytes: 1 }
    }
}

/// The receivers of all flows.
#[derive(Debug)]
pub struct Receivers {
    epoll: Epoll,
    listeners: Vec<Socket>,
    accepted: Vec<Option<Socket>>,
    /// Window of each flow.
    windows: Vec<Window>,
}

/// Limits the window that `socket` advertises to `bytes`.
fn clamp_window(socket: &Socket, bytes: u32) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_WINDOW_CLAMP, bytes as libc::c_int)
}

impl Receivers {
    /// Listens on all addresses, in the network namespace of the calling thread. `prepare` gets the flow's index and its
    /// socket before it listens.
    ///
    /// # Errors
    /// If an address is in use or not available, or `prepare` fails.
    pub fn listen(
        plan: &[Listening],
        prepare: &dyn Fn(usize, BorrowedFd<'_>) -> io::Result<()>,
    ) -> io::Result<Receivers> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let mut listeners = Vec::with_capacity(plan.len());
        for (index, at) in plan.iter().enumerate() {
            let socket = bound(at.address)?;
            if let Window::Limited(bytes) = at.window {
                clamp_window(&socket, bytes)?;
            }
            set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, at.wake_up_bytes)?;
            prepare(index, socket.as_fd())?;
            socket.listen(1)?;
            epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, index as u64))?;
            listeners.push(socket);
        }
        let accepted = plan.iter().map(|_| None).collect();
        Ok(Receivers { epoll, listeners, accepted, windows: plan.iter().map(|at| at.window).collect() })
    }

    /// Receives until `stop` is set.
    ///
    /// # Errors
    /// If waiting for events or accepting a connection fails.
    pub fn run(mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut events = [EpollEvent::empty(); 64];
        while !stop.load(Ordering::Relaxed) {
            let count = wait(&self.epoll, &mut events, STOP_CHECK)?;
            for event in &events[..count] {
                let index = event.data() as usize;
                match index.checked_sub(self.listeners.len()) {
                    None => self.accept(index)?,
                    Some(flow) => self.drain(flow),
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self, flow: usize) -> io::Result<()> {
        let (socket, _) = match self.listeners[flow].accept() {
            Ok(accepted) => accepted,
            Err(e) if matches!(e.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::ConnectionAborted) => return Ok(()),
            Err(e) => return Err(e),
        };
        socket.set_nonblocking(true)?;
        let key = (self.listeners.len() + flow) as u64;
        self.epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, key))?;
        self.accepted[flow] = Some(socket);
        Ok(())
    }

    /// Discards the available data. At the end of the stream, shuts down the receiver's direction; it does not close
    /// the socket, because that would reset the connection.
    fn drain(&mut self, flow: usize) {
        let Some(socket) = &self.accepted[flow] else { return };
        if matches!(self.windows[flow], Window::Constant)
            && let Ok(info) = TcpInfo::read(socket.as_fd())
        {
            self.windows[flow] = Window::Limited(info.rcv_ssthresh);
        }
        if let Window::Limited(bytes) = self.windows[flow] {
            // The kernel (6.6 and later) increases the window whenever its estimate of a packet's memory changes.
            // Errors are ignored: an unlimited window shows in the run, and a broken connection is detected below.
            let _ = clamp_window(socket, bytes);
        }
        loop {
            // SAFETY: with MSG_TRUNC a TCP socket discards and writes nothing to the (null) buffer.
            let got = unsafe {
                libc::recv(socket.as_raw_fd(), ptr::null_mut(), DISCARD_BYTES, libc::MSG_TRUNC | libc::MSG_DONTWAIT)
            };
            if got > 0 {
                continue;
            }
            let is_waiting = got < 0
                && matches!(io::Error::last_os_error().kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted);
            if !is_waiting {
                // This fails only if the connection is broken.
                let _ = socket.shutdown(Shutdown::Write);
                let _ = self.epoll.delete(socket);
            }
            return;
        }
    }
}
