//! Senders that wait for a larger window, by the time at which they are to be told one.

use fairweir_guard::FlowKey;
use fairweir_units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// Those that wait; the kernel names each flow once at a time.
#[derive(Debug, Default)]
pub(crate) struct Waits(BinaryHeap<Reverse<Wait>>);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Wait {
    until: Time,
    flow: FlowKey,
}

impl Ord for Wait {
    fn cmp(&self, other: &Wait) -> Ordering {
        self.until.cmp(&other.until)
    }
}

impl PartialOrd for Wait {
    fn partial_cmp(&self, other: &Wait) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Waits {
    pub(crate) fn extend(&mut self, waiting: impl IntoIterator<Item = (FlowKey, Time)>) {
        self.0.extend(waiting.into_iter().map(|(flow, until)| Reverse(Wait { until, flow })));
    }

    /// The earliest end of a wait.
    pub(crate) fn first(&self) -> Option<Time> {
        self.0.peek().map(|Reverse(wait)| wait.until)
    }

    /// Takes those that have waited until `now`.
    pub(crate) fn due(&mut self, now: Time) -> impl Iterator<Item = FlowKey> {
        std::iter::from_fn(move || {
            let is_due = self.first().is_some_and(|until| until <= now);
            is_due.then(|| self.0.pop().map(|Reverse(wait)| wait.flow))?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_that_have_waited_long_enough_come_in_their_order() {
        let flow = |port| FlowKey::new(([10, 0, 0, 1], port).into(), ([192, 0, 2, 7], 1).into(), 0);
        let mut waits = Waits::default();
        waits.extend([
            (flow(3), Time::from_nanos(30)),
            (flow(1), Time::from_nanos(10)),
            (flow(2), Time::from_nanos(20)),
        ]);
        assert_eq!(waits.first(), Some(Time::from_nanos(10)));
        assert_eq!(waits.due(Time::from_nanos(9)).count(), 0);
        assert_eq!(waits.due(Time::from_nanos(20)).collect::<Vec<_>>(), [flow(1), flow(2)]);
        assert_eq!(waits.due(Time::from_nanos(99)).collect::<Vec<_>>(), [flow(3)]);
        assert_eq!(waits.first(), None);
    }
}
