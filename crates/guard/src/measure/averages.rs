//! Exponentially weighted moving averages: a·new + (1 - a)·old. The first known value is the initial average; unknown
//! ones change nothing. All averages of a quantity become known at the same time, so they share one flag.

use super::Monitor;
use crate::features::{Plan, Smoothed};

/// The averages required by a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Averages {
    /// Per group of the plan: is anything known, and the values.
    groups: Vec<(bool, Vec<f64>)>,
}

impl Averages {
    pub(crate) fn new(plan: &Plan) -> Averages {
        Averages { groups: plan.averages().iter().map(|group| (false, vec![0.0; group.alphas.len()])).collect() }
    }

    pub(crate) fn update(&mut self, plan: &Plan, monitor: &Monitor) {
        for (group, (is_known, values)) in plan.averages().iter().zip(&mut self.groups) {
            let Some(new) = sample(group.of, monitor).filter(|v| v.is_finite()) else { continue };
            if *is_known {
                for (value, alpha) in values.iter_mut().zip(&group.alphas) {
                    *value += alpha * (new - *value);
                }
            } else {
                values.fill(new);
                *is_known = true;
            }
        }
    }

    /// Heap memory, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let values: usize = self.groups.iter().map(|(_, values)| values.capacity() * size_of::<f64>()).sum();
        values + self.groups.capacity() * size_of::<(bool, Vec<f64>)>()
    }

    pub(crate) fn get(&self, group: usize, index: usize) -> Option<f64> {
        let (is_known, values) = &self.groups[group];
        is_known.then(|| values[index])
    }
}

/// The sample that the latest arrival adds to an average: an RTT only if one was measured.
fn sample(of: Smoothed, monitor: &Monitor) -> Option<f64> {
    match of {
        Smoothed::Rtt | Smoothed::RttRatio if monitor.latest.rtt.is_none() => None,
        // No loss at this packet: the published features take 1, where the formula would be infinite.
        Smoothed::InvSqrtLossRate => Some(match monitor.loss_rate() {
            p if p > 0.0 => 1.0 / p.sqrt(),
            _ => 1.0,
        }),
        Smoothed::Rtt => monitor.rtt_us(),
        Smoothed::RttRatio => monitor.rtt_ratio(),
        Smoothed::Interarrival => monitor.interarrival_us(),
        Smoothed::ArrivalRate => monitor.arrival_rate_mbps(),
        Smoothed::LossRate => Some(monitor.loss_rate()),
        Smoothed::Mathis => monitor.mathis_mbps(),
    }
}
