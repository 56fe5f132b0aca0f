//! Sending: window, pacing, and choice of the next packet.

use super::send_window::MAX_OUTSTANDING;
use super::{Flow, Misbehaviour, Record};
use crate::item::Departure;
use crate::net::Net;
use crate::watch::Watch;
use fairweir_cca::Sent;
use fairweir_units::{Bytes, Dur, Time};

impl Flow {
    /// Sends packets as far as the window, pacing and the application permit.
    #[inline(always)]
    pub(super) fn pump<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        if !self.recovery.to_retransmit.is_empty() || self.recovery.reduction.is_some() {
            self.pump_in_recovery(now, net);
            return;
        }
        let window = self.window.cwnd_pkts.saturating_sub(self.sender.inflight());
        let limit = self.source.limit().min(self.right_edge::<W>());
        let end = (self.sender.snd_nxt + window).min(limit);
        while self.sender.snd_nxt < end {
            if self.pacer.rate > 0 && !self.pacer.allows(now) {
                return;
            }
            self.send_new(now, net);
        }
        if end < limit {
            self.window.limited_at = end;
        } else if self.window.grows_after_syn_ack(self.sender.snd_una) {
            self.pump_now(now, net);
        } else {
            self.note_send_limit(window);
        }
    }

    /// [`Flow::pump`] out of line, for events other than ACKs.
    #[inline(never)]
    pub(super) fn pump_now<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        self.pump(now, net);
    }

    #[cold]
    #[inline(never)]
    fn pump_in_recovery<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        if self.undo.prefers_new && self.sends_new_first(now, net) {
            return;
        }
        loop {
            if !self.window_allows(self.sender.inflight()) {
                self.window.limited_at = self.sender.snd_nxt;
                return;
            }
            let retransmission = self.next_retransmission();
            if retransmission.is_none() {
                let limit = self.source.limit().min(self.right_edge::<W>());
                if self.sender.snd_nxt >= limit {
                    if self.window.grows_after_syn_ack(self.sender.snd_una) {
                        continue;
                    }
                    self.note_send_limit(1);
                    return;
                }
            }
            if self.pacer.rate > 0 && !self.pacer.allows(now) {
                return;
            }
            match retransmission {
                Some(seq) => {
                    self.recovery.to_retransmit.pop();
                    self.retransmit(seq, now, net);
                }
                None => self.send_new(now, net),
            }
        }
    }

    /// Returns the packet number up to which the receiver's window allows sending.
    #[inline(always)]
    fn right_edge<W: Watch>(&self) -> u64 {
        let own = self.sender.snd_una + self.window.rwnd;
        if W::IS_WATCHED { self.window.edge.map_or(own, |edge| own.min(edge)) } else { own }
    }

    /// Returns whether the application and the receiver permit a new packet.
    pub(super) fn has_new_data<W: Watch>(&self) -> bool {
        self.sender.snd_nxt < self.source.limit().min(self.right_edge::<W>())
    }

    /// Records whether the application or the receiver limits sending.
    #[cold]
    #[inline(never)]
    fn note_send_limit(&mut self, window: u64) {
        if self.sender.snd_nxt >= self.source.limit() {
            if self.sender.inflight() < self.window.cwnd_pkts {
                self.rate.app_limited = (self.sender.delivered + self.sender.inflight()).max(1);
            } else {
                self.window.limited_at = self.sender.snd_nxt;
            }
        } else if self.sender.packets_out() >= MAX_OUTSTANDING && window > 0 {
            self.misbehaviour.get_or_insert(Misbehaviour(format!(
                "has {MAX_OUTSTANDING} packets outstanding: nothing bounds its window"
            )));
        }
    }

    #[inline]
    pub(super) fn window_allows(&self, inflight: u64) -> bool {
        match &self.recovery.reduction {
            Some(reduction) => inflight < reduction.window,
            None => inflight < self.window.cwnd_pkts,
        }
    }

    /// Returns the next packet that needs retransmission; it remains at the head of the queue.
    #[inline]
    fn next_retransmission(&mut self) -> Option<u64> {
        while let Some(seq) = self.recovery.to_retransmit.front() {
            if seq >= self.sender.snd_una {
                let record = self.records.get(seq);
                if record.has(Record::LOST) && !record.has(Record::RETRANS) {
                    return Some(seq);
                }
            }
            self.recovery.to_retransmit.pop();
        }
        None
    }

    #[inline(never)]
    pub(super) fn send_new<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        let seq = self.sender.snd_nxt;
        if self.sender.snd_una == seq {
            self.rate.restart(now);
            self.timers.rto_base = now;
            let deadline = self.timers.rto_deadline_if_outstanding(&self.sender);
            self.timers.wake_by(deadline);
        }
        self.records.reserve(self.sender.snd_una, seq);
        // After a retransmission of this instant (`record_retransmission`).
        let sent = self.recovery.rack.retransmitted.back().map_or(now, |(_, at)| now.max(*at));
        *self.records.get_mut(seq) = self.rate.record(seq, &self.sender, sent, 0);
        self.sender.snd_nxt = seq + 1;
        self.account_sent(seq, false, now);
        self.route.send(Departure { at: now, seq, is_retransmission: false }, net);
    }

    #[inline(never)]
    fn retransmit<W: Watch>(&mut self, seq: u64, now: Time, net: &mut Net<W>) {
        let flags = Record::LOST | Record::RETRANS | Record::EVER_RETRANS;
        self.sender.retrans_out += 1;
        self.undo.first_retransmission = self.undo.first_retransmission.min(now);
        self.record_retransmission(seq, flags, now);
        self.stats.retransmits += 1;
        if seq == self.sender.snd_una {
            self.timers.rto_base = now;
        }
        self.account_sent(seq, true, now);
        self.route.send(Departure { at: now, seq, is_retransmission: true }, net);
    }

    /// Retransmits packet `seq` as a probe. The packet is not declared lost, unless it already is.
    #[cold]
    #[inline(never)]
    pub(super) fn send_probe<W: Watch>(&mut self, seq: u64, now: Time, net: &mut Net<W>) {
        let record = *self.records.get(seq);
        let flags = record.flags & Record::LOST | Record::RETRANS | Record::EVER_RETRANS;
        self.sender.retrans_out += u64::from(!record.has(Record::RETRANS));
        self.record_retransmission(seq, flags, now);
        self.stats.retransmits += 1;
        self.account_sent(seq, true, now);
        self.route.send(Departure { at: now, seq, is_retransmission: true }, net);
    }

    /// Records that packet `seq` is retransmitted at `now`. RACK compares times of transmission, and numbers if they are
    /// equal (`tcp_rack_sent_after` of tcp_recovery.c), which is the order of packets that leave with the same ACK.
    /// Simulated ACKs can arrive at one instant, which real hosts process one after another: a retransmission that leaves
    /// with a later one of them is after the packets of the earlier ones, some of which have higher numbers. Its time is
    /// therefore 1 ns after theirs; otherwise it would be declared lost when one of them is delivered.
    fn record_retransmission(&mut self, seq: u64, flags: u32, now: Time) {
        let newest = self.sender.snd_nxt - 1;
        let last_new = (newest, self.records.get(newest).sent);
        let last_retransmitted = self.recovery.rack.retransmitted.back().copied();
        let mut sent = now;
        if self.recovery.has_kernel_rules {
            for (other, at) in [Some(last_new), last_retransmitted].into_iter().flatten() {
                if at >= sent && other != seq {
                    sent = if other < seq { at } else { at + Dur::from_nanos(1) };
                }
            }
        }
        *self.records.get_mut(seq) = self.rate.record(seq, &self.sender, sent, flags);
        self.recovery.rack.retransmitted.push((seq, sent));
    }

    #[inline(always)]
    fn account_sent(&mut self, seq: u64, is_retransmit: bool, now: Time) {
        self.stats.sent += 1;
        if let Some(reduction) = &mut self.recovery.reduction {
            reduction.out += 1;
        }
        if self.interests.sent {
            let sent = Sent { seq, is_retransmit, sender: &self.sender };
            self.cc.on_send(&sent, &mut Flow::context(now, &mut self.rng));
            self.read_controller();
            self.pacer.on_sent(|| self.cc.next_departure());
        }
    }

    /// Returns the wire bytes of `packets`.
    pub(crate) fn wire_bytes(&self, packets: u64) -> Bytes {
        Bytes(packets * self.mss)
    }
}
