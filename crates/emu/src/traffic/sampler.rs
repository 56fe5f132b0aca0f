//! Reads the connections at the end of the warm-up and of each interval.

use super::record::{Connection, Counters, Reading, SenderRecord, SeriesWriter};
use crate::tcp_info::TcpInfo;
use fairweir_units::{Bytes, Dur, Rate, Time};

/// Times at which connections are read.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    /// End of the warm-up: counters start here.
    pub warmup: Time,
    /// End of the run.
    pub end: Time,
    /// Interval of the time series.
    pub interval: Option<Dur>,
    /// Size of a full packet on the wire, bytes.
    pub packet: Bytes,
}

/// State of one connection.
#[derive(Debug)]
pub(super) struct Gauge {
    /// cwnd before the connection is established, segments.
    initial_cwnd: u64,
    /// Whether the congestion control paces; the kernel also computes a pacing rate for controllers that do not pace.
    is_paced: bool,
    /// State of the connection when it was established.
    handshake: TcpInfo,
    last: TcpInfo,
    base: Counters,
    pub(super) result: Connection,
}

#[derive(Debug)]
pub(super) struct Sampler {
    timeline: Timeline,
    series: Option<SeriesWriter>,
    /// End of the current interval.
    interval_ends: Time,
    is_warm: bool,
    pub(super) gauges: Vec<Gauge>,
}

impl Gauge {
    pub(super) fn new(initial_cwnd: u64, is_paced: bool) -> Gauge {
        Gauge {
            initial_cwnd,
            is_paced,
            handshake: TcpInfo::default(),
            last: TcpInfo::default(),
            base: Counters::default(),
            result: Connection::default(),
        }
    }

    /// Records that the connection is established at `now`; `handshake` is its state before any data.
    pub(super) fn establish(&mut self, now: Time, handshake: TcpInfo) {
        self.handshake = handshake;
        self.last = handshake;
        self.result.established_at = Some(now);
    }

    pub(super) fn update(&mut self, info: TcpInfo) {
        self.last = info;
    }

    fn counters(&self) -> Counters {
        Counters::new(&self.last, &self.handshake)
    }

    /// Converts the last state to a reading. `packet` is the size of a full packet on the wire, because the kernel
    /// paces payload.
    fn reading(&self, packet: Bytes) -> Reading {
        let info = &self.last;
        let segment = u64::from(info.snd_mss.max(1));
        let is_connected = self.result.established_at.is_some();
        Reading {
            counters: self.counters(),
            cwnd: if is_connected { u64::from(info.snd_cwnd) } else { self.initial_cwnd },
            inflight: u64::from(info.inflight()),
            pacing_rate: (self.is_paced && is_connected && info.pacing_rate != u64::MAX)
                .then(|| Rate::from_bytes_per_sec(info.pacing_rate).mul_ratio(packet.0, segment)),
        }
    }
}

impl Sampler {
    pub(super) fn new(timeline: Timeline, gauges: Vec<Gauge>) -> Sampler {
        let series = timeline.interval.map(|_| SeriesWriter::new(timeline.packet, gauges.len()));
        let interval_ends = timeline.interval.map_or(Time::NEVER, |interval| Time::ZERO + interval);
        Sampler { timeline, series, interval_ends, is_warm: false, gauges }
    }

    /// Returns the time of the next reading.
    pub(super) fn due(&self) -> Time {
        let warmup = if self.is_warm { Time::NEVER } else { self.timeline.warmup };
        self.interval_ends.min(warmup).min(self.timeline.end)
    }

    /// Reads the counters at the end of the warm-up, and closes intervals that have ended. `read` returns the state of
    /// a flow's connection.
    pub(super) fn look(&mut self, now: Time, read: impl Fn(usize) -> Option<TcpInfo>) {
        let Timeline { end, packet, .. } = self.timeline;
        if now < self.due() {
            return;
        }
        self.refresh(read);
        if now >= self.timeline.warmup && !self.is_warm {
            self.gauges.iter_mut().for_each(|gauge| gauge.base = gauge.counters());
            self.is_warm = true;
        }
        let (Some(series), Some(interval)) = (&mut self.series, self.timeline.interval) else { return };
        // If the thread is late, all intervals that have ended get the current state.
        while self.interval_ends <= now.min(end) {
            series.push(self.interval_ends, self.gauges.iter().map(|gauge| gauge.reading(packet)));
            self.interval_ends += interval;
        }
        if now >= end && self.interval_ends.since(end) < interval {
            series.push(end, self.gauges.iter().map(|gauge| gauge.reading(packet)));
            self.interval_ends = Time::NEVER;
        }
    }

    /// Ends the measurement and returns the counters since the end of the warm-up.
    pub(super) fn finish(mut self, read: impl Fn(usize) -> Option<TcpInfo>) -> SenderRecord {
        self.refresh(read);
        let flows = self.gauges.into_iter().map(|gauge| {
            let counted = gauge.counters().since(&gauge.base);
            Connection { counted, ..gauge.result }
        });
        SenderRecord { flows: flows.collect(), series: self.series.map(SeriesWriter::finish) }
    }

    fn refresh(&mut self, read: impl Fn(usize) -> Option<TcpInfo>) {
        for (index, gauge) in self.gauges.iter_mut().enumerate() {
            if let Some(info) = read(index) {
                gauge.last = info;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Time {
        Time::ZERO + Dur::from_millis(ms)
    }

    fn sampler(interval_ms: u64) -> Sampler {
        let timeline = Timeline {
            warmup: ms(15),
            end: ms(50),
            interval: Some(Dur::from_millis(interval_ms)),
            packet: Bytes(1500),
        };
        Sampler::new(timeline, vec![Gauge::new(10, false)])
    }

    fn sent(data_segs_out: u32) -> Option<TcpInfo> {
        Some(TcpInfo { data_segs_out, ..TcpInfo::default() })
    }

    #[test]
    fn counters_count_from_the_warmup_on() {
        let mut sampler = sampler(20);
        sampler.look(ms(10), |_| sent(5));
        assert_eq!(sampler.due(), ms(15));
        sampler.look(ms(16), |_| sent(7));
        assert_eq!(sampler.finish(|_| sent(12)).flows[0].counted.sent, 5);
    }

    #[test]
    fn the_pacing_rate_is_the_wires() {
        let mut gauge = Gauge::new(10, true);
        assert_eq!(gauge.reading(Bytes(1500)).pacing_rate, None);
        gauge.establish(ms(1), TcpInfo { snd_mss: 1448, pacing_rate: 1_448_000, ..TcpInfo::default() });
        assert_eq!(gauge.reading(Bytes(1500)).pacing_rate, Some(Rate::from_bytes_per_sec(1_500_000)));
        gauge.update(TcpInfo { snd_mss: 1448, pacing_rate: u64::MAX, ..TcpInfo::default() });
        assert_eq!(gauge.reading(Bytes(1500)).pacing_rate, None);
    }

    #[test]
    fn intervals_end_when_they_should_and_the_last_one_with_the_run() {
        let mut late = sampler(20);
        [16, 41, 51].into_iter().for_each(|at| late.look(ms(at), |_| None));
        let ends = late.finish(|_| None).series.unwrap().t_ns;
        assert_eq!(ends, [20, 40, 50].map(|t| t * 1_000_000));
        let mut even = sampler(25);
        [16, 25, 50, 51].into_iter().for_each(|at| even.look(ms(at), |_| None));
        assert_eq!(even.finish(|_| None).series.unwrap().t_ns, [25, 50].map(|t| t * 1_000_000));
    }
}
