//! A sender's beliefs about its link, from windows of observations in its ledger.

use crate::ledger::Ledger;
use crate::outgoing::Outgoing;
use fairweir_game::{Belief, BeliefSource, Bounds, HeldCapacity, LinkModel, POINTS, Remembered, Window};
use fairweir_units::{Dur, Time};

/// Size of a packet, the unit of amounts.
const PACKET: f64 = 1.0;

/// Parameters of the assumed link and of its observation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Observing {
    /// Interval between two points of a window.
    pub(crate) step: Dur,
    /// Number of steps for which max C is kept once it is known.
    pub(crate) probe_period: u32,
    /// Error added to the estimated rtprop, ns; only tests set it.
    pub(crate) rtprop_error_ns: i64,
    /// The links considered possible.
    pub(crate) model: LinkModel,
}

/// Beliefs at one time, with the observations behind them.
#[derive(Clone, Copy, Debug)]
pub(crate) struct View {
    /// Bounds on C, B and q and the safe rate, in packets and packets per step.
    pub(crate) bounds: Bounds,
    /// The belief, with the observations on which it rests.
    pub(crate) belief: Belief,
    /// Max C, while it is kept from earlier observations.
    pub(crate) held: Option<f64>,
    /// Min B kept from earlier observations, if the belief uses it.
    pub(crate) min_b: Option<f64>,
    /// The window of observations.
    pub(crate) window: Window,
    /// Whether there was a loss in the window or the probe period.
    pub(crate) is_lossy: bool,
}

/// The beliefs, updated over time.
#[derive(Debug)]
pub(crate) struct Beliefs {
    pub(crate) observing: Observing,
    held: HeldCapacity,
    last_look: Time,
    last_loss: Option<Time>,
    lost: f64,
}

impl Beliefs {
    pub(crate) fn new(observing: Observing) -> Beliefs {
        let held = HeldCapacity::new(observing.probe_period).with_grain(PACKET);
        Beliefs { observing, held, last_look: Time::ZERO, last_loss: None, lost: 0.0 }
    }

    fn period(&self) -> Dur {
        self.observing.step.mul_ratio(u64::from(self.observing.probe_period), 1)
    }

    /// Returns the minimum RTT, plus the error that a test sets.
    fn rtprop(&self, outgoing: &Outgoing) -> Dur {
        let estimate = outgoing.min_rtt().unwrap_or(self.observing.step).as_nanos();
        Dur::from_nanos(estimate.saturating_add_signed(self.observing.rtprop_error_ns))
    }

    /// Returns the current belief.
    pub(crate) fn look(&mut self, outgoing: &Outgoing) -> View {
        let now = outgoing.now;
        let rtprop = self.rtprop(outgoing);
        let window = window(&outgoing.ledger, now, self.observing.step, rtprop);
        let elapsed = now.since(std::mem::replace(&mut self.last_look, now));
        let steps = elapsed.as_secs_f64() / self.observing.step.as_secs_f64();
        let Remembered { belief, max_c, min_b } = self.held.believe(&window, &self.observing.model, steps);
        if outgoing.ledger.lost() > self.lost {
            (self.lost, self.last_loss) = (outgoing.ledger.lost(), Some(now));
        }
        let is_lossy = self.last_loss.is_some_and(|at| now.since(at) < self.period());
        View { bounds: belief.bounds, belief, held: max_c, min_b, window, is_lossy }
    }
}

/// Returns the window of points that ends at `now`.
///
/// For each point, `sent` is the amount sent until an rtprop before the point, for any step: the data that could have
/// been acknowledged at the point.
fn window(ledger: &Ledger, now: Time, step: Dur, rtprop: Dur) -> Window {
    let mut window = Window::fresh();
    window.visible = 0;
    let mut is_visible = true;
    for t in 0..POINTS {
        let back = step.mul_ratio((POINTS - 1 - t) as u64, 1);
        let at = before(now, back);
        let count = at.and_then(|at| before(at, rtprop)).map_or(0, |sent| ledger.count_by(sent));
        let lost = ledger.lost_among(count);
        window.delivered[t] = at.map_or(0.0, |at| ledger.delivered_by(at));
        // If the rtprop is overestimated, more might be delivered than sent.
        window.sent[t] = ledger.sum_of(count).max(window.delivered[t] + lost);
        is_visible &= ledger.is_resolved(count);
        if is_visible {
            window.visible = t + 1;
            window.lost[t] = lost;
        }
    }
    window.lost_before = if window.visible > 0 { window.lost[0] } else { ledger.lost() };
    window.sent_next = ledger.sent().max(window.sent[POINTS - 1]);
    window
}

fn before(time: Time, by: Dur) -> Option<Time> {
    time.as_nanos().checked_sub(by.as_nanos()).map(Time::from_nanos)
}

impl View {
    /// Describes the observations on which the bounds rest.
    pub(crate) fn words(&self) -> &'static str {
        match self.belief.from {
            BeliefSource::Window => "window",
            BeliefSource::FewerPoints => "fewer points",
            BeliefSource::PacketSlack => "packet of slack",
            BeliefSource::LargerJitter => "larger jitter",
            BeliefSource::DeliveredRate => "delivered rate",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_game::believe;

    fn ms(x: u64) -> Time {
        Time::from_nanos(x * 1_000_000)
    }

    /// Returns a ledger of packets sent every 5 ms and acknowledged 50 ms later, but at most one every `interval` ms.
    fn ledger(interval: u64, until: u64) -> Ledger {
        let mut ledger = Ledger::default();
        let (mut sent, mut acked, mut free) = (0, 0, 0);
        for now in 0..until {
            if now % 5 == 0 {
                ledger.send(ms(now), 0, 1.0);
                sent += 1;
            }
            if acked < sent && now >= 5 * acked + 50 && now >= free {
                ledger.acknowledge(ms(now), acked as usize);
                (acked, free) = (acked + 1, now + interval);
            }
        }
        ledger
    }

    #[test]
    fn a_link_that_is_fast_enough_has_no_queue_and_no_upper_bound() {
        let w = window(&ledger(5, 1000), ms(999), Dur::from_millis(50), Dur::from_millis(50));
        assert!((0..POINTS).all(|t| (w.sent[t] - w.delivered[t]).abs() <= 1.0), "{w:?}");
        let Belief { bounds, from, .. } = believe(&w, &LinkModel::default());
        assert_eq!((from, bounds.c.max), (BeliefSource::Window, 200.0));
        assert!((9.0..=11.0).contains(&bounds.c.min) && bounds.q.max <= 2.0, "{bounds:?}");
    }

    #[test]
    fn a_slower_link_is_found_from_both_sides_with_its_queue_whatever_the_error_of_rtprop() {
        let ledger = ledger(8, 700);
        for error in [-10, 0, 10] {
            let rtprop = Dur::from_millis((50 + error) as u64);
            let seen = window(&ledger, ms(699), Dur::from_millis(50), rtprop);
            let Belief { bounds, from, .. } = believe(&seen, &LinkModel::default());
            // One packet per 8 ms is 6.25 packets per step.
            assert_ne!(from, BeliefSource::DeliveredRate);
            assert!((5.0..=6.8).contains(&bounds.c.min) && bounds.c.max < 9.0, "{error}: {bounds:?}");
            assert!(bounds.q.max > 20.0, "{error}: {bounds:?}");
        }
    }
}
