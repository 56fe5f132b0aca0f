//! Bandwidth in BBR's units: packets per time, in fixed point, with one division per sample.

use fairweir_units::{Dur, Rate};

/// Fraction bits of [`Bandwidth`], packets per ns: one unit is 0.06 packets/s, about the kernel's packets/us << 24.
const BANDWIDTH_BITS: u32 = 34;

/// Fraction bits of [`Gain`] (`BBR_SCALE`).
const GAIN_BITS: u32 = 8;

/// Upper bound on packets in a sample or window; keeps products in range.
const MAX_PKTS: u64 = (1 << 29) - 1;

/// Upper bound on bandwidth, 65 536 packets/ns; keeps products in range.
const MAX_BANDWIDTH: u64 = 1 << 50;

/// Upper bound on round-trip times, ns (18 minutes); keeps products in range.
const MAX_NS: u64 = 1 << 40;

/// A bandwidth, packets per ns with 34 fraction bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Bandwidth(u64);

/// A factor in 256ths, the kernel's unit of gains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gain(u32);

impl Gain {
    pub(crate) const UNIT: Gain = Gain(1 << GAIN_BITS);

    /// Returns the largest multiple of 1/256 that is at most `x`; `x` is between 0 and 1000.
    pub(crate) fn from_f64(x: f64) -> Gain {
        Gain((x * f64::from(1u32 << GAIN_BITS)) as u32)
    }
    pub(crate) fn as_f64(self) -> f64 {
        f64::from(self.0) / f64::from(1u32 << GAIN_BITS)
    }
    /// Returns `n` times the gain, rounded down.
    #[inline]
    pub(crate) fn of(self, n: u64) -> u64 {
        ((u128::from(n) * u128::from(self.0)) >> GAIN_BITS) as u64
    }
    /// Returns 1 - gain; the gain is at most 1.
    pub(crate) fn complement(self) -> Gain {
        Gain((1 << GAIN_BITS) - self.0)
    }
}

impl Bandwidth {
    pub(crate) const ZERO: Bandwidth = Bandwidth(0);
    pub(crate) const SMALLEST: Bandwidth = Bandwidth(1);

    /// Returns the bandwidth of `delivered` packets in `interval`, rounded up so that slow flows can grow.
    #[inline]
    pub(crate) fn of_sample(delivered: u64, interval: Dur) -> Bandwidth {
        let quotient = (delivered.min(MAX_PKTS) << BANDWIDTH_BITS).div_ceil(interval.as_nanos().max(1));
        Bandwidth(quotient.min(MAX_BANDWIDTH))
    }

    /// Returns whether [`Bandwidth::of_sample`] is at most this bandwidth. It avoids the division, because most samples
    /// do not change the maximum.
    #[inline]
    pub(crate) fn covers_sample(self, delivered: u64, interval: Dur) -> bool {
        let packets = u128::from(delivered.min(MAX_PKTS) << BANDWIDTH_BITS);
        packets <= u128::from(self.0) * u128::from(interval.as_nanos())
    }

    /// Returns the number of whole packets in `d`.
    #[inline]
    pub(crate) fn packets_in(self, d: Dur) -> u64 {
        ((u128::from(self.0) * u128::from(d.as_nanos().min(MAX_NS))) >> BANDWIDTH_BITS) as u64
    }

    /// Returns ceil(gain x bandwidth x min_rtt), packets.
    #[inline]
    pub(crate) fn bdp(self, min_rtt: Dur, gain: Gain) -> u64 {
        let product = u128::from(self.0) * u128::from(min_rtt.as_nanos().min(MAX_NS));
        ((((product >> GAIN_BITS) * u128::from(gain.0)) + ((1 << BANDWIDTH_BITS) - 1)) >> BANDWIDTH_BITS) as u64
    }

    /// Returns this bandwidth times `gain`.
    #[inline]
    pub(crate) fn scaled(self, gain: Gain) -> Bandwidth {
        Bandwidth(gain.of(self.0))
    }

    /// Returns the mean of two bandwidths.
    pub(crate) fn mean(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(self.0 / 2 + other.0 / 2)
    }

    /// Returns the absolute difference.
    pub(crate) fn abs_diff(self, other: Bandwidth) -> Bandwidth {
        Bandwidth(self.0.abs_diff(other.0))
    }

    /// Returns packets per second, for output.
    pub(crate) fn packets_per_sec(self) -> f64 {
        self.0 as f64 * 1e9 / (1u64 << BANDWIDTH_BITS) as f64
    }
}

/// Converts a bandwidth to a pacing rate.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pacer {
    /// bytes per packet x ns per s x (1 - margin)
    factor: u64,
}

impl Pacer {
    /// Creates a pacer for packets of `mss` bytes, `margin_percent` below the requested rate.
    pub(crate) fn new(mss: u64, margin_percent: u32) -> Pacer {
        Pacer { factor: mss * 10_000_000 * u64::from(100 - margin_percent.min(99)) }
    }

    /// Returns gain x bandwidth, reduced by the margin; never zero.
    #[inline]
    pub(crate) fn rate(self, bandwidth: Bandwidth, gain: Gain) -> Rate {
        let scaled = u128::from(bandwidth.0) * u128::from(self.factor * u64::from(gain.0) / 4);
        let bytes = scaled >> (BANDWIDTH_BITS + GAIN_BITS - 2);
        Rate::from_bytes_per_sec(u64::try_from(bytes).unwrap_or(u64::MAX).max(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sample_gives_back_its_packets() {
        for (delivered, us) in [(1, 1_000_000), (80, 10_000), (7_000, 13), (1, 3_000_000)] {
            let d = Dur::from_micros(us);
            let b = Bandwidth::of_sample(delivered, d);
            assert_eq!(b.packets_in(d), delivered);
            assert!((b.packets_per_sec() / (delivered as f64 * 1e6 / us as f64) - 1.0).abs() < 0.25);
            assert_eq!(b.bdp(d, Gain::UNIT), delivered + u64::from(b.bdp(d, Gain::UNIT) > delivered));
        }
    }

    #[test]
    fn pacing_is_a_hundredth_below_the_bandwidth() {
        // 8000 packets of 1500 bytes per second are 12 MB/s
        let b = Bandwidth::of_sample(8000, Dur::from_secs(1));
        let pacer = Pacer::new(1500, 1);
        let rate = pacer.rate(b, Gain::UNIT).bytes_per_sec();
        assert!(rate.abs_diff(11_880_000) < 2000, "{rate}");
        let fast = pacer.rate(b, Gain::from_f64(1.25)).bytes_per_sec();
        assert!(fast.abs_diff(14_850_000) < 2000, "{fast}");
    }

    #[test]
    fn absurd_inputs_stay_in_range() {
        let most = Bandwidth::of_sample(u64::MAX, Dur::ZERO);
        assert!(most.bdp(Dur::MAX, Gain::from_f64(2.9)) > 1 << 40);
        assert!(Pacer::new(65_536, 0).rate(most, Gain::from_f64(2.9)).bytes_per_sec() > 1 << 50);
        assert_eq!(Pacer::new(1500, 1).rate(Bandwidth::ZERO, Gain::UNIT).bytes_per_sec(), 1);
    }
}
