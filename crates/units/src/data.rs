//! Amounts of data.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign, Div, Mul, Sub, SubAssign};

/// An amount of data, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// An amount of data as users write it. A multiple of the BDP or of the packet size is converted to bytes in the
/// context of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Size {
    /// A number of bytes.
    Bytes(Bytes),
    /// A number of full-sized packets.
    Packets(u64),
    /// Bandwidth-delay products, in millionths.
    MicroBdp(u64),
    /// Unlimited.
    Infinite,
}

impl Bytes {
    /// Zero bytes.
    pub const ZERO: Bytes = Bytes(0);
    /// The maximum; it means "no limit".
    pub const MAX: Bytes = Bytes(u64::MAX);

    /// Returns the number of bytes.
    pub const fn as_u64(self) -> u64 {
        self.0
    }
    /// Returns the difference, or zero if `other` is larger.
    pub const fn saturating_sub(self, other: Bytes) -> Bytes {
        Bytes(self.0.saturating_sub(other.0))
    }
    /// Returns the number of whole packets of `mss` bytes that fit.
    ///
    /// # Panics
    /// If `mss` is zero.
    pub const fn packets(self, mss: Bytes) -> u64 {
        self.0 / mss.0
    }
    /// Returns this amount times `num / den`, rounded down. Intermediate results do not overflow.
    ///
    /// # Panics
    /// If `den` is zero.
    pub const fn mul_ratio(self, num: u64, den: u64) -> Bytes {
        Bytes((self.0 as u128 * num as u128 / den as u128) as u64)
    }
}

impl Size {
    /// Returns the size in bytes for packets of `packet` bytes on a path with the bandwidth-delay product `bdp`.
    ///
    /// `None` means no limit.
    pub fn resolve(self, packet: Bytes, bdp: Bytes) -> Option<Bytes> {
        match self {
            Size::Bytes(b) => Some(b),
            Size::Packets(n) => Some(packet * n),
            Size::MicroBdp(m) => Some(bdp.mul_ratio(m, 1_000_000)),
            Size::Infinite => None,
        }
    }
}

impl Add for Bytes {
    type Output = Bytes;
    fn add(self, o: Bytes) -> Bytes {
        Bytes(self.0.saturating_add(o.0))
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, o: Bytes) {
        *self = *self + o;
    }
}
impl Sub for Bytes {
    type Output = Bytes;
    /// # Panics
    /// In debug builds, if the result would be negative.
    fn sub(self, o: Bytes) -> Bytes {
        Bytes(self.0 - o.0)
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, o: Bytes) {
        *self = *self - o;
    }
}
impl Mul<u64> for Bytes {
    type Output = Bytes;
    fn mul(self, k: u64) -> Bytes {
        Bytes(self.0.saturating_mul(k))
    }
}
impl Div<u64> for Bytes {
    type Output = Bytes;
    fn div(self, k: u64) -> Bytes {
        Bytes(self.0 / k)
    }
}
