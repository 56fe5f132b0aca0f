//! Metrics over HTTP, for Prometheus: `GET /metrics`, one connection after another on a thread of its own, which shares
//! nothing with the loop but the latest text. Whoever asks has a second, and so many bytes; then comes the next.

use crate::error::GuardError;
use httparse::{EMPTY_HEADER, Request, Status};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// For one connection, from its first byte to our last.
const PATIENCE: Duration = Duration::from_secs(1);
/// Of a request, with all headers.
const LONGEST: usize = 4096;
const MOST_HEADERS: usize = 32;
/// After a failure to accept, such as too many open files.
const PAUSE: Duration = Duration::from_millis(100);

/// The text that is served.
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

/// An address that nobody is answered at yet.
#[derive(Debug)]
pub(crate) struct Endpoint(TcpListener);

impl Endpoint {
    /// Takes `address`, which may ask for rights that are given up before anybody is answered.
    pub(crate) fn bind(address: SocketAddr) -> Result<Endpoint, GuardError> {
        TcpListener::bind(address).map(Endpoint).map_err(|e| {
            GuardError::refused(
                format!("--metrics-listen {address}: {e}"),
                "an address of this host and a free port, as 127.0.0.1:9465",
            )
        })
    }

    /// Answers as long as the process lives.
    pub(crate) fn serve(self, exposition: Exposition) {
        thread::spawn(move || {
            loop {
                match self.0.accept() {
                    // A client that fails gets nothing; that is no concern of the guard.
                    Ok((stream, _)) => drop(converse(stream, &exposition)),
                    Err(_) => thread::sleep(PAUSE),
                }
            }
        });
    }
}

/// One request and its answer.
fn converse(mut stream: TcpStream, exposition: &Exposition) -> io::Result<()> {
    let deadline = Instant::now() + PATIENCE;
    let response = match read_request(&mut stream, deadline)? {
        Answer::Metrics => response("200 OK", "text/plain; version=0.0.4; charset=utf-8", &exposition.text()),
        Answer::Refusal(status) => response(status, "text/plain; charset=utf-8", &format!("{status}\n")),
    };
    let mut rest = response.as_bytes();
    while !rest.is_empty() {
        stream.set_write_timeout(Some(left(deadline)?))?;
        let written = stream.write(rest)?;
        rest = &rest[written..];
    }
    Ok(())
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Metrics,
    Refusal(&'static str),
}

fn read_request(stream: &mut TcpStream, deadline: Instant) -> io::Result<Answer> {
    let mut bytes = [0; LONGEST];
    let mut length = 0;
    loop {
        stream.set_read_timeout(Some(left(deadline)?))?;
        match stream.read(&mut bytes[length..])? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            more => length += more,
        }
        if let Some(answer) = answer_to(&bytes[..length]) {
            return Ok(answer);
        }
    }
}

/// `None` as long as the request is not complete.
fn answer_to(bytes: &[u8]) -> Option<Answer> {
    const TOO_LARGE: Answer = Answer::Refusal("431 Request Header Fields Too Large");
    let mut headers = [EMPTY_HEADER; MOST_HEADERS];
    let mut request = Request::new(&mut headers);
    match request.parse(bytes) {
        Ok(Status::Partial) if bytes.len() < LONGEST => None,
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

fn response(status: &str, kind: &str, body: &str) -> String {
    let allowed = if status.starts_with("405") { "Allow: GET\r\n" } else { "" };
    format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n{allowed}Connection: close\r\n\r\n{body}",
        body.len()
    )
}

fn left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(bytes: &[u8]) -> Option<u32> {
        match answer_to(bytes)? {
            Answer::Metrics => Some(200),
            Answer::Refusal(status) => status.split(' ').next()?.parse().ok(),
        }
    }

    #[test]
    fn only_metrics_are_told_and_only_to_those_who_ask_well() {
        let with_headers = |count: usize| format!("GET /metrics HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(count));
        for (request, status) in [
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n", Some(200)),
            ("GET /metrics?x=1 HTTP/1.0\r\n\r\n", Some(200)),
            ("GET /metrics HTTP/1.1\r\nHost: a\r\n", None),
            ("POST /metrics HTTP/1.1\r\n\r\n", Some(405)),
            ("GET / HTTP/1.1\r\n\r\n", Some(404)),
            ("GET /metrics/../x HTTP/1.1\r\n\r\n", Some(404)),
            ("\x16\x03\x01", Some(400)),
            (&with_headers(MOST_HEADERS), Some(200)),
            (&with_headers(MOST_HEADERS + 1), Some(431)),
        ] {
            assert_eq!(refusal(request.as_bytes()), status, "{request}");
        }
        let endless = [b"GET /metrics HTTP/1.1\r\nA: ".to_vec(), vec![b'a'; LONGEST]].concat();
        assert_eq!(refusal(&endless[..LONGEST - 1]), None);
        assert_eq!(refusal(&endless[..LONGEST]), Some(431));
    }

    #[test]
    fn who_says_nothing_makes_others_wait_and_no_more() {
        let endpoint = Endpoint::bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let address = endpoint.0.local_addr().unwrap();
        let again = Endpoint::bind(address).unwrap_err();
        assert!(again.to_string().contains(&address.to_string()), "{again}");
        let exposition = Exposition::new("up 0\n".to_owned());
        endpoint.serve(exposition.clone());
        exposition.publish("up 1\n".to_owned());

        let silent = TcpStream::connect(address).unwrap();
        let mut asking = TcpStream::connect(address).unwrap();
        asking.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").unwrap();
        let mut answer = String::new();
        asking.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 200 OK\r\n"), "{answer}");
        assert!(answer.contains("Content-Length: 5\r\n") && answer.ends_with("\r\n\r\nup 1\n"), "{answer}");
        drop(silent);
    }
}
