//! Measurements of the senders: counters since the end of the warm-up, and time series.

use crate::tcp_info::TcpInfo;
use fairweir_units::{Bytes, Rate, Time};

/// Counters of one connection since it was established.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments delivered, each counted once.
    pub delivered: u64,
    /// Delivered segments with a CE mark.
    pub delivered_ce: u64,
    /// Segments declared lost.
    pub lost: u64,
    /// Data segments sent, including retransmissions.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

impl Counters {
    /// Returns the counters of `info` minus those of `handshake`, which were read before the first data.
    pub(super) fn new(info: &TcpInfo, handshake: &TcpInfo) -> Counters {
        Counters {
            delivered: u64::from(info.delivered.wrapping_sub(handshake.delivered)),
            delivered_ce: u64::from(info.delivered_ce.wrapping_sub(handshake.delivered_ce)),
            lost: info.lost_so_far().saturating_sub(handshake.lost_so_far()),
            sent: u64::from(info.data_segs_out.wrapping_sub(handshake.data_segs_out)),
            retransmits: u64::from(info.total_retrans.saturating_sub(handshake.total_retrans)),
            timeouts: u64::from(info.total_rto.saturating_sub(handshake.total_rto)),
        }
    }

    /// Returns the difference between these counters and `base`.
    pub fn since(&self, base: &Counters) -> Counters {
        Counters {
            delivered: self.delivered.saturating_sub(base.delivered),
            delivered_ce: self.delivered_ce.saturating_sub(base.delivered_ce),
            // Segments declared lost may later prove to be delivered, so the count may decrease.
            lost: self.lost.saturating_sub(base.lost),
            sent: self.sent.saturating_sub(base.sent),
            retransmits: self.retransmits.saturating_sub(base.retransmits),
            timeouts: self.timeouts.saturating_sub(base.timeouts),
        }
    }
}

/// Result of one flow's connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Counters since the end of the warm-up.
    pub counted: Counters,
    /// Time at which the connection was established.
    pub established_at: Option<Time>,
    /// Whether all bytes of a transfer of known length were acknowledged.
    pub is_complete: bool,
    /// Cause of the failure, if the connection broke.
    pub broken: Option<String>,
}

/// Results of the senders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SenderRecord {
    /// The connections, in the scenario's order of flows.
    pub flows: Vec<Connection>,
    /// Present if an interval was set.
    pub series: Option<SocketSeries>,
}

/// Time series of values that only the sockets know. Rows are ordered by interval, then by flow.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SocketSeries {
    /// End of the interval, ns.
    pub t_ns: Vec<u64>,
    /// cwnd at the end of the interval, bytes on the wire.
    pub cwnd_bytes: Vec<u64>,
    /// Inflight at the end of the interval as TCP counts it, bytes on the wire.
    pub inflight_bytes: Vec<u64>,
    /// Pacing rate at the end of the interval, including headers, Mbps; NaN if the controller does not pace.
    pub pacing_rate_mbps: Vec<f64>,
    /// Segments declared lost in the interval.
    pub lost_pkts: Vec<u64>,
}

/// State of a flow at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) counters: Counters,
    /// Congestion window, segments.
    pub(super) cwnd: u64,
    /// Inflight, segments.
    pub(super) inflight: u64,
    /// Pacing rate, including headers.
    pub(super) pacing_rate: Option<Rate>,
}

/// A time series to which rows are added.
#[derive(Debug)]
pub(super) struct SeriesWriter {
    packet: Bytes,
    /// Segments declared lost up to the previous interval, by flow.
    lost: Vec<u64>,
    series: SocketSeries,
}

impl SeriesWriter {
    pub(super) fn new(packet: Bytes, flows: usize) -> SeriesWriter {
        SeriesWriter { packet, lost: vec![0; flows], series: SocketSeries::default() }
    }

    /// Adds a row for each flow for the interval that ends at `due`.
    pub(super) fn push(&mut self, due: Time, readings: impl Iterator<Item = Reading>) {
        let rows = &mut self.series;
        for (reading, lost) in readings.zip(&mut self.lost) {
            // If a segment proved not to be lost, the count decreases; the next lost segment is then not counted twice.
            let lost_by_now = reading.counters.lost.max(*lost);
            rows.t_ns.push(due.as_nanos());
            rows.cwnd_bytes.push((self.packet * reading.cwnd).0);
            rows.inflight_bytes.push((self.packet * reading.inflight).0);
            rows.pacing_rate_mbps.push(reading.pacing_rate.map_or(f64::NAN, Rate::as_mbps_f64));
            rows.lost_pkts.push(lost_by_now - *lost);
            *lost = lost_by_now;
        }
    }

    pub(super) fn finish(self) -> SocketSeries {
        self.series
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_segments_are_counted_once() {
        let mut writer = SeriesWriter::new(Bytes(1500), 1);
        for (k, lost) in [3, 2, 4].into_iter().enumerate() {
            let counters = Counters { lost, ..Counters::default() };
            let reading = Reading { counters, cwnd: 10, inflight: 7, pacing_rate: None };
            writer.push(Time::from_nanos(k as u64 + 1), [reading].into_iter());
        }
        let series = writer.finish();
        assert_eq!(series.lost_pkts, [3, 0, 1]);
        assert_eq!((series.cwnd_bytes[0], series.inflight_bytes[0]), (15_000, 10_500));
        assert!(series.pacing_rate_mbps[0].is_nan());
    }
}
