//! A link of constant rate whose long-run rate is exact.

use super::{Link, LinkSpec};
use crate::ConfigError;
pub use crate::constant_rate::ConstantRate;
use crate::error::check_rate;
use fairweir_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

/// Parameters of [`ConstantRate`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConstantConfig {
    /// Bytes per second, positive.
    pub rate: Rate,
}

impl ConstantConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A rate that is zero or out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_rate("rate", self.rate)
    }
}

impl LinkSpec for ConstantConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        ConstantConfig::validate(self)
    }

    fn build(&self) -> Box<dyn Link> {
        Box::new(ConstantRate::new(self.rate))
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "constant", "rate": 3000000}"#]
    }
}

impl Link for ConstantRate {
    #[inline]
    fn depart(&mut self, now: Time, bytes: Bytes) -> Time {
        ConstantRate::depart(self, now, bytes)
    }

    fn mean_rate(&self, _from: Time, _to: Time) -> Rate {
        self.rate()
    }
}
