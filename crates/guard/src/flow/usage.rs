//! Recent data of a flow, used to choose among flows when the table is full.

use fairweir_units::Time;

/// Half-life of the usage: data moved 2^30 ns (about a second) ago counts half.
const HALF_LIFE_SHIFT: u32 = 30;

/// Payload bytes, halved after each half-life.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    bytes: u64,
    at: Time,
}

impl Usage {
    pub(super) fn add(&mut self, payload: u32, now: Time) {
        // Time less than a half-life remains to be counted.
        if self.halves(now) > 0 {
            (self.bytes, self.at) = (self.recent(now), now);
        }
        self.bytes = self.bytes.saturating_add(u64::from(payload));
    }

    /// Returns the recent bytes.
    pub(super) fn recent(&self, now: Time) -> u64 {
        u32::try_from(self.halves(now)).ok().and_then(|halves| self.bytes.checked_shr(halves)).unwrap_or(0)
    }

    fn halves(&self, now: Time) -> u64 {
        now.since(self.at).as_nanos() >> HALF_LIFE_SHIFT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_amount_moved_decays_by_halves() {
        let at = |tenths: u64| Time::from_nanos((tenths << HALF_LIFE_SHIFT) / 10);
        let mut usage = Usage::default();
        assert_eq!(usage.recent(at(5)), 0);
        usage.add(1_000, at(101));
        usage.add(600, at(105));
        assert_eq!([109, 112, 122, 600, 60_000].map(|tenths| usage.recent(at(tenths))), [1_600, 800, 400, 0, 0]);
        usage.add(100, at(112));
        assert_eq!(usage.recent(at(113)), 900);
    }
}
