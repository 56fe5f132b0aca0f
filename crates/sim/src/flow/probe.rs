//! Probe timeouts and persistent congestion (RFC 9002 §6.2, §7.6), for controllers of QUIC stacks.

use super::{Flow, Record};
use crate::net::Net;
use crate::watch::Watch;
use fairweir_cca::CaState;
use fairweir_units::{Dur, Time};

/// Number of packets sent at a probe timeout (RFC 9002 §6.2.4 allows two).
const PROBES: usize = 2;

/// A period of which no packet has been delivered yet. It is recorded from the period's first probe timeout on.
#[derive(Debug, Default)]
pub(super) struct Silence {
    /// Send time of the first packet of the period.
    first_sent: Option<Time>,
    /// Times of the probe timeouts.
    probes: Vec<Time>,
}

impl Flow {
    /// Handles a probe timeout: the oldest outstanding packets are sent again, regardless of cwnd; no packet is
    /// declared lost yet.
    #[cold]
    #[inline(never)]
    pub(super) fn on_probe_timeout<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        self.stats.timeouts += 1;
        let outstanding = self.sender.snd_una..self.sender.snd_nxt;
        if self.silence.first_sent.is_none() && self.sender.srtt > Dur::ZERO {
            let newest_delivered = self.recovery.rack.sent;
            let sent = outstanding.clone().map(|seq| self.records.get(seq).sent);
            self.silence.first_sent = sent.filter(|&sent| sent > newest_delivered).min();
        }
        self.silence.probes.push(now);
        self.timers.back_off(now);
        self.pacer.restart(now);
        if self.sender.ca_state == CaState::Open {
            self.sender.ca_state = CaState::Disorder;
        }
        let mut probes = [None; PROBES];
        let candidates = outstanding.filter(|&seq| !self.records.get(seq).has(Record::SACKED));
        for (slot, seq) in probes.iter_mut().zip(candidates) {
            *slot = Some(seq);
        }
        for seq in probes.into_iter().flatten() {
            self.send_probe(seq, now, net);
        }
    }

    /// Returns whether an ACK ends a period of persistent congestion. Elements of a path do not reorder packets, so
    /// when a packet is delivered, every undelivered packet that was sent before it is lost.
    pub(super) fn end_silence(&mut self) -> bool {
        let Some(&first_probe) = self.silence.probes.first() else { return false };
        let newest = self.recovery.rack.sent;
        if self.silence.first_sent.is_some_and(|first| newest < first) {
            return false;
        }
        let last_lost = self.silence.probes.iter().copied().filter(|&probe| probe < newest).max();
        let first_sent = self.silence.first_sent.take();
        self.silence.probes.clear();
        let (Some(first), Some(last)) = (first_sent, last_lost.filter(|_| newest > first_probe)) else { return false };
        last.since(first) > self.timers.persistent_congestion(&self.sender)
    }
}
