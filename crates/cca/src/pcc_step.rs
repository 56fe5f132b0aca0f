//! The size of a step along a utility's gradient, in PCC Vivace and its successors.

use crate::math;
use fairweir_units::Rate;

/// Bytes/s in a Mbps.
const MBPS: f64 = 125_000.0;

/// Rules of a step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StepRules {
    /// Step divided by gradient, Mbps per (unit of utility per Mbps).
    pub theta: f64,
    /// Exponent of the confidence amplifier m(n).
    pub amplifier_exponent: f64,
    /// Maximum step, as a fraction of the rate.
    pub omega_base: f64,
    /// Increment of the maximum for each consecutive limited step.
    pub omega_step: f64,
    /// Minimum step.
    pub min_step: Rate,
}

/// Consecutive steps in the same direction, and how many of them were limited.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Momentum {
    is_up: bool,
    pub same_way: u32,
    cut: u32,
}

impl Momentum {
    /// Returns the rate after a step from `rate` along `gradient`, both in bytes/s and units of utility per Mbps.
    pub fn step(&mut self, rules: &StepRules, gradient: f64, rate: f64) -> f64 {
        let is_up = gradient > 0.0;
        if self.is_up != is_up || self.same_way == 0 {
            *self = Momentum { is_up, same_way: 0, cut: 0 };
        }
        self.same_way += 1;
        let amplifier = math::pow(f64::from(self.same_way + 1) / 2.0, rules.amplifier_exponent);
        let wanted = rules.theta * amplifier * gradient.abs() * MBPS;
        let bound = rate * (rules.omega_base + rules.omega_step * f64::from(self.cut));
        self.cut = if wanted > bound { self.cut + 1 } else { 0 };
        let change = wanted.min(bound).max(rules.min_step.bytes_per_sec() as f64);
        if is_up { rate + change } else { rate - change }
    }
}
