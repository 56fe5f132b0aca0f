//! The minimum delay of the last minutes, and the minimum of the last samples (RFC 6817 §2.4.2).

use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Width of a bucket of the history.
const MINUTE: Dur = Dur::from_secs(60);

/// The minimum delay of the last minutes, in buckets of one minute.
#[derive(Clone, Debug)]
pub(crate) struct BaseDelay {
    /// Minimum delay of each minute, the newest last; at most `minutes` values.
    buckets: VecDeque<Dur>,
    minutes: usize,
    /// Index of the newest minute.
    minute: u64,
}

impl BaseDelay {
    /// Creates a history of `minutes` minutes.
    pub fn new(minutes: u32) -> BaseDelay {
        BaseDelay { buckets: VecDeque::new(), minutes: minutes as usize, minute: 0 }
    }

    /// Adds a sample at `now`.
    pub fn add(&mut self, now: Time, delay: Dur) {
        let minute = now.as_nanos() / MINUTE.as_nanos();
        match self.buckets.back_mut() {
            Some(least) if minute == self.minute => *least = (*least).min(delay),
            _ => {
                self.minute = minute;
                self.buckets.push_back(delay);
                if self.buckets.len() > self.minutes {
                    self.buckets.pop_front();
                }
            }
        }
    }

    /// Returns the minimum delay; zero before the first sample.
    pub fn least(&self) -> Dur {
        self.buckets.iter().copied().min().unwrap_or(Dur::ZERO)
    }
}

/// The minimum of the last samples.
#[derive(Clone, Debug)]
pub(crate) struct Latest {
    samples: VecDeque<Dur>,
    most: usize,
}

impl Latest {
    /// Creates a filter over at most `most` samples.
    pub fn new(most: u32) -> Latest {
        Latest { samples: VecDeque::new(), most: most as usize }
    }

    /// Adds a sample.
    pub fn add(&mut self, delay: Dur) {
        self.samples.push_back(delay);
        if self.samples.len() > self.most {
            self.samples.pop_front();
        }
    }

    /// Returns the minimum of the samples; zero before the first sample.
    pub fn least(&self) -> Dur {
        self.samples.iter().copied().min().unwrap_or(Dur::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn ms(n: u64) -> Dur {
        Dur::from_millis(n)
    }

    fn minute(n: u64) -> Time {
        Time::ZERO + MINUTE * n
    }

    #[test]
    fn a_minimum_delay_expires_with_its_minute() {
        let mut base = BaseDelay::new(2);
        base.add(minute(0), ms(30));
        base.add(minute(0) + ms(5), ms(20));
        base.add(minute(0) + ms(6), ms(40));
        assert_eq!(base.least(), ms(20));
        base.add(minute(1), ms(50));
        assert_eq!(base.least(), ms(20));
        base.add(minute(2), ms(60));
        assert_eq!(base.least(), ms(50));
    }

    #[test]
    fn the_filter_looks_at_the_last_samples_only() {
        let mut latest = Latest::new(2);
        assert_eq!(latest.least(), Dur::ZERO);
        for delay in [1, 5, 9] {
            latest.add(ms(delay));
        }
        assert_eq!(latest.least(), ms(5));
    }
}
