//! Links: when does a packet that arrives now leave?

mod constant;

pub use constant::{ConstantConfig, ConstantRate};

use fairweir_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// A link: serves packets one after another, in order of arrival.
pub trait Link: Debug + Send {
    /// The last bit of a packet that arrives at `now` leaves at the time returned, which never decreases.
    ///
    /// `now` never decreases. Packets refused by the queue do not come here.
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
}

impl LinkConfig {
    /// The link.
    pub fn build(&self) -> Box<dyn Link> {
        match self {
            LinkConfig::Constant(c) => Box::new(ConstantRate::new(c.rate)),
        }
    }
}
