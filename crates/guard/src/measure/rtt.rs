//! The RTT at the receiver, measured by timestamps, with one definition for all uses.
//!
//! A sample is the time from the *first* departure with a TSval to the *first* arrival that echoes it. Other departures
//! of the same tick and other echoes give no sample. A sample is therefore never below the path's RTT. An idle sender
//! makes it longer, which does not affect the minimum.
//!
//! **Deviation** from the published prototype: the prototype used the last departure (a sample too short) and took
//! every later echo of a tick as a longer RTT.

use fairweir_tcp::sequence::distance;
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Maximum number of departures that wait for their echo. At the limit, new departures are ignored until old ones are
/// echoed.
const MAX_WAITING: usize = 256;
/// Maximum time of an echo: twice the maximum segment lifetime of Linux.
const MAX_RTT: Dur = Dur::from_secs(120);

/// Matches timestamps with their echoes.
#[derive(Clone, Debug, Default)]
pub struct RttMeter {
    waiting: VecDeque<(u32, Time)>,
    newest: Option<u32>,
    latest: Option<Dur>,
    min: Option<Dur>,
}

impl RttMeter {
    /// Processes a departing packet with this TSval.
    pub fn on_departure(&mut self, tsval: u32, now: Time) {
        if self.newest.is_some_and(|newest| distance(newest, tsval) <= 0) {
            return;
        }
        self.newest = Some(tsval);
        while self.waiting.front().is_some_and(|(_, at)| now.since(*at) > MAX_RTT) {
            self.waiting.pop_front();
        }
        if self.waiting.len() < MAX_WAITING {
            self.waiting.push_back((tsval, now));
        }
    }

    /// Processes an arriving packet with this TSecr; returns a sample if it is the first to echo a tick.
    pub fn on_arrival(&mut self, tsecr: u32, now: Time) -> Option<Dur> {
        if self.newest.is_none_or(|newest| distance(newest, tsecr) > 0) {
            return None;
        }
        while self.waiting.front().is_some_and(|(tsval, _)| distance(*tsval, tsecr) > 0) {
            self.waiting.pop_front();
        }
        let at = self.waiting.pop_front_if(|(tsval, _)| *tsval == tsecr)?.1;
        let rtt = now.since(at);
        if rtt == Dur::ZERO || rtt > MAX_RTT {
            return None;
        }
        self.latest = Some(rtt);
        self.min = Some(self.min.map_or(rtt, |min| min.min(rtt)));
        Some(rtt)
    }

    /// Heap memory, bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.waiting.capacity() * size_of::<(u32, Time)>()
    }

    /// Returns the last sample.
    pub fn latest(&self) -> Option<Dur> {
        self.latest
    }
    /// Returns the minimum sample over the flow's lifetime.
    pub fn min(&self) -> Option<Dur> {
        self.min
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Dur::from_millis(ms)
    }

    #[test]
    fn first_departure_to_first_echo() {
        let mut meter = RttMeter::default();
        meter.on_departure(5, ms(10));
        meter.on_departure(5, ms(11));
        assert_eq!(meter.on_arrival(5, ms(30)), Some(Dur::from_millis(20)));
        assert_eq!(meter.on_arrival(5, ms(31)), None, "a second echo of the tick");
        meter.on_departure(6, ms(40));
        assert_eq!(meter.on_arrival(9, ms(41)), None, "an echo of what was never sent");
        assert_eq!(meter.on_arrival(6, ms(45)), Some(Dur::from_millis(5)));
        assert_eq!((meter.min(), meter.latest()), (Some(Dur::from_millis(5)), Some(Dur::from_millis(5))));
    }

    #[test]
    fn ticks_wrap_and_unanswered_ones_are_bounded() {
        let mut meter = RttMeter::default();
        for i in 0..10_000u32 {
            meter.on_departure((u32::MAX - 5_000).wrapping_add(i), ms(1));
        }
        assert_eq!(meter.waiting.len(), MAX_WAITING);
        assert_eq!(meter.on_arrival(u32::MAX - 4_900, ms(3)), Some(Dur::from_millis(2)));
        assert_eq!(meter.on_arrival(100, ms(4)), None);
        assert!(meter.waiting.is_empty());
    }
}
