//! Turns counters into the record: the warm-up's cut, the time series, the summary.

use crate::meter::{FlowCounts, FlowMeter};
use crate::record::{FlowRecord, MeasuredSeries};
use crate::relay::Relay;
use fairweir_scenario::{Config, HEADER_BYTES, Histogram, HopCounts, LinkSummary};
use fairweir_units::{Dur, Time, mbps};

/// All parts of a run's record except the emulation's accuracy.
#[derive(Debug)]
pub(crate) struct Recorder {
    warmup: Time,
    end: Time,
    interval: Option<Dur>,
    rtprops: Vec<Dur>,
    link_names: Vec<String>,
    pub(crate) meters: Vec<FlowMeter>,
    /// When the recorder next has something to do; [`Time::NEVER`] after the end.
    due: Time,
    /// End of the interval that is open.
    interval_end: Time,
    /// End of the last closed interval.
    closed: Time,
    /// Counters at the end of the warm-up.
    base: Snapshot,
    /// Counters and RTT sums at the end of the last interval.
    last: Snapshot,
    series: MeasuredSeries,
    /// Set when the run's end is reached; later packets do not count.
    recorded: Option<Recorded>,
}

#[derive(Clone, Debug, Default)]
struct Snapshot {
    at: Time,
    flows: Vec<FlowSnapshot>,
    hops: Vec<HopCounts>,
}

#[derive(Clone, Copy, Debug, Default)]
struct FlowSnapshot {
    counts: FlowCounts,
    dropped: [u64; 2],
    rtt: (Dur, u64),
}

impl Recorder {
    pub(crate) fn new(config: &Config) -> Recorder {
        let start = Snapshot {
            at: Time::ZERO,
            flows: vec![FlowSnapshot::default(); config.flows.len()],
            hops: vec![HopCounts::default(); config.links.len()],
        };
        let packet_data = config.packet.0 - HEADER_BYTES;
        let mut recorder = Recorder {
            warmup: Time::ZERO + config.warmup,
            end: Time::ZERO + config.duration,
            interval: config.interval,
            rtprops: config.flows.iter().map(|flow| flow.rtprop).collect(),
            link_names: config.links.iter().map(|link| link.name.clone()).collect(),
            meters: config.flows.iter().map(|_| FlowMeter::new(packet_data)).collect(),
            due: Time::ZERO,
            interval_end: config.interval.map_or(Time::NEVER, |interval| Time::ZERO + interval),
            closed: Time::ZERO,
            base: start.clone(),
            last: start,
            series: MeasuredSeries::default(),
            recorded: None,
        };
        recorder.due = recorder.next_due(Time::ZERO);
        recorder
    }

    /// Time at which [`Recorder::close`] is next due; [`Time::NEVER`] after the end.
    pub(crate) fn due(&self) -> Time {
        self.due
    }

    /// The warm-up, an interval or the run ends at `at`, to which `relay` has advanced.
    pub(crate) fn close(&mut self, at: Time, relay: &mut Relay) {
        // First the interval: the warm-up's end starts RTT samples afresh.
        if at == self.interval_end || (at == self.end && self.interval.is_some()) {
            self.end_interval(at, relay);
        }
        if at == self.warmup && at > Time::ZERO {
            self.end_warmup(at, relay);
        }
        self.due = self.next_due(at);
        if at >= self.end {
            self.recorded = Some(self.record(at, relay));
            self.due = Time::NEVER;
        }
    }

    fn next_due(&self, now: Time) -> Time {
        let warmup = if self.warmup > now { self.warmup } else { Time::NEVER };
        self.interval_end.min(warmup).min(self.end)
    }

    fn end_warmup(&mut self, at: Time, relay: &mut Relay) {
        self.base = self.snapshot(at, relay);
        self.meters.iter_mut().for_each(|meter| meter.rtt = Histogram::new());
        relay.hops.iter_mut().for_each(|hop| hop.wait = Histogram::new());
        self.last.flows.iter_mut().for_each(|flow| flow.rtt = Default::default());
    }

    fn snapshot(&self, at: Time, relay: &Relay) -> Snapshot {
        let flow = |(index, meter): (usize, &FlowMeter)| FlowSnapshot {
            counts: meter.counts,
            dropped: relay.dropped(index),
            rtt: meter.rtt_total(),
        };
        Snapshot {
            at,
            flows: self.meters.iter().enumerate().map(flow).collect(),
            hops: relay.hops.iter().map(|hop| hop.counts).collect(),
        }
    }

    fn end_interval(&mut self, at: Time, relay: &mut Relay) {
        let length = at.since(self.closed);
        if length == Dur::ZERO {
            return;
        }
        let now = self.snapshot(at, relay);
        let rows = &mut self.series;
        for (index, (new, old)) in now.flows.iter().zip(&self.last.flows).enumerate() {
            let samples = new.rtt.1 - old.rtt.1;
            let rtt_ms = new.rtt.0.saturating_sub(old.rtt.0).as_millis_f64() / samples as f64;
            rows.t_ns.push(at.as_nanos());
            rows.flow.push(index as u32);
            let bytes = new.counts.delivered_bytes - old.counts.delivered_bytes;
            rows.throughput_mbps.push(mbps(bytes, length));
            rows.rtt_ms.push(if samples == 0 { f64::NAN } else { rtt_ms });
        }
        self.series.links.sample(at, length, relay.hops.iter_mut(), &mut self.last.hops);
        self.last = now;
        self.closed = at;
        self.interval_end = self.interval.map_or(Time::NEVER, |interval| at + interval);
    }

    /// Returns the record: of the whole run, or of one stopped at `now`.
    pub(crate) fn finish(mut self, now: Time, relay: &Relay) -> Recorded {
        match self.recorded.take() {
            Some(recorded) => recorded,
            None => self.record(now, relay),
        }
    }

    fn record(&mut self, at: Time, relay: &Relay) -> Recorded {
        let total = self.snapshot(at, relay);
        Recorded {
            flows: (0..self.meters.len()).map(|flow| self.flow_record(flow, &total, relay)).collect(),
            links: self.link_summaries(at, relay),
            delivered_pkts: total.flows.iter().map(|flow| flow.counts.delivered).sum(),
            series: self.interval.map(|_| std::mem::take(&mut self.series)),
            end: at,
        }
    }

    fn flow_record(&self, flow: usize, total: &Snapshot, relay: &Relay) -> FlowRecord {
        let (meter, new, old) = (&self.meters[flow], &total.flows[flow], &self.base.flows[flow]);
        let counts = new.counts - old.counts;
        FlowRecord {
            rtt_ms: meter.rtt.stats_less(Dur::ZERO),
            qdelay_ms: meter.rtt.stats_less(self.rtprops[flow]),
            sent_pkts: counts.sent,
            retransmits: counts.retransmits,
            delivered_pkts: counts.delivered,
            delivered_bytes: counts.delivered_bytes,
            marked_pkts: counts.marked,
            dropped_pkts: new.dropped[0] - old.dropped[0],
            dropped_acks: new.dropped[1] - old.dropped[1],
            violations: relay.violations(flow),
            first_sent: meter.first_sent,
            last_delivered: meter.last_delivered,
        }
    }

    fn link_summaries(&self, to: Time, relay: &Relay) -> Vec<LinkSummary> {
        let links = relay.hops.iter().zip(&self.link_names).zip(&self.base.hops);
        links.map(|((hop, name), &base)| hop.summary(name, base, self.base.at, to)).collect()
    }
}

/// Result of [`Recorder::finish`]: [`crate::EmulatorRecord`] without the accuracy.
#[derive(Debug)]
pub(crate) struct Recorded {
    pub(crate) flows: Vec<FlowRecord>,
    pub(crate) links: Vec<LinkSummary>,
    pub(crate) delivered_pkts: u64,
    pub(crate) series: Option<MeasuredSeries>,
    pub(crate) end: Time,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::relay::{Item, packet};
    use crate::wire::View;
    use crate::wire::tests::{ack_packet, data_packet, syn_packet};
    use fairweir_path::Direction;
    use serde_json::json;

    /// Runs one flow over 12 Mbps and 10 ms, a packet every 2 ms until `until_ms`, each acknowledged at once over a
    /// path of 10 ms; returns the record.
    fn played(config: &Config, until_ms: u64) -> Recorded {
        let mut relay = Relay::new(config);
        let mut recorder = Recorder::new(config);
        recorder.meters[0].on_send(Time::ZERO, &View::new(&syn_packet(0, 0), 0).unwrap());
        let catch_up = |now: Time, relay: &mut Relay, recorder: &mut Recorder| {
            while recorder.due() <= now {
                let due = recorder.due();
                relay.advance(due);
                recorder.close(due, relay);
            }
        };
        let mut sent = 0;
        for ms in 0..until_ms {
            let now = Time::from_nanos(ms * 1_000_000);
            catch_up(now, &mut relay, &mut recorder);
            while let Some(release) = relay.next_release(now, now) {
                let number = release.item.packet.seq;
                if release.item.direction == Direction::Data {
                    let ack = Item::new(0, Direction::Ack, packet(number + 1, 40, now, false), 1);
                    relay.arrive(now, release.frame, ack);
                } else {
                    let ack = ack_packet(0, 1 + 1448 * number as u32, &[]);
                    recorder.meters[0].on_ack(now, &View::new(&ack, 0).unwrap());
                }
            }
            if ms % 2 == 0 {
                let data = data_packet(0, 1 + 1448 * sent, 1448, 0);
                let number = recorder.meters[0].on_send(now, &View::new(&data, 0).unwrap());
                assert_eq!(number, u64::from(sent));
                relay.arrive(now, sent, Item::new(0, Direction::Data, packet(number, 1500, now, false), 1));
                sent += 1;
            }
        }
        let end = Time::from_nanos(until_ms * 1_000_000);
        catch_up(end, &mut relay, &mut recorder);
        recorder.finish(end, &relay)
    }

    fn config() -> Config {
        serde_json::from_value(json!({
            "duration": 1_000_000_000u64, "warmup": 400_000_000u64, "interval": 100_000_000u64, "seed": 1,
            "links": [{"name": "link", "hop": {
                "link": {"kind": "constant", "rate": 1_500_000}, "queue": {"kind": "droptail"}}}],
            "flows": [{"id": "a", "cca": "reno", "path": [0], "forward_delay": 9_000_000,
                       "reverse_delay": 10_000_000, "rtprop": 19_000_000}],
        }))
        .unwrap()
    }

    #[test]
    fn events_during_warm_up_or_after_the_end_do_not_count() {
        let recorded = played(&config(), 1_200);
        let (flow, link) = (&recorded.flows[0], &recorded.links[0]);
        assert_eq!(recorded.end.as_nanos(), 1_000_000_000);
        assert_eq!((flow.sent_pkts, flow.delivered_pkts, flow.delivered_bytes), (300, 300, 300 * (1448 + 40)));
        // 10 ms to the receiver, transmission included, and 10 ms back.
        assert_eq!((flow.rtt_ms.min, flow.rtt_ms.max, flow.qdelay_ms.max), (20.0, 20.0, 1.0));
        assert_eq!((link.arrivals, link.drops), (300, 0));
        assert!((link.utilization - 0.5).abs() < 1e-9, "{link:?}");
        let series = recorded.series.unwrap();
        assert_eq!(series.t_ns.len(), 10);
        // In the first 100 ms the ACKs of the first 20 ms are missing.
        assert!((series.throughput_mbps[0] - 40.0 * 1488.0 * 8e-5).abs() < 1e-9, "{series:?}");
        assert!(series.throughput_mbps[1..].iter().all(|mbps| (mbps - 50.0 * 1488.0 * 8e-5).abs() < 1e-9));
        assert!(series.rtt_ms.iter().all(|rtt| (rtt - 20.0).abs() < 1e-9));
    }

    #[test]
    fn a_run_that_is_stopped_sooner_is_recorded_as_far_as_it_came() {
        let recorded = played(&config(), 500);
        assert_eq!((recorded.end.as_nanos(), recorded.flows[0].sent_pkts), (500_000_000, 50));
        assert_eq!(recorded.series.unwrap().t_ns.len(), 5);
    }
}
