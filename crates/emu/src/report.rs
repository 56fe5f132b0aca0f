//! Combines the measurements of the emulator and of the senders into a document like the simulator's.

use crate::EmulatorRecord;
use crate::traffic::SenderRecord;
use fairweir_program::{Refusal, SeriesTo, render_series};
use fairweir_scenario::recorder::SenderCounts;
use fairweir_scenario::{Config, FlowSeries, FlowSummary, LinkSeries, Summary};
use serde_json::Value;

/// All measurements of a run.
pub(crate) struct Document<'a> {
    pub(crate) config: &'a Config,
    pub(crate) measured: &'a EmulatorRecord,
    pub(crate) sent: &'a SenderRecord,
}

impl Document<'_> {
    /// Returns the document; a run with a broken connection is not judged.
    pub(crate) fn render(&self, to: SeriesTo<'_>) -> Result<Value, Refusal> {
        let summary = Summary {
            flows: (0..self.config.flows.len()).map(|index| self.flow(index)).collect(),
            links: self.measured.links.clone(),
            packets: self.measured.delivered_pkts,
            events: self.measured.accuracy.packets,
        };
        let mut accuracy = self.measured.accuracy.clone();
        for (spec, connection) in self.config.flows.iter().zip(&self.sent.flows) {
            if let Some(reason) = &connection.broken {
                accuracy.judged = false;
                let separator = if accuracy.reason.is_empty() { "" } else { "; " };
                accuracy.reason += &format!("{separator}flow `{}` failed: {reason}", spec.id);
            }
        }
        let failed = |e: serde_json::Error| Refusal::new(format!("write the result: {e}"));
        let mut document = serde_json::to_value(summary).map_err(failed)?;
        document["emulator"] = serde_json::to_value(accuracy).map_err(failed)?;
        if let Some((flows, links)) = self.series() {
            document["series"] = render_series(&flows, &links, to)?;
        }
        Ok(document)
    }

    fn flow(&self, index: usize) -> FlowSummary {
        let (measured, connection) = (&self.measured.flows[index], &self.sent.flows[index]);
        let sender = SenderCounts {
            lost: connection.counted.lost,
            timeouts: connection.counted.timeouts,
            is_complete: connection.is_complete,
        };
        measured.summary(self.config, index, self.measured.end, sender)
    }

    /// Returns the series with the simulator's columns. If a run was interrupted, only the rows that both the emulator
    /// and the senders recorded remain.
    fn series(&self) -> Option<(FlowSeries, LinkSeries)> {
        let (network, sockets) = (self.measured.series.as_ref()?, self.sent.series.as_ref()?);
        let rows = network.t_ns.len().min(sockets.t_ns.len());
        let flows = FlowSeries {
            t_ns: network.t_ns[..rows].to_vec(),
            flow: network.flow[..rows].to_vec(),
            throughput_mbps: network.throughput_mbps[..rows].to_vec(),
            cwnd_bytes: sockets.cwnd_bytes[..rows].to_vec(),
            inflight_bytes: sockets.inflight_bytes[..rows].to_vec(),
            pacing_rate_mbps: sockets.pacing_rate_mbps[..rows].to_vec(),
            rtt_ms: network.rtt_ms[..rows].to_vec(),
            lost_pkts: sockets.lost_pkts[..rows].to_vec(),
        };
        Some((flows, network.links.clone()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{Connection, Counters, SocketSeries};
    use crate::{Accuracy, FlowRecord, HostAnswers, MeasuredSeries, ReleaseError};
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;
    use fairweir_units::{Dur, Time};
    use serde_json::json;
    use std::fs;

    fn second(s: u64) -> Time {
        Time::ZERO + Dur::from_secs(s)
    }

    /// One flow that starts after 1 s in a run of 10 s; the warm-up takes 2 s.
    fn config() -> Config {
        serde_json::from_value(json!({
            "duration": 10_000_000_000_u64, "warmup": 2_000_000_000_u64, "seed": 1, "interval": 5_000_000_000_u64,
            "links": [{"name": "l", "hop": {
                "link": {"kind": "constant", "rate": 1_000_000}, "queue": {"kind": "droptail", "limit": 100_000}}}],
            "flows": [{"id": "f", "cca": "reno", "path": [0], "forward_delay": 1_000_000, "reverse_delay": 1_000_000,
                "rtprop": 2_000_000, "start": 1_000_000_000}],
        }))
        .unwrap()
    }

    fn measured() -> EmulatorRecord {
        let flow = FlowRecord {
            delivered_pkts: 990,
            delivered_bytes: 1_000_000,
            sent_pkts: 1_000,
            first_sent: Some(second(1)),
            last_delivered: Some(second(6)),
            ..FlowRecord::default()
        };
        let series = MeasuredSeries {
            t_ns: vec![5, 10],
            flow: vec![0, 0],
            throughput_mbps: vec![1.5, 2.5],
            rtt_ms: vec![20.0, f64::NAN],
            links: LinkSeries::default(),
        };
        EmulatorRecord {
            accuracy: Accuracy {
                release_error_us: ReleaseError::default(),
                wake_error_us: ReleaseError::default(),
                packets: 2_000,
                budget_us: 1_000.0,
                judged: true,
                reason: String::new(),
                mode: "mtu",
                cpu_fraction: 0.1,
                strays: 0,
                stalls_us: vec![2_500.0],
                host_us: HostAnswers::default(),
            },
            flows: vec![flow],
            links: Vec::new(),
            delivered_pkts: 1_500,
            series: Some(series),
            end: second(10),
        }
    }

    fn sent(connection: Connection) -> SenderRecord {
        let series = SocketSeries {
            t_ns: vec![5, 10],
            cwnd_bytes: vec![15_000, 30_000],
            inflight_bytes: vec![1_500, 3_000],
            pacing_rate_mbps: vec![f64::NAN, 8.0],
            lost_pkts: vec![0, 10],
        };
        SenderRecord { flows: vec![connection], series: Some(series) }
    }

    fn rendered(connection: Connection, to: SeriesTo<'_>) -> Value {
        Document { config: &config(), measured: &measured(), sent: &sent(connection) }.render(to).unwrap()
    }

    #[test]
    fn rates_count_over_the_time_that_the_flow_was_active() {
        let lossy = Connection { counted: Counters { lost: 10, ..Counters::default() }, ..Connection::default() };
        let document = rendered(lossy, SeriesTo::Text);
        let flow = &document["flows"][0];
        // Over the 8 s from the end of the warm-up to the end of the run.
        assert_eq!(flow["throughput_mbps"], 1.0);
        assert_eq!(flow["loss_rate"], 0.01);
        assert_eq!(flow["completion_s"], Value::Null);
        assert_eq!((&document["packets"], &document["events"]), (&json!(1_500), &json!(2_000)));
        assert_eq!(document["emulator"]["judged"], true);
        assert_eq!(document["emulator"]["host_us"]["sender"]["mean"], 0.0);
        assert_eq!(document["emulator"]["stalls_us"], json!([2_500.0]));
    }

    #[test]
    fn a_finite_flow_is_active_until_its_last_ack() {
        let done = Connection { is_complete: true, ..Connection::default() };
        let document = rendered(done, SeriesTo::Text);
        // Completion time counts from the flow's first packet, not from its handshake; throughput counts over the 4 s
        // after the warm-up.
        assert_eq!(document["flows"][0]["completion_s"], 5.0);
        assert_eq!(document["flows"][0]["throughput_mbps"], 2.0);
    }

    #[test]
    fn a_run_with_a_broken_connection_is_not_judged() {
        let broken = Connection { broken: Some("timed out".into()), ..Connection::default() };
        let emulator = &rendered(broken, SeriesTo::Text)["emulator"];
        assert_eq!(emulator["judged"], false);
        assert_eq!(emulator["reason"], "flow `f` failed: timed out");
    }

    #[test]
    fn series_are_the_same_numbers_as_text_and_in_a_file() {
        let text = rendered(Connection::default(), SeriesTo::Text);
        let column = STANDARD.decode(text["series"]["flows"]["cwnd_bytes"].as_str().unwrap()).unwrap();
        assert_eq!(column, [15_000_u64, 30_000].map(u64::to_le_bytes).concat());

        let file = tempfile::NamedTempFile::new().unwrap();
        let document = rendered(Connection::default(), SeriesTo::File(file.path()));
        let bytes = fs::read(file.path()).unwrap();
        for (name, place) in document["series"]["flows"].as_object().unwrap() {
            let [offset, length] = [0, 1].map(|i| place[i].as_u64().unwrap() as usize);
            let expected = STANDARD.decode(text["series"]["flows"][name].as_str().unwrap()).unwrap();
            assert_eq!(bytes[offset..offset + length], expected, "{name}");
        }
    }
}
