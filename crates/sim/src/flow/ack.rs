//! ACK processing: what was delivered, the RTT and rate samples, the controller's turn.

use super::{Flow, Record};
use crate::net::Net;
use crate::route::AckItem;
use fairweir_cca::{Ack, CaState, RateSample};
use fairweir_units::{Dur, Time};

/// What an ACK delivered.
#[derive(Clone, Copy, Debug, Default)]
struct Delivery {
    acked: u64,
    /// The record and number of the packet sent last among those delivered.
    newest: Option<(u64, Record)>,
    rtt: Option<Dur>,
}

impl Delivery {
    /// Books a delivered packet. Packets come in the order of their numbers, which retransmissions may not have.
    #[inline]
    fn add(&mut self, seq: u64, record: &Record) {
        self.acked += 1;
        if self.newest.is_none_or(|(_, newest)| record.sent >= newest.sent) {
            self.newest = Some((seq, *record));
        }
    }
}

impl Flow {
    #[inline]
    pub(super) fn on_ack(&mut self, ack: &AckItem, now: Time, net: &mut Net) {
        let prior_inflight = self.sender.inflight();
        let prior_lost = self.sender.lost;
        let prior_una = self.sender.snd_una;
        let mut delivery = Delivery::default();

        if ack.log != self.log_read {
            self.read_sacks(ack.log, &mut delivery);
        }
        let cum = u64::from(ack.cum);
        if cum > prior_una {
            self.advance_una(cum, &mut delivery);
        } else if !self.sack && cum == prior_una {
            self.count_dupack();
        }
        let cum_acked = self.sender.snd_una - prior_una;
        if !self.sack {
            self.reconcile_dupacks(cum_acked, &mut delivery);
        }
        let marked = u64::from(ack.ce.wrapping_sub(self.ce_seen));
        self.ce_seen = ack.ce;
        self.sender.delivered_ce += marked;

        if let Some((seq, record)) = delivery.newest {
            if !record.has(Record::EVER_RETRANS) {
                let rtt = now.since(record.sent);
                delivery.rtt = Some(rtt);
                self.sample_rtt(rtt);
            }
            self.advance_rack(seq, &record, now);
        }
        if cum_acked > 0 {
            self.rto_base = now;
            if self.backoff > 0 {
                self.backoff = 0;
                self.wake_by(self.rto_deadline());
            }
        }
        let rate = if self.interests.rate_sample { self.rate_sample(&delivery, now) } else { RateSample::default() };
        if self.app_limited > 0 && self.sender.delivered > self.app_limited {
            self.app_limited = 0;
        }

        let is_troubled = self.sender.ca_state != CaState::Open || self.sender.sacked_out + self.sender.lost_out > 0;
        if is_troubled || (marked > 0 && self.reacts_to_marks) {
            self.recover(cum_acked, marked, prior_inflight, now);
        }

        self.sender.is_cwnd_limited = self.was_cwnd_limited();
        let lost = self.sender.lost - prior_lost;
        let event = Ack {
            acked: delivery.acked,
            cum_acked,
            lost,
            marked,
            prior_inflight,
            rtt: delivery.rtt,
            newest: delivery.newest.map(|(seq, _)| seq),
            newest_sent: delivery.newest.map_or(Time::ZERO, |(_, record)| record.sent),
            rate,
            sender: &self.sender,
        };
        self.cc.on_ack(&event, &mut Flow::context(now, &mut self.rng));
        self.read_controller(now);
        if self.reduction.is_some() {
            self.reduce_proportionally(delivery.acked, lost, cum_acked);
        }
        if self.completed_at.is_none() && self.source.is_done(self.sender.snd_una) {
            self.completed_at = Some(now);
        }
        self.pump(now, net);
    }

    /// Moves `snd_una` to `cum`.
    #[inline]
    fn advance_una(&mut self, cum: u64, delivery: &mut Delivery) {
        debug_assert!(cum <= self.sender.snd_nxt, "an ACK for a packet that was never sent");
        for seq in self.sender.snd_una..cum {
            let record = *self.records.get(seq);
            if record.has(Record::SACKED) {
                self.sender.sacked_out -= 1;
                continue;
            }
            self.sender.lost_out -= u64::from(record.has(Record::LOST));
            self.sender.retrans_out -= u64::from(record.has(Record::RETRANS));
            delivery.add(seq, &record);
        }
        self.sender.snd_una = cum;
        if self.sack {
            self.sender.delivered = cum + self.sender.sacked_out;
        }
    }

    /// Reads SACKs: the receiver's log up to `to`.
    #[cold]
    fn read_sacks(&mut self, to: u32, delivery: &mut Delivery) {
        self.log_read = to;
        while let Some(seq) = self.route.receiver.read_log(to) {
            if seq < self.sender.snd_una {
                continue;
            }
            let record = self.records.get_mut(seq);
            debug_assert!(!record.has(Record::SACKED), "the receiver reports an arrival once");
            self.sender.lost_out -= u64::from(record.has(Record::LOST));
            self.sender.retrans_out -= u64::from(record.has(Record::RETRANS));
            record.flags = record.flags & !(Record::LOST | Record::RETRANS) | Record::SACKED;
            let record = *record;
            self.sender.sacked_out += 1;
            self.sender.delivered += 1;
            delivery.add(seq, &record);
        }
    }

    /// Without SACK a duplicate ACK says that something was delivered (`tcp_add_reno_sack`).
    fn count_dupack(&mut self) {
        if self.sender.sacked_out + self.sender.lost_out < self.sender.packets_out() {
            self.sender.sacked_out += 1;
        }
    }

    /// Without SACK: what duplicate ACKs counted before `snd_una` moved by `cum_acked` (`tcp_remove_reno_sacks`), and
    /// what is delivered in all, which never falls even when a duplicate ACK stood for nothing new.
    fn reconcile_dupacks(&mut self, cum_acked: u64, delivery: &mut Delivery) {
        let sender = &mut self.sender;
        sender.sacked_out = sender.sacked_out.saturating_sub(cum_acked.saturating_sub(1));
        sender.sacked_out = sender.sacked_out.min(sender.packets_out() - sender.lost_out);
        let delivered = sender.snd_una + sender.sacked_out;
        delivery.acked = delivered.saturating_sub(sender.delivered);
        sender.delivered = sender.delivered.max(delivered);
    }

    /// The newest delivery, in the order of sending (RFC 8985 §6.2 step 2).
    #[inline]
    fn advance_rack(&mut self, seq: u64, record: &Record, now: Time) {
        let rtt = now.since(record.sent);
        // An ACK sooner than the smallest RTT after a retransmission is for the original.
        if record.has(Record::EVER_RETRANS) && rtt < self.sender.min_rtt {
            return;
        }
        if (record.sent, seq) >= (self.rack_sent, self.rack_seq) {
            (self.rack_sent, self.rack_seq, self.rack_rtt) = (record.sent, seq, rtt);
        }
    }

    /// RFC 6298 §2 with Linux's floor under the deviation.
    #[inline]
    fn sample_rtt(&mut self, rtt: Dur) {
        self.stats.rtt.record(rtt);
        let sender = &mut self.sender;
        sender.min_rtt = sender.min_rtt.min(rtt);
        if sender.srtt == Dur::ZERO {
            sender.srtt = rtt;
            sender.rttvar = rtt / 2;
            return;
        }
        let (srtt, sample) = (sender.srtt.as_nanos(), rtt.as_nanos());
        let deviation = srtt.abs_diff(sample);
        sender.rttvar = Dur::from_nanos((3 * sender.rttvar.as_nanos() + deviation) / 4);
        sender.srtt = Dur::from_nanos((7 * srtt + sample) / 8);
    }

    /// `tcp_rate_gen`.
    #[inline]
    fn rate_sample(&mut self, delivery: &Delivery, now: Time) -> RateSample {
        let Some((_, record)) = delivery.newest else { return RateSample::default() };
        let prior_delivered = u64::from(record.delivered);
        let sample = RateSample {
            delivered: self.sender.delivered - prior_delivered,
            interval: record.sent.since(record.first_sent).max(now.since(record.delivered_at)),
            prior_delivered,
            is_app_limited: record.has(Record::APP_LIMITED),
        };
        self.first_sent = record.sent;
        self.delivered_at = now;
        // A rate over less than the smallest RTT is an artefact of retransmission or compression.
        if sample.interval < self.sender.min_rtt {
            RateSample { delivered: 0, interval: Dur::ZERO, ..sample }
        } else {
            sample
        }
    }

    /// `tcp_is_cwnd_limited`: did cwnd stop the sender in the last round, or is it less than twice what was used?
    #[inline]
    fn was_cwnd_limited(&mut self) -> bool {
        if self.cwnd_limited_at >= self.sender.snd_una {
            return true;
        }
        let out = self.sender.packets_out();
        if self.sender.snd_una >= self.max_out_until {
            self.max_out = 0;
            self.max_out_until = self.sender.snd_nxt;
        }
        self.max_out = self.max_out.max(out);
        self.cc.ssthresh().is_some_and(|ssthresh| self.cwnd < ssthresh.0) && self.cwnd < 2 * self.max_out * self.mss
    }
}
