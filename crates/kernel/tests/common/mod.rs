//! TCP flows over loopback in a private network namespace, which is removed when its thread ends.
#![allow(dead_code)] // each test file uses only some of these functions

use nix::sched::{CloneFlags, unshare};
use nix::sys::socket::sockopt::{Linger, TcpCongestion};
use nix::sys::socket::{AddressFamily, SockFlag, SockType, SockaddrIn, connect, setsockopt, socket};
use nix::unistd::geteuid;
use std::ffi::OsString;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

/// Returns whether the test lacks root privileges, and reports it.
pub fn is_unprivileged() -> bool {
    let is_unprivileged = !geteuid().is_root();
    if is_unprivileged {
        println!("not run: needs root");
    }
    is_unprivileged
}

/// Runs `test` on a thread in a private network namespace, with a loopback device of MTU 1500.
pub fn in_namespace<T: Send + 'static>(test: impl FnOnce() -> T + Send + 'static) -> T {
    let outcome = thread::spawn(move || {
        unshare(CloneFlags::CLONE_NEWNET).expect("root");
        tool(&["ip", "link", "set", "lo", "up", "mtu", "1500"]);
        test()
    });
    outcome.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Gives the loopback device a rate and a short queue, so that flows lose packets.
pub fn narrow_loopback(rate: &str, limit_bytes: &str) {
    tool(&["tc", "qdisc", "add", "dev", "lo", "root", "tbf", "rate", rate, "burst", "3000", "limit", limit_bytes]);
}

fn tool(command: &[&str]) {
    let done = Command::new("timeout").args(["-s", "KILL", "10"]).args(command).status();
    assert!(done.is_ok_and(|status| status.success()), "{command:?}");
}

/// Returns a connected socket with controller `cca`; `prepare` is called before the socket connects.
pub fn flow(cca: &str, to: SocketAddrV4, prepare: impl FnOnce(BorrowedFd<'_>)) -> TcpStream {
    let fd: OwnedFd = socket(AddressFamily::Inet, SockType::Stream, SockFlag::SOCK_CLOEXEC, None).expect("a socket");
    // Close by a reset: unsent data would keep the socket, and with it the controller, in the kernel for minutes.
    setsockopt(&fd, Linger, &nix::libc::linger { l_onoff: 1, l_linger: 0 }).expect("a socket");
    prepare(fd.as_fd());
    setsockopt(&fd, TcpCongestion, &OsString::from(cca)).expect("the controller is registered");
    connect(fd.as_raw_fd(), &SockaddrIn::from(to)).expect("loopback");
    TcpStream::from(fd)
}

/// Returns the bytes that arrive in `time` from `flows` senders, each created by `start`.
pub fn transfer(
    flows: usize,
    time: Duration,
    start: impl Fn(usize, SocketAddrV4) -> TcpStream,
    mut each_20ms: impl FnMut(),
) -> u64 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("loopback");
    let SocketAddr::V4(to) = listener.local_addr().expect("bound") else { unreachable!() };
    let end = Instant::now() + time;
    let (mut senders, mut ends) = (Vec::new(), Vec::new());
    for i in 0..flows {
        let mut sender = start(i, to);
        let (mut receiver, _) = listener.accept().expect("a sender");
        sender.set_write_timeout(Some(Duration::from_millis(100))).expect("a socket");
        receiver.set_read_timeout(Some(Duration::from_millis(500))).expect("a socket");
        senders.push(thread::spawn(move || {
            let data = vec![0; 1 << 16];
            while Instant::now() < end {
                if sender.write(&data).is_err() {
                    thread::sleep(Duration::from_millis(1));
                }
            }
        }));
        ends.push(thread::spawn(move || {
            let mut data = vec![0; 1 << 16];
            let mut total = 0;
            while Instant::now() < end {
                total += receiver.read(&mut data).unwrap_or(0) as u64;
            }
            total
        }));
    }
    while Instant::now() < end {
        each_20ms();
        thread::sleep(Duration::from_millis(20));
    }
    senders.into_iter().for_each(|sender| sender.join().expect("no panic"));
    ends.into_iter().map(|end| end.join().expect("no panic")).sum()
}

/// Returns the congestion controllers in the kernel whose names have this prefix.
pub fn registered(prefix: &str) -> Vec<String> {
    let names = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    names.split_whitespace().filter(|name| name.starts_with(prefix)).map(str::to_owned).collect()
}
