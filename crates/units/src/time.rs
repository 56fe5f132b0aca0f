//! Points in time and durations, in integer nanoseconds.

use crate::NANOS_PER_SEC;
use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Div, Mul, Sub};

/// A point in time, ns since the start of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Time(u64);

/// A duration, ns; never negative.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Dur(u64);

impl Time {
    /// The start of the run.
    pub const ZERO: Time = Time(0);
    /// Later than all other times: the time of a timer that is not set.
    pub const NEVER: Time = Time(u64::MAX);

    /// Creates the time `ns` nanoseconds after the start.
    pub const fn from_nanos(ns: u64) -> Time {
        Time(ns)
    }
    /// Returns ns since the start.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns seconds since the start, rounded to a double.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
    /// Returns the duration from `earlier` to this time, or zero if `earlier` is later.
    pub const fn since(self, earlier: Time) -> Dur {
        Dur(self.0.saturating_sub(earlier.0))
    }
    /// Returns whether the timer is set, that is, not [`Time::NEVER`].
    pub const fn is_set(self) -> bool {
        self.0 != u64::MAX
    }
}

impl Dur {
    /// Zero nanoseconds.
    pub const ZERO: Dur = Dur(0);
    /// The maximum duration.
    pub const MAX: Dur = Dur(u64::MAX);

    /// Creates a duration of `ns` nanoseconds.
    pub const fn from_nanos(ns: u64) -> Dur {
        Dur(ns)
    }
    /// Creates a duration of `us` microseconds.
    pub const fn from_micros(us: u64) -> Dur {
        Dur(us * 1_000)
    }
    /// Creates a duration of `ms` milliseconds.
    pub const fn from_millis(ms: u64) -> Dur {
        Dur(ms * 1_000_000)
    }
    /// Creates a duration of `s` seconds.
    pub const fn from_secs(s: u64) -> Dur {
        Dur(s * NANOS_PER_SEC)
    }
    /// Creates a duration of `s` seconds, rounded to whole ns; zero if `s` is negative or NaN.
    pub fn from_secs_f64(s: f64) -> Dur {
        Dur((s * NANOS_PER_SEC as f64).round() as u64)
    }
    /// Returns nanoseconds.
    pub const fn as_nanos(self) -> u64 {
        self.0
    }
    /// Returns whole microseconds, rounded down.
    pub const fn as_micros(self) -> u64 {
        self.0 / 1_000
    }
    /// Returns milliseconds, rounded to a double.
    pub fn as_millis_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }
    /// Returns seconds, rounded to a double.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / NANOS_PER_SEC as f64
    }
    /// Returns the difference, or zero if `other` is longer.
    pub const fn saturating_sub(self, other: Dur) -> Dur {
        Dur(self.0.saturating_sub(other.0))
    }
    /// This duration times `num / den`, rounded down, without overflow in between.
    ///
    /// # Panics
    /// If `den` is zero.
    pub const fn mul_ratio(self, num: u64, den: u64) -> Dur {
        Dur((self.0 as u128 * num as u128 / den as u128) as u64)
    }
}

impl Time {
    /// `self + d` without overflow check, for times that cannot be near the end of the range.
    #[inline]
    pub const fn after(self, d: Dur) -> Time {
        Time(self.0 + d.0)
    }
}

impl Add<Dur> for Time {
    type Output = Time;
    fn add(self, d: Dur) -> Time {
        Time(self.0.saturating_add(d.0))
    }
}
impl AddAssign<Dur> for Time {
    fn add_assign(&mut self, d: Dur) {
        *self = *self + d;
    }
}
impl Sub<Dur> for Time {
    type Output = Time;
    /// Saturates at the start of the run.
    fn sub(self, d: Dur) -> Time {
        Time(self.0.saturating_sub(d.0))
    }
}
impl Sub for Time {
    type Output = Option<Dur>;
    fn sub(self, earlier: Time) -> Option<Dur> {
        self.0.checked_sub(earlier.0).map(Dur)
    }
}
impl Add for Dur {
    type Output = Dur;
    fn add(self, d: Dur) -> Dur {
        Dur(self.0.saturating_add(d.0))
    }
}
impl AddAssign for Dur {
    fn add_assign(&mut self, d: Dur) {
        *self = *self + d;
    }
}
impl Mul<u64> for Dur {
    type Output = Dur;
    fn mul(self, k: u64) -> Dur {
        Dur(self.0.saturating_mul(k))
    }
}
impl Div<u64> for Dur {
    type Output = Dur;
    fn div(self, k: u64) -> Dur {
        Dur(self.0 / k)
    }
}
