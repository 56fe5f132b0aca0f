//! Events and decisions of a stack's controller, in the order and the units of RFC 9002.

use fairweir_cca::Spacing;
use fairweir_units::{Dur, Time};
use std::fmt::Debug;

/// One transmission of a packet. A retransmission has a number of its own, as in QUIC.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Transmission<P> {
    pub(crate) pn: u64,
    pub(crate) sent: Time,
    /// The controller's state of the packet.
    pub(crate) info: P,
}

/// Packets that an ACK delivered, in ascending order of their numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Acked<'a, P> {
    pub(crate) packets: &'a [Transmission<P>],
    /// RTT of the newest of them, if it is unambiguous.
    pub(crate) rtt: Option<Dur>,
    /// Bytes in flight after them, with the packets that the same ACK reveals as lost.
    pub(crate) inflight: u64,
    /// Whether the application limited the sender before this ACK.
    pub(crate) is_app_limited: bool,
}

/// Decisions of a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Bytes.
    pub(crate) cwnd: u64,
    /// Bytes per second; `None` disables pacing.
    pub(crate) pacing_rate: Option<u64>,
    pub(crate) spacing: Spacing,
    /// Bytes, if the algorithm has one.
    pub(crate) ssthresh: Option<u64>,
}

/// A stack's controller with the parts of its connection that the controller needs: RTT estimator and pacer.
pub(crate) trait Stack: Debug + Send {
    /// The controller's state of each packet.
    type Packet: Copy + Debug + Send;

    /// A packet was sent; `inflight` bytes include it.
    fn on_sent(&mut self, now: Time, pn: u64, inflight: u64, is_app_limited: bool) -> Self::Packet;

    /// An ACK delivered packets.
    fn on_acked(&mut self, now: Time, acked: &Acked<'_, Self::Packet>);

    /// Packets were declared lost, at least one.
    fn on_lost(&mut self, now: Time, lost: &[Transmission<Self::Packet>], is_persistent: bool);

    /// An ACK whose newest packet was sent at `newest` reported congestion-experienced marks.
    fn on_marks(&mut self, now: Time, newest: Time);

    /// A transmission is neither delivered nor lost: it was a duplicate.
    fn on_discarded(&mut self, _packet: &Transmission<Self::Packet>) {}

    /// When the next packet may leave, in [`Spacing::Departures`].
    fn next_departure(&self) -> Option<Time> {
        None
    }

    /// The decisions after the last event.
    fn limits(&self) -> Limits;
}
