//! One end of a connection of quinn, or of noq, its fork: each stack's module includes this file next to its own `api`, whose
//! functions have the calls in which the two differ.

use super::api::proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Event, ReadError, StreamEvent,
    StreamId, Transmit, VarInt, WriteError,
};
use super::api::{self, proto};
use super::controllers::Gauge;
use crate::clock::{instant, time};
use crate::endpoint::{Datagram, Ecn, Endpoint, Fault, Stage, State};
use bytes::{Bytes, BytesMut};
use fairweir_scenario::App;
use fairweir_units::Time;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// The data of the application; its content does not matter.
static ZEROES: [u8; 1 << 16] = [0; 1 << 16];
/// Data that an unlimited application writes ahead of what is sent, bytes.
const AHEAD: u64 = 1 << 20;
/// The application of an end.
pub(super) enum Role {
    Sender(Box<Sender>),
    Receiver(Receiver),
}

/// Writes what the scenario's source provides.
pub(super) struct Sender {
    /// Until the connection is opened.
    client: Option<ClientConfig>,
    app: App,
    start: Time,
    stream: Option<StreamId>,
    /// Bytes written to the stream.
    written: u64,
    /// Bytes of datagrams sent since the stream was opened.
    sent: u64,
    /// Whether flow control prevented the last write.
    is_blocked: bool,
    has_finished: bool,
}

/// Reads everything.
#[derive(Default)]
pub(super) struct Receiver {
    streams: Vec<StreamId>,
    read: u64,
}

impl Role {
    pub(super) fn sender(client: ClientConfig, app: App, start: Time) -> Role {
        Role::Sender(Box::new(Sender {
            client: Some(client),
            app,
            start,
            stream: None,
            written: 0,
            sent: 0,
            is_blocked: false,
            has_finished: false,
        }))
    }

    pub(super) fn receiver() -> Role {
        Role::Receiver(Receiver::default())
    }
}

pub(super) struct End {
    endpoint: proto::Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    role: Role,
    max_datagrams: usize,
    gauge: Arc<Gauge>,
    stage: Stage,
    /// Answers of the endpoint that belong to no connection.
    answers: Vec<Datagram>,
    buffer: Vec<u8>,
}

/// Hosts have a single connection each, so that all may have the same addresses.
fn peer() -> SocketAddr {
    (Ipv4Addr::new(192, 0, 2, 1), 443).into()
}

fn fault(what: impl std::fmt::Display) -> Fault {
    Fault(format!("failed: {what}"))
}

impl End {
    pub(super) fn new(endpoint: proto::Endpoint, role: Role, max_datagrams: u64, gauge: Arc<Gauge>) -> End {
        End {
            endpoint,
            connection: None,
            role,
            max_datagrams: usize::try_from(max_datagrams).unwrap_or(usize::MAX),
            gauge,
            stage: Stage::default(),
            answers: Vec::new(),
            buffer: Vec::new(),
        }
    }

    fn connect(&mut self, now: Time) -> Result<(), Fault> {
        let at = instant(now);
        if let Role::Sender(sender) = &mut self.role
            && let Some(client) = sender.client.take()
        {
            self.connection = Some(self.endpoint.connect(at, client, peer(), "localhost").map_err(fault)?);
        }
        Ok(())
    }

    /// Handles the events between connection, endpoint and application.
    fn process(&mut self) -> Result<(), Fault> {
        let Some((handle, connection)) = &mut self.connection else { return Ok(()) };
        loop {
            let mut is_idle = true;
            while let Some(event) = connection.poll_endpoint_events() {
                is_idle = false;
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
            while let Some(event) = connection.poll() {
                is_idle = false;
                match (event, &mut self.role) {
                    (Event::Connected, _) => self.stage.is_established = true,
                    (Event::ConnectionLost { reason }, _) => return Err(fault(reason)),
                    (Event::Stream(StreamEvent::Finished { .. }), _) => self.stage.is_complete = true,
                    (Event::Stream(StreamEvent::Writable { .. }), Role::Sender(sender)) => sender.is_blocked = false,
                    (Event::Stream(StreamEvent::Opened { dir: Dir::Uni }), Role::Receiver(receiver)) => {
                        receiver.streams.extend(std::iter::from_fn(|| connection.streams().accept(Dir::Uni)));
                    }
                    _ => {}
                }
            }
            if is_idle {
                return Ok(());
            }
        }
    }

    /// Turns what the stack wrote into datagrams.
    fn split(transmit: &Transmit, buffer: Vec<u8>, out: &mut Vec<Datagram>) {
        let ecn = if transmit.ecn == Some(EcnCodepoint::Ect0) { Ecn::Ect } else { Ecn::NotEct };
        let mut payload = BytesMut::from(Bytes::from(buffer));
        payload.truncate(transmit.size);
        let segment = transmit.segment_size.unwrap_or(transmit.size).max(1);
        while payload.len() > segment {
            out.push(Datagram { payload: payload.split_to(segment), ecn, depart_at: Time::ZERO });
        }
        out.push(Datagram { payload, ecn, depart_at: Time::ZERO });
    }
}

impl Sender {
    /// Writes what is available, opens and ends streams.
    ///
    /// An application that pauses or stops resets its stream, so that data which was not sent yet is not sent later; when
    /// it resumes, it opens another one.
    fn write(&mut self, now: Time, connection: &mut Connection) -> Result<(), Fault> {
        if self.has_finished {
            return Ok(());
        }
        if self.app.available(now, 0) == 0 {
            if let Some(stream) = self.stream.take() {
                connection.send_stream(stream).reset(VarInt::from_u32(0)).map_err(fault)?;
                (self.written, self.sent) = (0, 0);
            }
            return Ok(());
        }
        if self.stream.is_none() {
            self.stream = connection.streams().open(Dir::Uni);
        }
        let Some(id) = self.stream else { return Ok(()) };
        let mut stream = connection.send_stream(id);
        let target = match self.app.available(now, self.written) {
            u64::MAX => self.sent + AHEAD,
            bytes => bytes,
        };
        while self.written < target && !self.is_blocked {
            let length = (target - self.written).min(ZEROES.len() as u64) as usize;
            match api::write(&mut stream, Bytes::from_static(&ZEROES[..length])) {
                Ok(written) => self.written += written as u64,
                Err(WriteError::Blocked) => self.is_blocked = true,
                Err(error) => return Err(fault(error)),
            }
        }
        if self.app.has_finished(self.written) {
            stream.finish().map_err(fault)?;
            self.has_finished = true;
        }
        Ok(())
    }
}

impl Receiver {
    fn read(&mut self, connection: &mut Connection) {
        let read = &mut self.read;
        self.streams.retain(|&id| {
            let mut stream = connection.recv_stream(id);
            let Ok(mut chunks) = stream.read(true) else { return false };
            let is_open = loop {
                match chunks.next(usize::MAX) {
                    Ok(Some(chunk)) => *read += chunk.bytes.len() as u64,
                    Ok(None) | Err(ReadError::Reset(_)) => break false,
                    Err(ReadError::Blocked) => break true,
                }
            };
            // New flow control credit is sent with the next datagrams.
            let _ = chunks.finalize();
            is_open
        });
    }
}

impl Endpoint for End {
    fn receive(&mut self, now: Time, datagram: Datagram) -> Result<(), Fault> {
        let at = instant(now);
        let ecn = match datagram.ecn {
            Ecn::NotEct => None,
            Ecn::Ect => Some(EcnCodepoint::Ect0),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        self.buffer.clear();
        match api::handle(&mut self.endpoint, at, peer(), ecn, datagram.payload, &mut self.buffer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                self.buffer.clear();
                let accepted = self.endpoint.accept(incoming, at, &mut self.buffer, None);
                self.connection = Some(accepted.map_err(|e| fault(e.cause))?);
            }
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((own, connection)) = &mut self.connection
                    && *own == handle
                {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::Response(transmit)) => {
                End::split(&transmit, std::mem::take(&mut self.buffer), &mut self.answers);
            }
            None => {}
        }
        self.process()?;
        if let (Role::Receiver(receiver), Some((_, connection))) = (&mut self.role, &mut self.connection) {
            receiver.read(connection);
        }
        Ok(())
    }

    fn timeout(&mut self, now: Time) -> Result<(), Fault> {
        let at = instant(now);
        if self.connection.is_none() {
            self.connect(now)?;
        }
        if let Some((_, connection)) = &mut self.connection
            && connection.poll_timeout().is_some_and(|deadline| deadline <= at)
        {
            connection.handle_timeout(at);
        }
        self.process()
    }

    fn send(&mut self, now: Time, out: &mut Vec<Datagram>) -> Result<(), Fault> {
        out.append(&mut self.answers);
        let at = instant(now);
        let Some((_, connection)) = &mut self.connection else { return Ok(()) };
        if let Role::Sender(sender) = &mut self.role
            && self.stage.is_established
        {
            sender.write(now, connection)?;
        }
        if let Some(reason) = self.gauge.trouble.get() {
            return Err(Fault(format!("has a controller that failed: {reason}")));
        }
        self.buffer.clear();
        if let Some(transmit) = api::poll_transmit(connection, at, self.max_datagrams, &mut self.buffer) {
            if let Role::Sender(sender) = &mut self.role {
                sender.sent += transmit.size as u64;
            }
            End::split(&transmit, std::mem::take(&mut self.buffer), out);
        }
        Ok(())
    }

    fn deadline(&mut self, now: Time) -> Time {
        let of_app = match &self.role {
            Role::Sender(sender) if sender.client.is_some() => sender.start,
            Role::Sender(sender) if self.stage.is_established && !sender.is_blocked && !sender.has_finished => {
                sender.app.next_change(now, sender.written)
            }
            _ => Time::NEVER,
        };
        let deadline = self.connection.as_mut().and_then(|(_, connection)| connection.poll_timeout());
        let of_stack = deadline.map_or(Time::NEVER, time);
        of_app.min(of_stack)
    }

    fn stage(&self) -> Stage {
        self.stage
    }

    fn state(&self) -> State {
        let read_bytes = match &self.role {
            Role::Sender(_) => 0,
            Role::Receiver(receiver) => receiver.read,
        };
        let Some((_, connection)) = &self.connection else { return State::default() };
        State {
            cwnd: api::cwnd(connection),
            inflight: self.gauge.inflight.load(Relaxed),
            pacing_rate: Some(api::pacing_rate(connection)),
            lost: api::lost(connection, &self.gauge),
            timeouts: self.gauge.persistent.load(Relaxed),
            read_bytes,
        }
    }
}
