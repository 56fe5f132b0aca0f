//! Measurements of one flow, updated at each arrival.

use super::averages::Averages;
use super::window::{Ring, Sums};
use super::{Holes, LossEvents, RttMeter, Window};
use crate::features::Plan;
use fairweir_tcp::Timestamps;
use fairweir_units::{Dur, Time};

/// Minimum gap between arrivals. Shorter gaps are artifacts of clocks and of merging, and count as this long.
const MIN_GAP: Dur = Dur::from_micros(1);

/// Data that arrives, with the time of the table's clock.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Arrival {
    pub(crate) at: Time,
    pub(crate) seq: u32,
    pub(crate) payload: u32,
    pub(crate) wire: u32,
    pub(crate) segs: u32,
    pub(crate) timestamps: Option<Timestamps>,
}

/// The latest arrival, as the features use it.
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

/// The host's acknowledgments. They cannot be forged, and include data whose arrival the guard did not see.
#[derive(Clone, Copy, Debug, Default)]
struct Delivered {
    bytes: u64,
    since: Option<Time>,
    at: Time,
    handshake_rtt: Option<Dur>,
}

/// RTT assumed for a flow without timestamps and handshake: that of an Internet path. Budgets of delivered bytes then
/// limit the rate (`policy::Budgets`).
const ASSUMED_RTT: Dur = Dur::from_millis(100);
/// Time after the first data for which a flow may lack an RTT sample.
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

    /// Processes an acknowledgment by the host of `newly` more bytes.
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
            // Each segment of a hole is a loss. Holes longer than one RTT are more than one event.
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

    /// Returns the memory, bytes.
    pub fn bytes(&self) -> usize {
        let heap =
            [self.ring.bytes(), self.rtt.bytes(), self.holes.bytes(), self.events.bytes(), self.averages.bytes()];
        size_of::<Monitor>() + heap.into_iter().sum::<usize>()
    }

    /// Returns the time from the first to the latest data.
    pub fn age(&self) -> Dur {
        self.began.map_or(Dur::ZERO, |(began, _)| self.sums.at.since(began))
    }
    /// Returns the arrival time of the latest data, by the table's clock.
    pub fn latest_at(&self) -> Time {
        self.sums.at
    }
    /// Returns the number of segments up to the highest sequence number, arrived or not.
    pub fn place(&self) -> u64 {
        self.holes.place()
    }
    /// Returns the mean number of bytes of a segment, with headers; unknown before the first segment.
    pub fn wire_per_segment(&self) -> Option<f64> {
        (self.sums.segs > 0).then(|| self.sums.wire as f64 / self.sums.segs as f64)
    }
    /// Returns the loss events.
    pub fn events(&self) -> &LossEvents {
        &self.events
    }
    /// Returns the RTT measured by timestamps.
    pub fn rtt(&self) -> &RttMeter {
        &self.rtt
    }
    /// Returns the RTT for computing windows at `now`: the latest sample; before the first sample, the handshake's RTT;
    /// after a long time without samples, an assumed RTT.
    pub fn window_rtt(&self, now: Time) -> Option<Dur> {
        let is_overdue = self.delivered.since.is_some_and(|since| now.since(since) >= MAX_WAIT_FOR_SAMPLE);
        self.rtt.latest().or(self.delivered.handshake_rtt).or(is_overdue.then_some(ASSUMED_RTT))
    }
    /// Returns the time when data last arrived, or when the host last acknowledged data whose arrival was not seen;
    /// `None` before the first.
    pub fn active_at(&self) -> Option<Time> {
        let seen = (self.payload > 0).then_some(self.sums.at);
        seen.max(self.delivered.since.map(|_| self.delivered.at))
    }
    /// Returns the number of bytes that the host has acknowledged since measurement began.
    pub fn delivered(&self) -> u64 {
        self.delivered.bytes
    }
    /// Returns the payload of the largest segment so far, bytes.
    pub fn mss(&self) -> u32 {
        self.holes.mss()
    }
    /// Returns the payload that has arrived, including retransmissions, bytes.
    pub fn payload(&self) -> u64 {
        self.payload
    }
    /// Returns the number of segments declared lost so far.
    pub fn lost(&self) -> u64 {
        self.sums.lost
    }
    /// Returns the loss event rate over the last `n` intervals.
    pub fn loss_event_rate(&self, n: usize) -> Option<f64> {
        self.events.rate(self.holes.place(), n)
    }
    /// Returns the plan's window at `index`; unknown until the flow is at least as old as the window is long.
    pub fn window(&self, plan: &Plan, index: usize) -> Option<Window> {
        let length = self.rtt.min()? * u64::from(plan.windows()[index]);
        if self.age() < length { None } else { self.ring.window(index, &self.sums) }
    }
}
