//! Shares of a rate among the flows that send. A flow's demand and target:
//!
//! ```text
//! idle      no payload for max(1 s, 8 RTTs), or never any, or the flow has ended: it does not count
//! limited   it leaves more than a quarter of its window unused: it counts with twice what it uses
//! greedy    it fills its window or its rate, or nothing is known of it yet: it counts with all it can get
//!
//! λ         max-min level: Σ over limited and greedy of min(demand, weight · λ) = rate
//! target    greedy   weight · λ
//!           limited  min(weight · λ, max(demand, its part of the rate by weight among those that count))
//!           idle     its part of the rate by weight among all
//! ```
//!
//! A flow that starts to send counts from the next decision on. Until then it may use the share that it was assigned
//! while idle. The targets of greedy flows plus the use of the others never exceed the rate. The targets of all idle
//! flows together do not exceed the rate either, no matter how many of them resume at once. The targets of all counted
//! flows never exceed twice the rate.

use super::{Decision, View};
use crate::features::{Feature, WindowStat};
use crate::flow::FlowId;
use crate::pace::Pace;
use crate::window::WindowTarget;
use fairweir_units::{Dur, Time, mbps as mbps_over};
use std::collections::HashMap;

/// A flow's pace (`crate::Pace`) advances its window in quanta. A flow that has been silent for less than the time of
/// this number of quanta is assumed to wait for the next one.
const SILENT_QUANTA: u64 = 2;
/// If a quantum takes longer than this, a flow's rate is measured over several quanta, because decisions may come
/// between two of them.
const SLOW: Dur = Dur::from_millis(50);
/// Number of quanta over which the rate of such a flow is measured.
const WINDOW: u64 = 6;
/// A flow that fills at least this fraction of its window is limited by the window: a Reno flow fills 3/4 on average.
const LIMITED_SHARE: f64 = 0.75;
/// Factor by which a flow that does not fill its window may grow until the next decision.
const GROWTH: f64 = 2.0;

/// The feature that [`Demands`] needs of each flow; it must be the first of its policy's features.
pub(crate) const THROUGHPUT: Feature = Feature::Window(WindowStat::Throughput, 8);

/// Demand of a flow, or of a service with all its flows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Demand {
    /// No demand at present.
    Idle,
    /// Up to this rate, Mbit/s.
    Limited(f64),
    /// Unlimited.
    Greedy,
}

impl Demand {
    /// The joint demand of several flows.
    pub(crate) fn of_all(demands: impl IntoIterator<Item = Demand>) -> Demand {
        demands.into_iter().fold(Demand::Idle, |all, one| match (all, one) {
            (Demand::Greedy, _) | (_, Demand::Greedy) => Demand::Greedy,
            (Demand::Idle, other) | (other, Demand::Idle) => other,
            (Demand::Limited(a), Demand::Limited(b)) => Demand::Limited(a + b),
        })
    }

    pub(crate) fn is_idle(self) -> bool {
        self == Demand::Idle
    }

    fn mbps(self) -> f64 {
        match self {
            Demand::Idle => 0.0,
            Demand::Limited(mbps) => mbps,
            Demand::Greedy => f64::INFINITY,
        }
    }
}

/// Demands of flows, learned from their use of the windows.
#[derive(Debug, Default)]
pub(crate) struct Demands(HashMap<FlowId, Observed>);

/// State of a flow since the latest decision.
#[derive(Clone, Copy, Debug)]
struct Observed {
    /// The window granted, bytes, if the flow was limited.
    granted: Option<u64>,
    /// The rate granted, Mbit/s. The window may allow more, because it is never below two segments.
    mbps: f64,
    at: Time,
    payload: u64,
    /// Time in which the flow's pace advances the window by a quantum; zero if the flow has no pace.
    quantum: Dur,
    is_idle: bool,
    paced: Paced,
}

/// Rate of a flow, measured over several quanta of its pace.
#[derive(Clone, Copy, Debug)]
struct Paced {
    since: Time,
    payload: u64,
    /// Rate in the last complete measurement, Mbit/s.
    mbps: Option<f64>,
}

impl Paced {
    fn advance(self, now: Time, payload: u64, quantum: Dur) -> Paced {
        let span = now.since(self.since);
        if span < quantum * WINDOW {
            return self;
        }
        Paced { since: now, payload, mbps: Some(mbps_over(payload.saturating_sub(self.payload), span)) }
    }
}

impl Demands {
    /// Whether the flow takes no share. If there are many flows, a quantum of a flow's pace may take seconds, and the
    /// flow is silent in between. If such a flow counted as idle, the others would get its share, and the total would
    /// exceed the rate.
    fn is_idle(&self, view: &View<'_>, now: Time) -> bool {
        let waits = |known: &Observed| {
            let silence = view.monitor.active_at().map(|at| now.since(at));
            !known.is_idle && !view.is_ended && silence.is_some_and(|silence| silence < known.quantum * SILENT_QUANTA)
        };
        view.is_idle(now) && !self.0.get(&view.id).is_some_and(waits)
    }

    /// The flow's demand. The first of `view.values` must be its throughput.
    pub(crate) fn of(&self, view: &View<'_>, now: Time) -> Demand {
        if self.is_idle(view, now) {
            return Demand::Idle;
        }
        let Some(Observed { granted: Some(granted), mbps, at, payload, quantum, paced, .. }) = self.0.get(&view.id)
        else {
            return Demand::Greedy;
        };
        let Some(rtt) = view.rtt() else { return Demand::Greedy };
        let used = match view.values[0] {
            Some(throughput) => view.faded(throughput, rtt * 8, now),
            // The flow is too young or has too few packets for a throughput: use the arrivals since the last decision,
            // over at least an RTT.
            None => mbps_over(view.monitor.payload().saturating_sub(*payload), now.since(*at).max(rtt)),
        };
        // Between two quanta, a throughput seems lower than the rate over several quanta.
        let used = match paced.mbps {
            Some(mbps) if *quantum > SLOW => used.max(mbps),
            None if *quantum > SLOW => return Demand::Greedy,
            _ => used,
        };
        let inflight = used * rtt.as_secs_f64() * 1e6 / 8.0;
        let is_filled = inflight >= LIMITED_SHARE * *granted as f64 || used >= LIMITED_SHARE * mbps;
        if is_filled { Demand::Greedy } else { Demand::Limited(GROWTH * used) }
    }

    /// Records the decisions for `flows`; the state of all other flows is removed.
    pub(crate) fn note(&mut self, now: Time, flows: &[View<'_>], decisions: &[Decision]) {
        let known = |(view, decision): (&View<'_>, &Decision)| {
            let payload = view.monitor.payload();
            let quantum = decision.window.and_then(WindowTarget::pace).map_or(Dur::ZERO, Pace::between_quanta);
            let begun = Paced { since: now, payload, mbps: None };
            let paced = self.0.get(&view.id).map_or(begun, |known| known.paced.advance(now, payload, quantum));
            let known = Observed {
                granted: decision.window.map(|window| window.bytes()),
                mbps: decision.rate_mbps.unwrap_or(f64::INFINITY),
                at: now,
                payload,
                quantum,
                is_idle: self.is_idle(view, now),
                paced,
            };
            (view.id, known)
        };
        self.0 = flows.iter().zip(decisions).map(known).collect();
    }
}

/// Returns the target of each user of `total`, in the same unit; users are pairs of weight and demand.
pub(crate) fn targets(total: f64, users: &[(f64, Demand)]) -> Vec<f64> {
    let counted = || users.iter().filter(|(_, demand)| !demand.is_idle());
    let level = max_min(total, counted().map(|(weight, demand)| (*weight, demand.mbps())));
    let all_weights: f64 = users.iter().map(|(weight, _)| weight).sum();
    let counted_weights: f64 = counted().map(|(weight, _)| weight).sum();
    let target = |(weight, demand): &(f64, Demand)| match demand {
        Demand::Idle => total * weight / all_weights,
        Demand::Limited(demand) => (weight * level).min(demand.max(total * weight / counted_weights)),
        Demand::Greedy => weight * level,
    };
    // A single user may have the whole total, but rounding must not exceed it.
    users.iter().map(|user| target(user).min(total)).collect()
}

/// Returns the level λ with Σ min(demand, weight · λ) = `total` over pairs of weight and demand. Infinite if `total`
/// covers all demands.
pub fn max_min(total: f64, users: impl IntoIterator<Item = (f64, f64)>) -> f64 {
    let mut users: Vec<(f64, f64)> = users.into_iter().collect();
    users.sort_by(|a, b| (a.1 / a.0).total_cmp(&(b.1 / b.0)));
    let (mut left, mut weights) = (total, users.iter().map(|(weight, _)| weight).sum::<f64>());
    for (weight, demand) in users {
        if demand / weight * weights > left {
            return left / weights;
        }
        left -= demand;
        weights -= weight;
    }
    f64::INFINITY
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: f64 = f64::INFINITY;

    #[test]
    fn an_unused_share_goes_to_the_others() {
        let level = |demands: &[f64]| max_min(9.0, demands.iter().map(|demand| (1.0, *demand)));
        assert_eq!(level(&[ALL; 3]), 3.0);
        assert_eq!(level(&[1.0, ALL, ALL]), 4.0);
        assert_eq!(level(&[3.5, 1.0, ALL]), 4.5);
        assert_eq!(level(&[1.0, 2.0, 3.0]), ALL);
        assert_eq!(level(&[]), ALL);
        assert_eq!(max_min(9.0, [(2.0, ALL), (1.0, ALL)]), 3.0, "6 and 3");
        assert_eq!(max_min(9.0, [(2.0, 1.0), (1.0, ALL)]), 8.0);
    }

    #[test]
    fn a_rate_over_some_quanta_is_that_of_the_last_window() {
        let at = |ms| Time::ZERO + Dur::from_millis(ms);
        let quantum = Dur::from_millis(1000);
        let mut paced = Paced { since: at(0), payload: 0, mbps: None };
        for ms in (100..6000).step_by(100) {
            paced = paced.advance(at(ms), ms / 1000 * 2500, quantum);
            assert_eq!(paced.mbps, None);
        }
        paced = paced.advance(at(6000), 15_000, quantum);
        assert_eq!(paced.mbps, Some(0.02));
        assert_eq!(paced.advance(at(11_900), 15_000, quantum).mbps, Some(0.02));
        assert_eq!(paced.advance(at(12_000), 15_000, quantum).mbps, Some(0.0), "it has sent nothing since");
    }

    fn a_demand() -> impl Strategy<Value = Demand> {
        prop_oneof![Just(Demand::Idle), (0.0f64..100.0).prop_map(Demand::Limited), Just(Demand::Greedy)]
    }

    #[test]
    fn idle_flows_do_not_count_and_a_flow_alone_has_all() {
        assert_eq!(targets(40.0, &[(1.0, Demand::Greedy), (1.0, Demand::Idle)]), [40.0, 20.0]);
        assert_eq!(targets(40.0, &[(1.0, Demand::Limited(1.0)), (1.0, Demand::Idle)]), [40.0, 20.0]);
        assert_eq!(targets(40.0, &[(1.0, Demand::Greedy), (1.0, Demand::Limited(1.0))]), [39.0, 20.0]);
        assert_eq!(targets(40.0, &[(3.0, Demand::Greedy), (1.0, Demand::Greedy)]), [30.0, 10.0]);
        assert_eq!(Demand::of_all([Demand::Limited(1.0), Demand::Idle, Demand::Limited(2.0)]), Demand::Limited(3.0));
        assert_eq!(Demand::of_all([]), Demand::Idle);
    }

    proptest! {
        #[test]
        fn targets_keep_to_the_rate(
            total in 0.1f64..1e3, users in proptest::collection::vec((0.1f64..10.0, a_demand()), 1..40)
        ) {
            let found = targets(total, &users);
            let sum = |takes: &dyn Fn(Demand) -> bool, of: &dyn Fn(f64, Demand) -> f64| -> f64 {
                users.iter().zip(&found).filter(|((_, d), _)| takes(*d)).map(|((_, d), target)| of(*target, *d)).sum()
            };
            let slack = 1e-6 * total.max(1.0);
            let used = sum(&|demand| !demand.is_idle(), &|target, demand| target.min(demand.mbps()));
            prop_assert!(used <= total + slack, "what the greedy get and others use: {used} of {total}");
            prop_assert!(sum(&|demand| !demand.is_idle(), &|target, _| target) <= 2.0 * total + slack);
            prop_assert!(sum(&Demand::is_idle, &|target, _| target) <= total + slack);
            prop_assert!(found.iter().all(|target| (0.0..=total).contains(target)), "{found:?}");
            if users.iter().any(|(_, demand)| *demand == Demand::Greedy) {
                prop_assert!(used >= total - slack, "nothing is left over: {used} of {total}");
            }
            // Idle users make no difference to the others.
            let counted: Vec<(f64, Demand)> = users.iter().copied().filter(|(_, demand)| !demand.is_idle()).collect();
            let theirs = users.iter().zip(&found).filter(|((_, demand), _)| !demand.is_idle()).map(|(_, target)| *target);
            prop_assert_eq!(theirs.collect::<Vec<_>>(), targets(total, &counted));
        }

        #[test]
        fn all_of_it_is_shared_and_no_more(
            total in 0.1f64..1e3, users in proptest::collection::vec((0.1f64..10.0, 0.0f64..100.0), 1..40)
        ) {
            let level = max_min(total, users.iter().copied());
            let used: f64 = users.iter().map(|(weight, demand)| demand.min(weight * level)).sum();
            let wanted: f64 = users.iter().map(|(_, demand)| demand).sum();
            prop_assert!((used - total.min(wanted)).abs() < 1e-6 * total.max(1.0), "{used} of {total}");
            prop_assert!(level.is_finite() || wanted <= total * (1.0 + 1e-9));
            prop_assert!(level.is_infinite() || wanted >= total * (1.0 - 1e-9));
        }
    }
}
