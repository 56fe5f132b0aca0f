//! SYNs and SYN-ACKs on a route. They pass the same elements and queues as data and ACKs; observers do not see their
//! losses.

use super::Route;
use crate::item::{Departure, Item, SYN};
use crate::net::Net;
use crate::watch::Watch;
use fairweir_path::{Ecn, Packet};
use fairweir_scenario::PacketEvent;
use fairweir_units::{Bytes, Time};

/// IPv4 header, TCP header, and the options MSS, SACK permitted, timestamps and window scale.
const SYN_BYTES: Bytes = Bytes(60);

/// Length of the receiver's log in a SYN-ACK: no log that a sender has read has this length, so senders do not take a
/// SYN-ACK for an ACK in order.
const NO_LOG: u32 = u32::MAX;

/// Returns a SYN or SYN-ACK in the form that path elements process; neither is ECN-capable (RFC 3168 §6.1.1).
#[cold]
pub(super) fn packet(item: &Item) -> Packet {
    Packet { seq: item.seq, bytes: SYN_BYTES, sent: item.sent, ecn: Ecn::NotEct }
}

impl Route {
    /// Sends a SYN.
    #[cold]
    pub(crate) fn send_syn<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        net.watch.report(PacketEvent::SynSent { flow: self.flow(), at: now });
        self.send_over_stages(Departure { at: now, seq: SYN, is_retransmission: false }, SYN, net);
    }

    /// Answers a SYN that reaches the receiver at `syn.at`.
    #[cold]
    #[inline(never)]
    pub(super) fn receive_syn<W: Watch>(&mut self, syn: &Item, net: &mut Net<W>) {
        net.watch.report(PacketEvent::SynArrived { flow: self.flow(), sent: syn.sent, at: syn.at });
        self.syn_echo.get_or_insert(syn.sent);
        let Item { at, sent, .. } = *syn;
        self.send_back(Item { at, sent, ack_sent: at, seq: SYN, number: SYN, ce: 0, log: NO_LOG, window: 0 }, net);
    }
}
