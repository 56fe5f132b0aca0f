//! Contracts as functions from delay to rate and from rate to delay.

use crate::math::{exp, ln, pow};
use fairweir_units::{Dur, Rate};
use serde::{Deserialize, Serialize};

/// Maximum delay of a curve, s: the delay of a flow that sends almost nothing.
const MAX_DELAY: f64 = 3600.0;

/// Family of contracts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Function {
    /// rate = c0 (s0 / s)^p: alpha-fair with alpha = 1/p.
    Power,
    /// rate = c0 e^(-s/s0): equal noise in the delay changes every rate by the same factor.
    Exponential,
    /// rate = c0 ln(s0 / s), the contract of ICC; zero at a delay of s0.
    Logarithmic,
    /// rate = c0 (1 - s/s0), the contract of Astraea; zero at a delay of s0.
    Linear,
}

/// A contract with its constants.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    function: Function,
    exponent: f64,
    /// Rate constant, bytes/s.
    c0: f64,
    /// Delay constant, s.
    s0: f64,
}

impl Curve {
    pub fn new(function: Function, exponent: f64, c0: Rate, s0: Dur) -> Curve {
        Curve { function, exponent, c0: c0.bytes_per_sec() as f64, s0: s0.as_secs_f64() }
    }

    /// Returns the rate at a delay of `s` seconds, bytes/s; never negative, infinite where the curve is unbounded.
    pub fn rate(&self, s: f64) -> f64 {
        let Curve { c0, s0, exponent, .. } = *self;
        match self.function {
            Function::Power if s <= 0.0 => f64::INFINITY,
            Function::Power => c0 * pow(s0 / s, exponent),
            Function::Exponential => c0 * exp(-s / s0),
            Function::Logarithmic if s <= 0.0 => f64::INFINITY,
            Function::Logarithmic => (c0 * ln(s0 / s)).max(0.0),
            Function::Linear => (c0 * (1.0 - s / s0)).max(0.0),
        }
    }

    /// Returns the delay at a `rate` in bytes/s, s; never negative, at most an hour.
    pub fn delay(&self, rate: f64) -> f64 {
        let Curve { c0, s0, exponent, .. } = *self;
        let delay = match self.function {
            Function::Power => s0 * pow(c0 / rate, 1.0 / exponent),
            Function::Exponential => s0 * ln(c0 / rate),
            Function::Logarithmic => s0 * exp(-rate / c0),
            Function::Linear => s0 * (1.0 - rate / c0),
        };
        delay.clamp(0.0, MAX_DELAY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns a curve with c0 = 96 Mbps and s0 = 10 ms.
    fn curve(function: Function, exponent: f64) -> Curve {
        Curve::new(function, exponent, Rate::from_mbps(96), Dur::from_millis(10))
    }

    #[test]
    fn values_are_those_of_the_formulas() {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9 * b.abs();
        assert!(close(curve(Function::Power, 2.0).rate(0.020), 3e6));
        assert!(close(curve(Function::Power, 2.0).delay(3e6), 0.020));
        assert!(close(curve(Function::Power, 0.5).rate(0.040), 6e6));
        assert!(close(curve(Function::Exponential, 1.0).rate(0.010), 12e6 / std::f64::consts::E));
        assert!(close(curve(Function::Logarithmic, 1.0).delay(12e6), 0.010 / std::f64::consts::E));
        assert!(close(curve(Function::Linear, 1.0).delay(3e6), 0.0075));
    }

    #[test]
    fn ends_are_finite_where_they_must_be() {
        use Function::{Exponential, Linear, Logarithmic, Power};
        for function in [Power, Exponential, Logarithmic, Linear] {
            let c = curve(function, 1.0);
            for rate in [0.0, 1e-300, 1e30, f64::INFINITY] {
                assert!((0.0..=MAX_DELAY).contains(&c.delay(rate)), "{function:?} {rate}: {}", c.delay(rate));
            }
            assert!(c.rate(0.0) >= 12e6 && c.rate(1e6) >= 0.0, "{function:?}");
        }
        assert_eq!(curve(Linear, 1.0).rate(0.011), 0.0);
        assert_eq!(curve(Logarithmic, 1.0).rate(0.011), 0.0);
        assert_eq!(curve(Exponential, 1.0).delay(13e6), 0.0);
    }

    proptest! {
        #[test]
        fn the_two_ways_are_inverse_and_fall(share in 0.01..0.99f64, exponent in 0.2..5.0f64) {
            use Function::{Exponential, Linear, Logarithmic, Power};
            for function in [Power, Exponential, Logarithmic, Linear] {
                let c = curve(function, exponent);
                let s = share * 0.010;
                let rate = c.rate(s);
                prop_assert!((c.delay(rate) / s - 1.0).abs() < 1e-9, "{function:?}: {s} to {}", c.delay(rate));
                prop_assert!(c.rate(s * 1.001) < rate, "{function:?}");
            }
        }
    }
}
