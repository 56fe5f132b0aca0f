//! The host of an endpoint: wakes the stack, reads what has arrived, sends what is due.

use crate::endpoint::{Datagram, Endpoint, Fault};
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Maximum number of datagrams that a host sends without the time advancing: 100 Gbit/s for a millisecond.
const MAX_BURST: usize = 10_000;
/// Maximum number of times that a stack may ask for a timeout that has passed before the time advances.
const MAX_PAST_TIMEOUTS: usize = 1_000;
/// Maximum number of wake-ups in a row in which a stack neither sends nor receives anything.
const MAX_IDLE_WAKES: u64 = 1_000_000;

/// When a host runs its stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wakes {
    /// Interval of the wake-ups; zero runs the stack at every datagram and every deadline.
    every: Dur,
    /// Time of the first one.
    phase: Dur,
}

impl Wakes {
    /// Wake-ups `every` so often, the first one `phase` after the start.
    pub fn new(every: Dur, phase: Dur) -> Wakes {
        Wakes { every, phase }
    }

    /// Returns the first wake-up at or after `at`.
    fn at_or_after(self, at: Time) -> Time {
        if self.every == Dur::ZERO || !at.is_set() {
            return at;
        }
        let after_first = at.since(Time::ZERO + self.phase);
        Time::ZERO + self.phase + Dur::from_nanos(after_first.as_nanos().next_multiple_of(self.every.as_nanos()))
    }
}

/// A host: an endpoint, and the datagrams that wait on either side of it.
pub(crate) struct Host {
    endpoint: Box<dyn Endpoint>,
    wakes: Wakes,
    /// Arrived, not yet read.
    inbox: VecDeque<Datagram>,
    /// Sent by the stack; to leave at their time, in their order.
    outbox: VecDeque<Datagram>,
    /// When the stack next runs.
    wake_at: Time,
    /// Batch that the stack just sent.
    batch: Vec<Datagram>,
    /// Wake-ups since something was last sent or received.
    idle_wakes: u64,
}

impl Host {
    /// The host of `endpoint`, whose stack first runs at `start`.
    pub(crate) fn new(endpoint: Box<dyn Endpoint>, wakes: Wakes, start: Time) -> Host {
        let wake_at = wakes.at_or_after(start);
        Host {
            endpoint,
            wakes,
            inbox: VecDeque::new(),
            outbox: VecDeque::new(),
            wake_at,
            batch: Vec::new(),
            idle_wakes: 0,
        }
    }

    /// Returns when [`Host::run`] is next due; [`Time::NEVER`] if only a datagram can wake the host.
    pub(crate) fn due(&self) -> Time {
        self.outbox.front().map_or(self.wake_at, |first| self.wake_at.min(first.depart_at))
    }

    /// `datagram` arrives at `now`.
    pub(crate) fn deliver(&mut self, now: Time, datagram: Datagram) {
        self.inbox.push_back(datagram);
        self.wake_at = self.wake_at.min(self.wakes.at_or_after(now));
    }

    /// The time is [`Host::due`]: runs the stack if that is due; passes each datagram that leaves to `depart`.
    ///
    /// # Errors
    /// If the stack fails or does not let the time advance.
    pub(crate) fn run(&mut self, now: Time, mut depart: impl FnMut(Datagram)) -> Result<(), Fault> {
        if self.wake_at <= now {
            self.run_stack(now)?;
        }
        while self.outbox.front().is_some_and(|first| first.depart_at <= now) {
            self.outbox.pop_front().into_iter().for_each(&mut depart);
        }
        Ok(())
    }

    pub(crate) fn endpoint(&self) -> &dyn Endpoint {
        self.endpoint.as_ref()
    }

    fn run_stack(&mut self, now: Time) -> Result<(), Fault> {
        self.idle_wakes = if self.inbox.is_empty() { self.idle_wakes + 1 } else { 0 };
        if self.idle_wakes > MAX_IDLE_WAKES {
            return Err(Fault(format!("was woken {MAX_IDLE_WAKES} times in a row and did nothing")));
        }
        while let Some(datagram) = self.inbox.pop_front() {
            self.endpoint.receive(now, datagram)?;
        }
        let mut sent = 0;
        for _ in 0..MAX_PAST_TIMEOUTS {
            if self.endpoint.deadline(now) <= now {
                self.endpoint.timeout(now)?;
            }
            loop {
                self.endpoint.send(now, &mut self.batch)?;
                if self.batch.is_empty() {
                    break;
                }
                sent += self.batch.len();
                self.idle_wakes = 0;
                if sent > MAX_BURST {
                    return Err(Fault(format!("sent more than {MAX_BURST} datagrams at one instant")));
                }
                self.queue_batch(now);
            }
            let deadline = self.endpoint.deadline(now);
            if deadline > now {
                self.wake_at = self.wakes.at_or_after(deadline);
                return Ok(());
            }
        }
        let deadline = self.endpoint.deadline(now);
        Err(Fault(format!("asks for a timeout at {deadline} again and again, which has passed")))
    }

    /// Datagrams never overtake each other.
    fn queue_batch(&mut self, now: Time) {
        for datagram in self.batch.drain(..) {
            let earliest = self.outbox.back().map_or(now, |last| last.depart_at.max(now));
            self.outbox.push_back(Datagram { depart_at: datagram.depart_at.max(earliest), ..datagram });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_wakes_at_multiples_of_its_interval() {
        let ms = |ms: u64| Time::ZERO + Dur::from_millis(ms);
        let wakes = Wakes::new(Dur::from_millis(4), Dur::from_millis(1));
        let woken: Vec<Time> = [0, 1, 2, 5, 6].into_iter().map(|at| wakes.at_or_after(ms(at))).collect();
        assert_eq!(woken, [ms(1), ms(1), ms(5), ms(5), ms(9)]);
        assert_eq!(wakes.at_or_after(Time::NEVER), Time::NEVER);
        assert_eq!(Wakes::new(Dur::ZERO, Dur::ZERO).at_or_after(ms(3)), ms(3));
    }
}
