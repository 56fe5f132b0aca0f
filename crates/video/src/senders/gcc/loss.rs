//! The rate that losses allow (draft, section 6).

use fairweir_units::Time;

/// Losses above this share reduce the rate; below the other it grows.
const HIGH: f64 = 0.1;
const LOW: f64 = 0.02;
/// Reductions are at least this and an RTT apart, s.
const DECREASE_INTERVAL_S: f64 = 0.3;
/// Growth per second, and bits per second added.
const GROWTH: f64 = 1.08;
const GROWTH_BPS: f64 = 1000.0;
/// Packets that a share is computed of.
const SAMPLE: u32 = 20;
/// The rate follows the other controller's within this factor, so that it is near when losses begin.
const AHEAD: f64 = 1.5;

/// The loss-based rate.
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

    /// Bits per second.
    pub(crate) fn cap(&self) -> f64 {
        self.cap
    }

    /// A packet was acknowledged and `lost` before it were not; `rtt` in s, `target` of the other controller.
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
