//! Rejects parameters outside their range, with name and value.

use crate::BuildError;
use fairweir_units::{Dur, Rate};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Parameters of one algorithm under test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checks {
    /// The algorithm.
    pub algorithm: &'static str,
}

impl Checks {
    /// Checks that `value` is within `range`.
    pub fn within<T: PartialOrd + Display>(
        self,
        key: &str,
        value: T,
        range: RangeInclusive<T>,
    ) -> Result<Checks, BuildError> {
        if range.contains(&value) {
            return Ok(self);
        }
        self.refuse(key, &format!("be between {} and {}", range.start(), range.end()), &value)
    }

    /// Checks that `value` is positive and at most `most`.
    pub fn positive(self, key: &str, value: f64, most: f64) -> Result<Checks, BuildError> {
        if value > 0.0 && value <= most {
            return Ok(self);
        }
        self.refuse(key, &format!("be positive and at most {most}"), &value)
    }

    /// Checks that `value` is above 0 and below 1.
    pub fn fraction(self, key: &str, value: f64) -> Result<Checks, BuildError> {
        if value > 0.0 && value < 1.0 {
            return Ok(self);
        }
        self.refuse(key, "be above 0 and below 1", &value)
    }

    /// Checks that `value` is positive and at most an hour.
    pub fn some_time(self, key: &str, value: Dur) -> Result<Checks, BuildError> {
        if value > Dur::ZERO {
            return self.at_most_an_hour(key, value);
        }
        self.refuse(key, "be positive", &value)
    }

    /// Checks that `value` is at most an hour.
    pub fn at_most_an_hour(self, key: &str, value: Dur) -> Result<Checks, BuildError> {
        if value <= Dur::from_secs(3600) {
            return Ok(self);
        }
        self.refuse(key, "be at most an hour", &value)
    }

    /// Checks that `value` is positive and at most 1 Pbit/s.
    pub fn some_rate(self, key: &str, value: Rate) -> Result<Checks, BuildError> {
        if (Rate::from_bytes_per_sec(1)..=Rate::from_mbps(1_000_000_000)).contains(&value) {
            return Ok(self);
        }
        self.refuse(key, "be positive and at most 1000000Gbps", &value)
    }

    /// Rejects `value` of `key`, which must satisfy `must`.
    pub fn refuse<T>(self, key: &str, must: &str, value: &dyn Display) -> Result<T, BuildError> {
        Err(BuildError::BadParams { name: self.algorithm.into(), reason: format!("{key} must {must}: `{value}`") })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHECKS: Checks = Checks { algorithm: "foo" };

    fn refusal(result: Result<Checks, BuildError>) -> String {
        result.expect_err("refused").to_string()
    }

    #[test]
    fn a_refusal_names_algorithm_key_and_value() {
        let text = refusal(CHECKS.within("weight", 11, 0..=10));
        assert_eq!(text, "parameters of `foo`: weight must be between 0 and 10: `11`");
        let text = refusal(CHECKS.some_time("target", Dur::ZERO));
        assert_eq!(text, "parameters of `foo`: target must be positive: `0ns`");
    }

    #[test]
    fn ends_belong_to_a_range_but_not_to_a_fraction_and_nan_to_nothing() {
        assert!(CHECKS.within("k", 10, 0..=10).is_ok());
        assert!(CHECKS.within("k", f64::NAN, 0.0..=1.0).is_err());
        for value in [0.0, 1.0, f64::NAN] {
            assert!(CHECKS.fraction("k", value).is_err(), "{value}");
        }
        for value in [0.0, f64::INFINITY, f64::NAN] {
            assert!(CHECKS.positive("k", value, 5.0).is_err(), "{value}");
        }
        assert!(CHECKS.positive("k", 5.0, 5.0).is_ok());
        assert!(CHECKS.at_most_an_hour("k", Dur::from_secs(3601)).is_err());
        assert!(CHECKS.some_rate("k", Rate::ZERO).is_err());
        assert!(CHECKS.some_rate("k", Rate::MAX).is_err());
    }
}
