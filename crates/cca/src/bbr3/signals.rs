//! Congestion signals of the last round and cycle, and the short-term bounds that follow from them.

use crate::bbr::{Bandwidth, Gain};

/// Deliveries of the last round, and whether it had loss or marks.
#[derive(Clone, Debug, Default)]
pub(super) struct Signals {
    /// Maximum bandwidth sample in the round.
    pub(super) bw_latest: Bandwidth,
    /// Maximum number of packets delivered by a sample in the round.
    pub(super) inflight_latest: u64,
    pub(super) loss_in_round: bool,
    pub(super) ecn_in_round: bool,
    pub(super) loss_in_cycle: bool,
    pub(super) ecn_in_cycle: bool,
    /// The loss round ends when a packet is delivered that was sent after `delivered` reached this value.
    pub(super) loss_round_delivered: u64,
    pub(super) is_loss_round_start: bool,
    /// Number of ACKs in this round that declared losses.
    pub(super) loss_events_in_round: u32,
}

impl Signals {
    pub(super) fn new() -> Signals {
        // the first loss round ends after the first full flight
        Signals { loss_round_delivered: 1, ..Signals::default() }
    }

    /// Resets the loss, marks and deliveries at the end of a probe.
    pub(super) fn reset(&mut self) {
        *self = Signals {
            loss_round_delivered: self.loss_round_delivered,
            is_loss_round_start: self.is_loss_round_start,
            loss_events_in_round: self.loss_events_in_round,
            ..Signals::default()
        };
    }

    /// Records a packet loss; `delivered` is the number of packets delivered so far.
    pub(super) fn note_loss(&mut self, delivered: u64) {
        // the whole round after the first loss shows the rate and volume that the path still delivers
        if !self.loss_in_round {
            self.loss_round_delivered = delivered;
        }
        self.loss_in_round = true;
        self.loss_in_cycle = true;
    }
}

/// Short-term bounds from loss and marks outside of probes; `None`: not bounded.
#[derive(Clone, Debug, Default)]
pub(super) struct ShortTerm {
    pub(super) bw_lo: Option<Bandwidth>,
    pub(super) inflight_lo: Option<u64>,
}

impl ShortTerm {
    /// Adapts the bounds after a round with loss or marks. If there were marks, `ecn_cut` is the fraction of inflight
    /// that remains.
    pub(super) fn adapt(&mut self, signals: &Signals, max_bw: Bandwidth, cwnd: u64, beta: Gain, ecn_cut: Option<Gain>) {
        let ecn_inflight_lo = ecn_cut.map(|cut| cut.of(*self.inflight_lo.get_or_insert(cwnd)));
        if signals.loss_in_round {
            let left = beta.complement();
            let bw_lo = self.bw_lo.unwrap_or(max_bw);
            // not below the round's delivery rate, which the path has just sustained
            self.bw_lo = Some(signals.bw_latest.max(bw_lo.scaled(left)).max(Bandwidth::SMALLEST));
            let inflight_lo = self.inflight_lo.unwrap_or(cwnd);
            self.inflight_lo = Some(signals.inflight_latest.max(left.of(inflight_lo)));
        }
        if let (Some(lo), Some(ecn)) = (self.inflight_lo, ecn_inflight_lo) {
            self.inflight_lo = Some(lo.min(ecn));
        }
    }
}

/// Smoothed fraction of marked packets in 256ths, computed as in DCTCP.
#[derive(Clone, Debug)]
pub(super) struct EcnAlpha {
    alpha: u64,
    delivered: u64,
    delivered_ce: u64,
}

impl EcnAlpha {
    /// g = 1/16, in 256ths.
    const GAIN: u64 = 16;
    const UNIT: u64 = 256;

    pub(super) fn new() -> EcnAlpha {
        EcnAlpha { alpha: EcnAlpha::UNIT, delivered: 0, delivered_ce: 0 }
    }

    /// Ends a round; returns its fraction of marked packets in 256ths, if anything was delivered.
    pub(super) fn update(&mut self, delivered: u64, delivered_ce: u64) -> Option<u64> {
        let all = delivered.checked_sub(self.delivered).filter(|n| *n > 0)?;
        let marked = delivered_ce.saturating_sub(self.delivered_ce).min(all);
        let ratio = marked * EcnAlpha::UNIT / all;
        let sum =
            (EcnAlpha::UNIT - EcnAlpha::GAIN) * self.alpha / EcnAlpha::UNIT + EcnAlpha::GAIN * ratio / EcnAlpha::UNIT;
        self.alpha = sum.min(EcnAlpha::UNIT);
        (self.delivered, self.delivered_ce) = (delivered, delivered_ce);
        Some(ratio)
    }

    /// Returns 1 - alpha/3, the fraction of inflight that remains after marks (`bbr_ecn_factor`).
    pub(super) fn cut(&self) -> Gain {
        Gain::from_f64(1.0 - self.alpha as f64 / (3 * EcnAlpha::UNIT) as f64)
    }
}
