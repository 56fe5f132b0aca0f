//! Senders that wait for a larger window, ordered by the time at which it is due.

use fairweir_guard::FlowKey;
use fairweir_units::Time;
use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, HashMap};

/// The waiting flows, each once, with the latest time reported. The kernel reports a flow again after it has dropped
/// the promise for which it reported the flow: the host began another connection, or the flow was released and held
/// again. If both reports were stored, each would cause another one, and their number would grow with every
/// reconnection.
#[derive(Debug, Default)]
pub(crate) struct Waits {
    until: HashMap<FlowKey, Time>,
    /// May contain waits that a later report has replaced.
    order: BinaryHeap<Reverse<Wait>>,
}

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
        for (flow, until) in waiting {
            if self.until.insert(flow, until) != Some(until) {
                self.order.push(Reverse(Wait { until, flow }));
            }
        }
    }

    /// Returns the earliest end of a wait.
    pub(crate) fn first(&mut self) -> Option<Time> {
        while let Some(Reverse(wait)) = self.order.peek() {
            if self.until.get(&wait.flow) == Some(&wait.until) {
                return Some(wait.until);
            }
            self.order.pop();
        }
        None
    }

    /// Removes and returns the flows that are due at `now`.
    pub(crate) fn due(&mut self, now: Time) -> Vec<FlowKey> {
        let mut due = Vec::new();
        while self.first().is_some_and(|until| until <= now) {
            let Some(Reverse(Wait { flow, .. })) = self.order.pop() else { break };
            self.until.remove(&flow);
            due.push(flow);
        }
        due
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
        assert_eq!(waits.due(Time::from_nanos(9)), []);
        assert_eq!(waits.due(Time::from_nanos(20)), [flow(1), flow(2)]);
        assert_eq!(waits.due(Time::from_nanos(99)), [flow(3)]);
        assert_eq!(waits.first(), None);
    }

    #[test]
    fn a_flow_waits_once_however_often_it_is_named() {
        let flow = FlowKey::new(([10, 0, 0, 1], 1).into(), ([192, 0, 2, 7], 1).into(), 0);
        let mut waits = Waits::default();
        waits.extend([50, 20, 20, 40, 30].map(|at| (flow, Time::from_nanos(at))));
        assert_eq!(waits.first(), Some(Time::from_nanos(30)));
        assert_eq!(waits.due(Time::from_nanos(99)), [flow]);
        assert_eq!((waits.first(), waits.until.len(), waits.order.len()), (None, 0, 0));
    }
}
