//! Exponentially weighted moving averages: a·new + (1 - a)·old. The first known value is the initial average; unknown
//! values change nothing. All averages of a quantity become known at the same time, so they share one flag.

use crate::features::{Plan, Smoothed};

/// The averages required by a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct Averages {
    /// For each group of the plan: whether values are known, and the values.
    groups: Vec<(bool, Vec<f64>)>,
}

impl Averages {
    pub(crate) fn new(plan: &Plan) -> Averages {
        Averages { groups: plan.averages().iter().map(|group| (false, vec![0.0; group.alphas.len()])).collect() }
    }

    /// Adds the latest arrival's samples. An arrival without a finite sample of a quantity does not change its
    /// averages.
    pub(crate) fn update(&mut self, plan: &Plan, sample: impl Fn(Smoothed) -> Option<f64>) {
        for (group, (is_known, values)) in plan.averages().iter().zip(&mut self.groups) {
            let Some(new) = sample(group.of).filter(|v| v.is_finite()) else { continue };
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
