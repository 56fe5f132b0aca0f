//! Groups packets by sending time, and measures how the path changes the groups' spacing (draft, section 5.2).

use fairweir_units::{Dur, Time};

/// Packets sent within this time of the first packet belong to one group.
const BURST: Dur = Dur::from_millis(5);
/// Maximum duration of a group of packets that arrive in a burst, regardless of their sending times.
const MAX_BURST: Dur = Dur::from_millis(100);

/// Spacing of two consecutive groups, ms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GroupDelta {
    /// Interval between the sending times of their last packets.
    pub(super) sent_ms: f64,
    /// Interval between the arrival times of their last packets.
    pub(super) arrived_ms: f64,
    /// Arrival time of the last packet of the later group.
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
    /// Adds a packet. If it begins a new group, returns the spacing of the two previous groups.
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
        // Draft, section 5.2: a packet belongs to the burst of the previous packet if its arrival interval is shorter
        // than its sending interval.
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
        // Two packets in one group, two in a second group, and the first of a third group.
        assert_eq!(groups.arrive(ms(0), ms(30)), None);
        assert_eq!(groups.arrive(ms(2), ms(34)), None);
        assert_eq!(groups.arrive(ms(33), ms(64)), None);
        assert_eq!(groups.arrive(ms(36), ms(70)), None);
        let delta = groups.arrive(ms(66), ms(97)).unwrap();
        assert_eq!((delta.sent_ms, delta.arrived_ms, delta.at_ms), (34.0, 36.0, 70.0));
        // Packets that are held and then delivered together form one group.
        assert_eq!(groups.arrive(ms(80), ms(99)), None);
        assert_eq!(groups.arrive(ms(95), ms(101)), None);
    }
}
