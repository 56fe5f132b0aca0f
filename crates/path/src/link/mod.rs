//! Links: when does a packet that arrives now leave?

mod constant;
mod shaper;
mod steps;
mod trace;

pub use constant::{ConstantConfig, ConstantRate};
pub use shaper::{Shaper, ShaperConfig};
pub use steps::{RateStep, RateSteps, StepsConfig};
pub use trace::{Trace, TraceConfig, TraceError};

use crate::ConfigError;
use fairweir_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// A link: serves packets one after another, in order of arrival.
pub trait Link: Debug + Send {
    /// The last bit of a packet that arrives at `now` leaves at the time returned, which never decreases.
    ///
    /// `now` never decreases. Not called for packets that the queue drops.
    fn depart(&mut self, now: Time, bytes: Bytes) -> Time;

    /// The link's mean rate over `[from, to]`, for utilisation.
    fn mean_rate(&self, from: Time, to: Time) -> Rate;
}

/// A link as scenarios describe it, in base units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum LinkConfig {
    /// A constant rate.
    Constant(ConstantConfig),
    /// A rate that changes at given times; outages too.
    Steps(StepsConfig),
    /// Opportunities from a trace (mahimahi).
    Trace(TraceConfig),
    /// A token-bucket shaper.
    TokenBucket(ShaperConfig),
}

impl LinkConfig {
    /// The link. The configuration must be valid.
    pub fn build(&self) -> Box<dyn Link> {
        match self {
            LinkConfig::Constant(c) => Box::new(ConstantRate::new(c.rate)),
            LinkConfig::Steps(c) => Box::new(RateSteps::new(c)),
            LinkConfig::Trace(c) => Box::new(Trace::new(c)),
            LinkConfig::TokenBucket(c) => Box::new(Shaper::new(c)),
        }
    }

    /// Is this a link that can be built?
    ///
    /// # Errors The first key whose value is rejected.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            LinkConfig::Constant(c) => c.validate(),
            LinkConfig::Steps(c) => c.validate(),
            LinkConfig::Trace(c) => c.validate(),
            LinkConfig::TokenBucket(c) => c.validate(),
        }
    }
}
