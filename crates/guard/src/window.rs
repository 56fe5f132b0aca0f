//! The window that a managed host may advertise, so that a sender's flow control limits the sender.
//!
//! All numbers are in host byte order. A promise is never withdrawn: the right edge never moves back (RFC 9293
//! §3.8.6.2.1), so a window shrinks by at most the bytes acknowledged since. Windows are in units of 2^scale bytes, and
//! the rest of a promise is rounded up to a unit. For an ACK that acknowledges less than a unit it is rounded down,
//! which moves the edge back by less than a unit (RFC 7323 §2.4 requires senders to tolerate that). With rounding up,
//! the windows of a sender with small segments would never shrink under any policy.
//!
//! If two segments per RTT exceed the rate, a window cannot enforce it. A [`Pace`] then limits how fast the right edge
//! advances: a token bucket (as a virtual clock: ITU-T I.371's GCRA) that fills at the rate and is spent by newly
//! promised bytes. An ACK that finds too few tokens repeats the edge of the last promise, down to a window of zero. It
//! also returns the time of the next ACK, because the sender waits for it.
//!
//! `bpf/guard/window.h` makes the same decisions in the kernel.

use crate::pace::Pace;
use fairweir_tcp::sequence::distance;
use fairweir_units::{Dur, Time};

/// Minimum window. With less than two segments in flight a sender waits for delayed ACKs, with less than one segment
/// for its persist timer.
const MIN_SEGMENTS: u64 = 2;
/// RFC 7323 §2.3.
pub(crate) const MAX_SCALE: u8 = 14;

/// Target number of bytes in flight, at least two segments, and the pace of promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WindowTarget {
    bytes: u64,
    least: u64,
    pace: Option<Pace>,
}

impl WindowTarget {
    /// Creates a target for `mbps` (1e6 bit/s) at `rtt`. NaN counts as 0.
    pub fn for_rate(mbps: f64, rtt: Dur, mss: u32) -> WindowTarget {
        WindowTarget::from_bytes((mbps * rtt.as_secs_f64() * 1e6 / 8.0) as u64, mss)
    }
    /// Creates a target of `bytes`, but at least two segments.
    pub fn from_bytes(bytes: u64, mss: u32) -> WindowTarget {
        let least = MIN_SEGMENTS * u64::from(mss);
        WindowTarget { bytes: bytes.max(least), least, pace: None }
    }

    /// Also limits the rate to `mbps` (1e6 bit/s) for any RTT. Use it with [`Promise::advertise_at`].
    #[must_use]
    pub fn paced(self, mbps: f64) -> WindowTarget {
        WindowTarget { pace: Pace::new(mbps, self.bytes, self.least), ..self }
    }

    /// Bytes before rounding to the scale.
    pub fn bytes(self) -> u64 {
        self.bytes
    }

    /// Two segments, bytes.
    pub fn least(self) -> u64 {
        self.least
    }

    /// Returns the maximum rate at which the right edge advances.
    pub fn pace(self) -> Option<Pace> {
        self.pace
    }

    /// Returns the maximum number of bytes promised at a time. With a pace this is several quanta, which may exceed the
    /// window of a short RTT.
    pub fn room(self) -> u64 {
        self.pace.map_or(self.bytes, Pace::room)
    }

    /// The bytes rounded down to units, but at least two segments.
    fn units(self, bytes: u64, scale: u8) -> u64 {
        (bytes >> scale).max(self.least.div_ceil(1 << scale))
    }
}

/// Window of a departing ACK of a flow with a pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Advertised {
    /// Not scaled.
    pub window: u16,
    /// Time at which the sender must receive a larger window, even if its silence causes no ACK.
    pub waits_until: Option<Time>,
}

/// The part of a promise that remains.
struct Kept {
    edge: u32,
    /// Number of bytes up to the edge.
    promised: u32,
    /// The window that preserves the promise, in units.
    units: u64,
}

/// Promises made in one direction of a connection.
#[derive(Clone, Copy, Debug)]
pub struct Promise {
    scale: u8,
    /// Highest sequence number promised, exclusive.
    edge: Option<u32>,
    /// The highest acknowledgment number so far.
    ack: Option<u32>,
    /// Time at which the pace covers all promised bytes.
    paid: Time,
}

impl Promise {
    /// Creates the state of a connection with this window scale.
    pub fn new(wscale: u8) -> Promise {
        Promise { scale: wscale.min(MAX_SCALE), edge: None, ack: None, paid: Time::ZERO }
    }

    /// Returns the window for a departing ACK that had `window`. The result is never above `window`, as the host has no
    /// more buffer space. It moves towards `target` at any pace, and is `window` without a target. Do not call this for
    /// a SYN, whose window is not scaled, or for an RST.
    pub fn advertise(&mut self, ack: u32, window: u16, target: Option<WindowTarget>) -> u16 {
        let Kept { edge, units: least, .. } = self.kept(ack, window);
        let units = target.map_or(u64::from(window), |target| target.units(target.bytes, self.scale).max(least));
        self.promise(ack, edge, u16::try_from(units).unwrap_or(u16::MAX).min(window)).0
    }

    /// Does the same at `now`, with the pace of `target` as a limit. If the edge is rounded up to a unit, less than a
    /// unit is promised in advance.
    pub fn advertise_at(&mut self, ack: u32, window: u16, target: WindowTarget, now: Time) -> Advertised {
        if self.edge.is_none() {
            self.paid = now;
        }
        let Some(pace) = target.pace else {
            return Advertised { window: self.advertise(ack, window, Some(target)), waits_until: None };
        };
        let Kept { edge, promised, units: least } = self.kept(ack, window);
        let mut paid = pace.settled(self.paid, now, self.scale);
        let wanted = target.units(pace.room(), self.scale).min(u64::from(window));
        let room = wanted << self.scale;
        let missing = |promised: u32| room.saturating_sub(u64::from(promised));
        let granted = pace.grant(missing(promised), paid, now, self.scale);
        let units = ((u64::from(promised) + granted) >> self.scale).min(wanted).max(least);
        let (window, newly) = self.promise(ack, edge, u16::try_from(units).unwrap_or(u16::MAX).min(window));
        if newly > 0 {
            paid = pace.settled(paid + pace.time_for(u64::from(newly)), now, self.scale);
            self.paid = paid;
        }
        let next = pace.quantum_of(self.scale).min(missing(promised + newly));
        let is_short = 2 * u64::from(window) < wanted;
        Advertised { window, waits_until: is_short.then(|| pace.wait_for(next, paid, now)) }
    }

    /// Returns the part of the promise that remains after an ACK of `ack`.
    fn kept(&mut self, ack: u32, window: u16) -> Kept {
        // Promises before the first captured ACK are unknown; the ACK's own window is their minimum.
        let edge = self.edge.unwrap_or(ack.wrapping_add(u32::from(window) << self.scale));
        let promised = distance(ack, edge).max(0) as u32;
        let acked = distance(self.ack.unwrap_or(ack), ack).max(0);
        if acked > 0 || self.ack.is_none() {
            self.ack = Some(ack);
        }
        let unit = 1 << self.scale;
        let units = if acked < unit { promised >> self.scale } else { promised.div_ceil(unit as u32) };
        Kept { edge, promised, units: u64::from(units) }
    }

    /// Returns the window, and by how much it moves the edge.
    fn promise(&mut self, ack: u32, edge: u32, window: u16) -> (u16, u32) {
        let reached = ack.wrapping_add(u32::from(window) << self.scale);
        let newly = distance(edge, reached).max(0) as u32;
        self.edge = Some(edge.wrapping_add(newly));
        (window, newly)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MSS: u32 = 1448;

    fn at_once(scale: u8, window: u16, bytes: u64, mss: u32) -> u16 {
        let mut promise = Promise { edge: Some(0), ..Promise::new(scale) };
        promise.advertise(0, window, Some(WindowTarget::from_bytes(bytes, mss)))
    }

    #[test]
    fn the_smaller_window_in_host_order() {
        // In network byte order 0x0140 is above 0x0200.
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

    /// Returns the bytes sent in `seconds` by a sender that immediately uses the whole window, on a path of 50 us. Each
    /// `segment` is acknowledged.
    fn sent(scale: u8, mbps: f64, seconds: u64, segment: u32) -> u64 {
        const RTT: Dur = Dur::from_micros(50);
        let target = WindowTarget::for_rate(mbps, RTT, MSS).paced(mbps);
        let (mut promise, mut now, mut ack, mut total) = (Promise::new(scale), Time::ZERO, 7u32, 0u64);
        // Bytes up to this window were promised before.
        ack = ack.wrapping_add(u32::from(promise.advertise_at(ack, u16::MAX, target, now).window) << scale);
        let mut advert = promise.advertise_at(ack, u16::MAX, target, now);
        while now < Time::ZERO + Dur::from_secs(seconds) {
            // In one RTT at most the window at its start is sent.
            let mut left = u32::from(advert.window) << scale;
            while left > 0 && advert.window > 0 {
                let bytes = segment.min(left).min(u32::from(advert.window) << scale);
                (ack, left, total) = (ack.wrapping_add(bytes), left - bytes, total + u64::from(bytes));
                advert = promise.advertise_at(ack, u16::MAX, target, now);
            }
            now += RTT;
            if advert.window == 0 {
                // Without another ACK the sender would wait permanently.
                now = advert.waits_until.expect("a window of zero ends").max(now);
            }
            advert = promise.advertise_at(ack, u16::MAX, target, now);
        }
        total
    }

    #[test]
    fn a_pace_holds_its_rate_where_two_segments_an_rtt_exceed_it() {
        for scale in [0, 7, 10, 14] {
            for mbps in [1.0, 5.0, 20.0, 150.0, 400.0] {
                for segment in [40, 127, 255, 400, 1023, MSS, 2 * MSS, 65_536] {
                    let rate = sent(scale, mbps, 4, segment) as f64 * 8e-6 / 4.0;
                    assert!(
                        (0.95..1.08).contains(&(rate / mbps)),
                        "{rate} for {mbps}, units of 2^{scale}, segments of {segment}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_window_shrinks_also_where_an_ack_is_less_than_a_unit() {
        for bytes in [40u32, 127, 255, 400, 1023] {
            let mut promise = Promise::new(10);
            let target = Some(WindowTarget::from_bytes(25_600, MSS));
            assert_eq!(promise.advertise(0, 1000, target), 1000);
            let acks = 1_000_000 / bytes;
            let last = (1..=acks).map(|i| promise.advertise(i * bytes, 1000, target)).last();
            assert_eq!(last, Some(25), "ACKs of {bytes} bytes");
        }
    }

    #[test]
    fn a_pace_that_is_none_changes_nothing() {
        let target = WindowTarget::from_bytes(25_600, MSS);
        for mbps in [f64::NAN, f64::INFINITY, 1e9] {
            assert_eq!(target.paced(mbps), target);
        }
        assert_eq!(target.paced(-1.0).pace().unwrap().bytes_per_s(), 1);
        let paced = target.paced(1e-9);
        assert_eq!((paced.bytes(), paced.room()), (25_600, 25_600));
        assert_eq!(target.paced(20.0).room(), 25_600, "enough for four quanta");
        assert_eq!(target.paced(150.0).room(), 4 * 37_500, "an RTT of 1.4 ms");
    }

    proptest! {
        #[test]
        fn a_pace_is_kept_and_promises_too(
            scale in 0u8..15, start in any::<u32>(), mbps in 0.01f64..2e3, rtt_us in 10u64..200_000,
            acks in proptest::collection::vec((0.0f64..1.0, 0u64..5_000_000, any::<bool>()), 1..200),
        ) {
            let target = WindowTarget::for_rate(mbps, Dur::from_micros(rtt_us), MSS).paced(mbps);
            let pace = target.pace().unwrap();
            let (mut promise, mut ack, mut now) = (Promise::new(scale), start, Time::from_nanos(1 << 40));
            promise.advertise_at(ack, 1000, target, now);
            let (first, mut edge, mut moves) = (promise.edge.unwrap(), promise.edge.unwrap(), 0u64);
            let began = now;
            for (part, gap, is_due) in acks {
                let left = distance(ack, edge).max(0) as u32;
                let acked = (f64::from(left) * part) as u32;
                ack = ack.wrapping_add(acked);
                now += Dur::from_nanos(gap);
                let Advertised { window, waits_until } = promise.advertise_at(ack, u16::MAX, target, now);
                let reached = ack.wrapping_add(u32::from(window) << scale);
                let slack = if acked < 1 << scale { (1 << scale) - 1 } else { 0 };
                prop_assert!(distance(edge, reached) >= -slack, "what was promised is taken back");
                edge = if distance(edge, reached) > 0 { reached } else { edge };
                moves += 1;
                if let Some(mut until) = waits_until.filter(|_| is_due) {
                    prop_assert!(until >= now);
                    while until > now {
                        now = until;
                        let mut looking = promise;
                        let looked = looking.advertise_at(ack, u16::MAX, target, now);
                        until = looked.waits_until.filter(|_| looked.window == window).unwrap_or(now);
                    }
                    let renewed = promise.advertise_at(ack, u16::MAX, target, now).window;
                    prop_assert!(renewed > window, "a waiting sender gets a larger window");
                    edge = ack.wrapping_add(u32::from(renewed) << scale);
                    moves += 1;
                }
                let promised = edge.wrapping_sub(first);
                let time = now.since(began).as_nanos() as f64 / 1e9;
                let depth = pace.depth().as_secs_f64().max(2.0 * pace.quantum_of(scale) as f64 / f64::from(pace.bytes_per_s()));
                let rounded_up = (moves * ((1u64 << scale) - 1)) as f64;
                let bound = f64::from(pace.bytes_per_s()) * (time + depth) * (1.0 + 1e-9) + rounded_up + 1.0;
                prop_assert!(f64::from(promised) <= bound, "{promised} of {bound} in {time} s");
            }
        }

        #[test]
        fn promises_are_stored(scale in 0u8..15, start in any::<u32>(), acks in proptest::collection::vec(
            (0u32..100_000, any::<u16>(), proptest::option::of(0u64..1 << 31)), 1..100
        )) {
            let (mut promise, mut ack, mut edge) = (Promise::new(scale), start, None);
            for (step, window, bytes) in acks {
                ack = ack.wrapping_add(step);
                let target = bytes.map(|bytes| WindowTarget::from_bytes(bytes, MSS));
                let advertised = promise.advertise(ack, window, target);
                prop_assert!(advertised <= window);
                let slack = if step < 1 << scale { (1 << scale) - 1 } else { 0 };
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
