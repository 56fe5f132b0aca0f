//! Loss recovery: loss detection, start and end of an episode, and how much may be sent meanwhile.

use super::{Flow, RateReduction, Record};
use fairweir_cca::{CaState, Cause, Loss, LostPacket};
use fairweir_units::{Dur, Time};

/// Duplicate ACKs, or SACKed packets, after which a packet is declared lost without waiting (RFC 5681 §3.2).
const DUP_THRESH: u64 = 3;
/// Maximum number of doublings of the timeout (Linux `TCP_RTO_MAX` is 120 s).
const MAX_BACKOFF: u32 = 9;
/// Timeout before the first RTT sample (RFC 6298 §2.1).
const INITIAL_RTO: Dur = Dur::from_secs(1);

impl Flow {
    /// Detects losses after an ACK and updates the recovery state.
    #[inline(always)]
    pub(super) fn recover(&mut self, cum_acked: u64, marked: u64, prior_inflight: u64, now: Time) {
        let was_lost = self.sender.lost;
        if self.sender.ca_state != CaState::Open && self.sender.snd_una >= self.high_seq {
            self.leave_episode(now);
        }
        if self.sack {
            self.judge_by_time(now);
        } else {
            self.judge_by_dupacks(cum_acked, now);
        }
        let has_new_losses = self.sender.lost > was_lost;
        match self.sender.ca_state {
            // As in Linux, an ACK that ends an episode starts the next one while losses are left to repair.
            CaState::Open | CaState::Disorder if has_new_losses || (self.sack && self.sender.lost_out > 0) => {
                self.enter_episode(CaState::Recovery, Cause::Dupack, prior_inflight, now);
            }
            // cwnd was reduced already in this round: no second reduction.
            CaState::Cwr if has_new_losses => {
                self.sender.ca_state = CaState::Recovery;
                self.high_seq = self.sender.snd_nxt;
            }
            CaState::Open | CaState::Disorder if marked > 0 && self.reacts_to_marks => {
                self.enter_episode(CaState::Cwr, Cause::Ecn, prior_inflight, now);
            }
            CaState::Open | CaState::Disorder => {
                self.sender.ca_state = if self.sender.sacked_out > 0 { CaState::Disorder } else { CaState::Open };
            }
            _ => {}
        }
    }

    #[inline(never)]
    fn enter_episode(&mut self, state: CaState, cause: Cause, prior_inflight: u64, now: Time) {
        let prior_cwnd = (self.cwnd / self.mss).max(1);
        self.sender.ca_state = state;
        self.high_seq = self.sender.snd_nxt;
        let loss = Loss { cause, prior_inflight, sender: &self.sender };
        self.cc.on_loss(&loss, &mut Flow::context(now, &mut self.rng));
        self.read_controller();
        if !self.interests.own_recovery && state != CaState::Loss {
            let ssthresh = self.cc.ssthresh().map_or(self.cwnd, |s| s.0) / self.mss;
            self.reduction = Some(RateReduction {
                window: self.sender.inflight() + 1,
                ssthresh: ssthresh.clamp(1, prior_cwnd),
                prior_cwnd,
                delivered: 0,
                out: 0,
            });
        } else {
            self.reduction = None;
        }
    }

    #[inline(never)]
    fn leave_episode(&mut self, now: Time) {
        self.sender.ca_state = CaState::Open;
        self.reduction = None;
        self.reorder_deadline = Time::NEVER;
        self.cc.on_recovered(&self.sender, &mut Flow::context(now, &mut self.rng));
        self.read_controller();
    }

    /// RFC 6937: inflight falls to ssthresh in proportion to the data delivered.
    pub(super) fn reduce_proportionally(&mut self, acked: u64, newly_lost: u64, cum_acked: u64) {
        let inflight = self.sender.inflight();
        let Some(reduction) = &mut self.reduction else { return };
        reduction.delivered += acked;
        let allowance = if inflight > reduction.ssthresh {
            (reduction.delivered * reduction.ssthresh).div_ceil(reduction.prior_cwnd).saturating_sub(reduction.out)
        } else {
            let room = reduction.ssthresh - inflight;
            let limit = if cum_acked > 0 && newly_lost == 0 {
                reduction.delivered.saturating_sub(reduction.out).max(acked) + 1
            } else {
                acked
            };
            room.min(limit)
        };
        // The first retransmission is always allowed (RFC 6937 §3).
        let first = u64::from(reduction.out == 0);
        reduction.window = inflight + allowance.max(first);
    }

    /// RACK (RFC 8985 §6.2) on paths that do not reorder: a packet is lost if a later packet was delivered: at once if
    /// three are SACKed or recovery is in progress, otherwise after a quarter of the minimum RTT.
    #[inline(always)]
    fn judge_by_time(&mut self, now: Time) {
        if self.rack_sent == Time::ZERO && self.rack_seq == 0 {
            return;
        }
        let is_certain =
            self.sender.sacked_out >= DUP_THRESH || matches!(self.sender.ca_state, CaState::Recovery | CaState::Loss);
        let patience = if is_certain { Dur::ZERO } else { self.sender.min_rtt / 4 };
        self.reorder_deadline = Time::NEVER;
        self.rack_scanned_to = self.rack_scanned_to.max(self.sender.snd_una);
        while self.rack_scanned_to < self.sender.snd_nxt {
            let record = *self.records.get(self.rack_scanned_to);
            if !record.has(Record::SACKED) && !record.has(Record::EVER_RETRANS) && !record.has(Record::LOST) {
                if (record.sent, self.rack_scanned_to) >= (self.rack_sent, self.rack_seq) {
                    break;
                }
                if !self.is_overdue(&record, patience, now) {
                    break;
                }
                self.declare_lost(self.rack_scanned_to, now);
            }
            self.rack_scanned_to += 1;
        }
        while let Some(&(seq, sent)) = self.retransmitted.front() {
            let is_outstanding = seq >= self.sender.snd_una && {
                let record = self.records.get(seq);
                record.has(Record::RETRANS) && record.sent == sent
            };
            if is_outstanding {
                if (sent, seq) >= (self.rack_sent, self.rack_seq) {
                    break;
                }
                let record = *self.records.get(seq);
                if !self.is_overdue(&record, patience, now) {
                    break;
                }
                self.declare_lost(seq, now);
            }
            self.retransmitted.pop();
        }
    }

    /// Whether `record`, sent before a delivered packet, is more than `patience` late. Sets the timer if not.
    fn is_overdue(&mut self, record: &Record, patience: Dur, now: Time) -> bool {
        if patience == Dur::ZERO {
            return true;
        }
        let deadline = record.sent + self.rack_rtt + patience;
        if deadline <= now {
            return true;
        }
        self.reorder_deadline = deadline;
        self.wake_by(deadline);
        false
    }

    /// The reordering timer of [`Flow::judge_by_time`] expired.
    pub(super) fn on_reorder_timeout(&mut self, now: Time) {
        self.reorder_deadline = Time::NEVER;
        let prior_inflight = self.sender.inflight();
        self.recover(0, 0, prior_inflight, now);
    }

    /// NewReno (RFC 6582): three duplicate ACKs, or a partial ACK, declare the first outstanding packet lost.
    fn judge_by_dupacks(&mut self, cum_acked: u64, now: Time) {
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
            // The missing packet is not one of those that duplicate ACKs report.
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
        self.to_retransmit.push(seq);
        if self.interests.lost {
            self.cc.on_packet_lost(&lost, &mut Flow::context(now, &mut self.rng));
        }
    }

    /// RFC 6298 with Linux's lower bound: srtt + max(4 rttvar, min_rto), doubled at each expiry.
    #[inline]
    pub(super) fn rto_deadline_if_outstanding(&self) -> Time {
        let sender = &self.sender;
        let rto = if sender.srtt == Dur::ZERO {
            INITIAL_RTO.max(self.min_rto)
        } else {
            sender.srtt + (sender.rttvar * 4).max(self.min_rto)
        };
        self.rto_base + rto * (1 << self.backoff)
    }

    /// Returns when the retransmission timer expires.
    pub(super) fn rto_deadline(&self) -> Time {
        if self.sender.packets_out() == 0 { Time::NEVER } else { self.rto_deadline_if_outstanding() }
    }

    /// The retransmission timer expired: the first outstanding packet is lost, and so are all sent more than an RTT ago
    /// (`tcp_enter_loss`; without SACK, all).
    pub(super) fn on_timeout(&mut self, now: Time) {
        self.stats.timeouts += 1;
        let prior_inflight = self.sender.inflight();
        self.to_retransmit.clear();
        if !self.sack {
            self.sender.sacked_out = 0;
        }
        let head = self.sender.snd_una;
        for seq in head..self.sender.snd_nxt {
            let record = *self.records.get(seq);
            let is_on_its_way = self.sack && seq != head && record.sent + self.rack_rtt > now;
            if record.has(Record::SACKED) {
                continue;
            }
            if record.has(Record::LOST) && !record.has(Record::RETRANS) {
                self.to_retransmit.push(seq);
            } else if !is_on_its_way {
                self.declare_lost(seq, now);
            }
        }
        self.rack_scanned_to = head;
        self.rto_base = now;
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
        self.burst = 0;
        self.next_send = now;
        self.enter_episode(CaState::Loss, Cause::Timeout, prior_inflight, now);
    }
}
