//! Links: they compute the departure time of an arriving packet.

use crate::ConfigError;
use crate::kinds::kinds;
use fairweir_units::{Bytes, Rate, Time};
use std::fmt::Debug;

/// A link: serves packets one after another, in order of arrival.
pub trait Link: Debug + Send {
    /// Returns the time at which the last bit of a packet that arrives at `now` leaves; it never decreases.
    ///
    /// `now` never decreases. Not called for packets that the queue drops.
    fn depart(&mut self, now: Time, bytes: Bytes) -> Time;

    /// The link's mean rate over `[from, to]`, for utilization.
    fn mean_rate(&self, from: Time, to: Time) -> Rate;
}

/// Parameters of one kind of link, in base units; each link's file defines its own.
pub trait LinkSpec: Debug {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first key whose value is rejected.
    fn validate(&self) -> Result<(), ConfigError>;

    /// Builds the link. The parameters must be valid.
    fn build(&self) -> Box<dyn Link>;

    /// Returns the key that sets the rate, for messages.
    fn rate_key(&self) -> &'static str {
        "rate"
    }

    /// Returns examples as JSON, with the name of the kind.
    fn examples() -> &'static [&'static str]
    where
        Self: Sized;
}

// To add a link: a file with its parameters, which implement `LinkSpec`, and a line here.
kinds! {
    /// A link as scenarios describe it, in base units.
    LinkConfig of LinkSpec;
    /// A constant rate.
    Constant = constant::ConstantConfig;
    /// A rate that changes at given times; zero is an outage.
    Steps = steps::StepsConfig;
    /// Delivery opportunities from a mahimahi trace.
    Trace = trace::TraceConfig;
    /// A token-bucket shaper.
    TokenBucket = shaper::ShaperConfig;
    /// Takes no time.
    #[cfg(test)]
    Dummy = dummy::DummyLinkConfig;
}

impl LinkConfig {
    /// Builds the link. The configuration must be valid.
    pub fn build(&self) -> Box<dyn Link> {
        self.spec().build()
    }

    /// Returns the key that sets the rate, for messages.
    pub fn rate_key(&self) -> &'static str {
        self.spec().rate_key()
    }
}
