//! The record of a run: what the network sees, the same for all stacks, and what only the stacks know.
//!
//! An RTT sample is the time from a data datagram's entry into the network to the delivery of the first datagram that its
//! receiver sent after its arrival; only the newest datagram gives a sample. Delivered are datagrams that had reached the
//! receiver when it sent what now arrives at the sender.

use crate::endpoint::{Stage, State};
use crate::host::Host;
use crate::trace::Trace;
use fairweir_program::{Refusal, SeriesTo, render_series};
use fairweir_scenario::recorder::{Recorder, SenderCounts, Tally};
use fairweir_scenario::relay::Relay;
use fairweir_scenario::{Config, FlowSeries, Summary};
use fairweir_units::Time;
use serde_json::{Value, json};

/// Datagrams that have reached a receiver.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Received {
    pub(crate) packets: u64,
    /// On the wire.
    pub(crate) bytes: u64,
    pub(crate) marked: u64,
}

/// Measurements of a run in progress.
pub(crate) struct Record {
    warmup: Time,
    recorder: Recorder<Tally>,
    flows: Vec<Seen>,
    series: Stacks,
}

/// A flow's state between events.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    stage: Stage,
    /// Entry of the data datagram that gave the last RTT sample.
    sampled: Option<Time>,
    /// At the end of the warm-up: the sender's numbers, and the bytes that the receiver's application had read.
    base: State,
    base_read_bytes: u64,
    /// Packets declared lost at the end of the last interval.
    last_lost: u64,
}

/// The columns of the time series that the stacks fill.
#[derive(Debug, Default)]
struct Stacks {
    cwnd_bytes: Vec<u64>,
    inflight_bytes: Vec<u64>,
    pacing_rate_mbps: Vec<f64>,
    lost_pkts: Vec<u64>,
}

impl Record {
    pub(crate) fn new(config: &Config) -> Record {
        Record {
            warmup: Time::ZERO + config.warmup,
            recorder: Recorder::new(config, config.flows.iter().map(|_| Tally::new()).collect()),
            flows: vec![Seen::default(); config.flows.len()],
            series: Stacks::default(),
        }
    }

    /// When [`Record::close`] is next due; [`Time::NEVER`] after the end.
    pub(crate) fn due(&self) -> Time {
        self.recorder.due()
    }

    /// The warm-up, an interval or the run ends at `at`, to which `relay` has advanced.
    pub(crate) fn close(&mut self, at: Time, relay: &mut Relay, hosts: &[Host]) {
        if self.recorder.samples_next() {
            for (flow, seen) in self.flows.iter_mut().enumerate() {
                let state = hosts[2 * flow].endpoint().state();
                self.series.cwnd_bytes.push(state.cwnd);
                self.series.inflight_bytes.push(state.inflight);
                self.series.pacing_rate_mbps.push(state.pacing_rate.map_or(f64::NAN, |rate| rate.as_mbps_f64()));
                self.series.lost_pkts.push(state.lost - seen.last_lost);
                seen.last_lost = state.lost;
            }
        }
        if at == self.warmup && at > Time::ZERO {
            for (flow, seen) in self.flows.iter_mut().enumerate() {
                seen.base = hosts[2 * flow].endpoint().state();
                seen.base_read_bytes = hosts[2 * flow + 1].endpoint().state().read_bytes;
            }
        }
        self.recorder.close(at, relay);
    }

    /// The sender of `flow` has run at `now` and is now at `stage`.
    pub(crate) fn note(&mut self, now: Time, flow: usize, stage: Stage) {
        let (seen, tally) = (&mut self.flows[flow], &mut self.recorder.meters[flow]);
        if stage.is_established && !seen.stage.is_established {
            tally.first_sent = Some(now);
        }
        if stage.is_complete && !seen.stage.is_complete {
            tally.last_delivered = Some(now);
        }
        seen.stage = stage;
    }

    /// A data datagram of `flow` enters the network.
    pub(crate) fn on_send(&mut self, flow: usize) {
        self.recorder.meters[flow].counts.sent += 1;
    }

    /// A datagram reaches the sender of `flow` at `now`. When its receiver sent it, the newest data datagram there was
    /// the one that entered at `sent`, and `received` are those that had arrived.
    pub(crate) fn on_ack(&mut self, now: Time, flow: usize, sent: Time, received: Received) {
        let (seen, tally) = (&mut self.flows[flow], &mut self.recorder.meters[flow]);
        if seen.sampled < Some(sent) {
            seen.sampled = Some(sent);
            tally.rtt.record(now.since(sent));
        }
        let counts = &mut tally.counts;
        (counts.delivered, counts.delivered_bytes, counts.marked) = (received.packets, received.bytes, received.marked);
    }

    /// Renders the document.
    ///
    /// # Errors
    /// If it cannot be expressed as JSON.
    pub(crate) fn finish(
        self,
        config: &Config,
        relay: &Relay,
        hosts: &[Host],
        events: u64,
        trace: &Trace,
    ) -> Result<Value, Refusal> {
        let end = Time::ZERO + config.duration;
        let Record { recorder, flows, series, .. } = self;
        let recorded = recorder.finish(end, relay);
        let mut summaries = Vec::new();
        for (index, (measured, seen)) in recorded.flows.iter().zip(&flows).enumerate() {
            let state = hosts[2 * index].endpoint().state();
            let sender = SenderCounts {
                lost: state.lost - seen.base.lost,
                timeouts: state.timeouts - seen.base.timeouts,
                is_complete: seen.stage.is_complete,
            };
            let mut summary = measured.summary(config, index, recorded.end, sender);
            // The same time, counted in bytes that the application has read rather than in packets.
            let read = hosts[2 * index + 1].endpoint().state().read_bytes - seen.base_read_bytes;
            if measured.delivered_bytes > 0 {
                summary.goodput_mbps = summary.throughput_mbps * read as f64 / measured.delivered_bytes as f64;
            }
            summaries.push(summary);
        }
        let summary = Summary { flows: summaries, links: recorded.links, packets: recorded.delivered_pkts, events };
        let failed = |e: serde_json::Error| Refusal::new(format!("write the result: {e}"));
        let mut document = serde_json::to_value(summary).map_err(failed)?;
        document["quic"] = json!({ "datagrams": trace.datagrams, "digest": trace.digest() });
        if let Some(measured) = recorded.series {
            let flows = FlowSeries {
                t_ns: measured.t_ns,
                flow: measured.flow,
                throughput_mbps: measured.throughput_mbps,
                rtt_ms: measured.rtt_ms,
                cwnd_bytes: series.cwnd_bytes,
                inflight_bytes: series.inflight_bytes,
                pacing_rate_mbps: series.pacing_rate_mbps,
                lost_pkts: series.lost_pkts,
            };
            document["series"] = render_series(&flows, &measured.links, SeriesTo::Text)?;
        }
        Ok(document)
    }
}
