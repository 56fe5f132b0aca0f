//! Timers: deadlines, checked lazily when the earliest of them might be due.

use super::jiffies;
use super::rtt_estimator::RttEstimator;
use fairweir_cca::{Recovery, Sender};
use fairweir_scenario::FlowSpec;
use fairweir_units::{Dur, Time};

/// Maximum number of doublings of the timeout (Linux `TCP_RTO_MAX` is 120 s).
const MAX_BACKOFF: u32 = 9;
/// Timeout before the first RTT sample (RFC 6298 §2.1).
const INITIAL_RTO: Dur = Dur::from_secs(1);
/// `kGranularity` (RFC 9002 §6.1.2).
const PTO_GRANULARITY: Dur = Dur::from_millis(1);
/// `max_ack_delay` that a QUIC endpoint announces by default (RFC 9000 §18.2).
const MAX_ACK_DELAY: Dur = Dur::from_millis(25);

/// The retransmission timer, and the start and stop times of the flow.
#[derive(Debug)]
pub(super) struct Timers {
    /// Minimum of the term 4 rttvar in the timeout.
    min_rto: Dur,
    /// Maximum delay of the receiver's ACKs, which the timeout includes.
    max_ack_delay: Dur,
    /// The kernel's estimator, which determines the timeout; `None` for RFC 6298's.
    pub(super) estimator: Option<RttEstimator>,
    /// Whether timers expire at jiffies.
    pub(super) has_jiffies: bool,
    backoff: u32,
    /// Time from which the retransmission timer counts.
    pub(super) rto_base: Time,
    /// Lower bound on the deadline of the slow timers.
    pub(super) wake_at: Time,
    pub(super) start: Time,
    pub(super) stop: Time,
    pub(super) has_started: bool,
}

impl Timers {
    pub(super) fn new(spec: &FlowSpec, recovery: Recovery) -> Timers {
        let (min_rto, max_ack_delay) = match recovery {
            Recovery::Tcp => (spec.min_rto, Dur::ZERO),
            Recovery::Quic => (PTO_GRANULARITY, MAX_ACK_DELAY),
        };
        Timers {
            min_rto,
            max_ack_delay,
            estimator: None,
            has_jiffies: false,
            backoff: 0,
            rto_base: Time::ZERO,
            wake_at: spec.start,
            start: spec.start,
            stop: spec.stop.unwrap_or(Time::NEVER),
            has_started: false,
        }
    }

    /// Moves `wake_at` forward to `deadline` if `deadline` is earlier.
    #[inline]
    pub(super) fn wake_by(&mut self, deadline: Time) {
        self.wake_at = self.wake_at.min(deadline);
    }

    /// Restarts the retransmission timer at `now`, and ends its back-off (RFC 6298 §5.3).
    #[inline]
    pub(super) fn on_progress(&mut self, sender: &Sender, now: Time) {
        self.rto_base = now;
        if self.backoff > 0 {
            self.backoff = 0;
            self.wake_by(self.rto_deadline(sender));
        }
    }

    /// Restarts the retransmission timer, which expired at `now`, with twice the timeout (RFC 6298 §5.5).
    pub(super) fn back_off(&mut self, now: Time) {
        self.rto_base = now;
        self.backoff = (self.backoff + 1).min(MAX_BACKOFF);
    }

    /// Returns whether the timer has expired since the last progress.
    pub(super) fn has_backed_off(&self) -> bool {
        self.backoff > 0
    }

    /// Returns the timeout: that of RFC 6298 with Linux's lower bound, srtt + max(4 rttvar, min_rto), that of the kernel's
    /// estimator, or a PTO (RFC 9002 §6.2.1); it doubles at each expiry.
    #[inline]
    pub(super) fn rto(&self, sender: &Sender) -> Dur {
        let rto = if sender.srtt == Dur::ZERO {
            INITIAL_RTO.max(self.min_rto)
        } else {
            let margin = match &self.estimator {
                Some(estimator) => estimator.margin(),
                None => (sender.rttvar * 4).max(self.min_rto),
            };
            sender.srtt + margin + self.max_ack_delay
        };
        rto * (1 << self.backoff)
    }

    /// Returns the deadline of the retransmission timer if packets are outstanding, without rounding to jiffies.
    #[inline]
    pub(super) fn rto_deadline_if_outstanding(&self, sender: &Sender) -> Time {
        self.rto_base + self.rto(sender)
    }

    /// Returns when a timer expires that is set at `now` for `timeout`. With jiffies, both are whole jiffies, and the timer
    /// expires after them, at the next tick of its wheel: longer timers have coarser wheels (`calc_index` of
    /// kernel/time/timer.c).
    pub(super) fn expiry(&self, now: Time, timeout: Dur) -> Time {
        if self.has_jiffies { jiffies::expiry(now, timeout) } else { now + timeout }
    }

    /// Returns the duration of persistent congestion (RFC 9002 §7.6.1).
    pub(super) fn persistent_congestion(&self, sender: &Sender) -> Dur {
        (sender.srtt + (sender.rttvar * 4).max(self.min_rto) + self.max_ack_delay) * 3
    }

    /// Returns the time at which the retransmission timer expires, without rounding to jiffies.
    pub(super) fn rto_deadline(&self, sender: &Sender) -> Time {
        if sender.packets_out() == 0 { Time::NEVER } else { self.rto_deadline_if_outstanding(sender) }
    }

    /// Returns the time at which the retransmission timer expires.
    pub(super) fn rto_expiry(&self, sender: &Sender) -> Time {
        if sender.packets_out() == 0 { Time::NEVER } else { self.expiry(self.rto_base, self.rto(sender)) }
    }
}
