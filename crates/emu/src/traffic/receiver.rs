//! The receivers: they accept and throw away.
//!
//! Data are discarded inside the kernel (`MSG_TRUNC`), and a receiver wakes up only for a good many of them: a thread
//! that ran for every packet would disturb the emulator and, because reading lets the kernel send a window update, the
//! delayed ACKs too.

use super::socket::{bound, set_option};
use super::wait::wait;
use fairweir_units::Dur;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use socket2::Socket;
use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::os::fd::AsRawFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

/// A receiver whose window is not limited wakes up for so much.
const WAKE_UP_BYTES: libc::c_int = 64 << 10;
/// How often the stop flag is looked at.
const STOP_CHECK: Dur = Dur::from_millis(20);
/// What one call discards at most.
const DISCARD_BYTES: usize = 1 << 20;

/// Where one flow is received.
#[derive(Clone, Copy, Debug)]
pub struct Listening {
    /// Own address and port.
    pub address: SocketAddrV4,
    /// Is the window that it advertises limited? It then reads whatever is there, to keep it open.
    pub has_limited_window: bool,
}

/// The receivers of all flows.
#[derive(Debug)]
pub struct Receivers {
    epoll: Epoll,
    listeners: Vec<Socket>,
    accepted: Vec<Option<Socket>>,
}

impl Receivers {
    /// Listens on all addresses, in the network namespace of the calling thread.
    ///
    /// # Errors
    /// If an address is taken or missing.
    pub fn listen(plan: &[Listening]) -> io::Result<Receivers> {
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let mut listeners = Vec::with_capacity(plan.len());
        for (index, at) in plan.iter().enumerate() {
            let socket = bound(at.address)?;
            if !at.has_limited_window {
                set_option(&socket, libc::SOL_SOCKET, libc::SO_RCVLOWAT, WAKE_UP_BYTES)?;
            }
            socket.listen(1)?;
            epoll.add(&socket, EpollEvent::new(EpollFlags::EPOLLIN, index as u64))?;
            listeners.push(socket);
        }
        let accepted = plan.iter().map(|_| None).collect();
        Ok(Receivers { epoll, listeners, accepted })
    }

    /// Receives until `stop` is set.
    ///
    /// # Errors
    /// If the kernel refuses to wait or to accept.
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

    /// Throws away what is there; at the end of the stream it ends its own, but stays: closing would reset the connection.
    fn drain(&mut self, flow: usize) {
        let Some(socket) = &self.accepted[flow] else { return };
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
                // Broken already if it fails.
                let _ = socket.shutdown(Shutdown::Write);
                let _ = self.epoll.delete(socket);
            }
            return;
        }
    }
}
