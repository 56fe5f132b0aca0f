//! The timer and descriptors on which the emulator's thread sleeps, and the decision whether sleeping is worthwhile.
//!
//! Sleeping and waking up cost about as much as forwarding a packet, because the timer must be set and the CPU yielded;
//! in a virtual machine they cost more. Far below capacity this does not matter, and every packet has its own wake-up.
//! The busier the emulator is, the longer the window ([`Rhythm::grain`]) in which packets are released together.

use crate::EmuError;
use crate::clock::{monotonic_ns, time_spec};
use fairweir_units::{Dur, During};
use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::eventfd::{EfdFlags, EventFd};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops the emulator's thread from another thread.
#[derive(Debug)]
pub(crate) struct Stop {
    event: EventFd,
    is_set: AtomicBool,
}

impl Stop {
    pub(crate) fn new() -> Result<Stop, EmuError> {
        let flags = EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC;
        let event = EventFd::from_flags(flags).during(|| "make an eventfd".into())?;
        Ok(Stop { event, is_set: AtomicBool::new(false) })
    }

    pub(crate) fn set(&self) -> Result<(), EmuError> {
        self.is_set.store(true, Ordering::Relaxed);
        self.event.write(1).during(|| "wake the emulator".into())?;
        Ok(())
    }

    pub(crate) fn is_set(&self) -> bool {
        self.is_set.load(Ordering::Relaxed)
    }
}

/// The events that woke the emulator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Woken {
    /// Whether packets wait at the first and at the second device.
    pub(crate) has_packets: [bool; 2],
    /// Lateness of the timer, if it fired.
    pub(crate) late_by: Option<Dur>,
}

impl Woken {
    /// Unknown events: check all sources.
    pub(crate) const UNKNOWN: Woken = Woken { has_packets: [true, true], late_by: None };
}

/// Sleeps until `alarm_ns` of `CLOCK_MONOTONIC`, until a device has a packet, or until `stop` is set.
pub(crate) fn sleep(devices: [&impl AsFd; 2], stop: &Stop, now_ns: u64, alarm_ns: u64) -> Result<Woken, Errno> {
    let readable = PollFlags::POLLIN;
    let mut fds = [
        PollFd::new(devices[0].as_fd(), readable),
        PollFd::new(devices[1].as_fd(), readable),
        PollFd::new(stop.event.as_fd(), readable),
    ];
    let timeout = (alarm_ns != u64::MAX).then(|| time_spec(alarm_ns.saturating_sub(now_ns)));
    match ppoll(&mut fds, timeout, None) {
        Ok(0) => {
            let late_by = Dur::from_nanos(monotonic_ns().saturating_sub(alarm_ns));
            Ok(Woken { has_packets: [false, false], late_by: Some(late_by) })
        }
        Ok(_) => {
            let is_ready = |fd: &PollFd<'_>| fd.any().unwrap_or(true);
            Ok(Woken { has_packets: [is_ready(&fds[0]), is_ready(&fds[1])], late_by: None })
        }
        Err(Errno::EINTR) => Ok(Woken::UNKNOWN),
        Err(errno) => Err(errno),
    }
}

/// Adaptive parameters of sleeping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rhythm {
    /// Median delay between an alarm and the return from sleep, tracked in small steps, ns.
    lag_ns: u64,
    grain_ns: u64,
    /// Start of the current averaging period, and time slept since then, ns.
    since_ns: u64,
    asleep_ns: u64,
}

impl Rhythm {
    const LAG_STEP_NS: u64 = 100;
    /// Maximum lag attributed to the timer; a longer lag is caused by other load.
    const LONGEST_LAG_NS: u64 = 40_000;
    const FINEST_GRAIN_NS: u64 = 2_000;
    const COARSEST_GRAIN_NS: u64 = 24_000;
    /// Averaging period of the fraction of time awake, ns.
    const PERIOD_NS: u64 = 5_000_000;
    /// Limits on the time awake, %. (Under SCHED_FIFO the kernel stops a thread that is awake for 95 % of a second for
    /// 50 ms.)
    const BUSY: u64 = 60;
    const IDLE: u64 = 40;
    /// Minimum useful sleep, ns; a shorter one costs more than it saves.
    const SHORTEST_SLEEP_NS: u64 = 2_000;

    pub(crate) fn new() -> Rhythm {
        Rhythm { lag_ns: 0, grain_ns: Rhythm::FINEST_GRAIN_NS, since_ns: monotonic_ns(), asleep_ns: 0 }
    }

    /// Returns the maximum time by which a packet may be released early or late to share a wake-up.
    pub(crate) fn grain(&self) -> Dur {
        Dur::from_nanos(self.grain_ns)
    }

    /// Returns when to wake up for a packet that is due at `due_ns`; `None` if sleeping is not worthwhile.
    pub(crate) fn alarm(&self, now_ns: u64, due_ns: u64) -> Option<u64> {
        if due_ns == u64::MAX {
            return Some(due_ns);
        }
        let patience = self.grain_ns - Rhythm::FINEST_GRAIN_NS;
        let alarm = (due_ns + patience).saturating_sub(self.lag_ns);
        (alarm >= now_ns + Rhythm::SHORTEST_SLEEP_NS).then_some(alarm)
    }

    /// Updates the parameters after a sleep from `asleep_ns` to `awake_ns`.
    pub(crate) fn slept(&mut self, asleep_ns: u64, awake_ns: u64, woken: Woken) {
        if let Some(lag) = woken.late_by {
            self.lag_ns = match lag.as_nanos() > self.lag_ns {
                true => (self.lag_ns + Rhythm::LAG_STEP_NS).min(Rhythm::LONGEST_LAG_NS),
                false => self.lag_ns.saturating_sub(Rhythm::LAG_STEP_NS),
            };
        }
        self.asleep_ns += awake_ns.saturating_sub(asleep_ns);
        let period = awake_ns.saturating_sub(self.since_ns);
        if period >= Rhythm::PERIOD_NS {
            let awake = period.saturating_sub(self.asleep_ns);
            if awake * 100 > Rhythm::BUSY * period {
                self.grain_ns = (self.grain_ns * 2).min(Rhythm::COARSEST_GRAIN_NS);
            } else if awake * 100 < Rhythm::IDLE * period {
                self.grain_ns = (self.grain_ns / 2).max(Rhythm::FINEST_GRAIN_NS);
            }
            (self.since_ns, self.asleep_ns) = (awake_ns, 0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Simulates `periods` in which the thread is awake for `awake` % of the time.
    fn live(rhythm: &mut Rhythm, periods: u64, awake: u64) {
        for _ in 0..periods {
            let start = rhythm.since_ns;
            let woken = Woken { has_packets: [false, false], late_by: Some(Dur::from_micros(12)) };
            rhythm.slept(start + Rhythm::PERIOD_NS * awake / 100, start + Rhythm::PERIOD_NS, woken);
        }
    }

    #[test]
    fn the_grain_widens_with_load_and_narrows_again() {
        let mut rhythm = Rhythm::new();
        live(&mut rhythm, 100, 80);
        assert_eq!(rhythm.grain(), Dur::from_micros(24));
        live(&mut rhythm, 100, 50);
        assert_eq!(rhythm.grain(), Dur::from_micros(24));
        live(&mut rhythm, 100, 20);
        assert_eq!(rhythm.grain(), Dur::from_micros(2));
    }

    #[test]
    fn the_alarm_is_ahead_by_the_usual_lag() {
        let mut rhythm = Rhythm::new();
        live(&mut rhythm, 1000, 10);
        assert_eq!(rhythm.alarm(0, 1_000_000), Some(988_000));
        assert_eq!(rhythm.alarm(990_000, 1_000_000), None);
        assert_eq!(rhythm.alarm(0, u64::MAX), Some(u64::MAX));
    }
}
