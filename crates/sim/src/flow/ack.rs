//! ACK processing: delivered packets, RTT and rate samples, and the controller's decision.

use super::recovery::Recovery;
use super::{Flow, Record, timestamps};
use crate::item::{AckItem, SYN};
use crate::net::Net;
use crate::watch::Watch;
use fairweir_cca::{Ack, AckedPacket, CaState, RateSample, Sender};
use fairweir_units::{Dur, Time};

/// Tolerance for the times of packets that left at one instant: each may be 1 ns after the one before
/// ([`Flow::record_retransmission`]).
const SAME_INSTANT: Dur = Dur::from_micros(1);

/// Packets delivered by an ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Delivery {
    acked: u64,
    cum_acked: u64,
    /// The most recently sent of the delivered packets, and its send time.
    newest: Option<(u64, Time)>,
    rtt: Option<Dur>,
    marked: u64,
    lost: u64,
    /// Whether packets of the episode were delivered that were sent only once (`FLAG_ORIG_SACK_ACKED`).
    has_original: bool,
    /// Send time of the packet that was counted last, and whether it was retransmitted.
    last: Option<(Time, bool)>,
    /// Send time of the first SACKed packet that was sent only once (`first_sackt`).
    first_sacked: Option<Time>,
    /// Send time of the first packet that was acknowledged cumulatively, not SACKed before and sent only once
    /// (`first_ackt`).
    first_acked: Option<Time>,
    /// Whether the cumulative number covers packets that were retransmitted (`FLAG_RETRANS_DATA_ACKED`).
    covers_retransmission: bool,
    rate: RateSample,
}

impl Delivery {
    /// Counts a delivered packet. Packets are counted in the order of their numbers, which for retransmissions differs
    /// from the order of sending.
    fn add(&mut self, seq: u64, record: &Record, high_seq: u64) {
        self.acked += 1;
        self.last = Some((record.sent, record.has(Record::EVER_RETRANS)));
        self.has_original |= !record.has(Record::EVER_RETRANS) && seq < high_seq;
        if self.newest.is_none_or(|(_, sent)| record.sent >= sent) {
            self.newest = Some((seq, record.sent));
        }
    }
}

impl Flow {
    #[inline(always)]
    pub(super) fn on_ack<W: Watch>(&mut self, ack: &AckItem, now: Time, net: &mut Net<W>) {
        if W::IS_WATCHED
            && ack.cum != SYN
            && let Some(edge) = net.watch.edge(self.route.flow(), ack.cum)
        {
            self.window.edge = Some(self.window.edge.map_or(edge, |old| old.max(edge)));
        }
        if self.route.receiver.window.is_some() && ack.cum != SYN {
            self.route.last_ack_sent = ack.ack_sent;
            self.window.advertise(ack.cum + u64::from(ack.window), ack.cum.max(self.sender.snd_una));
        }
        let is_open = self.sender.ca_state == CaState::Open;
        let is_unmarked = ack.ce == self.seen.ce || !self.recovery.examines_marks;
        if is_open && is_unmarked && self.is_in_order(ack) {
            let prior_inflight = self.sender.packets_out();
            let delivery = self.deliver_in_order(ack, now);
            self.finish_ack(&delivery, prior_inflight, now, net);
        } else {
            self.on_ack_slow_path(ack, now, net);
        }
    }

    /// Returns whether nothing is lost, SACKed or sent again, and `ack` covers the next packets. The outcome of a tail loss
    /// probe is determined in the general case.
    #[inline(always)]
    fn is_in_order(&self, ack: &AckItem) -> bool {
        let Sender { sacked_out, lost_out, retrans_out, .. } = self.sender;
        let suspected = sacked_out + lost_out + retrans_out + self.tail_probe.outstanding;
        suspected == 0 && ack.cum > self.sender.snd_una && ack.log == self.seen.log
    }

    /// Returns whether `ack` is in order and does not affect a reduction because of marks: further marks of its round count
    /// for the controller only.
    #[inline]
    fn leaves_reduction(&self, ack: &AckItem) -> bool {
        let Recovery { sack, high_seq, reacts_to_marks, .. } = self.recovery;
        let is_unaffected = sack && ack.cum <= high_seq && (ack.ce == self.seen.ce || reacts_to_marks);
        self.sender.ca_state == CaState::Cwr && is_unaffected && self.is_in_order(ack)
    }

    /// [`Flow::on_ack`] out of line.
    #[cold]
    #[inline(never)]
    pub(super) fn on_ack_now<W: Watch>(&mut self, ack: &AckItem, now: Time, net: &mut Net<W>) {
        self.on_ack(ack, now, net);
    }

    #[cold]
    #[inline(never)]
    fn on_ack_slow_path<W: Watch>(&mut self, ack: &AckItem, now: Time, net: &mut Net<W>) {
        if ack.cum == SYN {
            return self.on_syn_ack(ack.ack_sent, now, net);
        }
        let prior_inflight = self.sender.inflight();
        let delivery = if self.leaves_reduction(ack) {
            self.deliver_in_order(ack, now)
        } else {
            self.deliver::<W>(ack, prior_inflight, now)
        };
        self.finish_ack(&delivery, prior_inflight, now, net);
    }

    /// Calls the controller and sends the packets that its decision permits.
    #[inline(always)]
    fn finish_ack<W: Watch>(&mut self, delivery: &Delivery, prior_inflight: u64, now: Time, net: &mut Net<W>) {
        if self.rate.app_limited > 0 && self.sender.delivered > self.rate.app_limited {
            self.rate.app_limited = 0;
        }
        self.sender.is_cwnd_limited = self.window.limited_at >= self.sender.snd_una || self.uses_half_of_slow_start();
        let event = Ack {
            acked: delivery.acked,
            cum_acked: delivery.cum_acked,
            lost: delivery.lost,
            marked: delivery.marked,
            prior_inflight,
            rtt: delivery.rtt,
            newest: delivery.newest.map(|(seq, _)| seq),
            newest_sent: delivery.newest.map_or(Time::ZERO, |(_, sent)| sent),
            rate: delivery.rate,
            sender: &self.sender,
        };
        let decision = self.cc.answer(&event, &mut Flow::context(now, &mut self.rng));
        self.apply_decision(decision);
        if self.recovery.reduction.is_some() {
            self.reduce_proportionally(delivery.acked, delivery.lost, delivery.cum_acked);
        }
        if self.sender.snd_una >= self.source.limit() && self.completed_at.is_none() {
            self.note_completion(now);
        }
        self.pump(now, net);
    }

    /// Processes an ACK in the common case: nothing is lost, SACKed or sent again, and the ACK covers the next packets in
    /// order.
    #[inline(always)]
    fn deliver_in_order(&mut self, ack: &AckItem, now: Time) -> Delivery {
        let cum = ack.cum;
        let cum_acked = cum - self.sender.snd_una;
        let newest = cum - 1;
        let sent = self.records.get(newest).sent;
        let rtt = now.since(sent);
        let marked = u64::from(ack.ce.wrapping_sub(self.seen.ce));
        self.seen.ce = ack.ce;
        self.sender.delivered_ce += marked;
        self.sender.snd_una = cum;
        self.sender.delivered += cum_acked;
        self.sample_rtt(
            rtt,
            |flow| if cum_acked > 1 { now.since(flow.records.get(cum - cum_acked).sent) } else { rtt },
        );
        self.recovery.rack.on_delivered(sent, newest, rtt);
        self.timers.on_progress(&self.sender, now);
        let rate =
            if self.reads_records { self.read_records(cum - cum_acked, newest, now) } else { RateSample::default() };
        let newest = Some((newest, sent));
        Delivery { acked: cum_acked, cum_acked, newest, rtt: Some(rtt), marked, rate, ..Delivery::default() }
    }

    /// Returns the rate sample of an ACK that delivered the packets `from..=newest`. Reports each packet, if the
    /// controller requests such reports.
    #[inline]
    fn read_records(&mut self, from: u64, newest: u64, now: Time) -> RateSample {
        if self.interests.acked {
            self.report_deliveries(from, newest, now);
        }
        self.rate.sample(newest, self.records.get(newest), &self.sender, now)
    }

    /// Reports the packets `from..=newest`, which arrived in order.
    #[cold]
    #[inline(never)]
    fn report_deliveries(&mut self, from: u64, newest: u64, now: Time) {
        let is_app_limited = self.is_app_limited_before(newest + 1 - from);
        for seq in from..=newest {
            self.report_delivery(seq, is_app_limited, now);
        }
    }

    /// Reports the packets that `ack` delivers, before the scoreboard is updated.
    #[cold]
    #[inline(never)]
    fn report_deliveries_of(&mut self, ack: &AckItem, now: Time) {
        let is_app_limited = self.is_app_limited_before(0);
        let una = self.sender.snd_una;
        let mut delivered: Vec<u64> = self.route.receiver.unread_log(ack.log).filter(|&seq| seq >= una).collect();
        delivered.extend((una..ack.cum).filter(|&seq| !self.records.get(seq).has(Record::SACKED)));
        delivered.sort_unstable();
        delivered.dedup();
        for seq in delivered {
            self.report_delivery(seq, is_app_limited, now);
        }
    }

    /// Returns whether cwnd had room, and there was nothing to send, before `acked` packets were delivered.
    fn is_app_limited_before(&self, acked: u64) -> bool {
        self.sender.snd_nxt >= self.source.limit() && self.sender.inflight() + acked < self.window.cwnd_pkts
    }

    /// Calls [`fairweir_cca::Controller::on_packet_acked`].
    fn report_delivery(&mut self, seq: u64, is_app_limited: bool, now: Time) {
        let record = self.records.get(seq);
        let was_retransmitted = record.has(Record::EVER_RETRANS);
        let acked = AckedPacket { seq, sent: record.sent, was_retransmitted, is_app_limited };
        self.cc.on_packet_acked(&acked, &mut Flow::context(now, &mut self.rng));
    }

    /// Processes an ACK in the general case: SACKs, duplicate ACKs, retransmissions, losses.
    #[inline(always)]
    fn deliver<W: Watch>(&mut self, ack: &AckItem, prior_inflight: u64, now: Time) -> Delivery {
        let prior_lost = self.sender.lost;
        let has_sacks = ack.log != self.seen.log;
        let prior_una = self.sender.snd_una;
        let mut delivery = Delivery::default();
        if self.interests.acked {
            self.report_deliveries_of(ack, now);
        }
        if ack.log != self.seen.log {
            self.read_sacks(ack.log, &mut delivery);
        }
        let cum = ack.cum;
        if !self.recovery.sack {
            self.recovery.delivered = self.delivered();
        }
        if cum > prior_una {
            self.advance_una(cum, &mut delivery);
        } else if !self.recovery.sack && cum == prior_una {
            delivery.acked = self.count_dupack();
        }
        delivery.cum_acked = self.sender.snd_una - prior_una;
        if !self.recovery.sack && delivery.cum_acked > 0 {
            delivery.acked = self.reconcile_dupacks(delivery.cum_acked);
        }
        delivery.marked = u64::from(ack.ce.wrapping_sub(self.seen.ce));
        self.seen.ce = ack.ce;
        self.sender.delivered_ce += delivery.marked;

        if let Some((seq, sent)) = delivery.newest {
            let is_ambiguous = self.records.get(seq).has(Record::EVER_RETRANS);
            let rtt = now.since(sent);
            let is_by_timestamp = self.has_timestamps && delivery.covers_retransmission;
            if is_by_timestamp && delivery.first_sacked.is_none() {
                let rtt = timestamps::rtt(ack.echo, now);
                delivery.rtt = Some(rtt);
                self.estimate_rtt(rtt, |_| rtt);
            } else if !is_ambiguous {
                let oldest = if delivery.covers_retransmission { None } else { delivery.first_acked };
                delivery.rtt = Some(rtt);
                self.sample_rtt(rtt, |_| oldest.or(delivery.first_sacked).map_or(rtt, |sent| now.since(sent)));
            }
            // If an ACK arrives less than the minimum RTT after a retransmission, or echoes an earlier timestamp, it is
            // for the original (RFC 8985 §6.2 step 2).
            let is_too_early = rtt < self.sender.min_rtt || (self.undo.is_enabled && ack.echo + SAME_INSTANT < sent);
            let is_for_original = is_ambiguous && is_too_early;
            if !is_for_original && !self.recovery.rack.is_newer_than(sent, seq) {
                self.recovery.rack.on_delivered(sent, seq, rtt);
            }
            if self.recovery.has_kernel_rules
                && let Some((sent, was_retransmitted)) = delivery.last
                && (!was_retransmitted || now.since(sent) >= self.sender.min_rtt)
            {
                self.recovery.rack.note_last(now.since(sent));
            }
            delivery.rate = self.rate.sample(seq, self.records.get(seq), &self.sender, now);
        }
        if delivery.cum_acked > 0 || self.sacks_older_than_head(&delivery) {
            self.timers.on_progress(&self.sender, now);
        }
        if self.undo.is_enabled && self.sender.ca_state == CaState::Loss {
            self.examine_timeout::<W>(ack.echo, delivery.cum_acked, has_sacks, delivery.has_original, now);
        }
        if self.tail_probe.outstanding > 0 {
            let is_duplicate = delivery.cum_acked + delivery.acked == 0;
            self.process_tail_probe_ack(cum, is_duplicate, prior_inflight, now);
        }
        self.recover(delivery.cum_acked, delivery.marked, prior_inflight, now);
        if delivery.marked > 0 && self.interests.own_ecn {
            self.confirm_marks();
        }
        delivery.lost = self.sender.lost - prior_lost;
        delivery
    }

    /// Returns whether an ACK without cumulative progress reports packets that were sent, only once, before the last
    /// transmission of the first outstanding packet. The kernel then restarts the retransmission timer
    /// (`FLAG_SET_XMIT_TIMER` in `tcp_clean_rtx_queue` of tcp_input.c): an ACK of that transmission cannot have arrived yet.
    fn sacks_older_than_head(&self, delivery: &Delivery) -> bool {
        self.recovery.has_kernel_rules
            && delivery.first_sacked.is_some_and(|sent| sent < self.records.get(self.sender.snd_una).sent)
    }

    #[cold]
    fn note_completion(&mut self, now: Time) {
        if self.source.is_done(self.sender.snd_una) {
            self.completed_at = Some(now);
        }
    }

    /// Moves `snd_una` to `cum`.
    #[inline]
    fn advance_una(&mut self, cum: u64, delivery: &mut Delivery) {
        debug_assert!(cum <= self.sender.snd_nxt, "an ACK for a packet that was never sent");
        for seq in self.sender.snd_una..cum {
            let record = *self.records.get(seq);
            let was_retransmitted = record.has(Record::EVER_RETRANS);
            delivery.covers_retransmission |= was_retransmitted;
            if record.has(Record::SACKED) {
                self.sender.sacked_out -= 1;
                continue;
            }
            if !was_retransmitted {
                delivery.first_acked.get_or_insert(record.sent);
            }
            self.sender.lost_out -= u64::from(record.has(Record::LOST));
            self.sender.retrans_out -= u64::from(record.has(Record::RETRANS));
            delivery.add(seq, &record, self.recovery.high_seq);
        }
        self.sender.snd_una = cum;
        if self.recovery.sack {
            self.sender.delivered = cum + self.sender.sacked_out;
        }
    }

    /// Processes SACKs by reading the receiver's log up to `to`.
    #[inline(always)]
    fn read_sacks(&mut self, to: u32, delivery: &mut Delivery) {
        self.seen.log = to;
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
            if !record.has(Record::EVER_RETRANS) {
                delivery.first_sacked.get_or_insert(record.sent);
            }
            delivery.add(seq, &record, self.recovery.high_seq);
        }
    }

    /// Without SACK, counts a duplicate ACK as the delivery of a packet (`tcp_add_reno_sack`). Returns the number of
    /// packets that it delivered.
    fn count_dupack(&mut self) -> u64 {
        let sender = &mut self.sender;
        let counted = u64::from(sender.sacked_out + sender.lost_out < sender.packets_out());
        sender.sacked_out += counted;
        sender.delivered += counted;
        counted
    }

    /// Without SACK, corrects the deliveries counted by duplicate ACKs before `snd_una` moved by `cum_acked`, and returns the
    /// number of packets that the ACK delivered (`tcp_remove_reno_sacks`). After a timeout, packets that duplicate ACKs
    /// had counted count again, so that cwnd grows.
    fn reconcile_dupacks(&mut self, cum_acked: u64) -> u64 {
        let sender = &mut self.sender;
        let acked = cum_acked.saturating_sub(sender.sacked_out).max(1);
        sender.sacked_out = sender.sacked_out.saturating_sub(cum_acked - 1);
        sender.sacked_out = sender.sacked_out.min(sender.packets_out() - sender.lost_out);
        sender.delivered += acked;
        acked
    }

    /// Processes the RTT of the newest data packet delivered, and that of the `oldest`.
    #[inline(always)]
    fn sample_rtt(&mut self, rtt: Dur, oldest: impl FnOnce(&Flow) -> Dur) {
        self.stats.rtt.record(rtt);
        self.estimate_rtt(rtt, oldest);
    }

    /// Updates the minimum RTT, and srtt and rttvar by the newest packet's RTT (RFC 6298 §2, with Linux's lower bound on
    /// the deviation), or with the kernel's estimator by that of the `oldest`.
    #[inline(always)]
    pub(super) fn estimate_rtt(&mut self, rtt: Dur, oldest: impl FnOnce(&Flow) -> Dur) {
        let sender = &mut self.sender;
        sender.min_rtt = sender.min_rtt.min(rtt);
        if sender.srtt == Dur::ZERO {
            sender.srtt = rtt;
            sender.rttvar = rtt / 2;
            if let Some(estimator) = &mut self.timers.estimator {
                estimator.start(sender);
            }
            // The timer may be waiting for the timeout without a sample, which is longer.
            if self.interests.recovery == fairweir_cca::Recovery::Tcp {
                let deadline = self.timers.rto_deadline(&self.sender);
                self.timers.wake_by(deadline);
            }
            return;
        }
        if self.timers.estimator.is_some() {
            let oldest = oldest(self);
            if let Some(estimator) = &mut self.timers.estimator {
                estimator.update(oldest, &mut self.sender);
            }
            return;
        }
        let (srtt, sample) = (sender.srtt.as_nanos(), rtt.as_nanos());
        let deviation = srtt.abs_diff(sample);
        sender.rttvar = Dur::from_nanos((3 * sender.rttvar.as_nanos() + deviation) / 4);
        sender.srtt = Dur::from_nanos((7 * srtt + sample) / 8);
    }

    /// Slow-start case of `tcp_is_cwnd_limited`: whether more than half of cwnd was used in the last round.
    #[cold]
    fn uses_half_of_slow_start(&mut self) -> bool {
        if self.sender.snd_una >= self.window.max_packets_seq {
            self.window.max_packets_out = 0;
            self.window.max_packets_seq = self.sender.snd_nxt;
        }
        self.window.max_packets_out = self.window.max_packets_out.max(self.sender.packets_out());
        self.cc.ssthresh().is_some_and(|ssthresh| self.window.cwnd < ssthresh.0)
            && self.window.cwnd < 2 * self.window.max_packets_out * self.mss
    }
}
