//! A queue before a link, shared by flows.

use crate::{Admission, Backlog, Link, LinkConfig, Packet, Queue, QueueConfig, Verdict};
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A hop as scenarios describe it, in base units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopConfig {
    /// How fast it serves.
    pub link: LinkConfig,
    /// What it takes in.
    pub queue: QueueConfig,
}

/// A queue before a link. Packets leave in the order they came.
#[derive(Debug)]
pub struct Hop {
    link: Box<dyn Link>,
    queue: Box<dyn Queue>,
    decides_on_leave: bool,
    /// Departure time and size of each packet inside, oldest first.
    inside: VecDeque<(Time, u32)>,
    /// Packets that wait for [`Hop::service`], if the queue decides on leave: arrival time, packet, caller's tag.
    waiting: VecDeque<(Time, Packet, u32)>,
    backlog: Backlog,
    /// When the link is next free, if the queue decides on leave.
    free_at: Time,
}

/// What [`Hop::service`] did with the packet at the head.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The packet.
    pub packet: Packet,
    /// The tag it was given at its arrival.
    pub tag: u32,
    /// How long it waited for the link.
    pub sojourn: Dur,
    /// What became of it.
    pub verdict: Verdict,
}

impl Hop {
    /// The hop for `config`; `rng` serves the queue's random decisions.
    pub fn new(config: &HopConfig, rng: ChaCha8Rng) -> Hop {
        let queue = config.queue.build(rng);
        Hop {
            link: config.link.build(),
            decides_on_leave: queue.decides_on_leave(),
            queue,
            inside: VecDeque::new(),
            waiting: VecDeque::new(),
            backlog: Backlog::default(),
            free_at: Time::ZERO,
        }
    }

    /// Must packets be taken out with [`Hop::service`]?
    pub fn decides_on_leave(&self) -> bool {
        self.decides_on_leave
    }

    /// What is inside at `now`, which must not be earlier than in any call before.
    #[inline]
    pub fn backlog(&mut self, now: Time) -> Backlog {
        while let Some(&(departure, bytes)) = self.inside.front() {
            if departure > now {
                break;
            }
            self.inside.pop_front();
            self.backlog.bytes -= Bytes(u64::from(bytes));
            self.backlog.packets -= 1;
        }
        self.backlog
    }

    /// `packet` arrives at `now`: when does it leave, if at all?
    ///
    /// # Panics
    /// In debug builds, if the queue decides on leave.
    #[inline]
    pub fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict {
        debug_assert!(!self.decides_on_leave);
        let backlog = self.backlog(now);
        let admission = self.queue.admit(now, packet, backlog);
        if admission == Admission::Drop {
            return Verdict::Drop;
        }
        let departure = self.link.depart(now, packet.bytes);
        self.inside.push_back((departure, packet.bytes.0 as u32));
        self.backlog.bytes += packet.bytes;
        self.backlog.packets += 1;
        if admission == Admission::Mark { Verdict::Mark(departure) } else { Verdict::Deliver(departure) }
    }

    /// The link, to ask for its rate.
    pub fn link(&self) -> &dyn Link {
        self.link.as_ref()
    }

    /// For a queue that decides on leave: `packet` arrives and waits; `false` if it was refused.
    pub fn wait(&mut self, now: Time, packet: &Packet, tag: u32) -> bool {
        let mut backlog = self.backlog(now);
        backlog.bytes += Bytes(self.waiting.iter().map(|w| w.1.bytes.0).sum());
        backlog.packets += self.waiting.len() as u64;
        if self.queue.admit(now, packet, backlog) == Admission::Drop {
            return false;
        }
        self.waiting.push_back((now, *packet, tag));
        true
    }

    /// When [`Hop::service`] is next due; [`Time::NEVER`] if nothing waits.
    pub fn service_at(&self) -> Time {
        match self.waiting.front() {
            Some(&(arrived, ..)) => arrived.max(self.free_at),
            None => Time::NEVER,
        }
    }

    /// Offers the packet at the head to the link at `now`, which is [`Hop::service_at`].
    pub fn service(&mut self, now: Time) -> Option<Departure> {
        let (arrived, packet, tag) = self.waiting.pop_front()?;
        let sojourn = now.since(arrived);
        let behind = Backlog {
            bytes: Bytes(self.waiting.iter().map(|w| w.1.bytes.0).sum()),
            packets: self.waiting.len() as u64,
        };
        let verdict = match self.queue.leave(now, &packet, sojourn, behind) {
            Admission::Drop => Verdict::Drop,
            admission => {
                let departure = self.link.depart(now, packet.bytes);
                self.free_at = departure;
                if admission == Admission::Mark { Verdict::Mark(departure) } else { Verdict::Deliver(departure) }
            }
        };
        Some(Departure { packet, tag, sojourn, verdict })
    }
}
