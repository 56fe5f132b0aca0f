//! The control socket of a running guard: a request is one line, the response is one line of JSON.
//!
//! Only root and the guard's user get responses. Other users cannot connect, because the socket's mode is 0600; if one
//! does, its connection is closed before anything is read from it. A turn of the loop accepts a bounded number of
//! connections and answers at most one request, without blocking, so that requests never delay decisions.

use crate::device::Device;
use crate::error::GuardError;
use crate::exchange::{Exchanges, Limits};
use crate::socket_dir::{Home, Place, Taken};
use fairweir_units::{Dur, During, Time};
use nix::poll::{PollFd, PollFlags};
use nix::sys::socket::sockopt::PeerCredentials;
use nix::sys::socket::{AddressFamily, Backlog, SockFlag, SockType, UnixAddr, bind, getsockopt, listen, socket};
use nix::sys::stat::{Mode, fchmod};
use nix::unistd::{Uid, geteuid};
use std::io::{self, ErrorKind, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::Duration;

/// Limits on connections: their number, their duration and the size of a request.
const LIMITS: Limits = Limits { connections: 16, patience: Dur::from_millis(2000), request: 512 };
/// Connections accepted per turn of the loop.
const ACCEPTED: usize = 8;
/// Maximum number of connections in the kernel's accept queue.
const BACKLOG: i32 = 64;
/// Timeout of a request to a guard; a busy machine may delay the response.
const TIMEOUT: Duration = Duration::from_secs(10);
/// Maximum bytes of a response; 4,096 flows need two million.
const LONGEST_ANSWER: u64 = 64 << 20;
const ONLY_THESE: &str = "it answers root and its own user";

/// The guard's control socket.
#[derive(Debug)]
pub struct ControlSocket {
    listener: UnixListener,
    exchanges: Exchanges<UnixStream>,
    is_waiting: bool,
    // The last field: the socket's file is removed after the socket is closed.
    _place: Place,
}

impl ControlSocket {
    /// Binds the control socket of the guard of `device`.
    ///
    /// # Errors
    /// If the device already has a guard, or the socket's directory is not safe.
    pub fn hold(device: &Device) -> Result<ControlSocket, GuardError> {
        ControlSocket::hold_at(&Home::default(), device)
    }

    fn hold_at(home: &Home, device: &Device) -> Result<ControlSocket, GuardError> {
        let place = home.take(device).map_err(|taken| match taken {
            Taken::Failed(error) => error,
            Taken::Alive => GuardError::refused(
                format!("`{}` has a guard already{}", device.name, who(home, device)),
                format!("`fairweir guard status --interface {}` shows what it does", device.name),
            ),
        })?;
        let listener = listen_at(place.socket()).during(|| format!("listen at {}", place.socket().display()))?;
        Ok(ControlSocket { listener, exchanges: Exchanges::new(LIMITS), is_waiting: false, _place: place })
    }

    /// Accepts a bounded number of connections, and answers at most one request.
    pub fn answer(&mut self, now: Time, mut reply: impl FnMut(&str) -> String) {
        for _ in 0..ACCEPTED {
            let Ok((stream, _)) = self.listener.accept() else { break };
            if peer(&stream).is_ok_and(|(uid, _)| uid.is_root() || uid == geteuid()) {
                self.exchanges.admit(stream, now);
            }
        }
        self.is_waiting = self.exchanges.advance(now, |request, is_whole| {
            let line = match request.iter().position(|byte| *byte == b'\n') {
                Some(end) => &request[..end],
                None if is_whole => request,
                None => return None,
            };
            Some(format!("{}\n", reply(String::from_utf8_lossy(line).trim_end())).into_bytes())
        });
    }

    /// Returns whether another request is ready for the next turn.
    pub(crate) fn is_waiting(&self) -> bool {
        self.is_waiting
    }

    /// Returns the descriptors to poll before the next turn.
    pub(crate) fn sources(&self) -> impl Iterator<Item = PollFd<'_>> {
        let listener = PollFd::new(self.listener.as_fd(), PollFlags::POLLIN);
        std::iter::once(listener).chain(self.exchanges.sources())
    }
}

fn listen_at(path: &Path) -> io::Result<UnixListener> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    // Linux takes the file's mode from the socket, so other users can never connect.
    fchmod(&socket, Mode::S_IRUSR | Mode::S_IWUSR)?;
    bind(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    listen(&socket, Backlog::new(BACKLOG)?)?;
    Ok(socket.into())
}

fn peer(stream: &UnixStream) -> io::Result<(Uid, i32)> {
    let credentials = getsockopt(stream, PeerCredentials)?;
    Ok((Uid::from_raw(credentials.uid()), credentials.pid()))
}

/// Sends a request to the guard of `device` and returns the response.
///
/// # Errors
/// If there is no guard, if the guard rejects this user, or if an unauthorized process answers in its place.
pub fn ask(device: &Device, question: &str) -> Result<String, GuardError> {
    ask_at(&Home::default(), device, question)
}

fn ask_at(home: &Home, device: &Device, question: &str) -> Result<String, GuardError> {
    let what = || format!("ask the guard of {}", device.name);
    let nobody = || {
        GuardError::refused(
            format!("`{}` has no guard", device.name),
            format!("start one: fairweir guard run --interface {}", device.name),
        )
    };
    let silent = || GuardError::refused(format!("the guard of `{}` does not answer", device.name), ONLY_THESE);
    let (path, owner) = match home.find(device) {
        Err(GuardError::System(e)) if e.source.kind() == ErrorKind::PermissionDenied => return Err(silent()),
        found => found?.ok_or_else(nobody)?,
    };
    let stream = match UnixStream::connect(&path) {
        Err(e) if matches!(e.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound) => return Err(nobody()),
        Err(e) if e.kind() == ErrorKind::PermissionDenied => return Err(silent()),
        connected => connected.during(what)?,
    };
    let (server, _) = peer(&stream).during(what)?;
    verify_server(device, server, owner)?;
    let answer = match exchange(stream, question) {
        Err(e) if matches!(e.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe) => return Err(silent()),
        answer => answer.during(what)?,
    };
    if answer.is_empty() {
        return Err(silent());
    }
    // A guard does not wait: a client that reads too slowly gets a truncated response.
    let whole = answer.strip_suffix('\n').map(str::to_owned);
    whole.ok_or_else(|| {
        GuardError::refused(
            format!("the reply of the guard of `{}` was truncated", device.name),
            "the machine may be overloaded; try again",
        )
    })
}

/// Accepts a server that runs as root, as this user, or as the user for whom root created the socket's directory.
fn verify_server(device: &Device, server: Uid, owner: Uid) -> Result<(), GuardError> {
    if server.is_root() || server == geteuid() || server == owner {
        return Ok(());
    }
    Err(GuardError::refused(
        format!("a process of user {server} answers for the guard of `{}`", device.name),
        "only root, this user, or the user of the guard's service may",
    ))
}

fn exchange(mut stream: UnixStream, question: &str) -> io::Result<String> {
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    // A request is one line: line ends in `question` become spaces.
    stream.write_all(format!("{}\n", question.replace(['\n', '\r'], " ")).as_bytes())?;
    let mut answer = String::new();
    (&stream).take(LONGEST_ANSWER).read_to_string(&mut answer)?;
    let _ = stream.shutdown(Shutdown::Both);
    Ok(answer)
}

fn who(home: &Home, device: &Device) -> String {
    let path = home.find(device).ok().flatten().map(|(path, _)| path);
    let process = path.and_then(|path| peer(&UnixStream::connect(path).ok()?).ok());
    process.map_or_else(String::new, |(_, pid)| format!(", process {pid}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;
    use std::process;
    use std::thread;

    fn device() -> Device {
        Device { name: "test0".to_owned(), index: 7, link_header: 0 }
    }

    /// Answers requests until the thread `asking` has ended.
    fn answer_until<T>(control: &mut ControlSocket, asking: thread::JoinHandle<T>) -> T {
        while !asking.is_finished() {
            control.answer(Time::ZERO, |question| format!("asked: {question}"));
            thread::yield_now();
        }
        asking.join().unwrap()
    }

    #[test]
    fn one_guard_at_a_time_and_it_answers() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        assert_eq!(ask_at(&home, &device(), "status").unwrap_err().to_string(), "`test0` has no guard");
        let mut control = ControlSocket::hold_at(&home, &device()).unwrap();
        let second = ControlSocket::hold_at(&home, &device()).unwrap_err();
        assert_eq!(second.to_string(), format!("`test0` has a guard already, process {}", process::id()));
        let (path, _) = home.find(&device()).unwrap().unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);

        let asking = thread::spawn({
            let home = home.clone();
            move || ask_at(&home, &device(), "explain 192.0.2.1\nstatus").unwrap()
        });
        assert_eq!(answer_until(&mut control, asking), "asked: explain 192.0.2.1 status");
        drop(control);
        assert_eq!(ask_at(&home, &device(), "status").unwrap_err().to_string(), "`test0` has no guard");
        ControlSocket::hold_at(&home, &device()).unwrap();
    }

    #[test]
    fn a_flood_is_answered_a_few_at_a_time_and_the_loop_continues() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        let mut control = ControlSocket::hold_at(&home, &device()).unwrap();
        let (path, _) = home.find(&device()).unwrap().unwrap();
        // Open as many connections as the kernel queues, each with a request.
        let mut flood = Vec::new();
        for _ in 0..BACKLOG {
            let mut stream = UnixStream::connect(&path).unwrap();
            stream.write_all(b"status\n").unwrap();
            flood.push(stream);
        }
        let (mut turns, mut answers) = (0, 0);
        while answers < LIMITS.connections && turns < 1000 {
            let before = answers;
            control.answer(Time::ZERO, |_| {
                answers += 1;
                String::new()
            });
            turns += 1;
            assert!(answers - before <= 1, "one answer a turn");
            assert!(control.sources().count() <= 1 + LIMITS.connections);
        }
        assert!(turns >= BACKLOG as usize / ACCEPTED, "{turns} turns");
        drop(flood);
        // A silent connection is closed after its time limit, measured by the loop's clock.
        let silent = UnixStream::connect(&path).unwrap();
        control.answer(Time::ZERO, |_| String::new());
        control.answer(Time::ZERO + LIMITS.patience, |_| unreachable!());
        assert_eq!(control.sources().count(), 1);
        drop(silent);
    }

    #[test]
    fn only_root_this_user_and_the_directorys_owner_may_answer() {
        let [own, other] = [geteuid(), Uid::from_raw(geteuid().as_raw() + 4711)];
        for (server, owner, is_trusted) in
            [(Uid::from_raw(0), own, true), (own, own, true), (other, other, true), (other, own, false)]
        {
            assert_eq!(verify_server(&device(), server, owner).is_ok(), is_trusted);
        }
    }

    #[test]
    fn half_an_answer_is_none() {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(directory.path());
        fs::create_dir(directory.path().join("test0")).unwrap();
        let (path, _) = home.find(&device()).unwrap().unwrap();
        let listener = UnixListener::bind(path).unwrap();
        let asking = thread::spawn(move || ask_at(&home, &device(), "status").unwrap_err().to_string());
        let (mut stream, _) = listener.accept().unwrap();
        assert_eq!(stream.read(&mut [0; 100]).unwrap(), 7);
        stream.write_all(b"{\"services\": [").unwrap();
        drop(stream);
        assert_eq!(asking.join().unwrap(), "the reply of the guard of `test0` was truncated");
    }
}
