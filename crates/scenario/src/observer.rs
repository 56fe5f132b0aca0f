//! Observers of packets.
//!
//! The fate of a packet is computed ahead of the clock, so events are reported in the order of computation: in time
//! order for one flow and kind of event, but not across flows or kinds.

use fairweir_path::Ecn;
use fairweir_units::Time;

/// A packet event. Counts are in packets; `flow` and `hop` are indices of the scenario. Only runs with simulated
/// handshakes ([`Mechanism::Handshake`](crate::Mechanism)) report SYNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketEvent {
    /// A SYN leaves its sender.
    SynSent {
        /// Index of the flow.
        flow: u32,
        /// Time of the event.
        at: Time,
    },
    /// A SYN reaches the receiver, which answers at once with a SYN-ACK.
    SynArrived {
        /// Index of the flow.
        flow: u32,
        /// Time at which the SYN left its sender.
        sent: Time,
        /// Time of the event.
        at: Time,
    },
    /// A SYN-ACK reaches the sender. The first one establishes the connection.
    SynAckArrived {
        /// Index of the flow.
        flow: u32,
        /// Time at which the SYN that it answers left its sender.
        sent: Time,
        /// Arrival time; may be after the end of the run.
        at: Time,
    },
    /// A data packet leaves its sender.
    Sent {
        /// Index of the flow.
        flow: u32,
        /// Transmission number within the flow, from 0; with `flow` it identifies this copy in later events.
        number: u64,
        /// Packet number, from 0.
        seq: u64,
        /// Time of the event.
        at: Time,
        /// Whether it was sent before.
        is_retransmission: bool,
        /// Its ECN codepoint.
        ecn: Ecn,
    },
    /// A data packet is lost.
    Dropped {
        /// Index of the flow.
        flow: u32,
        /// Transmission number.
        number: u64,
        /// Time of the drop decision at a hop, or time of arrival at an element of the flow.
        at: Time,
        /// The hop; `None` for an element of the flow.
        hop: Option<u32>,
    },
    /// A data packet reaches the receiver.
    Arrived {
        /// Index of the flow.
        flow: u32,
        /// Transmission number.
        number: u64,
        /// Time of the event.
        at: Time,
        /// Whether a queue marked it (ECN).
        is_marked: bool,
    },
    /// The receiver sends an ACK for all packets that have arrived.
    AckSent {
        /// Index of the flow.
        flow: u32,
        /// Number of the ACK within the flow, from 0.
        number: u64,
        /// Time of the event.
        at: Time,
        /// Next packet expected in order.
        cum: u64,
    },
    /// An ACK is lost.
    AckDropped {
        /// Index of the flow.
        flow: u32,
        /// Number of the ACK.
        number: u64,
    },
    /// An ACK reaches the sender.
    AckArrived {
        /// Index of the flow.
        flow: u32,
        /// Number of the ACK.
        number: u64,
        /// Arrival time; may be after the end of the run.
        at: Time,
    },
}

impl PacketEvent {
    /// Returns the flow's index.
    pub fn flow(&self) -> u32 {
        match *self {
            PacketEvent::SynSent { flow, .. }
            | PacketEvent::SynArrived { flow, .. }
            | PacketEvent::SynAckArrived { flow, .. }
            | PacketEvent::Sent { flow, .. }
            | PacketEvent::Dropped { flow, .. }
            | PacketEvent::Arrived { flow, .. }
            | PacketEvent::AckSent { flow, .. }
            | PacketEvent::AckDropped { flow, .. }
            | PacketEvent::AckArrived { flow, .. } => flow,
        }
    }
}

/// Receives the packet events of a run.
pub trait Observer {
    /// Receives one packet event.
    fn on_packet(&mut self, event: PacketEvent);
    /// Whether the observer needs no more events; the run then ends soon, as if interrupted by its caller.
    fn is_done(&self) -> bool {
        false
    }
    /// Returns the packet number, exclusive, up to which the ACK of `cum` packets that now reaches `flow`'s sender
    /// allows sending; `None` leaves that to the scenario's receive window. An advertised limit is never withdrawn (RFC
    /// 9293 §3.8.6.2.1).
    fn edge(&mut self, _flow: u32, _cum: u64) -> Option<u64> {
        None
    }
}
