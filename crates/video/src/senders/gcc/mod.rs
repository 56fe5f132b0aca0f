//! Google congestion control (GCC), as used in WebRTC: it responds to the delay's gradient and to losses, with additive
//! and multiplicative increase.
//!
//! **Source**: S. Holmer et al., draft-ietf-rmcat-gcc-02, "A Google congestion control algorithm for real-time
//! communication"; G. Carlucci et al., "Analysis and design of the Google congestion control for WebRTC", MMSys 2016.
//! As in current WebRTC, a regression line estimates the gradient (the draft has a Kalman filter), with WebRTC's
//! constants.
//!
//! **Deviations**: there is no probing at the start (the rate starts at 300 kbps and grows by 8 % per second); each
//! packet is acknowledged, and acknowledgements are evaluated every 50 ms; the acknowledged rate is measured over the
//! last 500 ms.

mod aimd;
mod arrivals;
#[cfg(test)]
mod beside_tcp;
mod loss;
mod overuse;

pub(super) use loss::LossController;

use super::{Ack, Coding, Recovery, Sender, send_all};
use crate::encoder::Quality;
use crate::outgoing::Outgoing;
use aimd::RateControl;
use arrivals::ArrivalGroups;
use fairweir_units::{Dur, Time};
use overuse::{OveruseDetector, Usage};
use std::collections::VecDeque;

/// Time over which the acknowledged rate is measured.
const RATE_WINDOW: Dur = Dur::from_millis(500);
/// Interval at which feedback is evaluated.
const FEEDBACK_INTERVAL: Dur = Dur::from_millis(50);
/// The pacer is faster than the target by this factor.
const PACING: f64 = 2.5;
/// Frames are not coded while sending the pacer's backlog at the target rate would take longer than this, s.
const MAX_BACKLOG_S: f64 = 0.4;

/// WebRTC's sender.
#[derive(Debug)]
pub(super) struct Gcc {
    arrivals: ArrivalGroups,
    detector: OveruseDetector,
    control: RateControl,
    loss: LossController,
    /// Arrivals in the last [`RATE_WINDOW`]: time and bits.
    acknowledged: VecDeque<(Time, f64)>,
    acknowledged_bits: f64,
    last_feedback: Time,
}

impl Gcc {
    pub(super) fn new() -> Gcc {
        Gcc {
            arrivals: ArrivalGroups::default(),
            detector: OveruseDetector::new(),
            control: RateControl::new(),
            loss: LossController::new(),
            acknowledged: VecDeque::new(),
            acknowledged_bits: 0.0,
            last_feedback: Time::ZERO,
        }
    }

    /// Returns the target rate, full packets/s.
    fn rate(&self, outgoing: &Outgoing) -> f64 {
        self.target() / (outgoing.sizes.full() * 8.0)
    }

    /// Returns the target rate that both controllers allow, bits/s.
    fn target(&self) -> f64 {
        self.control.target().min(self.loss.cap())
    }

    /// Processes the acknowledgement of a packet of `bits`; `rtt` is in s.
    fn feedback(&mut self, now: Time, ack: &Ack, bits: f64, rtt: f64) {
        let rate = self.acknowledged_rate(ack.arrived, bits);
        if let Some(delta) = self.arrivals.arrive(ack.sent, ack.arrived) {
            self.detector.update(&delta);
        }
        self.loss.observe(now, ack.lost, rtt, self.control.target());
        let usage = self.detector.usage();
        let is_due = now.since(self.last_feedback) >= FEEDBACK_INTERVAL;
        if is_due || (usage == Usage::Over && self.control.may_decrease(now, rtt, rate)) {
            self.last_feedback = now;
            self.control.update(now, usage, rate, rtt);
        }
    }

    /// Returns the recently acknowledged rate, bits/s; `None` if there are too few samples.
    fn acknowledged_rate(&mut self, arrived: Time, bits: f64) -> Option<f64> {
        self.acknowledged.push_back((arrived, bits));
        self.acknowledged_bits += bits;
        while self.acknowledged.front().is_some_and(|a| arrived.since(a.0) > RATE_WINDOW) {
            self.acknowledged_bits -= self.acknowledged.pop_front().map_or(0.0, |a| a.1);
        }
        let is_full = arrived >= Time::ZERO.after(RATE_WINDOW) && self.acknowledged.len() > 1;
        is_full.then(|| self.acknowledged_bits / RATE_WINDOW.as_secs_f64())
    }
}

impl Sender for Gcc {
    fn on_frame(&mut self, outgoing: &mut Outgoing) -> Coding {
        let rate = self.rate(outgoing);
        if outgoing.backlog() > MAX_BACKLOG_S * rate {
            return Coding::Skip;
        }
        Coding::Code(Quality::target(rate * outgoing.frame_secs() * outgoing.sizes.payload))
    }

    fn on_ready(&mut self, outgoing: &mut Outgoing) {
        outgoing.set_pacing(PACING * self.rate(outgoing));
        send_all(outgoing);
    }

    fn on_ack(&mut self, outgoing: &mut Outgoing, ack: &Ack) {
        let bits = ack.size * outgoing.sizes.full() * 8.0;
        let rtt = outgoing.smoothed_rtt().unwrap_or(0.1);
        self.feedback(outgoing.now, ack, bits, rtt);
    }

    fn recovery(&self) -> Recovery {
        Recovery::Retransmit
    }
}
