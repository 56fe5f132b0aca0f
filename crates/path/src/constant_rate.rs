//! Service at a constant rate, exact in the long run. Links, shapers and policers use it.

use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate, Time};

/// A server of constant rate. The fraction of a nanosecond that remains after a packet's transmission is carried over
/// to the next packet, so a busy link is exact over any number of packets.
#[derive(Clone, Debug)]
pub struct ConstantRate {
    rate: u64,
    last_departure: Time,
    /// Fraction that remains from the last packet, in 1/`rate` ns.
    fraction: u64,
    /// Cached transmission time of one size: nearly all packets have the same size.
    known: Transmission,
}

/// Transmission time of `bytes`: `whole` ns and `fraction`/rate ns.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    bytes: u64,
    whole: u64,
    fraction: u64,
}

impl Transmission {
    #[cold]
    fn new(bytes: u64, rate: u64) -> Transmission {
        let work = u128::from(bytes) * u128::from(NANOS_PER_SEC);
        let (whole, fraction) = (work / u128::from(rate), work % u128::from(rate));
        Transmission { bytes, whole: whole.min(u128::from(u64::MAX / 2)) as u64, fraction: fraction as u64 }
    }
}

impl ConstantRate {
    /// Creates a link of `rate`.
    ///
    /// # Panics
    /// If `rate` is zero.
    pub fn new(rate: Rate) -> ConstantRate {
        let rate = rate.bytes_per_sec();
        assert!(rate > 0, "a constant link needs a positive rate");
        ConstantRate { rate, last_departure: Time::ZERO, fraction: 0, known: Transmission::new(1500, rate) }
    }

    /// Returns the rate.
    pub fn rate(&self) -> Rate {
        Rate::from_bytes_per_sec(self.rate)
    }

    /// Returns the transmission time of a packet of `bytes` on an idle link, in whole nanoseconds.
    pub(crate) fn idle_transmission(&self, bytes: Bytes) -> Dur {
        Dur::from_nanos(Transmission::new(bytes.0, self.rate).whole)
    }

    /// Returns the time between the last departure returned and the exact departure of the last bit, in 1/rate ns.
    pub(crate) fn fraction(&self) -> u64 {
        self.fraction
    }

    /// Returns the time at which the last bit of a packet of `bytes` leaves. The packet arrives at `now`, which never
    /// decreases.
    #[inline]
    pub fn depart(&mut self, now: Time, bytes: Bytes) -> Time {
        if bytes.0 != self.known.bytes {
            self.known = Transmission::new(bytes.0, self.rate);
        }
        if now > self.last_departure {
            self.last_departure = now;
            self.fraction = 0;
        }
        self.fraction += self.known.fraction;
        let carry = u64::from(self.fraction >= self.rate);
        self.fraction -= carry * self.rate;
        self.last_departure = Time::from_nanos(self.last_departure.as_nanos().saturating_add(self.known.whole + carry));
        self.last_departure
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_packets_take_exactly_as_long_as_the_rate_says() {
        // 1500 B at 7 Mbps take 1714285.714... ns; rounding errors would accumulate.
        let mut link = ConstantRate::new(Rate::from_mbps(7));
        let mut last = Time::ZERO;
        for _ in 0..1_000_000 {
            last = link.depart(Time::ZERO, Bytes(1500));
        }
        assert_eq!(last.as_nanos(), 1_500_000_000 * 8_000 / 7);
    }

    #[test]
    fn an_idle_link_starts_afresh() {
        let mut link = ConstantRate::new(Rate::from_mbps(12));
        assert_eq!(link.depart(Time::ZERO, Bytes(1500)), Time::from_nanos(1_000_000));
        assert_eq!(link.depart(Time::from_nanos(5_000_000), Bytes(750)), Time::from_nanos(5_500_000));
    }
}
