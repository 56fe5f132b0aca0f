//! Packets grouped by sending time, and the change of the groups' spacing on the path (draft, section 5.2).

use fairweir_units::{Dur, Time};

/// Packets sent within this belong together.
const BURST: Dur = Dur::from_millis(5);
/// Packets that arrive at once, however they were sent, join the group for at most this long.
const MAX_BURST: Dur = Dur::from_millis(100);

/// Spacing of two groups, ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GroupDelta {
    /// Interval between the sending times of their last packets.
    pub(super) sent_ms: f64,
    /// Interval between the arrival times of their last packets.
    pub(super) arrived_ms: f64,
    /// Arrival time of the later one.
    pub(super) at_ms: f64,
}

/// Groups packets in order of arrival.
#[derive(Debug, Default)]
pub(super) struct ArrivalGroups {
    current: Option<Group>,
    previous: Option<Group>,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    first_sent: Time,
    last_sent: Time,
    first_arrived: Time,
    last_arrived: Time,
}

impl ArrivalGroups {
    /// A packet; when it begins a new group, the spacing of the two groups before it.
    pub(super) fn arrive(&mut self, sent: Time, arrived: Time) -> Option<GroupDelta> {
        let new = Group { first_sent: sent, last_sent: sent, first_arrived: arrived, last_arrived: arrived };
        let Some(current) = &mut self.current else {
            self.current = Some(new);
            return None;
        };
        if current.takes(sent, arrived) {
            current.last_sent = current.last_sent.max(sent);
            current.last_arrived = arrived;
            return None;
        }
        let complete = *current;
        let delta = self.previous.map(|previous| GroupDelta {
            sent_ms: complete.last_sent.since(previous.last_sent).as_millis_f64(),
            arrived_ms: complete.last_arrived.since(previous.last_arrived).as_millis_f64(),
            at_ms: complete.last_arrived.as_secs_f64() * 1e3,
        });
        self.previous = Some(complete);
        self.current = Some(new);
        delta
    }
}

impl Group {
    fn takes(&self, sent: Time, arrived: Time) -> bool {
        let gap = arrived.since(self.last_arrived);
        // Draft, section 5.2: a packet that arrives sooner after the last one than it was sent came in one burst with
        // it.
        let is_burst =
            gap <= BURST && gap < sent.since(self.last_sent) && arrived.since(self.first_arrived) < MAX_BURST;
        is_burst || sent.since(self.first_sent) <= BURST
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_are_5_ms_of_sending_and_bursts_of_arrival_join_them() {
        let ms = |x: u64| Time::from_nanos(x * 1_000_000);
        let mut groups = ArrivalGroups::default();
        // Two packets at once, two later, and the first of a third group.
        assert_eq!(groups.arrive(ms(0), ms(30)), None);
        assert_eq!(groups.arrive(ms(2), ms(34)), None);
        assert_eq!(groups.arrive(ms(33), ms(64)), None);
        assert_eq!(groups.arrive(ms(36), ms(70)), None);
        let delta = groups.arrive(ms(66), ms(97)).unwrap();
        assert_eq!((delta.sent_ms, delta.arrived_ms, delta.at_ms), (34.0, 36.0, 70.0));
        // Held back, then delivered together: one group.
        assert_eq!(groups.arrive(ms(80), ms(99)), None);
        assert_eq!(groups.arrive(ms(95), ms(101)), None);
    }
}
