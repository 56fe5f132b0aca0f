//! WebRTC's media path with a TCP Vegas window.
//!
//! **Source**: the second baseline of Syntra's figure 4: L. Brakmo, S. O'Malley, L. Peterson, "TCP Vegas: new
//! techniques for congestion detection and avoidance", SIGCOMM 1994, with a target of 10 queued packets, on one-way
//! delays.
//!
//! **Deviations**: the window changes by one packet per round (as in TCP Vegas), and slow start doubles it until the
//! first queue; losses reduce the rate as in WebRTC's loss controller. One-way delays need no synchronized clocks,
//! because only their differences from the minimum matter; the minimum RTT is used as the base.

use super::gcc::LossController;
use super::{Ack, Coding, Recovery, Sender, send_all};
use crate::encoder::Quality;
use crate::outgoing::Outgoing;

/// Target number of packets in the queue.
const QUEUED: f64 = 10.0;
const MIN_WINDOW: f64 = 2.0;
/// The media path's pacer is faster than its target rate by this factor.
const PACING: f64 = 2.5;
/// Frames are not coded while sending the pacer's backlog at the target rate would take longer than this, s.
const MAX_BACKLOG_S: f64 = 0.4;

/// A Vegas window that sets the rate of WebRTC's encoder.
#[derive(Debug)]
pub(super) struct Vegas {
    /// Packets per one-way delay.
    window: f64,
    min_delay: f64,
    delay: f64,
    is_starting: bool,
    loss: LossController,
}

impl Vegas {
    pub(super) fn new() -> Vegas {
        Vegas {
            window: MIN_WINDOW,
            min_delay: f64::INFINITY,
            delay: 0.1,
            is_starting: true,
            loss: LossController::new(),
        }
    }

    /// Returns the rate, full packets/s.
    fn rate(&self, outgoing: &Outgoing) -> f64 {
        let bits = outgoing.sizes.full() * 8.0;
        (self.window / self.delay).min(self.loss.cap() / bits).max(1.0)
    }
}

impl Sender for Vegas {
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
        self.delay = ack.arrived.since(ack.sent).as_secs_f64().max(1e-3);
        self.min_delay = self.min_delay.min(self.delay);
        let queued = self.window * (1.0 - self.min_delay / self.delay);
        if queued < QUEUED {
            self.window += if self.is_starting { 0.5 } else { ack.size / self.window };
        } else {
            self.is_starting = false;
            self.window = (self.window - ack.size / self.window).max(MIN_WINDOW);
        }
        // A window that the encoder does not fill gives no information about the network.
        let used =
            (outgoing.ledger.in_flight() + outgoing.backlog()) / outgoing.smoothed_rtt().unwrap_or(0.1) * self.delay;
        self.window = self.window.min((4.0 * used).max(QUEUED + MIN_WINDOW));
        let bits = outgoing.sizes.full() * 8.0;
        self.loss.observe(
            outgoing.now,
            ack.lost,
            outgoing.smoothed_rtt().unwrap_or(0.1),
            self.window / self.delay * bits,
        );
    }

    fn recovery(&self) -> Recovery {
        Recovery::Retransmit
    }
}
