//! A flow's packets that wait to enter a hop (a link with its queue), or are inside the hop.

use crate::item::{Item, StageId};
use crate::net::Net;
use crate::ring::Ring;
use crate::schedule::Leaf;
use crate::watch::Watch;
use fairweir_path::{Packet, TieKey, Verdict};
use fairweir_units::Time;

/// The place where packets wait to enter the hop of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// No queue: packets enter the hop when they are sent.
    Immediate,
    /// The stage itself, which has this leaf of the schedule.
    Own(Leaf),
    /// The hop ([`crate::arrivals`]).
    AtHop(TieKey),
}

/// A shared hop on a lane, and the flow's packets that have not reached it yet.
#[derive(Debug)]
pub(crate) struct Stage {
    id: StageId,
    pub(crate) hop: usize,
    place: Place,
    coming: Ring<Item>,
    /// Packets inside the hop, if it decides when they leave.
    held: Ring<Item>,
}

/// Result of [`Stage::enter`].
pub(crate) enum Passage {
    Left(Item),
    Inside,
    Lost,
}

impl Stage {
    pub(crate) fn new(id: StageId, hop: usize, place: Place) -> Stage {
        Stage { id, hop, place, coming: Ring::new(), held: Ring::new() }
    }

    /// Adds `item`, which will reach the hop at `item.at`.
    #[inline(always)]
    pub(crate) fn queue<W: Watch>(&mut self, item: Item, net: &mut Net<W>) {
        match self.place {
            Place::AtHop(tie) => net.add_arrival(self.hop, item, self.id, tie),
            Place::Own(leaf) => self.queue_here(leaf, item, net),
            Place::Immediate => debug_assert!(false, "packets enter as they are sent"),
        }
    }

    #[inline(never)]
    fn queue_here<W: Watch>(&mut self, leaf: Leaf, item: Item, net: &mut Net<W>) {
        if self.coming.is_empty() {
            net.schedule.bring_forward(leaf, item.at);
        }
        self.coming.push(item);
    }

    /// Returns whether a packet that has arrived may enter the hop.
    pub(crate) fn enters_at_once(&self) -> bool {
        match self.place {
            Place::Immediate => true,
            Place::Own(_) => self.coming.is_empty(),
            Place::AtHop(_) => false,
        }
    }

    /// Removes and returns the head packet, which reaches the hop now.
    #[inline]
    pub(crate) fn arrive<W: Watch>(&mut self, net: &mut Net<W>) -> Option<Item> {
        let item = self.coming.pop()?;
        if let Place::Own(leaf) = self.place {
            net.schedule.set(leaf, self.coming.front().map_or(Time::NEVER, |next| next.at));
        }
        Some(item)
    }

    /// Passes `item` to the hop as `packet` at `now`.
    #[inline(always)]
    pub(crate) fn enter<W: Watch>(&mut self, mut item: Item, packet: &Packet, now: Time, net: &mut Net<W>) -> Passage {
        let shared = &mut net.hops[self.hop];
        if let Some(leaf) = shared.leaf {
            if !shared.metered.wait(now, packet, 1, self.id.0) {
                return Passage::Lost;
            }
            self.held.push(item);
            net.schedule.set(leaf, shared.metered.hop.service_at());
            return Passage::Inside;
        }
        match item.decide(shared.metered.arrive(now, packet, 1)) {
            true => Passage::Left(item),
            false => Passage::Lost,
        }
    }

    /// Removes the oldest packet inside the hop, which decides on leave and has decided `verdict`; `Err` if the packet
    /// is lost.
    pub(crate) fn release(&mut self, verdict: Verdict) -> Option<Result<Item, Item>> {
        let mut item = self.held.pop()?;
        Some(if item.decide(verdict) { Ok(item) } else { Err(item) })
    }
}
