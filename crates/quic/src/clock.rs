//! Virtual time as the `std::time::Instant` that stacks take.

use fairweir_units::Time;
use std::sync::LazyLock;
use std::time::{Duration, Instant};

/// The instant of time zero. Any will do: stacks only subtract instants from each other.
static ZERO: LazyLock<Instant> = LazyLock::new(Instant::now);

/// Returns the instant of `time`.
pub(crate) fn instant(time: Time) -> Instant {
    *ZERO + Duration::from_nanos(time.as_nanos())
}

/// Returns the time of `instant`; the end of time if it is later than that.
pub(crate) fn time(instant: Instant) -> Time {
    let since = instant.saturating_duration_since(*ZERO).as_nanos();
    Time::from_nanos(u64::try_from(since).unwrap_or(u64::MAX))
}
