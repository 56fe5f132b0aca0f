//! Measurements of the senders: counters since the end of the warm-up, and the time series.

use crate::tcp_info::TcpInfo;
use fairweir_units::{Bytes, Rate, Time};

/// Counters of one connection, from its establishment on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Segments delivered, each once.
    pub delivered: u64,
    /// Of those, marked.
    pub delivered_ce: u64,
    /// Segments declared lost.
    pub lost: u64,
    /// Data segments sent, retransmissions included.
    pub sent: u64,
    /// Segments retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

impl Counters {
    /// The counters of `info` less those of `handshake`, from before the first data.
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

    /// The difference to `base`.
    pub fn since(&self, base: &Counters) -> Counters {
        Counters {
            delivered: self.delivered.saturating_sub(base.delivered),
            delivered_ce: self.delivered_ce.saturating_sub(base.delivered_ce),
            // Segments declared lost may later turn out to be delivered.
            lost: self.lost.saturating_sub(base.lost),
            sent: self.sent.saturating_sub(base.sent),
            retransmits: self.retransmits.saturating_sub(base.retransmits),
            timeouts: self.timeouts.saturating_sub(base.timeouts),
        }
    }
}

/// Outcome of one flow's connection.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Connection {
    /// Counts since the end of the warm-up.
    pub counted: Counters,
    /// Time at which it was established.
    pub established_at: Option<Time>,
    /// Whether all bytes of a transfer of known length were acknowledged.
    pub is_complete: bool,
    /// Cause of the failure, if it broke.
    pub broken: Option<String>,
}

/// Results of the senders.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SenderRecord {
    /// One per flow, in the scenario's order.
    pub flows: Vec<Connection>,
    /// Present if an interval was set.
    pub series: Option<SocketSeries>,
}

/// Data known only to the sockets, one row per interval and flow: interval by interval, flows in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SocketSeries {
    /// End of the interval, ns.
    pub t_ns: Vec<u64>,
    /// cwnd at the end of the interval, wire bytes.
    pub cwnd_bytes: Vec<u64>,
    /// Inflight at the end of the interval, as TCP counts it, wire bytes.
    pub inflight_bytes: Vec<u64>,
    /// Pacing rate of wire bytes at its end; NaN where the controller does not pace.
    pub pacing_rate_mbps: Vec<f64>,
    /// Segments held for lost in the interval.
    pub lost_pkts: Vec<u64>,
}

/// A flow at the end of an interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reading {
    pub(super) counters: Counters,
    /// Segments.
    pub(super) cwnd: u64,
    /// Segments.
    pub(super) inflight: u64,
    /// Of wire bytes.
    pub(super) pacing_rate: Option<Rate>,
}

/// The time series in progress.
#[derive(Debug)]
pub(super) struct SeriesWriter {
    packet: Bytes,
    /// Segments lost up to the last interval, by flow.
    lost: Vec<u64>,
    series: SocketSeries,
}

impl SeriesWriter {
    pub(super) fn new(packet: Bytes, flows: usize) -> SeriesWriter {
        SeriesWriter { packet, lost: vec![0; flows], series: SocketSeries::default() }
    }

    /// Closes the interval that ends at `due`.
    pub(super) fn push(&mut self, due: Time, readings: impl Iterator<Item = Reading>) {
        let rows = &mut self.series;
        for (reading, lost) in readings.zip(&mut self.lost) {
            // A segment that turned out not to be lost is not counted again when the next one is.
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
