//! One flow's measurements, updated with each arrival.

use super::averages::Averages;
use super::window::{Ring, Sums};
use super::{Holes, LossEvents, RttMeter, Window};
use crate::features::Plan;
use fairweir_tcp::Timestamps;
use fairweir_units::{Dur, Time};

/// Shorter gaps between arrivals count as this long; clocks and merging make them up.
const MIN_GAP: Dur = Dur::from_micros(1);

/// Data that arrive, by the table's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Time,
    pub(crate) seq: u32,
    pub(crate) payload: u32,
    pub(crate) wire: u32,
    pub(crate) segs: u32,
    pub(crate) timestamps: Option<Timestamps>,
}

/// The latest arrival, as features see it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Latest {
    pub(crate) gap: Option<Dur>,
    pub(crate) wire: u32,
    pub(crate) segs: u32,
    pub(crate) lost: u64,
    pub(crate) rtt: Option<Dur>,
    pub(crate) seq_offset: u32,
}

/// Measures one flow.
#[derive(Clone, Debug)]
pub struct Monitor {
    pub(crate) rtt: RttMeter,
    pub(crate) holes: Holes,
    pub(crate) events: LossEvents,
    pub(crate) sums: Sums,
    pub(crate) latest: Latest,
    pub(crate) payload: u64,
    pub(crate) averages: Averages,
    began: Option<(Time, u32)>,
    ring: Ring,
    delivered: Delivered,
}

/// Acknowledgements of the host: they cannot be forged, and include data that arrives unseen.
#[derive(Clone, Copy, Debug, Default)]
struct Delivered {
    bytes: u64,
    since: Option<Time>,
    at: Time,
    handshake_rtt: Option<Dur>,
}

/// The RTT assumed for a flow without timestamps and handshake: that of an Internet path. The rate is then limited by
/// deliveries (`policy::Budgets`).
const ASSUMED_RTT: Dur = Dur::from_millis(100);
/// Time from its first data for which a flow may be without a sample.
const MAX_WAIT_FOR_SAMPLE: Dur = Dur::from_millis(200);

impl Monitor {
    /// Creates a monitor for the features of `plan`.
    pub fn new(plan: &Plan) -> Monitor {
        Monitor {
            rtt: RttMeter::default(),
            holes: Holes::default(),
            events: LossEvents::default(),
            sums: Sums::default(),
            latest: Latest::default(),
            payload: 0,
            averages: Averages::new(plan),
            began: None,
            ring: Ring::new(plan.windows().len()),
            delivered: Delivered::default(),
        }
    }

    /// The host acknowledges `newly` more bytes.
    pub(crate) fn on_acknowledged(&mut self, newly: u32, now: Time, handshake_rtt: Option<Dur>) {
        if newly > 0 {
            self.delivered.bytes += u64::from(newly);
            self.delivered.since.get_or_insert(now);
            self.delivered.at = now;
        }
        self.delivered.handshake_rtt = handshake_rtt;
    }

    /// Switches to another plan; averages and windows are reset.
    pub(crate) fn replan(&mut self, plan: &Plan) {
        self.averages = Averages::new(plan);
        self.ring = Ring::new(plan.windows().len());
    }

    pub(crate) fn on_departure(&mut self, tsval: u32, now: Time) {
        self.rtt.on_departure(tsval, now);
    }

    pub(crate) fn on_data(&mut self, plan: &Plan, arrival: &Arrival) {
        let now = arrival.at;
        let rtt = arrival.timestamps.and_then(|stamps| self.rtt.on_arrival(stamps.tsecr, now));
        let (mut lost, latest_rtt, events) = (0, self.rtt.latest(), &mut self.events);
        self.holes.on_data(arrival.seq, arrival.payload, arrival.segs, now, |hole| {
            lost += hole.segments;
            // A hole is as many losses as segments; more than one RTT of them make more than one event.
            for i in [0, hole.segments - 1] {
                events.on_loss(hole.at(i), hole.place + i, latest_rtt);
            }
        });
        let gap = self.began.map(|_| now.since(self.sums.at).max(MIN_GAP));
        let (_, first_seq) = *self.began.get_or_insert((now, arrival.seq));
        self.payload += u64::from(arrival.payload);
        self.sums = Sums {
            at: now,
            wire: self.sums.wire + u64::from(arrival.wire),
            segs: self.sums.segs + u64::from(arrival.segs),
            lost: self.sums.lost + lost,
            rtt_sum: self.sums.rtt_sum + rtt.unwrap_or(Dur::ZERO).as_nanos(),
            rtts: self.sums.rtts + u64::from(rtt.is_some()),
        };
        self.latest = Latest {
            gap,
            wire: arrival.wire,
            segs: arrival.segs,
            lost,
            rtt,
            seq_offset: arrival.seq.wrapping_sub(first_seq),
        };
        let lengths = |min: Dur| plan.windows().iter().map(move |&k| min * u64::from(k));
        self.ring.push(self.sums, self.rtt.min().map(lengths));
        let mut averages = std::mem::take(&mut self.averages);
        averages.update(plan, |of| self.sample(of));
        self.averages = averages;
    }

    /// Memory in bytes.
    pub fn bytes(&self) -> usize {
        let heap =
            [self.ring.bytes(), self.rtt.bytes(), self.holes.bytes(), self.events.bytes(), self.averages.bytes()];
        size_of::<Monitor>() + heap.into_iter().sum::<usize>()
    }

    /// Since the first data, up to the latest.
    pub fn age(&self) -> Dur {
        self.began.map_or(Dur::ZERO, |(began, _)| self.sums.at.since(began))
    }
    /// Arrival time of the latest data, by the table's clock.
    pub fn latest_at(&self) -> Time {
        self.sums.at
    }
    /// Segments up to the highest sequence number, arrived or not.
    pub fn place(&self) -> u64 {
        self.holes.place()
    }
    /// Mean bytes on the link of a segment; unknown before the first.
    pub fn wire_per_segment(&self) -> Option<f64> {
        (self.sums.segs > 0).then(|| self.sums.wire as f64 / self.sums.segs as f64)
    }
    /// Its loss events.
    pub fn events(&self) -> &LossEvents {
        &self.events
    }
    /// RTT by timestamps.
    pub fn rtt(&self) -> &RttMeter {
        &self.rtt
    }
    /// The RTT for computing windows at `now`: the latest sample; before the first, the handshake's; and without
    /// samples for long, an assumed one.
    pub fn window_rtt(&self, now: Time) -> Option<Dur> {
        let is_overdue = self.delivered.since.is_some_and(|since| now.since(since) >= MAX_WAIT_FOR_SAMPLE);
        self.rtt.latest().or(self.delivered.handshake_rtt).or(is_overdue.then_some(ASSUMED_RTT))
    }
    /// Time when data last arrived, or the host acknowledged data that arrived unseen; `None` before the first.
    pub fn active_at(&self) -> Option<Time> {
        let seen = (self.payload > 0).then_some(self.sums.at);
        seen.max(self.delivered.since.map(|_| self.delivered.at))
    }
    /// Bytes that the host has acknowledged since the flow is measured.
    pub fn delivered(&self) -> u64 {
        self.delivered.bytes
    }
    /// Maximum segment so far, bytes of payload.
    pub fn mss(&self) -> u32 {
        self.holes.mss()
    }
    /// Payload that has arrived, retransmissions too, bytes.
    pub fn payload(&self) -> u64 {
        self.payload
    }
    /// Segments declared lost so far.
    pub fn lost(&self) -> u64 {
        self.sums.lost
    }
    /// Loss event rate over the last `n` intervals.
    pub fn loss_event_rate(&self, n: usize) -> Option<f64> {
        self.events.rate(self.holes.place(), n)
    }
    /// The plan's window number `index`; unknown until the flow has lived as long.
    pub fn window(&self, plan: &Plan, index: usize) -> Option<Window> {
        let length = self.rtt.min()? * u64::from(plan.windows()[index]);
        if self.age() < length { None } else { self.ring.window(index, &self.sums) }
    }
}
