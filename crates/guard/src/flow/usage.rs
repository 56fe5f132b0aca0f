//! How much data a flow has moved lately, for choosing among flows when the table is full.

use fairweir_units::{Dur, Time};

/// What moved so long ago counts half.
const HALF_LIFE: Dur = Dur::from_millis(1000);

/// Payload, halved with every [`HALF_LIFE`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    bytes: u64,
    at: Time,
}

impl Usage {
    pub(super) fn add(&mut self, payload: u32, now: Time) {
        let halves = self.halves(now);
        self.bytes = self.recent(now).saturating_add(u64::from(payload));
        // Less than a half-life stays to be counted.
        self.at = if halves > 0 || self.at == Time::ZERO { now } else { self.at };
    }

    /// Return the bytes moved lately.
    pub(super) fn recent(&self, now: Time) -> u64 {
        u32::try_from(self.halves(now)).ok().and_then(|halves| self.bytes.checked_shr(halves)).unwrap_or(0)
    }

    fn halves(&self, now: Time) -> u64 {
        now.since(self.at).as_nanos() / HALF_LIFE.as_nanos()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moved_is_forgotten_by_halves() {
        let at = |ms| Time::ZERO + Dur::from_millis(ms);
        let mut usage = Usage::default();
        assert_eq!(usage.recent(at(5)), 0);
        usage.add(1_000, at(10_000));
        usage.add(600, at(10_500));
        assert_eq!([10_900, 11_000, 12_000, 60_000, 600_000].map(|ms| usage.recent(at(ms))), [1_600, 800, 400, 0, 0]);
        usage.add(100, at(11_100));
        assert_eq!(usage.recent(at(11_200)), 900);
    }
}
