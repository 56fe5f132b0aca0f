//! A classifier with perfect information: the link rate and the number of flows (CMU-CS-24-129, equation 1). FlowPolicy
//! with this classifier is an upper bound for all trained classifiers.

use fairweir_guard::Feature;
use fairweir_guard::policy::{Class, Classify};
use fairweir_units::Rate;

/// Name of this classifier as a flow policy's model.
pub(crate) const FAIR_SHARE: &str = "fair-share";

/// Compares each flow's throughput over 8 minimum RTTs with rate / number of flows.
#[derive(Clone, Copy, Debug)]
pub struct FairShare {
    /// Rate of the bottleneck.
    pub rate: Rate,
}

impl Classify for FairShare {
    fn features(&self) -> Vec<Feature> {
        vec![Feature::Window(fairweir_guard::WindowStat::Throughput, 8)]
    }

    fn classify(&self, rows: &[&[Option<f64>]]) -> Vec<Class> {
        let share = self.rate.as_mbps_f64() / rows.len() as f64;
        let class = |row: &&[Option<f64>]| match row[0].map(|mbps| mbps / share) {
            Some(ratio) if ratio < 0.9 => Class::Below,
            Some(ratio) if ratio >= 1.1 => Class::Above,
            _ => Class::Near,
        };
        rows.iter().map(class).collect()
    }
}
