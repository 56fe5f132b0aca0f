//! A monotonic clock, derived from a clock that may jump.

use fairweir_units::{Dur, Time};

/// A clock that goes back further than this has jumped; smaller steps are reordering between processors.
const DISORDER: Dur = Dur::from_millis(10);

/// A clock that continues from its last reading if its source jumps back.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Clock {
    last: Time,
    behind: Dur,
}

impl Clock {
    pub(crate) fn read(&mut self, at: Time) -> Time {
        let now = at + self.behind;
        let back = self.last.since(now);
        if back > DISORDER {
            self.behind += back;
        }
        self.last = self.last.max(now);
        self.last
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jumps_back_stop_the_clock_and_it_goes_on() {
        let mut clock = Clock::default();
        let readings = [100, 99, 101, 20, 21, 500].map(|ms| clock.read(Time::ZERO + Dur::from_millis(ms)));
        let ms = readings.map(|t| t.as_nanos() / 1_000_000);
        assert_eq!(ms, [100, 100, 101, 101, 102, 581]);
    }
}
