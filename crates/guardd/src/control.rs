//! The door of a running guard: a socket in the network namespace, by the device's number, not in the file system.
//!
//! Whoever holds it is the device's only guard; it is gone with the process. A question is one line, the answer is all
//! that comes back. Only root and the guard's own user are answered.

use crate::device::Device;
use crate::error::{During, GuardError};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};
use nix::unistd::{Uid, geteuid};
use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::Duration;

/// How long one who asks may take: nobody shall hold up the loop.
const PATIENCE: Duration = Duration::from_millis(50);
/// How long a guard may take to answer: it may be deciding.
const ANSWER: Duration = Duration::from_secs(2);
/// Bytes of a question.
const LONGEST: u64 = 512;

fn address(device: &Device) -> io::Result<SocketAddr> {
    SocketAddr::from_abstract_name(format!("fairweir-guard/{}", device.index))
}

/// The guard's side.
#[derive(Debug)]
pub struct Door {
    listener: UnixListener,
}

impl Door {
    /// Becomes the guard of `device`.
    ///
    /// # Errors
    /// If there is one already.
    pub fn hold(device: &Device) -> Result<Door, GuardError> {
        let what = || format!("the door of {}", device.name);
        match address(device).and_then(|address| UnixListener::bind_addr(&address)) {
            Ok(listener) => {
                listener.set_nonblocking(true).during(what)?;
                Ok(Door { listener })
            }
            Err(e) if e.kind() == ErrorKind::AddrInUse => Err(GuardError::refused(
                format!("`{}` has a guard already{}", device.name, who(device)),
                format!("`fairweir guard status --interface {}` shows what it does", device.name),
            )),
            Err(e) => Err(e).during(what),
        }
    }

    /// Answers all who have asked since the last call.
    pub fn answer(&self, mut reply: impl FnMut(&str) -> String) {
        while let Ok((stream, _)) = self.listener.accept() {
            // Whoever asks badly or leaves early gets nothing; that is no concern of the guard.
            let _ = serve(stream, &mut reply);
        }
    }
}

impl AsFd for Door {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

fn serve(mut stream: UnixStream, reply: &mut impl FnMut(&str) -> String) -> io::Result<()> {
    let asker = Uid::from_raw(getsockopt(&stream, PeerCredentials)?.uid());
    if !asker.is_root() && asker != geteuid() {
        return Ok(());
    }
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let mut question = String::new();
    BufReader::new((&stream).take(LONGEST)).read_line(&mut question)?;
    writeln!(stream, "{}", reply(question.trim_end()))
}

/// Asks the guard of `device`.
///
/// # Errors
/// If there is none.
pub fn ask(device: &Device, question: &str) -> Result<String, GuardError> {
    let what = || format!("ask the guard of {}", device.name);
    let mut stream = match address(device).and_then(|address| UnixStream::connect_addr(&address)) {
        Err(e) if e.kind() == ErrorKind::ConnectionRefused => {
            return Err(GuardError::refused(
                format!("`{}` has no guard", device.name),
                format!("start one: fairweir guard run --interface {}", device.name),
            ));
        }
        connected => connected.during(what)?,
    };
    let exchange = |stream: &mut UnixStream| -> io::Result<String> {
        stream.set_read_timeout(Some(ANSWER))?;
        writeln!(stream, "{question}")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        Ok(answer)
    };
    let answer = exchange(&mut stream).during(what)?;
    if answer.is_empty() {
        return Err(GuardError::refused(
            format!("the guard of `{}` does not answer", device.name),
            "it answers root and its own user",
        ));
    }
    // A guard waits for nobody: an asker that is too slow gets a part.
    let whole = answer.strip_suffix('\n').map(str::to_owned);
    whole.ok_or_else(|| {
        GuardError::refused(
            format!("the answer of the guard of `{}` was cut off", device.name),
            "this machine is busy; ask again",
        )
    })
}

fn who(device: &Device) -> String {
    let process = address(device)
        .and_then(|address| UnixStream::connect_addr(&address))
        .and_then(|stream| Ok(getsockopt(&stream, PeerCredentials)?.pid()));
    process.map_or_else(|_| String::new(), |pid| format!(", process {pid}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process;
    use std::thread;

    #[test]
    fn one_guard_at_a_time_and_it_answers() {
        // No device has such a number, and no other test run this one.
        let device = Device { name: "test0".to_owned(), index: u32::MAX - process::id(), link_header: 0 };
        let door = Door::hold(&device).unwrap();
        let second = Door::hold(&device).unwrap_err();
        assert_eq!(second.to_string(), format!("`test0` has a guard already, process {}", process::id()));

        let asking = thread::spawn({
            let device = device.clone();
            move || ask(&device, "explain 192.0.2.1").unwrap()
        });
        while !asking.is_finished() {
            door.answer(|question| format!("asked: {question}"));
            thread::sleep(Duration::from_millis(1));
        }
        assert_eq!(asking.join().unwrap(), "asked: explain 192.0.2.1");

        drop(door);
        assert_eq!(ask(&device, "status").unwrap_err().to_string(), "`test0` has no guard");
        Door::hold(&device).unwrap();
    }

    #[test]
    fn half_an_answer_is_none() {
        let device = Device { name: "test2".to_owned(), index: u32::MAX / 4 - process::id(), link_header: 0 };
        let listener = UnixListener::bind_addr(&address(&device).unwrap()).unwrap();
        let asking = thread::spawn({
            let device = device.clone();
            move || ask(&device, "status").unwrap_err().to_string()
        });
        let (mut stream, _) = listener.accept().unwrap();
        BufReader::new(&stream).read_line(&mut String::new()).unwrap();
        stream.write_all(b"{\"services\": [").unwrap();
        drop(stream);
        assert_eq!(asking.join().unwrap(), "the answer of the guard of `test2` was cut off");
    }

    #[test]
    fn who_says_nothing_holds_nobody_up() {
        let device = Device { name: "test1".to_owned(), index: u32::MAX / 2 - process::id(), link_header: 0 };
        let door = Door::hold(&device).unwrap();
        let silent = UnixStream::connect_addr(&address(&device).unwrap()).unwrap();
        let mut asked = 0;
        door.answer(|_| {
            asked += 1;
            String::new()
        });
        assert_eq!(asked, 0);
        drop(silent);
    }
}
