//! The window that a managed host may advertise, so that a sender's own flow control holds it back.
//!
//! All numbers are in host order. A promise once made is kept: the right edge never moves back (RFC 9293 §3.8.6.2.1),
//! so a window shrinks by no more than has been acknowledged since. Windows come in units of 2^scale bytes; where a unit
//! is more than a segment, ACKs acknowledge less than a unit each, and the edge moves back by less than a unit while it
//! shrinks, which RFC 7323 §2.4 asks senders to bear: no smaller window could be told otherwise.
//!
//! `bpf/guard/window.h` takes the same decisions in the kernel.

use crate::packet::distance;
use fairweir_units::Dur;

/// A sender with less than two segments in flight waits for delayed ACKs, and with less than one for its persist timer.
const MIN_SEGMENTS: u64 = 2;
/// RFC 7323 §2.3.
pub(crate) const MAX_SCALE: u8 = 14;

/// How many bytes a sender should have in flight: at least two segments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowTarget {
    bytes: u64,
    least: u64,
}

impl WindowTarget {
    /// Holds `mbps` (1e6 bit/s) at `rtt`. What is not a number counts as 0.
    pub fn for_rate(mbps: f64, rtt: Dur, mss: u32) -> WindowTarget {
        WindowTarget::from_bytes((mbps * rtt.as_secs_f64() * 1e6 / 8.0) as u64, mss)
    }
    /// So many bytes, if they are two segments.
    pub fn from_bytes(bytes: u64, mss: u32) -> WindowTarget {
        let least = MIN_SEGMENTS * u64::from(mss);
        WindowTarget { bytes: bytes.max(least), least }
    }
    /// Before rounding to the scale.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Two segments, bytes.
    pub fn least(self) -> u64 {
        self.least
    }

    /// Rounded down, but not below two segments.
    fn units(self, scale: u8) -> u64 {
        (self.bytes >> scale).max(self.least.div_ceil(1 << scale))
    }
}

/// What one direction of a connection has been promised.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    scale: u8,
    /// Highest sequence number promised, exclusive.
    edge: Option<u32>,
}

impl Promise {
    /// Nothing seen yet, of a connection with this window scale.
    pub fn new(wscale: u8) -> Promise {
        Promise { scale: wscale.min(MAX_SCALE), edge: None }
    }

    /// The window for a departing ACK (neither SYN, whose window has no scale, nor RST) that had `window`: never above it,
    /// as the host has no more room; towards `target`, or as it was if there is none.
    pub fn advertise(&mut self, ack: u32, window: u16, target: Option<WindowTarget>) -> u16 {
        let bytes = |units: u16| u32::from(units) << self.scale;
        // What was promised before the first ACK that is seen is unknown: its own window is the least it can be.
        let edge = self.edge.unwrap_or(ack.wrapping_add(bytes(window)));
        let promised = distance(ack, edge).max(0) as u32;
        let units = target.map_or(u64::from(window), |target| {
            let is_coarse = 1 << self.scale > target.least / MIN_SEGMENTS;
            let kept = if is_coarse { promised >> self.scale } else { promised.div_ceil(1 << self.scale) };
            target.units(self.scale).max(u64::from(kept))
        });
        let advertised = u16::try_from(units).unwrap_or(u16::MAX).min(window);
        let reached = ack.wrapping_add(bytes(advertised));
        self.edge = Some(if distance(edge, reached) > 0 { reached } else { edge });
        advertised
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u32 = 1448;

    fn at_once(scale: u8, window: u16, bytes: u64, mss: u32) -> u16 {
        let mut promise = Promise { scale, edge: Some(0) };
        promise.advertise(0, window, Some(WindowTarget::from_bytes(bytes, mss)))
    }

    #[test]
    fn the_smaller_window_in_host_order() {
        // In network order 0x0140 is above 0x0200.
        assert_eq!(at_once(0, 320, 512, 100), 320);
        assert_eq!(at_once(0, 512, 320, 100), 320);
    }

    #[test]
    fn targets_above_65535_units_do_not_wrap() {
        assert_eq!(at_once(0, 65_535, 65_546, MSS), 65_535);
        assert_eq!(at_once(7, 40_000, (65_536 + 10) << 7, MSS), 40_000);
        assert_eq!(at_once(14, u16::MAX, u64::MAX, MSS), u16::MAX);
    }

    #[test]
    fn rounding_keeps_two_segments() {
        assert_eq!(at_once(10, 1000, 25_000, MSS), 24, "25,000 bytes are 24 units and a bit");
        assert_eq!(at_once(10, 1000, 0, MSS), 3, "2,896 bytes need three units");
        assert_eq!(at_once(14, 1000, 0, MSS), 1);
        assert_eq!(at_once(0, 100, 0, MSS), 100, "the host itself has no more room");
    }

    #[test]
    fn rates_become_bytes() {
        let rtt = Dur::from_millis(20);
        assert_eq!(WindowTarget::for_rate(25.0, rtt, MSS).bytes(), 62_500);
        for senseless in [f64::NAN, -3.0, 0.0] {
            assert_eq!(WindowTarget::for_rate(senseless, rtt, MSS).bytes(), 2 * u64::from(MSS));
        }
        assert_eq!(WindowTarget::for_rate(f64::INFINITY, rtt, MSS).bytes(), u64::MAX);
    }

    #[test]
    fn a_window_shrinks_as_data_arrive_and_reaches_its_target() {
        let mut promise = Promise::new(10);
        let target = Some(WindowTarget::from_bytes(25_600, MSS));
        let start = u32::MAX - 10_000;
        let windows: Vec<u16> =
            (0..60).map(|i| promise.advertise(start.wrapping_add(i * 2 * MSS), 100, target)).collect();
        assert_eq!(windows[0], 100, "nothing has arrived since the promise");
        assert!(windows.windows(2).all(|pair| pair[1] <= pair[0] && pair[0] - pair[1] <= 3), "{windows:?}");
        assert_eq!(windows[59], 25);
        assert_eq!(promise.advertise(start.wrapping_add(120 * MSS), 100, None), 100, "released at once");
    }

    #[test]
    fn units_above_a_segment_shrink_by_rounding() {
        let mut promise = Promise::new(14);
        let target = Some(WindowTarget::from_bytes(3 << 14, MSS));
        let windows: Vec<u16> = (0..200).map(|i| promise.advertise(i * 2 * MSS, 30, target)).collect();
        assert_eq!((windows[0], windows[1]), (30, 29), "less than a unit is taken back");
        let edge = 30 << 14;
        for (i, window) in (0..200).zip(&windows) {
            let reached = i * 2 * MSS + (u32::from(*window) << 14);
            assert!(reached + (1 << 14) > edge, "no more than a unit");
        }
        assert_eq!(windows[199], 3);
    }

    proptest! {
        #[test]
        fn promises_are_kept(scale in 0u8..15, start in any::<u32>(), acks in proptest::collection::vec(
            (0u32..100_000, any::<u16>(), proptest::option::of(0u64..1 << 31)), 1..100
        )) {
            let (mut promise, mut ack, mut edge) = (Promise::new(scale), start, None);
            for (step, window, bytes) in acks {
                ack = ack.wrapping_add(step);
                let target = bytes.map(|bytes| WindowTarget::from_bytes(bytes, MSS));
                let advertised = promise.advertise(ack, window, target);
                prop_assert!(advertised <= window);
                let slack = if 1 << scale > MSS { (1 << scale) - 1 } else { 0 };
                let own = u64::from(window) << scale;
                prop_assert!(u64::from(advertised) << scale >= own.min(2 * u64::from(MSS)));
                let reached = ack.wrapping_add(u32::from(advertised) << scale);
                if let Some(edge) = edge && advertised < window {
                    prop_assert!(distance(edge, reached) >= -slack, "what was promised is taken back");
                }
                edge = Some(edge.map_or(reached, |edge| if distance(edge, reached) > 0 { reached } else { edge }));
            }
        }
    }
}
