//! RTTs for computing windows, robust against pauses of the sender.
//!
//! The first data after a pause echoes the timestamp of the last ACK before the pause, so the RTT sample contains the
//! pause. If a pause made an RTT of 40 ms appear as 7 s, the window (rate times RTT) would let the sender exceed its
//! rate many times when it resumes. Until the next sample, the RTT from before the pause is therefore used.

use crate::flow::FlowId;
use fairweir_units::Dur;
use std::collections::{HashMap, HashSet};

/// The RTT of each flow.
#[derive(Debug, Default)]
pub(crate) struct Rtts(HashMap<FlowId, Settled>);

#[derive(Clone, Copy, Debug, Default)]
struct Settled {
    rtt: Option<Dur>,
    was_idle: bool,
    /// The sample that spans a pause.
    across_pause: Option<Dur>,
}

impl Rtts {
    /// Returns the RTT of a flow that is idle or has just resumed.
    pub(crate) fn settled(&self, id: FlowId) -> Option<Dur> {
        self.0.get(&id)?.rtt
    }

    /// Processes the latest sample of a flow; returns the RTT to use.
    pub(crate) fn read(&mut self, id: FlowId, is_idle: bool, latest: Option<Dur>) -> Option<Dur> {
        let known = self.0.entry(id).or_insert(Settled { rtt: latest, ..Settled::default() });
        if is_idle {
            known.was_idle = true;
            return known.rtt;
        }
        if std::mem::take(&mut known.was_idle) {
            known.across_pause = latest;
        }
        if known.across_pause.is_some() && known.across_pause == latest {
            return known.rtt.min(latest).or(latest);
        }
        *known = Settled { rtt: latest, ..Settled::default() };
        latest
    }

    /// Removes all flows that are not in `living`.
    pub(crate) fn retain(&mut self, living: &HashSet<FlowId>) {
        self.0.retain(|id, _| living.contains(id));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Plan;
    use crate::{Limits, Table};

    #[test]
    fn a_sample_that_spans_a_pause_is_not_gone_by() {
        let ms = |n| Some(Dur::from_millis(n));
        let mut rtts = Rtts::default();
        let [id, other] = ids();
        assert_eq!(rtts.read(id, false, ms(40)), ms(40));
        assert_eq!(rtts.read(id, true, ms(40)), ms(40));
        assert_eq!(rtts.read(id, false, ms(7000)), ms(40), "the first after the pause");
        assert_eq!(rtts.read(id, false, ms(7000)), ms(40), "and no other yet");
        assert_eq!(rtts.read(id, false, ms(60)), ms(60));
        rtts.read(id, true, ms(60));
        assert_eq!(rtts.read(id, false, ms(30)), ms(30), "a shorter one is right at any time");
        assert_eq!(rtts.read(other, true, None), None);
        assert_eq!(rtts.read(other, false, ms(7000)), ms(7000), "nothing else is known");
        rtts.retain(&HashSet::from([other]));
        assert_eq!(rtts.settled(id), None);
    }

    fn ids() -> [FlowId; 2] {
        let limits = Limits { needs_proof: false, ..Limits::default() };
        let mut table = Table::new(limits, [0; 16], Plan::new([]));
        let mut packet = crate::Packet {
            at: fairweir_units::Time::ZERO,
            flow: crate::FlowKey::new(([10, 0, 0, 1], 1).into(), ([192, 0, 2, 7], 1).into(), 0),
            direction: fairweir_tcp::Direction::Incoming,
            flags: fairweir_tcp::Flags::ACK,
            seq: 1,
            ack: 1,
            window: 1,
            timestamps: None,
            payload: 1,
            wire: 1,
            segs: 1,
            wscale: None,
        };
        [1, 2].map(|port| {
            packet.flow = crate::FlowKey::new(([10, 0, 0, 1], port).into(), ([192, 0, 2, 7], 1).into(), 0);
            table.observe(&packet).expect("a flow")
        })
    }
}
