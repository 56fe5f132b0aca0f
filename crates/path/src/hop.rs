//! A queue before a link, shared by flows.

use crate::constant_rate::ConstantRate;
use crate::departures::Departures;
use crate::queue::{Droptail, EcnThreshold};
use crate::{Admission, Backlog, Class, ConfigError, Link, LinkConfig, Packet, Queue, QueueConfig, Verdict};
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A hop as scenarios describe it, in base units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HopConfig {
    /// The link.
    pub link: LinkConfig,
    /// The queue.
    pub queue: QueueConfig,
}

impl HopConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// The first key whose value is rejected, such as `link.rate`.
    pub fn validate(&self) -> Result<(), ConfigError> {
        self.link.validate().map_err(|e| e.within("link"))?;
        self.queue.validate().map_err(|e| e.within("queue"))
    }
}

/// A queue before a link. Packets leave in arrival order, those of a queue with classes in the order of their class.
#[derive(Debug)]
pub struct Hop {
    server: Server,
    discipline: Discipline,
    decides_on_leave: bool,
    /// Packets given to the link that have not left.
    inside: Departures,
    has_classes: bool,
    /// Packets that wait for [`Hop::service`], if the queue decides on leave; by class, if the queue has classes.
    waiting: [Waiting; 2],
    /// Departure of the last packet given to the link.
    free_at: Time,
}

/// The links of the hot path as enum variants, all others boxed.
#[derive(Debug)]
enum Server {
    Constant(ConstantRate),
    Other(Box<dyn Link>),
}

/// The queues of the hot path as enum variants, all others boxed.
#[derive(Debug)]
enum Discipline {
    Droptail(Droptail),
    EcnThreshold(EcnThreshold),
    Other(Box<dyn Queue>),
}

/// Packets that wait in a FIFO.
#[derive(Debug, Default)]
struct Waiting {
    /// Arrival time, packet, caller's tag.
    packets: VecDeque<(Time, Packet, u32)>,
    backlog: Backlog,
}

impl Waiting {
    fn head(&self) -> Option<Time> {
        self.packets.front().map(|&(arrived, ..)| arrived)
    }
}

/// Result of [`Hop::service`] for the head packet.
#[derive(Clone, Copy, Debug)]
pub struct Departure {
    /// The packet.
    pub packet: Packet,
    /// The caller's tag, passed at its arrival.
    pub tag: u32,
    /// Time it waited for the link.
    pub sojourn: Dur,
    /// Its fate.
    pub verdict: Verdict,
}

impl Hop {
    /// Creates the hop for `config`, which must be valid. `rng` is used for the queue's random decisions.
    pub fn new(config: &HopConfig, rng: ChaCha8Rng) -> Hop {
        let server = match &config.link {
            LinkConfig::Constant(c) => Server::Constant(ConstantRate::new(c.rate)),
            other => Server::Other(other.build()),
        };
        let discipline = match &config.queue {
            QueueConfig::Droptail(c) => Discipline::Droptail(Droptail::new(c)),
            QueueConfig::EcnThreshold(c) => Discipline::EcnThreshold(EcnThreshold::new(c)),
            other => Discipline::Other(other.build(rng)),
        };
        Hop {
            decides_on_leave: matches!(&discipline, Discipline::Other(queue) if queue.decides_on_leave()),
            has_classes: matches!(&discipline, Discipline::Other(queue) if queue.has_classes()),
            server,
            discipline,
            inside: Departures::new(),
            waiting: Default::default(),
            free_at: Time::ZERO,
        }
    }

    /// Whether packets must be dequeued with [`Hop::service`].
    pub fn decides_on_leave(&self) -> bool {
        self.decides_on_leave
    }

    /// Returns the backlog at `now`, which must not decrease from call to call.
    #[inline]
    pub fn backlog(&mut self, now: Time) -> Backlog {
        let Backlog { mut bytes, mut packets } = self.inside.inside(now);
        let [first, second] = &self.waiting;
        bytes += first.backlog.bytes;
        packets += first.backlog.packets;
        if self.has_classes {
            bytes += second.backlog.bytes;
            packets += second.backlog.packets;
        }
        Backlog { bytes, packets }
    }

    /// Returns the fate of `packet`, which arrives at `now`.
    ///
    /// # Panics
    /// In debug builds, if the queue decides on leave.
    #[inline(always)]
    pub fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict {
        debug_assert!(!self.decides_on_leave, "packets of this queue leave by `service`");
        if now >= self.free_at && matches!(self.discipline, Discipline::Droptail(_)) {
            return self.arrive_idle(now, packet);
        }
        let admission = self.admit(now, packet);
        self.pass(admission, now, packet.bytes)
    }

    /// Does the same as [`Hop::arrive`] at an idle link with an empty droptail queue, which accepts any packet.
    #[inline(always)]
    fn arrive_idle(&mut self, now: Time, packet: &Packet) -> Verdict {
        let departure = self.transmit(now, packet.bytes);
        self.inside.restart(departure, packet.bytes);
        Verdict::Deliver(departure)
    }

    /// Applies the queue's decision to a packet of `bytes`.
    #[inline(always)]
    fn pass(&mut self, admission: Admission, now: Time, bytes: Bytes) -> Verdict {
        if admission == Admission::Drop {
            return Verdict::Drop;
        }
        let departure = self.transmit(now, bytes);
        self.inside.push(now, departure, bytes);
        if admission == Admission::Mark { Verdict::Mark(departure) } else { Verdict::Deliver(departure) }
    }

    /// Returns the departure time of the last packet given to the link.
    pub(crate) fn free_at(&self) -> Time {
        self.free_at
    }

    /// Returns the transmission time of a packet that arrives at an idle link; `None` if it varies.
    pub(crate) fn idle_transmission(&self, bytes: Bytes) -> Option<Dur> {
        match &self.server {
            Server::Constant(link) => Some(link.idle_transmission(bytes)),
            Server::Other(_) => None,
        }
    }

    /// Returns the link, to query its rate.
    pub fn link(&self) -> &dyn Link {
        match &self.server {
            Server::Constant(link) => link,
            Server::Other(link) => link.as_ref(),
        }
    }

    /// For a queue that decides on leave: adds `packet` to the waiting packets; returns `false` if it was refused.
    pub fn wait(&mut self, now: Time, packet: &Packet, tag: u32) -> bool {
        if self.admit(now, packet) == Admission::Drop {
            return false;
        }
        let [first, second] = &mut self.waiting;
        let waiting = if self.has_classes && Class::of(packet) == Class::L4s { second } else { first };
        waiting.packets.push_back((now, *packet, tag));
        waiting.backlog.add(packet.bytes);
        true
    }

    /// Returns the time of the next [`Hop::service`]; [`Time::NEVER`] if no packet waits.
    pub fn service_at(&self) -> Time {
        let [first, second] = &self.waiting;
        let mut arrived = first.head().unwrap_or(Time::NEVER);
        if self.has_classes {
            arrived = arrived.min(second.head().unwrap_or(Time::NEVER));
        }
        arrived.max(self.free_at)
    }

    /// Offers a head packet to the link at `now`, which is [`Hop::service_at`]; `None` if no packet waits. With classes
    /// the queue chooses the FIFO.
    ///
    /// After a drop the next head is due at the same instant.
    pub fn service(&mut self, now: Time) -> Option<Departure> {
        let is_second = self.has_classes && self.next_class(now)? == Class::L4s;
        let [first, second] = &mut self.waiting;
        let waiting = if is_second { second } else { first };
        let (arrived, packet, tag) = waiting.packets.pop_front()?;
        waiting.backlog.remove(packet.bytes);
        let sojourn = now.since(arrived);
        let admission = match &mut self.discipline {
            Discipline::Other(queue) => queue.leave(now, &packet, sojourn, waiting.backlog),
            Discipline::Droptail(_) | Discipline::EcnThreshold(_) => Admission::Accept,
        };
        let verdict = self.pass(admission, now, packet.bytes);
        Some(Departure { packet, tag, sojourn, verdict })
    }

    /// Returns the FIFO to serve at `now`; `None` if no packet waits.
    #[inline(never)]
    fn next_class(&mut self, now: Time) -> Option<Class> {
        let heads = self.waiting.each_ref().map(Waiting::head);
        match &mut self.discipline {
            Discipline::Other(queue) if heads != [None, None] => Some(queue.next(now, heads)),
            _ => None,
        }
    }

    #[inline(always)]
    fn admit(&mut self, now: Time, packet: &Packet) -> Admission {
        match &mut self.discipline {
            Discipline::Droptail(queue) => {
                let at_most = self.inside.inside_at_most();
                match queue.admit(now, packet, at_most) {
                    Admission::Drop => queue.admit(now, packet, self.inside.inside(now)),
                    admission => admission,
                }
            }
            Discipline::EcnThreshold(queue) => {
                let at_most = self.inside.inside_at_most();
                match queue.admit(now, packet, at_most) {
                    Admission::Accept => Admission::Accept,
                    _ => queue.admit(now, packet, self.inside.inside(now)),
                }
            }
            Discipline::Other(_) => self.admit_other(now, packet),
        }
    }

    #[inline(never)]
    fn admit_other(&mut self, now: Time, packet: &Packet) -> Admission {
        let backlog = self.backlog(now);
        let Discipline::Other(queue) = &mut self.discipline else { unreachable!("called for no other") };
        if backlog.packets == 0 {
            queue.on_idle(now.since(self.free_at));
        }
        queue.admit(now, packet, backlog)
    }

    /// Starts the transmission of `bytes` and returns when it ends.
    #[inline(always)]
    fn transmit(&mut self, now: Time, bytes: Bytes) -> Time {
        let departure = match &mut self.server {
            Server::Constant(link) => link.depart(now, bytes),
            Server::Other(link) => link.depart(now, bytes),
        };
        self.free_at = departure;
        departure
    }
}
