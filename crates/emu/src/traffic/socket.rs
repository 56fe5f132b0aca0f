//! Options of the flows' sockets.

use socket2::{Domain, Protocol, Socket, Type};
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::AsRawFd;
use std::time::Duration;

/// Creates a non-blocking TCP socket bound to `local`. Closing the socket, also at the end of the process, resets the
/// connection; otherwise an orphaned connection would hold its network namespace and its congestion controller for
/// minutes.
pub(super) fn bound(local: SocketAddrV4) -> io::Result<Socket> {
    let socket = Socket::new(Domain::IPV4, Type::STREAM.nonblocking().cloexec(), Some(Protocol::TCP))?;
    socket.set_reuse_address(true)?;
    socket.set_linger(Some(Duration::ZERO))?;
    socket.bind(&local.into())?;
    Ok(socket)
}

/// Sets an integer option that `socket2` does not provide.
pub(super) fn set_option(socket: &Socket, level: libc::c_int, name: libc::c_int, value: libc::c_int) -> io::Result<()> {
    // SAFETY: the option's value is an integer that lives through the call.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Sets the maximum unsent bytes in the socket.
pub(super) fn set_notsent_lowat(socket: &Socket, bytes: u32) -> io::Result<()> {
    set_option(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, bytes as libc::c_int)
}

/// Starts the handshake.
pub(super) fn connect(socket: &Socket, remote: SocketAddrV4) -> io::Result<()> {
    match socket.connect(&remote.into()) {
        Err(e) if e.raw_os_error() == Some(libc::EINPROGRESS) => Ok(()),
        done => done,
    }
}
