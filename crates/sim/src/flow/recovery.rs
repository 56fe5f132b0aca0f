//! Loss recovery: loss detection, start and end of an episode, and the amount that may be sent in an episode.

use super::lost_queue::LostQueue;
use super::{Flow, Record};
use crate::ring::Ring;
use fairweir_cca::{CaState, Cause, Loss, LostPacket};
use fairweir_units::{Dur, Time};

/// Number of duplicate ACKs, or of SACKed packets, after which a packet is declared lost immediately (RFC 5681 §3.2).
const DUP_THRESH: u64 = 3;
/// Time that the kernel's reordering timer adds (`TCP_TIMEOUT_MIN_US`).
const MIN_TIMEOUT: Dur = Dur::from_millis(2);
/// State of loss detection and recovery.
#[derive(Debug)]
pub(super) struct Recovery {
    /// Whether the receiver reports SACKs.
    pub(super) sack: bool,
    /// Without SACK, packets delivered when duplicate ACKs were last forgotten, each counted once ([`Flow::delivered`]).
    pub(super) delivered: u64,
    pub(super) reacts_to_marks: bool,
    /// Whether ACKs with marks are processed in the general case.
    pub(super) examines_marks: bool,
    /// Number of the last new packet with CWR, to a receiver with quick ACKs.
    pub(super) cwr_seq: u64,
    /// The recovery episode ends when `snd_una` reaches this.
    pub(super) high_seq: u64,
    /// Whether losses are detected and episodes start by the kernel's rules
    /// ([`fairweir_scenario::Mechanism::LossRecovery`]).
    pub(super) has_kernel_rules: bool,
    pub(super) rack: Rack,
    pub(super) to_retransmit: LostQueue,
    pub(super) reduction: Option<RateReduction>,
    /// Expiry of the reordering timer.
    pub(super) reorder_deadline: Time,
}

/// State of RACK (RFC 8985 §5.2).
#[derive(Debug)]
pub(super) struct Rack {
    /// `RACK.xmit_ts`: send time of the most recently sent packet that was delivered. `seq` is the number of this
    /// packet (for `RACK.segment`), and `rtt` is its `RACK.rtt`.
    pub(super) sent: Time,
    seq: u64,
    rtt: Dur,
    /// All original transmissions below this number have been examined.
    scanned_to: u64,
    /// Retransmissions in the order they were sent.
    pub(super) retransmitted: Ring<(u64, Time)>,
}

/// Proportional rate reduction (RFC 9937), while cwnd is being reduced.
#[derive(Clone, Copy, Debug)]
pub(super) struct RateReduction {
    /// Current limit on the number of packets in flight.
    pub(super) window: u64,
    ssthresh: u64,
    /// `RecoverFS`
    prior_cwnd: u64,
    /// `prr_delivered`
    delivered: u64,
    /// `prr_out`
    pub(super) out: u64,
}

impl Recovery {
    /// Creates the state of a flow without losses that numbers its packets from `first_packet`.
    pub(super) fn new(sack: bool, reacts_to_marks: bool, first_packet: u64) -> Recovery {
        let rack =
            Rack { sent: Time::ZERO, seq: 0, rtt: Dur::ZERO, scanned_to: first_packet, retransmitted: Ring::new() };
        Recovery {
            sack,
            delivered: first_packet,
            reacts_to_marks,
            examines_marks: reacts_to_marks,
            cwr_seq: first_packet,
            high_seq: first_packet,
            has_kernel_rules: false,
            rack,
            to_retransmit: LostQueue::new(),
            reduction: None,
            reorder_deadline: Time::NEVER,
        }
    }
}

impl Rack {
    /// Records that the packet `seq`, sent at `sent`, was delivered after `rtt`.
    #[inline(always)]
    pub(super) fn on_delivered(&mut self, sent: Time, seq: u64, rtt: Dur) {
        (self.sent, self.seq, self.rtt) = (sent, seq, rtt);
    }

    /// Sets `RACK.rtt` to that of the last packet of an ACK. The kernel does so even if a packet that was sent later has been
    /// delivered (`tcp_rack_advance`), so that a delayed ACK also delays the detection of losses.
    pub(super) fn note_last(&mut self, rtt: Dur) {
        self.rtt = rtt;
    }

    /// Examines the original transmissions from packet `seq` on again.
    pub(super) fn scan_from(&mut self, seq: u64) {
        self.scanned_to = seq;
    }

    /// Returns whether the packet `seq`, sent at `sent`, was sent before a packet that was delivered.
    #[inline(always)]
    pub(super) fn is_newer_than(&self, sent: Time, seq: u64) -> bool {
        (sent, seq) < (self.sent, self.seq)
    }
}

impl RateReduction {
    /// Processes an ACK that delivered `acked` packets, `cum_acked` of them in order, and declared `newly_lost` packets
    /// lost. `inflight` falls to ssthresh in proportion to the data delivered.
    fn on_ack(&mut self, inflight: u64, acked: u64, newly_lost: u64, cum_acked: u64) {
        self.delivered += acked;
        let allowance = if inflight > self.ssthresh {
            (self.delivered * self.ssthresh).div_ceil(self.prior_cwnd).saturating_sub(self.out)
        } else {
            // Not fewer than were delivered but not yet replaced, even at ACKs with losses (`tcp_cwnd_reduction`): RFC
            // 6937 was more conservative there.
            let makes_progress = cum_acked > 0 && newly_lost == 0;
            let limit = self.delivered.saturating_sub(self.out).max(acked) + u64::from(makes_progress);
            limit.min(self.ssthresh - inflight)
        };
        // The first retransmission is always allowed (RFC 9937).
        let first = u64::from(self.out == 0);
        self.window = inflight + allowance.max(first);
    }
}

impl Flow {
    /// Detects losses after an ACK and updates the recovery state.
    #[inline(always)]
    pub(super) fn recover(&mut self, cum_acked: u64, mut marked: u64, prior_inflight: u64, now: Time) {
        let was_lost = self.sender.lost;
        if self.sender.ca_state != CaState::Open && self.sender.snd_una >= self.recovery.high_seq {
            // A reduction because of marks lasts until the packet with CWR is acknowledged (`tcp_fastretrans_alert`). The
            // ACKs before it still report marks of packets that were sent before the reduction, and so may this one.
            let is_cwr = self.sender.ca_state == CaState::Cwr;
            if !is_cwr || self.sender.snd_una > self.recovery.high_seq {
                if is_cwr {
                    let first = self.sender.snd_una - cum_acked;
                    marked = marked.saturating_sub(self.recovery.high_seq.saturating_sub(first));
                }
                self.leave_episode(now);
            }
        }
        let prior_retrans_out = self.sender.retrans_out;
        if self.recovery.sack {
            self.detect_losses_by_rack(now);
        } else {
            self.detect_losses_by_dupacks(cum_acked, now);
        }
        let has_new_losses = self.sender.lost > was_lost;
        if self.interests.recovery == fairweir_cca::Recovery::Quic {
            self.report_to_quic(has_new_losses, marked, prior_inflight, now);
            return;
        }
        match self.sender.ca_state {
            // As in Linux, an ACK that ends an episode starts the next episode if lost packets remain.
            CaState::Open | CaState::Disorder if has_new_losses || (self.recovery.sack && self.sender.lost_out > 0) => {
                self.enter_episode(CaState::Recovery, Cause::Dupack, false, prior_inflight, now);
            }
            // `tcp_fastretrans_alert`: a retransmission is lost.
            CaState::Loss if self.recovery.has_kernel_rules && self.sender.retrans_out < prior_retrans_out => {
                self.enter_episode(CaState::Recovery, Cause::Dupack, false, prior_inflight, now);
            }
            // cwnd was already reduced in this round, so it is not reduced again. In Linux (`tcp_enter_recovery`) the
            // round is that of the reduction, and losses after it start an episode.
            CaState::Cwr if has_new_losses => {
                self.sender.ca_state = CaState::Recovery;
                if !self.recovery.has_kernel_rules {
                    self.recovery.high_seq = self.sender.snd_nxt;
                }
            }
            CaState::Open | CaState::Disorder if marked > 0 && self.recovery.reacts_to_marks => {
                self.enter_episode(CaState::Cwr, Cause::Ecn, false, prior_inflight, now);
            }
            CaState::Open | CaState::Disorder => {
                self.sender.ca_state = self.state_without_losses();
            }
            _ => {}
        }
    }

    #[inline(never)]
    pub(super) fn enter_episode(
        &mut self,
        state: CaState,
        cause: Cause,
        is_repeated: bool,
        prior_inflight: u64,
        now: Time,
    ) {
        let prior_cwnd = (self.window.cwnd / self.mss).max(1);
        self.sender.ca_state = state;
        self.tail_probe.outstanding = 0;
        self.recovery.high_seq = self.sender.snd_nxt;
        if state != CaState::Loss {
            self.undo.forget();
        }
        let loss = Loss { cause, prior_inflight, is_repeated, sender: &self.sender };
        self.cc.on_loss(&loss, &mut Flow::context(now, &mut self.rng));
        self.read_controller();
        self.announce_cwr();
        if !self.interests.own_recovery && state != CaState::Loss {
            let ssthresh = self.cc.ssthresh().map_or(self.window.cwnd, |s| s.0) / self.mss;
            self.recovery.reduction = Some(RateReduction {
                window: self.sender.inflight() + 1,
                ssthresh: ssthresh.clamp(1, prior_cwnd),
                prior_cwnd,
                delivered: 0,
                out: 0,
            });
        } else {
            self.recovery.reduction = None;
        }
    }

    /// Reports congestion events as QUIC does ([`fairweir_cca::Recovery::Quic`]): every batch of losses and every ACK
    /// with marks. The state of recovery only determines how long a packet may be missing before it is declared lost.
    #[cold]
    #[inline(never)]
    fn report_to_quic(&mut self, has_new_losses: bool, marked: u64, prior_inflight: u64, now: Time) {
        let is_persistent = self.end_silence();
        if has_new_losses {
            self.sender.ca_state = CaState::Recovery;
            self.recovery.high_seq = self.sender.snd_nxt;
        } else if matches!(self.sender.ca_state, CaState::Open | CaState::Disorder) {
            // The RTT of a probe is ambiguous, so ACKs are examined while a probe is outstanding.
            let is_open = self.sender.sacked_out + self.sender.retrans_out == 0;
            self.sender.ca_state = if is_open { CaState::Open } else { CaState::Disorder };
        }
        let loss = if is_persistent { Cause::PersistentCongestion } else { Cause::Dupack };
        let has_marks = marked > 0 && self.recovery.reacts_to_marks;
        for cause in [(has_new_losses || is_persistent).then_some(loss), has_marks.then_some(Cause::Ecn)] {
            let Some(cause) = cause else { continue };
            let event = Loss { cause, prior_inflight, is_repeated: false, sender: &self.sender };
            self.cc.on_loss(&event, &mut Flow::context(now, &mut self.rng));
        }
        self.read_controller();
    }

    /// Reports to the receiver that the next new packet confirms a reduction of cwnd (`tcp_ecn_queue_cwr` of
    /// tcp_input.c).
    pub(super) fn announce_cwr(&mut self) {
        if let Some(quick_acks) = &mut self.route.receiver.quick_acks {
            self.recovery.cwr_seq = self.sender.snd_nxt;
            quick_acks.expect_cwr(self.recovery.cwr_seq);
        }
    }

    /// Confirms marks, once per round, for an algorithm that reacts to them itself: Linux reduces its ssthresh, too
    /// (`tcp_enter_cwr`).
    #[cold]
    #[inline(never)]
    pub(super) fn confirm_marks(&mut self) {
        let is_reduced = matches!(self.sender.ca_state, CaState::Recovery | CaState::Loss);
        if !is_reduced && self.sender.snd_una > self.recovery.cwr_seq {
            self.announce_cwr();
        }
    }

    #[inline(never)]
    pub(super) fn leave_episode(&mut self, now: Time) {
        self.end_reduction();
        self.undo.forget();
        self.sender.ca_state = CaState::Open;
        self.cc.on_recovered(&self.sender, &mut Flow::context(now, &mut self.rng));
        self.read_controller();
    }

    /// Ends the rate reduction and the wait for reordered packets.
    pub(super) fn end_reduction(&mut self) {
        self.recovery.reduction = None;
        self.recovery.reorder_deadline = Time::NEVER;
    }

    /// Updates the rate reduction, if one is in progress.
    pub(super) fn reduce_proportionally(&mut self, acked: u64, newly_lost: u64, cum_acked: u64) {
        let inflight = self.sender.inflight();
        if let Some(reduction) = &mut self.recovery.reduction {
            reduction.on_ack(inflight, acked, newly_lost, cum_acked);
        }
    }

    /// RACK (RFC 8985 §6.2) on paths that do not reorder packets. If a later packet was delivered, a packet is declared
    /// lost: immediately if three packets are SACKed or recovery is in progress, otherwise after a quarter of the
    /// minimum RTT.
    #[inline(always)]
    fn detect_losses_by_rack(&mut self, now: Time) {
        if self.recovery.rack.sent == Time::ZERO && self.recovery.rack.seq == 0 {
            return;
        }
        let is_certain =
            self.sender.sacked_out >= DUP_THRESH || matches!(self.sender.ca_state, CaState::Recovery | CaState::Loss);
        let reo_wnd = if is_certain { Dur::ZERO } else { self.sender.min_rtt / 4 };
        self.recovery.reorder_deadline = Time::NEVER;
        self.recovery.rack.scanned_to = self.recovery.rack.scanned_to.max(self.sender.snd_una);
        while self.recovery.rack.scanned_to < self.sender.snd_nxt {
            let record = *self.records.get(self.recovery.rack.scanned_to);
            if !record.has(Record::SACKED) && !record.has(Record::EVER_RETRANS) && !record.has(Record::LOST) {
                if !self.recovery.rack.is_newer_than(record.sent, self.recovery.rack.scanned_to) {
                    break;
                }
                if !self.is_overdue(&record, reo_wnd, now) {
                    break;
                }
                self.declare_lost(self.recovery.rack.scanned_to, now);
            }
            self.recovery.rack.scanned_to += 1;
        }
        while let Some(&(seq, sent)) = self.recovery.rack.retransmitted.front() {
            let is_outstanding = seq >= self.sender.snd_una && {
                let record = self.records.get(seq);
                record.has(Record::RETRANS) && record.sent == sent
            };
            if is_outstanding {
                if !self.recovery.rack.is_newer_than(sent, seq) {
                    break;
                }
                let record = *self.records.get(seq);
                if !self.is_overdue(&record, reo_wnd, now) {
                    break;
                }
                self.declare_lost(seq, now);
            }
            self.recovery.rack.retransmitted.pop();
        }
    }

    /// Returns whether `record`, which was sent before a delivered packet, is more than `reo_wnd` late. If not, sets
    /// the timer.
    fn is_overdue(&mut self, record: &Record, reo_wnd: Dur, now: Time) -> bool {
        if reo_wnd == Dur::ZERO {
            return true;
        }
        let deadline = record.sent + self.recovery.rack.rtt + reo_wnd;
        if deadline <= now {
            return true;
        }
        let deadline =
            if self.recovery.has_kernel_rules { self.kernel_reorder_deadline(reo_wnd, now) } else { deadline };
        self.recovery.reorder_deadline = deadline;
        self.timers.wake_by(deadline);
        false
    }

    /// Returns when the kernel's reordering timer expires (`tcp_rack_detect_loss` and `tcp_rack_mark_lost`): it waits for
    /// the last packet that was sent before a delivered one, not for the first.
    #[cold]
    fn kernel_reorder_deadline(&self, reo_wnd: Dur, now: Time) -> Time {
        let mut last = Time::ZERO;
        for seq in self.recovery.rack.scanned_to..self.sender.snd_nxt {
            let record = self.records.get(seq);
            if !self.recovery.rack.is_newer_than(record.sent, seq) {
                break;
            }
            if !record.has(Record::SACKED) {
                last = record.sent;
            }
        }
        let expiry = last + self.recovery.rack.rtt + reo_wnd + MIN_TIMEOUT;
        self.timers.expiry(now, expiry.since(now))
    }

    /// Handles the expiry of the reordering timer of [`Flow::detect_losses_by_rack`].
    pub(super) fn on_reorder_timeout(&mut self, now: Time) {
        self.recovery.reorder_deadline = Time::NEVER;
        let prior_inflight = self.sender.inflight();
        self.recover(0, 0, prior_inflight, now);
    }

    /// NewReno (RFC 6582): three duplicate ACKs, or a partial ACK, declare the first outstanding packet lost.
    fn detect_losses_by_dupacks(&mut self, cum_acked: u64, now: Time) {
        let una = self.sender.snd_una;
        if una == self.sender.snd_nxt {
            return;
        }
        let is_partial = cum_acked > 0 && matches!(self.sender.ca_state, CaState::Recovery);
        let starts = self.sender.sacked_out >= DUP_THRESH
            && matches!(self.sender.ca_state, CaState::Open | CaState::Disorder | CaState::Cwr);
        let record = *self.records.get(una);
        if (is_partial || starts) && !record.has(Record::LOST) && !record.has(Record::RETRANS) {
            self.declare_lost(una, now);
            // The missing packet cannot be one of those for which duplicate ACKs were sent.
            let most = self.sender.packets_out() - self.sender.lost_out;
            self.sender.sacked_out = self.sender.sacked_out.min(most);
        }
    }

    #[inline(never)]
    fn declare_lost(&mut self, seq: u64, now: Time) {
        let record = self.records.get_mut(seq);
        self.sender.lost_out += u64::from(!record.has(Record::LOST));
        self.sender.retrans_out -= u64::from(record.has(Record::RETRANS));
        record.flags = record.flags & !Record::RETRANS | Record::LOST;
        let lost = LostPacket { seq, sent: record.sent };
        self.sender.lost += 1;
        self.recovery.to_retransmit.push(seq);
        if self.interests.lost {
            self.cc.on_packet_lost(&lost, &mut Flow::context(now, &mut self.rng));
        }
    }

    /// Handles the expiry of the retransmission timer: the first outstanding packet and all packets sent more than an
    /// RTT ago are declared lost; without SACK, all packets (`tcp_enter_loss`).
    pub(super) fn on_timeout(&mut self, now: Time) {
        self.stats.timeouts += 1;
        if self.undo.is_enabled {
            self.save_for_undo();
        }
        let is_repeated = self.is_repeated_timeout();
        let prior_inflight = self.sender.inflight();
        self.recovery.to_retransmit.clear();
        if !self.recovery.sack {
            self.recovery.delivered = self.delivered();
            self.sender.sacked_out = 0;
        }
        let head = self.sender.snd_una;
        for seq in head..self.sender.snd_nxt {
            let record = *self.records.get(seq);
            let is_on_its_way = self.recovery.sack && seq != head && record.sent + self.recovery.rack.rtt > now;
            if record.has(Record::SACKED) {
                continue;
            }
            if record.has(Record::LOST) && !record.has(Record::RETRANS) {
                self.recovery.to_retransmit.push(seq);
            } else if !is_on_its_way {
                self.declare_lost(seq, now);
            }
        }
        self.recovery.rack.scanned_to = head;
        self.timers.back_off(now);
        self.pacer.restart(now);
        self.enter_episode(CaState::Loss, Cause::Timeout, is_repeated, prior_inflight, now);
    }

    /// Returns whether ssthresh has been reduced for the losses of the timeout that occurs now.
    fn is_repeated_timeout(&self) -> bool {
        let state = self.sender.ca_state;
        if !self.recovery.has_kernel_rules {
            // RFC 5681 §3.1: ssthresh does not change if the packet has timed out before.
            return state == CaState::Loss;
        }
        // `tcp_enter_loss`: ssthresh is reduced once per episode, and again if there was progress since a timeout.
        let is_in_episode =
            !matches!(state, CaState::Open | CaState::Disorder) && self.sender.snd_una < self.recovery.high_seq;
        is_in_episode && (state != CaState::Loss || self.timers.has_backed_off())
    }
}
