//! A hop with its statistics.

use crate::{Histogram, LinkSpec, LinkSummary, ratio};
use fairweir_path::{Departure, Hop, Packet, TieKey, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;

/// A hop with its statistics. A packet on it may represent several packets of the wire (segmentation offload).
#[derive(Debug)]
pub struct MeteredHop {
    /// The hop.
    pub hop: Hop,
    /// Propagation to the next hop.
    pub delay: Dur,
    /// Order of the hop's departures among simultaneous events, if its queue decides when packets leave.
    pub tie: Option<TieKey>,
    last_departure: Time,
    /// Time that packets waited for the link, transmission excluded; the end of the warm-up resets it.
    pub wait: Histogram,
    /// Counts of the whole run.
    pub counts: HopCounts,
}

/// Counts of a hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HopCounts {
    /// Bytes given to the link.
    pub served_bytes: u64,
    /// Packets given to the link.
    pub served: u64,
    /// Packets dropped.
    pub drops: u64,
    /// Packets marked.
    pub marks: u64,
}

impl std::ops::Sub for HopCounts {
    type Output = HopCounts;
    fn sub(self, earlier: HopCounts) -> HopCounts {
        HopCounts {
            served_bytes: self.served_bytes - earlier.served_bytes,
            served: self.served - earlier.served,
            drops: self.drops - earlier.drops,
            marks: self.marks - earlier.marks,
        }
    }
}

impl MeteredHop {
    /// Creates the hop of `spec`. `rng` is used for its queue's random decisions.
    pub fn new(spec: &LinkSpec, rng: ChaCha8Rng) -> MeteredHop {
        MeteredHop {
            hop: Hop::new(&spec.hop, rng),
            delay: spec.delay,
            tie: None,
            last_departure: Time::ZERO,
            wait: Histogram::new(),
            counts: HopCounts::default(),
        }
    }

    /// Processes `packet`, which represents `packets` and arrives at `now`, at a hop that decides on arrival.
    #[inline(always)]
    pub fn arrive(&mut self, now: Time, packet: &Packet, packets: u32) -> Verdict {
        let verdict = self.hop.arrive(now, packet);
        self.count(self.last_departure.since(now), packet, packets, verdict);
        verdict
    }

    /// Adds `packet` at a hop that decides on leave; returns `false` if it was refused.
    pub fn wait(&mut self, now: Time, packet: &Packet, packets: u32, tag: u32) -> bool {
        let is_in = self.hop.wait(now, packet, tag);
        self.counts.drops += if is_in { 0 } else { u64::from(packets) };
        is_in
    }

    /// Dequeues the head packet at `now`, at a hop that decides on leave. `packets` returns how many packets a tag
    /// represents.
    pub fn service(&mut self, now: Time, packets: impl Fn(u32) -> u32) -> Option<Departure> {
        let departure = self.hop.service(now)?;
        self.count(departure.sojourn, &departure.packet, packets(departure.tag), departure.verdict);
        Some(departure)
    }

    /// Counts `verdict` on `packet` after it waited `wait` for the link.
    #[inline(always)]
    fn count(&mut self, wait: Dur, packet: &Packet, packets: u32, verdict: Verdict) {
        let packets = u64::from(packets);
        match verdict {
            Verdict::Deliver(departure) | Verdict::Mark(departure) => {
                self.counts.marks += if matches!(verdict, Verdict::Mark(_)) { packets } else { 0 };
                self.last_departure = departure;
                self.counts.served_bytes += packet.bytes.0;
                self.counts.served += packets;
                self.wait.record(wait);
            }
            Verdict::Drop => self.counts.drops += packets,
        }
    }

    /// Returns the summary of the link called `name` between the end of the warm-up at `from`, when its counts were
    /// `base`, and `to`.
    pub fn summary(&self, name: &str, base: HopCounts, from: Time, to: Time) -> LinkSummary {
        let counts = self.counts - base;
        let possible = self.hop.link().mean_rate(from, to) * to.since(from);
        LinkSummary {
            name: name.to_owned(),
            // Packets accepted just before the end are served after it, so utilization is capped at 1.
            utilization: ratio(counts.served_bytes, possible.0).min(1.0),
            queue_ms: self.wait.stats_less(Dur::ZERO),
            drops: counts.drops,
            marks: counts.marks,
            arrivals: counts.served + counts.drops,
        }
    }
}
