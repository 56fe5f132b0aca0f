//! A hop with its statistics.

use fairweir_path::{Departure, Hop, Packet, Verdict};
use fairweir_scenario::{Histogram, LinkSpec};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;

/// A hop with its statistics, which count as the simulator's do.
#[derive(Debug)]
pub(crate) struct MeteredHop {
    pub(crate) hop: Hop,
    /// Propagation to the next hop.
    pub(crate) delay: Dur,
    last_departure: Time,
    /// Time that packets waited for the link, transmission excluded; starts afresh with the warm-up's end.
    pub(crate) wait: Histogram,
    /// Counts of the whole run.
    pub(crate) counts: HopCounts,
}

/// Counts of packets' fates at a hop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct HopCounts {
    pub(crate) served_bytes: u64,
    pub(crate) drops: u64,
    pub(crate) marks: u64,
    pub(crate) arrivals: u64,
}

impl std::ops::Sub for HopCounts {
    type Output = HopCounts;
    fn sub(self, earlier: HopCounts) -> HopCounts {
        HopCounts {
            served_bytes: self.served_bytes - earlier.served_bytes,
            drops: self.drops - earlier.drops,
            marks: self.marks - earlier.marks,
            arrivals: self.arrivals - earlier.arrivals,
        }
    }
}

impl MeteredHop {
    pub(crate) fn new(spec: &LinkSpec, rng: ChaCha8Rng) -> MeteredHop {
        MeteredHop {
            hop: Hop::new(&spec.hop, rng),
            delay: spec.delay,
            last_departure: Time::ZERO,
            wait: Histogram::new(),
            counts: HopCounts::default(),
        }
    }

    /// `packet`, which represents `packets`, arrives at `now` at a hop that decides on arrival.
    pub(crate) fn arrive(&mut self, now: Time, packet: &Packet, packets: u32) -> Verdict {
        self.counts.arrivals += u64::from(packets);
        let verdict = self.hop.arrive(now, packet);
        let wait = self.last_departure.since(now);
        self.book(wait, packet, packets, verdict);
        verdict
    }

    /// `packet` arrives at a hop that decides on leave; `false` if it was refused.
    pub(crate) fn wait(&mut self, now: Time, packet: &Packet, packets: u32, tag: u32) -> bool {
        self.counts.arrivals += u64::from(packets);
        let is_in = self.hop.wait(now, packet, tag);
        self.counts.drops += if is_in { 0 } else { u64::from(packets) };
        is_in
    }

    /// A hop that decides on leave dequeues its head packet at `now`; `packets` returns how many a tag represents.
    pub(crate) fn service(&mut self, now: Time, packets: impl Fn(u32) -> u32) -> Option<Departure> {
        let departure = self.hop.service(now)?;
        self.book(departure.sojourn, &departure.packet, packets(departure.tag), departure.verdict);
        Some(departure)
    }

    fn book(&mut self, wait: Dur, packet: &Packet, packets: u32, verdict: Verdict) {
        let packets = u64::from(packets);
        match verdict {
            Verdict::Deliver(departure) | Verdict::Mark(departure) => {
                self.counts.marks += if matches!(verdict, Verdict::Mark(_)) { packets } else { 0 };
                self.counts.served_bytes += packet.bytes.0;
                self.last_departure = departure;
                self.wait.record(wait);
            }
            Verdict::Drop => self.counts.drops += packets,
        }
    }
}
