//! Watching packets: what an observer is told of each, and what watching costs a run that nobody watches: nothing, since
//! the engine is compiled for either case.
//!
//! What will become of a packet is settled ahead of the clock, so events come in the order in which they are settled:
//! per flow, each kind of event is in the order of its times; over flows and kinds they are not.

use fairweir_units::Time;

/// Something happened to a packet. Counts are packets; `flow` and `hop` are indices of the scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// A data packet leaves its sender.
    Sent {
        /// Whose it is.
        flow: u32,
        /// Counts what the flow sends, from 0; with `flow` it names this copy of the packet in all that follows.
        number: u64,
        /// Which packet, from 0.
        seq: u64,
        /// When.
        at: Time,
        /// It had left before.
        is_retransmission: bool,
    },
    /// A data packet is lost on its way.
    Dropped {
        /// Whose it is.
        flow: u32,
        /// Which copy.
        number: u64,
        /// When the element or hop that drops it decides so, or when the packet reaches the flow's own elements.
        at: Time,
        /// The hop, or none: one of the flow's own elements.
        hop: Option<u32>,
    },
    /// A data packet reaches the receiver.
    Arrived {
        /// Whose it is.
        flow: u32,
        /// Which copy.
        number: u64,
        /// When.
        at: Time,
        /// A queue marked it (ECN).
        is_marked: bool,
    },
    /// An ACK leaves the receiver, for all that has arrived so far.
    AckSent {
        /// Whose it is.
        flow: u32,
        /// Counts the flow's ACKs, from 0.
        number: u64,
        /// When.
        at: Time,
        /// Next packet expected in order.
        cum: u64,
    },
    /// An ACK is lost on its way.
    AckDropped {
        /// Whose it is.
        flow: u32,
        /// Which ACK.
        number: u64,
    },
    /// An ACK reaches the sender.
    AckArrived {
        /// Whose it is.
        flow: u32,
        /// Which ACK.
        number: u64,
        /// When; may lie behind the end of the run.
        at: Time,
    },
}

impl PacketEvent {
    /// Whose packet it is.
    pub fn flow(&self) -> u32 {
        match *self {
            PacketEvent::Sent { flow, .. }
            | PacketEvent::Dropped { flow, .. }
            | PacketEvent::Arrived { flow, .. }
            | PacketEvent::AckSent { flow, .. }
            | PacketEvent::AckDropped { flow, .. }
            | PacketEvent::AckArrived { flow, .. } => flow,
        }
    }
}

/// Sees all packets of a run.
pub trait Observer {
    /// A packet's fate moved on.
    fn on_packet(&mut self, event: PacketEvent);
    /// Has it seen enough? The run then ends soon, as one that its caller interrupts.
    fn is_done(&self) -> bool {
        false
    }
    /// Up to which packet, exclusive, the ACK of `cum` packets allows to send that now reaches `flow`'s sender; none leaves
    /// it to the scenario's receive window. What an earlier ACK allowed stays allowed (RFC 9293 §3.8.6.2.1).
    fn edge(&mut self, _flow: u32, _cum: u64) -> Option<u64> {
        None
    }
}

/// How the engine is compiled: for an observer or for none.
pub(crate) trait Watch {
    /// Is there anybody to tell?
    const IS_WATCHED: bool;
    /// Tells.
    fn tell(&mut self, event: PacketEvent);
    /// Has whoever watches seen enough?
    fn is_done(&self) -> bool;
    /// [`Observer::edge`]
    fn edge(&mut self, flow: u32, cum: u64) -> Option<u64>;
}

/// Nobody watches.
#[derive(Debug)]
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    const IS_WATCHED: bool = false;
    #[inline(always)]
    fn tell(&mut self, _: PacketEvent) {}
    fn is_done(&self) -> bool {
        false
    }
    fn edge(&mut self, _: u32, _: u64) -> Option<u64> {
        None
    }
}

/// Somebody does.
pub(crate) struct Watched<'a>(pub(crate) &'a mut dyn Observer);

impl Watch for Watched<'_> {
    const IS_WATCHED: bool = true;
    fn tell(&mut self, event: PacketEvent) {
        self.0.on_packet(event);
    }
    fn is_done(&self) -> bool {
        self.0.is_done()
    }
    fn edge(&mut self, flow: u32, cum: u64) -> Option<u64> {
        self.0.edge(flow, cum)
    }
}
