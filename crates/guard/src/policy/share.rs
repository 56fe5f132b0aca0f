//! Max-min fair shares: what one does not use, others get.

use super::{Decision, View};
use crate::features::{Feature, WindowStat};
use crate::flow::FlowId;
use fairweir_units::Time;
use std::collections::HashMap;

/// A flow that fills so much of its window is held back by it: a Reno flow beneath it has 3/4 of it on average.
const FILLED: f64 = 0.75;
/// A flow that leaves its window open may double, so that it is held by nobody while it grows.
const ROOM: f64 = 2.0;

/// What [`Demands`] wants to know of each flow, first in its policy's features.
pub(crate) const THROUGHPUT: Feature = Feature::Window(WindowStat::Throughput, 8);

/// How much flows would use, learnt from what they made of the windows that they were given.
#[derive(Debug, Default)]
pub(crate) struct Demands {
    /// Bytes.
    granted: HashMap<FlowId, u64>,
}

impl Demands {
    /// The flow's demand in Mbit/s, infinite if its window holds it back. Its throughput is the first of its values.
    pub(crate) fn of(&self, view: &View<'_>, now: Time) -> f64 {
        let (Some(granted), Some(throughput), Some(rtt)) = (self.granted.get(&view.id), view.values[0], view.rtt())
        else {
            return f64::INFINITY;
        };
        let used = view.faded(throughput, rtt * 8, now);
        let inflight = used * rtt.as_secs_f64() * 1e6 / 8.0;
        if inflight >= FILLED * *granted as f64 { f64::INFINITY } else { ROOM * used }
    }

    /// Notes what was decided for `flows`; all others are forgotten.
    pub(crate) fn note(&mut self, flows: &[View<'_>], decisions: &[Decision]) {
        self.granted.clear();
        let windows = flows.iter().zip(decisions);
        self.granted.extend(windows.filter_map(|(view, decision)| Some((view.id, decision.window?.bytes()))));
    }
}

/// The level λ with Σ min(demand, weight · λ) = `total` over pairs of weight and demand: nobody may use more than weight · λ.
/// Infinite if `total` covers all demands.
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
    fn what_one_leaves_others_get() {
        let level = |demands: &[f64]| max_min(9.0, demands.iter().map(|demand| (1.0, *demand)));
        assert_eq!(level(&[ALL; 3]), 3.0);
        assert_eq!(level(&[1.0, ALL, ALL]), 4.0);
        assert_eq!(level(&[3.5, 1.0, ALL]), 4.5);
        assert_eq!(level(&[1.0, 2.0, 3.0]), ALL);
        assert_eq!(level(&[]), ALL);
        assert_eq!(max_min(9.0, [(2.0, ALL), (1.0, ALL)]), 3.0, "6 and 3");
        assert_eq!(max_min(9.0, [(2.0, 1.0), (1.0, ALL)]), 8.0);
    }

    proptest! {
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
