//! One flow's own part of the path.

use crate::{ConfigError, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use std::fmt::Debug;

/// One flow's own part of the path: it serves one flow in one direction and never reorders.
///
/// Neither `now` nor the returned delivery times ever decrease from call to call.
pub trait Element: Debug + Send {
    /// Returns the fate of `packet`, which arrives at `now`.
    fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict;

    /// Number of times the element violated its own bound (a virtual link its jitter bound).
    fn violations(&self) -> u64 {
        0
    }
}

/// A kind of element: its parameters in base units, in the file of the element.
pub trait ElementSpec: Debug {
    /// Checks the parameters.
    ///
    /// # Errors
    /// The first key whose value is rejected.
    fn validate(&self) -> Result<(), ConfigError>;

    /// Builds the element, with a random stream of its own. The parameters must be valid.
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
