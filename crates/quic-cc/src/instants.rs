//! Simulated time as `std::time::Instant`, which the stacks use.

use fairweir_units::Time;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The instant of time zero: an arbitrary one, because the stacks only subtract instants from each other.
static ZERO: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Returns the instant of `time`.
pub(crate) fn at(time: Time) -> Instant {
    *ZERO + Duration::from_nanos(time.as_nanos())
}
