//! Requests and responses over several connections at once, without blocking. Each turn does a bounded amount of work
//! for any behavior of the peers. The control socket and the metrics endpoint both use this module.

use fairweir_units::{Dur, Time};
use nix::poll::{PollFd, PollFlags};
use std::collections::VecDeque;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;

/// Bytes read or written per connection and turn, at most.
const CHUNK: usize = 64 << 10;
/// Bytes read and discarded after a request, so that the peer receives the response instead of a reset (RFC 9112 §9.6).
const MAX_DISCARDED: usize = 4 << 20;

/// A connection that can be polled.
pub(crate) trait Stream: Read + Write + AsFd {
    /// Makes reads and writes non-blocking.
    fn set_nonblocking(&self) -> io::Result<()>;
    /// Signals the end of the data to the peer.
    fn finish(&self) -> io::Result<()>;
}

impl Stream for UnixStream {
    fn set_nonblocking(&self) -> io::Result<()> {
        UnixStream::set_nonblocking(self, true)
    }
    fn finish(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

impl Stream for TcpStream {
    fn set_nonblocking(&self) -> io::Result<()> {
        TcpStream::set_nonblocking(self, true)
    }
    fn finish(&self) -> io::Result<()> {
        self.shutdown(Shutdown::Write)
    }
}

/// Limits on the exchanges of a server.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Maximum number of open connections; beyond it, a new connection closes the oldest.
    pub(crate) connections: usize,
    /// Maximum time between accepting a connection and sending the last byte of its response.
    pub(crate) patience: Dur,
    /// Maximum bytes of a request.
    pub(crate) request: usize,
}

/// Open connections, ordered from the oldest to the newest.
#[derive(Debug)]
pub(crate) struct Exchanges<S> {
    limits: Limits,
    open: VecDeque<Exchange<S>>,
}

#[derive(Debug)]
struct Exchange<S> {
    stream: S,
    until: Time,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    Reading(Vec<u8>),
    Writing { response: Vec<u8>, sent: usize },
    Discarding(usize),
}

/// State of a connection after a turn.
#[derive(PartialEq, Eq)]
enum Step {
    Goes(OnlyIf),
    Over,
}

/// Event that lets a connection continue.
#[derive(PartialEq, Eq)]
enum OnlyIf {
    Ready,
    /// A request is complete and needs a response; no event at the peer is required.
    Now,
}

impl<S: Stream> Exchanges<S> {
    pub(crate) fn new(limits: Limits) -> Exchanges<S> {
        Exchanges { limits, open: VecDeque::new() }
    }

    /// Adds an accepted connection.
    pub(crate) fn admit(&mut self, stream: S, now: Time) {
        if stream.set_nonblocking().is_err() {
            return;
        }
        if self.open.len() >= self.limits.connections {
            self.open.pop_front();
        }
        let until = now + self.limits.patience;
        self.open.push_back(Exchange { stream, until, phase: Phase::Reading(Vec::new()) });
    }

    /// Advances every connection by at most one read and one write, and closes connections whose time limit has passed.
    /// `respond` gets the bytes of a request so far and whether the peer will send no more; it returns `None` while the
    /// request is incomplete. At most one request gets its response per turn. Returns whether another request is ready.
    pub(crate) fn advance(&mut self, now: Time, mut respond: impl FnMut(&[u8], bool) -> Option<Vec<u8>>) -> bool {
        let (limit, mut has_responded, mut is_waiting) = (self.limits.request, false, false);
        let mut respond_once = |request: &[u8], is_whole: bool| {
            if has_responded {
                return Err(());
            }
            let response = respond(request, is_whole);
            has_responded = response.is_some();
            Ok(response)
        };
        self.open.retain_mut(|exchange| {
            if now >= exchange.until {
                return false;
            }
            match exchange.step(limit, &mut respond_once) {
                Ok(Step::Goes(when)) => {
                    is_waiting |= when == OnlyIf::Now;
                    true
                }
                // A peer that fails or disconnects gets no response.
                Ok(Step::Over) | Err(_) => false,
            }
        });
        is_waiting
    }

    /// Returns the descriptors to poll before the next turn.
    pub(crate) fn sources(&self) -> impl Iterator<Item = PollFd<'_>> {
        self.open.iter().map(|exchange| {
            let events = match exchange.phase {
                Phase::Writing { .. } => PollFlags::POLLOUT,
                Phase::Reading(_) | Phase::Discarding(_) => PollFlags::POLLIN,
            };
            PollFd::new(exchange.stream.as_fd(), events)
        })
    }

    /// Returns the earliest deadline of a connection.
    pub(crate) fn next_deadline(&self) -> Option<Time> {
        self.open.front().map(|exchange| exchange.until)
    }
}

impl<S: Stream> Exchange<S> {
    fn step(
        &mut self,
        limit: usize,
        respond: &mut impl FnMut(&[u8], bool) -> Result<Option<Vec<u8>>, ()>,
    ) -> io::Result<Step> {
        if let Phase::Reading(request) = &mut self.phase {
            let is_at_end = read_up_to(&mut self.stream, request, limit)?;
            match respond(request, request.len() >= limit) {
                Err(()) => return Ok(Step::Goes(OnlyIf::Now)),
                Ok(Some(response)) => self.phase = Phase::Writing { response, sent: 0 },
                Ok(None) if is_at_end => return Ok(Step::Over),
                Ok(None) => return Ok(Step::Goes(OnlyIf::Ready)),
            }
        }
        if let Phase::Writing { response, sent } = &mut self.phase {
            let end = response.len().min(*sent + CHUNK);
            *sent += would_block_is_zero(self.stream.write(&response[*sent..end]))?.unwrap_or(0);
            if *sent < response.len() {
                return Ok(Step::Goes(OnlyIf::Ready));
            }
            self.stream.finish()?;
            self.phase = Phase::Discarding(0);
        }
        if let Phase::Discarding(discarded) = &mut self.phase {
            let mut bytes = [0; CHUNK];
            match would_block_is_zero(self.stream.read(&mut bytes))? {
                Some(0) => return Ok(Step::Over),
                Some(more) => *discarded += more,
                None => {}
            }
            if *discarded > MAX_DISCARDED {
                return Ok(Step::Over);
            }
        }
        Ok(Step::Goes(OnlyIf::Ready))
    }
}

/// Reads the available data once, and returns whether the peer has sent all its data.
fn read_up_to(stream: &mut impl Read, request: &mut Vec<u8>, limit: usize) -> io::Result<bool> {
    let before = request.len();
    if before >= limit {
        return Ok(false);
    }
    request.resize(limit, 0);
    let read = would_block_is_zero(stream.read(&mut request[before..]));
    request.truncate(before + read.as_ref().ok().copied().flatten().unwrap_or(0));
    Ok(read? == Some(0))
}

/// Returns `None` if nothing can be read or written at present.
fn would_block_is_zero(outcome: io::Result<usize>) -> io::Result<Option<usize>> {
    match outcome {
        Ok(bytes) => Ok(Some(bytes)),
        Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
        Err(e) => Err(e),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: Limits = Limits { connections: 3, patience: Dur::from_millis(1000), request: 8 };

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_millis(ms)
    }

    /// A request is complete at the end of its line, or if it is too long.
    fn respond(request: &[u8], is_whole: bool) -> Option<Vec<u8>> {
        match request {
            [.., b'\n'] => Some([b"got ", request].concat()),
            _ => is_whole.then(|| b"too long\n".to_vec()),
        }
    }

    fn connected(exchanges: &mut Exchanges<UnixStream>, now: Time) -> UnixStream {
        let (ours, theirs) = UnixStream::pair().unwrap();
        theirs.set_nonblocking(true).unwrap();
        exchanges.admit(ours, now);
        theirs
    }

    fn received(mut stream: &UnixStream) -> String {
        let mut text = String::new();
        // Read the data that have arrived, up to the end or until reading would block.
        let _ = stream.read_to_string(&mut text);
        text
    }

    #[test]
    fn a_request_in_parts_gets_one_response() {
        let mut exchanges = Exchanges::new(LIMITS);
        let mut peer = connected(&mut exchanges, at(0));
        assert!(!exchanges.advance(at(1), respond));
        peer.write_all(b"sta").unwrap();
        exchanges.advance(at(2), respond);
        assert_eq!(received(&peer), "");
        peer.write_all(b"tus\n").unwrap();
        exchanges.advance(at(3), respond);
        assert_eq!(received(&peer), "got status\n");
        drop(peer);
        exchanges.advance(at(4), respond);
        assert_eq!(exchanges.open.len(), 0);
    }

    #[test]
    fn one_response_a_turn_and_the_next_waits_for_the_next_turn() {
        let mut exchanges = Exchanges::new(LIMITS);
        let mut peers = [(); 3].map(|()| connected(&mut exchanges, at(0)));
        peers.iter_mut().for_each(|peer| peer.write_all(b"q\n").unwrap());
        let mut count = 0;
        for turn in 1..=3u32 {
            let is_waiting = exchanges.advance(at(1), |request, is_whole| {
                count += 1;
                respond(request, is_whole)
            });
            assert_eq!((count, is_waiting), (turn, turn < 3));
        }
        assert!(peers.iter().all(|peer| received(peer) == "got q\n"));
    }

    #[test]
    fn the_silent_go_when_their_time_is_over_or_others_come() {
        let mut exchanges = Exchanges::new(LIMITS);
        let silent: Vec<UnixStream> = (0..200).map(|i| connected(&mut exchanges, at(i))).collect();
        assert_eq!((exchanges.open.len(), exchanges.sources().count()), (3, 3));
        assert_eq!(exchanges.next_deadline(), Some(at(1197)));
        let mut asking = connected(&mut exchanges, at(200));
        asking.write_all(b"q\n").unwrap();
        exchanges.advance(at(201), respond);
        assert_eq!(received(&asking), "got q\n", "behind 200 that say nothing");
        exchanges.advance(at(1199), respond);
        assert_eq!(exchanges.open.len(), 1, "the one that was answered may still read");
        exchanges.advance(at(1200), respond);
        assert_eq!((exchanges.open.len(), exchanges.next_deadline()), (0, None));
        drop(silent);
    }

    #[test]
    fn a_client_that_sends_too_much_reads_the_reason_and_is_not_reset() {
        let mut exchanges = Exchanges::new(LIMITS);
        let mut peer = connected(&mut exchanges, at(0));
        // The peer sends without reading, until its socket accepts no more data.
        while peer.write(&[b'a'; 4096]).is_ok() {}
        for turn in 0..20 {
            exchanges.advance(at(turn), respond);
        }
        assert_eq!(received(&peer), "too long\n");
        assert!(peer.write(&[b'a'; 4096]).is_ok(), "all of it was read");
    }

    #[test]
    fn a_client_that_reads_nothing_blocks_no_other() {
        let mut exchanges = Exchanges::new(LIMITS);
        let mut lazy = connected(&mut exchanges, at(0));
        let mut other = connected(&mut exchanges, at(0));
        lazy.write_all(b"q\n").unwrap();
        exchanges.advance(at(1), |_, _| Some(vec![b'x'; 4 << 20]));
        other.write_all(b"q\n").unwrap();
        exchanges.advance(at(2), respond);
        assert_eq!(received(&other), "got q\n");
        exchanges.advance(at(1000), respond);
        assert_eq!(exchanges.open.len(), 0, "its time is over");
    }

    #[test]
    fn a_client_that_disconnects_is_removed() {
        let mut exchanges = Exchanges::new(LIMITS);
        let mut half = connected(&mut exchanges, at(0));
        half.write_all(b"q").unwrap();
        drop(half);
        exchanges.advance(at(1), respond);
        exchanges.advance(at(2), respond);
        assert_eq!(exchanges.open.len(), 0);
    }
}
