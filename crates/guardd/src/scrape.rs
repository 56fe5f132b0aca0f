//! Metrics over HTTP for Prometheus: `GET /metrics`. A separate thread serves them and shares only the latest text with
//! the main loop. It serves several connections at once, each limited to one second and a request of 4 KiB; beyond the
//! maximum number, a new connection closes the oldest.

use crate::error::GuardError;
use crate::exchange::{Exchanges, Limits};
use crate::machine;
use fairweir_units::{Dur, Time};
use httparse::{EMPTY_HEADER, Request, Status};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Maximum bytes of a request, including all headers.
const MAX_REQUEST_BYTES: usize = 4096;
const LIMITS: Limits = Limits { connections: 64, patience: Dur::from_millis(1000), request: MAX_REQUEST_BYTES };
const MAX_HEADERS: usize = 32;
/// Connections accepted per turn.
const ACCEPTED: usize = 16;
/// Pause after a failure to accept a connection, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The text that is served, shared by the main loop and the server's thread.
#[derive(Clone, Debug)]
pub(crate) struct Exposition(Arc<Mutex<String>>);

impl Exposition {
    pub(crate) fn new(text: String) -> Exposition {
        Exposition(Arc::new(Mutex::new(text)))
    }

    pub(crate) fn publish(&self, text: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = text;
    }

    fn text(&self) -> String {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A listening socket that is not served yet.
#[derive(Debug)]
pub(crate) struct Endpoint(TcpListener);

impl Endpoint {
    /// Binds `address`. This may require privileges, which are dropped before any request is served.
    pub(crate) fn bind(address: SocketAddr) -> Result<Endpoint, GuardError> {
        let bind = || {
            let listener = TcpListener::bind(address)?;
            listener.set_nonblocking(true)?;
            Ok(Endpoint(listener))
        };
        bind().map_err(|e: io::Error| {
            GuardError::refused(
                format!("--metrics-listen {address}: {e}"),
                "an address of this host and a free port, such as 127.0.0.1:9465",
            )
        })
    }

    /// Serves `exposition` on a thread until the process ends.
    pub(crate) fn serve(self, exposition: Exposition) {
        let mut server = Server::new(self, exposition);
        thread::spawn(move || {
            let mut is_waiting = false;
            loop {
                if !is_waiting {
                    server.wait(machine::now());
                }
                is_waiting = server.turn(machine::now()).unwrap_or_else(|_| {
                    thread::sleep(PAUSE);
                    false
                });
            }
        });
    }
}

/// The endpoint and its open connections.
#[derive(Debug)]
struct Server {
    listener: TcpListener,
    exchanges: Exchanges<TcpStream>,
    exposition: Exposition,
}

impl Server {
    fn new(endpoint: Endpoint, exposition: Exposition) -> Server {
        Server { listener: endpoint.0, exchanges: Exchanges::new(LIMITS), exposition }
    }

    /// Waits until a client connects, sends or reads, or until a connection's time limit passes.
    fn wait(&self, now: Time) {
        let listener = PollFd::new(self.listener.as_fd(), PollFlags::POLLIN);
        let mut sources: Vec<PollFd<'_>> = std::iter::once(listener).chain(self.exchanges.sources()).collect();
        let left = self.exchanges.next_deadline().map(|until| until.since(now).as_millis_f64().ceil() as u16);
        // A wait that a signal interrupts counts as over.
        let _ = poll(&mut sources, left.map_or(PollTimeout::NONE, PollTimeout::from));
    }

    /// Accepts new clients and advances every connection, without blocking. Returns whether a request is ready for the
    /// next turn. If no connection can be accepted, the open connections are advanced before the error is returned.
    fn turn(&mut self, now: Time) -> io::Result<bool> {
        let accepted = self.accept(now);
        let respond = |request: &[u8], _: bool| Some(answer_to(request)?.response(&self.exposition));
        let is_waiting = self.exchanges.advance(now, respond);
        accepted.map(|()| is_waiting)
    }

    fn accept(&mut self, now: Time) -> io::Result<()> {
        for _ in 0..ACCEPTED {
            match self.listener.accept() {
                Ok((stream, _)) => self.exchanges.admit(stream, now),
                Err(e) if e.kind() == ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(e),
            }
        }
        Ok(())
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Metrics,
    Refusal(&'static str),
}

/// Returns the response, or `None` while the request is incomplete.
fn answer_to(bytes: &[u8]) -> Option<Answer> {
    const TOO_LARGE: Answer = Answer::Refusal("431 Request Header Fields Too Large");
    let mut headers = [EMPTY_HEADER; MAX_HEADERS];
    let mut request = Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Partial) if bytes.len() < MAX_REQUEST_BYTES => None,
        Ok(Status::Partial) | Err(httparse::Error::TooManyHeaders) => Some(TOO_LARGE),
        Err(_) => Some(Answer::Refusal("400 Bad Request")),
        Ok(Status::Complete(_)) => {
            let path = request.path.and_then(|path| path.split('?').next());
            Some(match (request.method, path) {
                (Some("GET"), Some("/metrics")) => Answer::Metrics,
                (_, Some("/metrics")) => Answer::Refusal("405 Method Not Allowed"),
                _ => Answer::Refusal("404 Not Found"),
            })
        }
    }
}

impl Answer {
    fn response(self, exposition: &Exposition) -> Vec<u8> {
        match self {
            Answer::Metrics => response("200 OK", "text/plain; version=0.0.4; charset=utf-8", &exposition.text()),
            Answer::Refusal(status) => response(status, "text/plain; charset=utf-8", &format!("{status}\n")),
        }
        .into_bytes()
    }
}

fn response(status: &str, kind: &str, body: &str) -> String {
    let allowed = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allowed}Connection: close\r\n\r\n{body}",
        body.len()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    fn refusal(bytes: &[u8]) -> Option<u32> {
        match answer_to(bytes)? {
            Answer::Metrics => Some(200),
            Answer::Refusal(status) => status.split(' ').next()?.parse().ok(),
        }
    }

    #[test]
    fn only_metrics_are_reported_and_only_to_those_who_ask_well() {
        let with_headers = |count: usize| format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(count));
        for (request, status) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", Some(200)),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", Some(200)),
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n", None),
            ("POST /metrics HTTP/1.1\r\n\r\n", Some(405)),
            ("GET / HTTP/1.1\r\n\r\n", Some(404)),
            ("GET /metrics/../x HTTP/1.1\r\n\r\n", Some(404)),
            ("\x16\x03\x01", Some(400)),
            (&with_headers(MAX_HEADERS), Some(200)),
            (&with_headers(MAX_HEADERS + 1), Some(431)),
        ] {
            assert_eq!(refusal(request.as_bytes()), status, "{request}");
        }
        let endless = [b"GET /metrics HTTP/1.1\r\nA: ".to_vec(), vec![b'a'; MAX_REQUEST_BYTES]].concat();
        assert_eq!(refusal(&endless[..MAX_REQUEST_BYTES - 1]), None);
        assert_eq!(refusal(&endless[..MAX_REQUEST_BYTES]), Some(431));
    }

    /// Connects to `server` and returns the client's end of the connection.
    fn connected(server: &mut Server, now: Time) -> TcpStream {
        let stream = TcpStream::connect(server.listener.local_addr().unwrap()).unwrap();
        server.turn(now).unwrap();
        stream
    }

    /// Sends `request`, and takes turns at `now` until the server has closed its direction of the connection.
    fn answer(server: &mut Server, request: &[u8], now: Time) -> String {
        let mut stream = connected(server, now);
        stream.set_nonblocking(true).unwrap();
        let (mut sent, mut answer) = (0, Vec::new());
        for _ in 0..MAX_TURNS {
            sent += stream.write(&request[sent..]).unwrap_or(0);
            server.turn(now).unwrap();
            match stream.read_to_end(&mut answer) {
                Ok(_) => return String::from_utf8(answer).unwrap(),
                Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
            }
        }
        panic!("no answer after {MAX_TURNS} turns");
    }

    /// Maximum number of turns, so that a failing test ends.
    const MAX_TURNS: u32 = 1 << 20;

    #[test]
    fn clients_that_say_nothing_keep_no_one_from_an_answer() {
        let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = endpoint.0.local_addr().unwrap();
        let again = Endpoint::bind(address).unwrap_err();
        assert!(again.to_string().contains(&address.to_string()), "{again}");
        let exposition = Exposition::new("up 0\n".to_owned());
        let mut server = Server::new(endpoint, exposition.clone());
        exposition.publish("up 1\n".to_owned());

        let at = |ms| Time::ZERO + Dur::from_millis(ms);
        let silent: Vec<TcpStream> = (0..150).map(|_| connected(&mut server, at(0))).collect();
        let reply = answer(&mut server, b"GET /metrics HTTP/1.1\r\n\r\n", at(1));
        assert!(reply.starts_with("HTTP/1.1 200 OK\r\n"), "{reply}");
        assert!(reply.contains("Content-Length: 5\r\n") && reply.ends_with("\r\n\r\nup 1\n"), "{reply}");
        let long = [b"GET /metrics HTTP/1.1\r\nA: ".to_vec(), vec![b'a'; 1 << 20]].concat();
        assert!(answer(&mut server, &long, at(2)).starts_with("HTTP/1.1 431 "), "an answer, no reset");

        assert!(!server.turn(at(999)).unwrap());
        // Two silent connections were closed in favor of the two clients.
        assert!(server.exchanges.sources().count() >= LIMITS.connections - 2, "the silent are within their second");
        assert!(!server.turn(at(1002)).unwrap());
        assert_eq!((server.exchanges.sources().count(), server.exchanges.next_deadline()), (0, None));
        drop(silent);
    }
}
