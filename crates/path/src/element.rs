//! An element of the path that only one flow uses.

use crate::{ConfigError, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use std::fmt::Debug;

/// An element of the path that only one flow uses, in one direction. It never reorders packets.
///
/// Neither `now` nor the returned delivery times ever decrease from call to call.
pub trait Element: Debug + Send {
    /// Returns the fate of `packet`, which arrives at `now`.
    fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict;

    /// Returns how often the element violated its own bound (for a virtual link: its jitter bound).
    fn violations(&self) -> u64 {
        0
    }
}

/// A kind of element: its parameters in base units. They are defined in the element's file.
pub trait ElementSpec: Debug {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first key whose value is rejected.
    fn validate(&self) -> Result<(), ConfigError>;

    /// Builds the element, with its own random stream. The parameters must be valid.
    fn build(&self, rng: ChaCha8Rng) -> Box<dyn Element>;

    /// Returns the minimum time that the element holds a packet, for any traffic.
    fn shortest_hold(&self) -> Dur {
        Dur::ZERO
    }

    /// Returns the maximum time that the element holds a packet, for any traffic; `None` if that depends on the
    /// traffic.
    fn longest_hold(&self) -> Option<Dur> {
        None
    }

    /// Returns examples as JSON, with the name of the kind.
    fn examples() -> &'static [&'static str]
    where
        Self: Sized;
}
