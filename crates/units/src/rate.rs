//! Data rates.

use crate::{Bytes, Dur, NANOS_PER_SEC};
use serde::{Deserialize, Serialize};
use std::ops::{Add, Div, Mul};

/// A data rate, whole bytes per second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Rate(u64);

impl Rate {
    /// Zero bytes per second.
    pub const ZERO: Rate = Rate(0);
    /// The maximum; it means "no limit".
    pub const MAX: Rate = Rate(u64::MAX);

    /// Creates a rate from bytes per second.
    pub const fn from_bytes_per_sec(b: u64) -> Rate {
        Rate(b)
    }
    /// Creates a rate from Mbit/s.
    pub const fn from_mbps(mbps: u64) -> Rate {
        Rate(mbps * 125_000)
    }
    /// Returns bytes per second.
    pub const fn bytes_per_sec(self) -> u64 {
        self.0
    }
    /// Returns bits per second.
    pub const fn bits_per_sec(self) -> u64 {
        self.0.saturating_mul(8)
    }
    /// Returns megabits per second, rounded to a double.
    pub fn as_mbps_f64(self) -> f64 {
        self.0 as f64 * 8e-6
    }
    /// Returns this rate times `num / den`, rounded down. Intermediate results do not overflow.
    ///
    /// # Panics
    /// If `den` is zero.
    pub const fn mul_ratio(self, num: u64, den: u64) -> Rate {
        let r = self.0 as u128 * num as u128 / den as u128;
        Rate(if r > u64::MAX as u128 { u64::MAX } else { r as u64 })
    }
}

/// Returns `bytes` divided by `time` in Mbit/s, rounded to a double; 0 if `time` is zero.
pub fn mbps(bytes: u64, time: Dur) -> f64 {
    if time == Dur::ZERO { 0.0 } else { bytes as f64 * 8e-6 / time.as_secs_f64() }
}

impl Add for Rate {
    type Output = Rate;
    fn add(self, o: Rate) -> Rate {
        Rate(self.0.saturating_add(o.0))
    }
}
impl Mul<Dur> for Rate {
    type Output = Bytes;
    /// Returns the data that pass in `d`, rounded down.
    fn mul(self, d: Dur) -> Bytes {
        let b = self.0 as u128 * d.as_nanos() as u128 / NANOS_PER_SEC as u128;
        Bytes(b.min(u64::MAX as u128) as u64)
    }
}
impl Mul<u64> for Rate {
    type Output = Rate;
    fn mul(self, k: u64) -> Rate {
        Rate(self.0.saturating_mul(k))
    }
}
impl Div<Rate> for Bytes {
    type Output = Dur;
    /// Returns the transmission time of the data at `rate`, ns, rounded down; [`Dur::MAX`] if `rate` is zero.
    fn div(self, rate: Rate) -> Dur {
        match rate.bytes_per_sec() {
            0 => Dur::MAX,
            r => Dur::from_nanos((self.0 as u128 * NANOS_PER_SEC as u128 / r as u128).min(u64::MAX as u128) as u64),
        }
    }
}
impl Div<Dur> for Bytes {
    type Output = Rate;
    /// Returns the rate at which the data pass in `d`; [`Rate::MAX`] if `d` is zero.
    fn div(self, d: Dur) -> Rate {
        match d.as_nanos() {
            0 => Rate::MAX,
            ns => Rate::from_bytes_per_sec(
                (self.0 as u128 * NANOS_PER_SEC as u128 / ns as u128).min(u64::MAX as u128) as u64
            ),
        }
    }
}
