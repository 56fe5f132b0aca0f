//! Sending: window, pacing, and choice of the next packet.

use super::{Flow, MAX_OUTSTANDING, Misbehaviour, Record};
use crate::item::Departure;
use crate::net::Net;
use crate::watch::Watch;
use fairweir_cca::Sent;
use fairweir_units::{Bytes, Time};

impl Flow {
    /// Sends what the window, pacing and application allow.
    #[inline(always)]
    pub(super) fn pump<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        if !self.to_retransmit.is_empty() || self.reduction.is_some() {
            self.pump_in_recovery(now, net);
            return;
        }
        let window = self.cwnd_pkts.saturating_sub(self.sender.inflight());
        let limit = self.source.limit().min(self.right_edge::<W>());
        let end = (self.sender.snd_nxt + window).min(limit);
        while self.sender.snd_nxt < end {
            if self.pacing_rate > 0 && !self.pacing_allows(now) {
                return;
            }
            self.send_new(now, net);
        }
        if end < limit {
            self.cwnd_limited_at = end;
        } else {
            self.note_send_limit(window);
        }
    }

    /// [`Flow::pump`] out of line, for the events that are not ACKs.
    #[inline(never)]
    pub(super) fn pump_now<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        self.pump(now, net);
    }

    #[cold]
    #[inline(never)]
    fn pump_in_recovery<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        loop {
            if !self.window_allows(self.sender.inflight()) {
                self.cwnd_limited_at = self.sender.snd_nxt;
                return;
            }
            let retransmission = self.next_retransmission();
            if retransmission.is_none() {
                let limit = self.source.limit().min(self.right_edge::<W>());
                if self.sender.snd_nxt >= limit {
                    self.note_send_limit(1);
                    return;
                }
            }
            if self.pacing_rate > 0 && !self.pacing_allows(now) {
                return;
            }
            match retransmission {
                Some(seq) => {
                    self.to_retransmit.pop();
                    self.retransmit(seq, now, net);
                }
                None => self.send_new(now, net),
            }
        }
    }

    /// Returns the packet number up to which the receiver's window allows sending.
    #[inline(always)]
    fn right_edge<W: Watch>(&self) -> u64 {
        let own = self.sender.snd_una + self.rwnd;
        if W::IS_WATCHED { self.edge.map_or(own, |edge| own.min(edge)) } else { own }
    }

    /// Records whether the application or the receiver limits sending.
    #[cold]
    #[inline(never)]
    fn note_send_limit(&mut self, window: u64) {
        if self.sender.snd_nxt >= self.source.limit() {
            if self.sender.inflight() < self.cwnd_pkts {
                self.app_limited = (self.sender.delivered + self.sender.inflight()).max(1);
            } else {
                self.cwnd_limited_at = self.sender.snd_nxt;
            }
        } else if self.sender.packets_out() >= MAX_OUTSTANDING && window > 0 {
            self.misbehaviour.get_or_insert(Misbehaviour(format!(
                "has {MAX_OUTSTANDING} packets outstanding: nothing bounds its window"
            )));
        }
    }

    #[inline]
    fn window_allows(&self, inflight: u64) -> bool {
        match &self.reduction {
            Some(reduction) => inflight < reduction.window,
            None => inflight < self.cwnd_pkts,
        }
    }

    /// The lowest packet that needs retransmission; it stays at the head of the list.
    #[inline]
    fn next_retransmission(&mut self) -> Option<u64> {
        while let Some(&seq) = self.to_retransmit.front() {
            if seq >= self.sender.snd_una {
                let record = self.records.get(seq);
                if record.has(Record::LOST) && !record.has(Record::RETRANS) {
                    return Some(seq);
                }
            }
            self.to_retransmit.pop();
        }
        None
    }

    /// Whether a packet may be sent now; sets the pacing timer if not.
    #[inline]
    fn pacing_allows(&mut self, now: Time) -> bool {
        if self.burst == 0 {
            if now < self.next_send {
                self.pacing_at = self.next_send;
                return false;
            }
            self.burst = self.gso;
            self.next_send = now;
        }
        self.burst -= 1;
        self.next_send = Time::from_nanos(self.next_send.as_nanos() + self.pacing_gap);
        true
    }

    #[inline(never)]
    fn send_new<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        let seq = self.sender.snd_nxt;
        if self.sender.snd_una == seq {
            // tcp_rate_skb_sent: nothing is in flight, so a new rate sample starts.
            self.first_sent = now;
            self.delivered_at = now;
            self.rto_base = now;
            let deadline = self.rto_deadline_if_outstanding();
            self.wake_by(deadline);
        }
        self.records.reserve(self.sender.snd_una, seq);
        *self.records.get_mut(seq) = self.record(now, 0);
        self.sender.snd_nxt = seq + 1;
        self.account_sent(seq, false, now);
        self.route.send(Departure { at: now, seq, is_retransmission: false }, net);
    }

    #[inline(never)]
    fn retransmit<W: Watch>(&mut self, seq: u64, now: Time, net: &mut Net<W>) {
        *self.records.get_mut(seq) = self.record(now, Record::LOST | Record::RETRANS | Record::EVER_RETRANS);
        self.sender.retrans_out += 1;
        self.retransmitted.push((seq, now));
        self.stats.retransmits += 1;
        if seq == self.sender.snd_una {
            self.rto_base = now;
        }
        self.account_sent(seq, true, now);
        self.route.send(Departure { at: now, seq, is_retransmission: true }, net);
    }

    #[inline]
    fn record(&self, now: Time, flags: u32) -> Record {
        let app_limited = if self.app_limited > 0 { Record::APP_LIMITED } else { 0 };
        Record {
            sent: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: self.sender.delivered as u32,
            flags: flags | app_limited,
        }
    }

    #[inline]
    fn account_sent(&mut self, seq: u64, is_retransmit: bool, now: Time) {
        self.stats.sent += 1;
        if let Some(reduction) = &mut self.reduction {
            reduction.out += 1;
        }
        if self.interests.sent {
            let sent = Sent { seq, is_retransmit, sender: &self.sender };
            self.cc.on_send(&sent, &mut Flow::context(now, &mut self.rng));
            self.read_controller();
        }
    }

    /// Returns the wire bytes of `packets`.
    pub(crate) fn wire_bytes(&self, packets: u64) -> Bytes {
        Bytes(packets * self.mss)
    }
}
