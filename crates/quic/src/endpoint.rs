//! A QUIC stack as the world sees it: datagrams and the time go in, datagrams and a deadline come out.

use bytes::BytesMut;
use fairweir_units::{Rate, Time};

/// IPv4 and UDP headers, bytes.
pub const IP_UDP_BYTES: u64 = 28;

/// The ECN field of a datagram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, ECT(0).
    Ect,
    /// Congestion experienced.
    Ce,
}

/// A UDP datagram.
#[derive(Clone, Debug, Default)]
pub struct Datagram {
    /// Its payload.
    pub payload: BytesMut,
    /// The ECN field.
    pub ecn: Ecn,
    /// Time at which it may leave the host, at once if that has passed.
    pub depart_at: Time,
}

/// How far a flow has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stage {
    /// Whether the handshake is complete.
    pub is_established: bool,
    /// Whether all bytes of a transfer of known length are acknowledged.
    pub is_complete: bool,
}

/// Numbers that only the stack has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Congestion window, bytes.
    pub cwnd: u64,
    /// Bytes in flight as congestion control counts them.
    pub inflight: u64,
    /// Rate at which the stack paces, if it does.
    pub pacing_rate: Option<Rate>,
    /// Packets declared lost.
    pub lost: u64,
    /// Number of times that persistent congestion was established (RFC 9002 §7.6).
    pub timeouts: u64,
    /// Bytes that the application has read, in order.
    pub read_bytes: u64,
}

/// A stack's failure: it ends the run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);

/// One end of a QUIC connection, with its application.
///
/// The world calls these functions in the order of time. After [`receive`](Endpoint::receive) and
/// [`timeout`](Endpoint::timeout) it calls [`send`](Endpoint::send) until that adds nothing.
pub trait Endpoint {
    /// A datagram has arrived.
    ///
    /// # Errors
    /// If the stack fails, for example because its peer closed the connection.
    fn receive(&mut self, now: Time, datagram: Datagram) -> Result<(), Fault>;

    /// The deadline has been reached.
    ///
    /// # Errors
    /// If the stack fails.
    fn timeout(&mut self, now: Time) -> Result<(), Fault>;

    /// Adds the datagrams of the next batch to `out`; none if the stack has nothing to send now.
    ///
    /// # Errors
    /// If the stack fails.
    fn send(&mut self, now: Time, out: &mut Vec<Datagram>) -> Result<(), Fault>;

    /// Returns when the stack or its application next needs the time; [`Time::NEVER`] if only a datagram can wake it.
    fn deadline(&mut self, now: Time) -> Time;

    /// Returns how far the flow has come.
    fn stage(&self) -> Stage;

    /// Returns the stack's numbers.
    fn state(&self) -> State;
}

/// The two ends of a flow.
pub struct Ends {
    /// The end with the data.
    pub sender: Box<dyn Endpoint>,
    /// Its peer.
    pub receiver: Box<dyn Endpoint>,
}
