//! Child processes and access to their sockets.

use crate::tcp_info::TcpInfo;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::Signal;
use socket2::SockRef;
use std::fs;
use std::io::{self, Read};
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// A child process that is killed and waited for when the value is dropped, and killed when the thread that started it
/// ends.
#[derive(Debug)]
pub(super) struct Process(Child);

impl Process {
    /// Starts `program`; only its standard error is captured.
    pub(super) fn start(program: &str, arguments: &[String]) -> io::Result<Process> {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // SAFETY: the closure makes only one system call between fork and exec.
        unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
        command.spawn().map(Process)
    }

    /// Returns the child's exit status, if it has ended.
    pub(super) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.0.try_wait()
    }

    /// Returns the last line of the ended child's standard error, or its exit status if there is none.
    pub(super) fn failure_text(&mut self, status: ExitStatus) -> String {
        let mut text = String::new();
        // Output that is not UTF-8 is ignored.
        let _ = self.0.stderr.take().map(|mut stderr| stderr.read_to_string(&mut text));
        text.lines().last().map_or_else(|| status.to_string(), str::to_owned)
    }

    /// Returns duplicated descriptors of the child's connections to `remote`. A connection is reset, not closed, when
    /// its last descriptor is closed.
    pub(super) fn connections(&self, remote: SocketAddrV4) -> Vec<OwnedFd> {
        let Ok(process) = pidfd_open(self.0.id()) else { return Vec::new() };
        let Ok(entries) = fs::read_dir(format!("/proc/{}/fd", self.0.id())) else { return Vec::new() };
        entries
            .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
            .filter_map(|number: i32| pidfd_getfd(&process, number).ok())
            .filter(|fd| {
                let socket = SockRef::from(fd);
                let is_connected = socket.peer_addr().is_ok_and(|peer| peer.as_socket_ipv4() == Some(remote));
                is_connected && TcpInfo::read(fd.as_fd()).is_ok() && socket.set_linger(Some(Duration::ZERO)).is_ok()
            })
            .collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn pidfd_open(pid: u32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointers; it returns a descriptor that this process owns.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) })
}

fn pidfd_getfd(process: &OwnedFd, number: i32) -> io::Result<OwnedFd> {
    // SAFETY: the call takes no pointers; it returns a descriptor that this process owns.
    owned(unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0) })
}

fn owned(returned: libc::c_long) -> io::Result<OwnedFd> {
    if returned < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just created this descriptor, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(returned as i32) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_child_is_ended_and_a_failing_one_reports_why() {
        let child = Process::start("sleep", &["60".to_owned()]).unwrap();
        let path = format!("/proc/{}", child.0.id());
        assert!(fs::exists(&path).unwrap());
        drop(child);
        assert!(!fs::exists(&path).unwrap());

        let mut failing = Process::start("sh", &["-c".to_owned(), "echo no such luck >&2; exit 3".to_owned()]).unwrap();
        let status = loop {
            if let Some(status) = failing.ended().unwrap() {
                break status;
            }
        };
        assert_eq!((status.code(), failing.failure_text(status)), (Some(3), "no such luck".to_owned()));
    }

    #[test]
    fn a_childs_connections_are_found() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let std::net::SocketAddr::V4(address) = listener.local_addr().unwrap() else { panic!("IPv4") };
        let script = format!("exec 9<>/dev/tcp/127.0.0.1/{}; sleep 60", address.port());
        let child = Process::start("bash", &["-c".to_owned(), script]).unwrap();
        listener.accept().unwrap();
        // The socket may be connected before the shell moves it to its descriptor.
        let found = (0..200).find_map(|_| {
            std::thread::sleep(Duration::from_millis(10));
            Some(child.connections(address)).filter(|found| !found.is_empty())
        });
        assert!(TcpInfo::read(found.unwrap()[0].as_fd()).unwrap().snd_mss > 0);
    }
}
