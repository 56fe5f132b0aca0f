//! A classifier that need not guess: it knows the link's rate and how many flows there are (CMU-CS-24-129, equation 1).
//! What FlowPolicy does with it is the most that its training could give.

use fairweir_guard::Feature;
use fairweir_guard::policy::{Class, Classify};
use fairweir_units::Rate;

/// Compares each flow's throughput over 8 minimum RTTs with rate / flows.
#[derive(Clone, Copy, Debug)]
pub struct FairShare {
    /// The bottleneck's.
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
