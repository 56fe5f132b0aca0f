//! The loss-based rate (draft, section 6).

use fairweir_units::Time;

/// A loss rate above HIGH reduces the rate; below LOW the rate grows.
const HIGH: f64 = 0.1;
const LOW: f64 = 0.02;
/// Minimum time between reductions, s, to which an RTT is added.
const DECREASE_INTERVAL_S: f64 = 0.3;
/// Growth: a factor per second, plus bits/s per second.
const GROWTH: f64 = 1.08;
const GROWTH_BPS: f64 = 1000.0;
/// Number of packets over which the loss rate is computed.
const SAMPLE: u32 = 20;
/// Maximum ratio of this rate to the delay-based rate, so that it is close to that rate when losses begin.
const AHEAD: f64 = 1.5;

/// The loss-based rate controller.
#[derive(Debug)]
pub(crate) struct LossController {
    cap: f64,
    packets: u32,
    lost: u32,
    decreased: Option<Time>,
    grown: Option<Time>,
}

impl LossController {
    pub(crate) fn new() -> LossController {
        LossController { cap: f64::INFINITY, packets: 0, lost: 0, decreased: None, grown: None }
    }

    /// Returns the rate, bits/s.
    pub(crate) fn cap(&self) -> f64 {
        self.cap
    }

    /// Processes the acknowledgement of a packet before which `lost` packets were lost; `rtt` is in s, and `target` is
    /// the delay-based rate.
    pub(crate) fn observe(&mut self, now: Time, lost: u32, rtt: f64, target: f64) {
        self.packets += 1 + lost;
        self.lost += lost;
        if self.packets < SAMPLE {
            return;
        }
        let share = f64::from(self.lost) / f64::from(self.packets);
        (self.packets, self.lost) = (0, 0);
        let elapsed = now.since(self.grown.replace(now).unwrap_or(now)).as_secs_f64().min(1.0);
        let cap = self.cap.min(AHEAD * target);
        self.cap = if share > HIGH {
            let may = self.decreased.is_none_or(|at| now.since(at).as_secs_f64() >= DECREASE_INTERVAL_S + rtt);
            if may {
                self.decreased = Some(now);
                self.cap.min(target) * (1.0 - 0.5 * share)
            } else {
                self.cap
            }
        } else if share < LOW {
            cap * GROWTH.powf(elapsed) + GROWTH_BPS * elapsed
        } else {
            cap
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_five_lost_takes_a_tenth_and_waits_before_it_takes_again() {
        let mut loss = LossController::new();
        let mut at = 0;
        let mut feed = |packets: u32, every: u32| {
            for i in 0..packets {
                at += 10_000_000;
                loss.observe(Time::from_nanos(at), u32::from(i % every == every - 1), 0.05, 1e6);
            }
            loss.cap()
        };
        assert!(feed(200, 1000) >= 1e6);
        let first = feed(18, 4);
        assert!((0.85e6..0.95e6).contains(&first), "{first}");
        let later = feed(160, 4);
        assert!(later < 0.85 * first && later > 0.3 * first, "{later}");
    }
}
