//! One end of a quiche connection.

use super::gauge::Gauge;
use super::pace::{self, Pace};
use crate::clock::{instant, time};
use crate::endpoint::{Datagram, Ecn, Endpoint, Fault, Stage, State};
use bytes::BytesMut;
use fairweir_scenario::App;
use fairweir_units::Time;
use quiche::{Connection, ConnectionId, Error, RecvInfo, Shutdown};
use std::net::{Ipv4Addr, SocketAddr};

/// The data of the application; its content does not matter.
static ZEROES: [u8; 1 << 16] = [0; 1 << 16];
/// Stream IDs of a client's unidirectional streams: the first, and the step (RFC 9000 §2.1).
const STREAM_IDS: (u64, u64) = (2, 4);

/// The application of an end.
pub(super) enum Role {
    Sender(Sender),
    Receiver { read: u64 },
}

/// Writes what the scenario's source provides.
pub(super) struct Sender {
    app: App,
    start: Time,
    /// The stream that it writes to, and the number of streams before.
    stream: Option<u64>,
    streams: u64,
    /// Bytes written to the stream.
    written: u64,
    has_finished: bool,
}

impl Role {
    pub(super) fn sender(app: App, start: Time) -> Role {
        Role::Sender(Sender { app, start, stream: None, streams: 0, written: 0, has_finished: false })
    }

    pub(super) fn receiver() -> Role {
        Role::Receiver { read: 0 }
    }
}

pub(super) struct End {
    settings: quiche::Config,
    connection: Option<Connection>,
    role: Role,
    /// Gives each connection ID.
    number: u64,
    max_datagrams: u64,
    /// Present if the scenario records time series.
    gauge: Option<Gauge>,
    stage: Stage,
    /// When the pacer is asked again.
    release_at: Time,
    /// Where the next packet is written.
    buffer: Vec<u8>,
}

/// Addresses of client and server; hosts have a single connection each, so that all may have the same.
fn addresses() -> [SocketAddr; 2] {
    [1, 2].map(|host| (Ipv4Addr::new(192, 0, 2, host), 443).into())
}

fn fault(what: impl std::fmt::Display) -> Fault {
    Fault(format!("failed: {what}"))
}

impl End {
    pub(super) fn new(settings: quiche::Config, role: Role, number: u64, max_datagrams: u64, is_gauged: bool) -> End {
        End {
            settings,
            connection: None,
            role,
            number,
            max_datagrams,
            gauge: is_gauged.then(Gauge::default),
            stage: Stage::default(),
            release_at: Time::NEVER,
            buffer: vec![0; 1 << 16],
        }
    }

    /// The connection, opened at the first call.
    fn open(&mut self) -> Result<&mut Connection, Fault> {
        let opened = match self.connection.take() {
            Some(connection) => connection,
            None => {
                let id = self.number.to_be_bytes();
                let id = ConnectionId::from_ref(&id);
                let [client, server] = addresses();
                let opened = match self.role {
                    Role::Sender(_) => quiche::connect(Some("localhost"), &id, client, server, &mut self.settings),
                    Role::Receiver { .. } => quiche::accept(&id, None, server, client, &mut self.settings),
                };
                let mut connection = opened.map_err(fault)?;
                if let Some(gauge) = &self.gauge {
                    connection.set_qlog(Box::new(gauge.clone()), String::new(), String::new());
                }
                connection
            }
        };
        Ok(self.connection.insert(opened))
    }

    /// Passes on what the connection has for the application, and notes its state.
    fn process(&mut self) -> Result<(), Fault> {
        let Some(connection) = &mut self.connection else { return Ok(()) };
        if connection.is_closed() || connection.is_draining() {
            let reason = [connection.local_error(), connection.peer_error()].into_iter().flatten().next();
            return Err(reason.map_or_else(
                || fault("the connection closed"),
                |error| fault(format!("{} (code {})", String::from_utf8_lossy(&error.reason), error.error_code)),
            ));
        }
        self.stage.is_established = connection.is_established();
        match &mut self.role {
            Role::Sender(sender) => {
                // quiche forgets a stream when all of it is acknowledged.
                self.stage.is_complete = sender.has_finished
                    && sender.stream.is_some_and(|stream| connection.stream_capacity(stream).is_err());
            }
            Role::Receiver { read } => {
                for stream in connection.readable() {
                    *read += drain(connection, stream, &mut self.buffer)?;
                }
            }
        }
        Ok(())
    }
}

/// Reads all that `stream` has; returns its length.
fn drain(connection: &mut Connection, stream: u64, buffer: &mut [u8]) -> Result<u64, Fault> {
    let mut read = 0;
    loop {
        match connection.stream_recv(stream, buffer) {
            Ok((length, false)) => read += length as u64,
            Ok((length, true)) => return Ok(read + length as u64),
            Err(Error::Done | Error::StreamReset(_)) => return Ok(read),
            Err(error) => return Err(fault(error)),
        }
    }
}

impl Sender {
    /// Writes what is available and fits, opens and ends streams.
    ///
    /// An application that pauses or stops resets its stream, so that data which was not sent yet is not sent later; when
    /// it resumes, it opens another one.
    fn write(&mut self, now: Time, connection: &mut Connection) -> Result<(), Fault> {
        if self.has_finished {
            return Ok(());
        }
        if self.app.available(now, 0) == 0 {
            if let Some(stream) = self.stream.take() {
                match connection.stream_shutdown(stream, Shutdown::Write, 0) {
                    Ok(()) | Err(Error::Done) => {}
                    Err(error) => return Err(fault(error)),
                }
                self.written = 0;
            }
            return Ok(());
        }
        let streams = &mut self.streams;
        let stream = *self.stream.get_or_insert_with(|| {
            *streams += 1;
            STREAM_IDS.0 + STREAM_IDS.1 * (*streams - 1)
        });
        let available = self.app.available(now, self.written);
        while self.written < available {
            let length = (available - self.written).min(ZEROES.len() as u64) as usize;
            let is_last = self.app.has_finished(self.written + length as u64);
            match connection.stream_send(stream, &ZEROES[..length], is_last) {
                Ok(written) => {
                    self.written += written as u64;
                    self.has_finished = is_last && written == length;
                    if written < length {
                        break;
                    }
                }
                Err(Error::Done) => break,
                Err(error) => return Err(fault(error)),
            }
        }
        Ok(())
    }
}

impl Endpoint for End {
    fn receive(&mut self, _now: Time, mut datagram: Datagram) -> Result<(), Fault> {
        let [client, server] = addresses();
        let info = match self.role {
            Role::Sender(_) => RecvInfo { from: server, to: client },
            Role::Receiver { .. } => RecvInfo { from: client, to: server },
        };
        match self.open()?.recv(&mut datagram.payload, info) {
            Ok(_) | Err(Error::Done) => {}
            Err(error) => return Err(fault(error)),
        }
        self.process()
    }

    fn timeout(&mut self, now: Time) -> Result<(), Fault> {
        if self.release_at <= now {
            self.release_at = Time::NEVER;
        }
        let at = instant(now);
        if matches!(self.role, Role::Sender(_)) {
            self.open()?;
        }
        if let Some(connection) = &mut self.connection
            && connection.timeout_instant().is_some_and(|deadline| deadline <= at)
        {
            connection.on_timeout();
        }
        self.process()
    }

    fn send(&mut self, now: Time, out: &mut Vec<Datagram>) -> Result<(), Fault> {
        let at = instant(now);
        let Some(connection) = &mut self.connection else { return Ok(()) };
        if let Role::Sender(sender) = &mut self.role
            && self.stage.is_established
        {
            sender.write(now, connection)?;
        }
        let (pace, leaves_too) = pace::begin(connection, at);
        let release = match pace {
            Pace::Wait(until) => {
                self.release_at = time(until);
                return Ok(());
            }
            Pace::Send(release) => release,
        };
        self.release_at = Time::NEVER;
        for _ in 0..self.max_datagrams {
            match connection.send(&mut self.buffer) {
                Ok((length, _)) => out.push(Datagram {
                    payload: BytesMut::from(&self.buffer[..length]),
                    ecn: Ecn::NotEct,
                    depart_at: Time::ZERO,
                }),
                Err(Error::Done) => break,
                Err(error) => return Err(fault(error)),
            }
            if !leaves_too(connection) {
                break;
            }
        }
        if let Some(release) = release {
            let depart_at = time(release);
            out.iter_mut().for_each(|datagram| datagram.depart_at = depart_at);
        }
        Ok(())
    }

    fn deadline(&mut self, now: Time) -> Time {
        let Some(connection) = &self.connection else {
            return match &self.role {
                Role::Sender(sender) => sender.start,
                Role::Receiver { .. } => Time::NEVER,
            };
        };
        let of_app = match &self.role {
            Role::Sender(sender) if self.stage.is_established && !sender.has_finished => {
                sender.app.next_change(now, sender.written)
            }
            _ => Time::NEVER,
        };
        let of_stack = connection.timeout_instant().map_or(Time::NEVER, time);
        of_app.min(of_stack).min(self.release_at)
    }

    fn stage(&self) -> Stage {
        self.stage
    }

    fn state(&self) -> State {
        let read_bytes = match self.role {
            Role::Sender(_) => 0,
            Role::Receiver { read } => read,
        };
        let Some(path) = self.connection.as_ref().and_then(|connection| connection.path_stats().next()) else {
            return State::default();
        };
        State {
            cwnd: path.cwnd as u64,
            inflight: self.gauge.as_ref().map_or(0, Gauge::inflight),
            pacing_rate: self.gauge.as_ref().and_then(Gauge::pacing_rate),
            lost: path.lost as u64,
            timeouts: 0,
            read_bytes,
        }
    }
}
