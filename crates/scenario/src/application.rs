//! The application of a sender: how much data is available, and when that changes.

use crate::{Config, FlowSpec, Source};
use fairweir_units::{Bytes, Dur, Rate, Time};

/// Maximum unsent data in a socket, as time at the path's rate. It is large enough that neither a delayed thread nor a
/// burst of ACKs makes a bulk flow application-limited.
const UNSENT: Dur = Dur::from_millis(100);
/// Maximum unsent data of a flow that stops or pauses, because such a flow still sends these data.
const UNSENT_OF_STOPPING: Dur = Dur::from_millis(10);
/// Minimum limit on unsent data: one burst of super-packets.
const MIN_UNSENT: Bytes = Bytes(64 << 10);

/// Returns the maximum payload that the application of `flow` writes ahead into its socket (`TCP_NOTSENT_LOWAT`). The
/// application writes again when less than half of this is unsent (`tcp_stream_memory_free` of Linux).
pub fn unsent(config: &Config, flow: &FlowSpec) -> Bytes {
    let end = Time::ZERO + config.duration;
    let rate = flow.path.iter().map(|&link| config.links[link].hop.link.build().mean_rate(Time::ZERO, end)).min();
    let ends_early = flow.stop.is_some() || matches!(flow.source, Source::OnOff { .. });
    let time = if ends_early { UNSENT_OF_STOPPING } else { UNSENT };
    (rate.unwrap_or(Rate::from_bytes_per_sec(0)) * time).max(MIN_UNSENT)
}

/// Data that a sender may write.
#[derive(Clone, Debug)]
pub struct App {
    source: Source,
    start: Time,
    stop: Time,
    /// Size on the wire of a full packet, in which sources count.
    packet: Bytes,
    /// Payload of a full packet, bytes.
    mss: u64,
}

impl App {
    /// Creates the application that begins at `start` and writes nothing after `stop`.
    pub fn new(source: Source, start: Time, stop: Time, packet: Bytes, mss: u64) -> App {
        App { source, start, stop, packet, mss }
    }

    /// Payload bytes that are there at `now`, from the start on; `written` are out already.
    pub fn available(&self, now: Time, written: u64) -> u64 {
        if now < self.start || now >= self.stop {
            return self.limit().map_or(written, |limit| written.min(limit));
        }
        match self.source {
            Source::Bulk => u64::MAX,
            Source::Finite { .. } => self.limit().unwrap_or(u64::MAX),
            // Packet k is there after k packet times; the first one at once.
            Source::Rate { rate } => ((rate * now.since(self.start)).packets(self.packet) + 1) * self.mss,
            Source::OnOff { on, off } => {
                let phase = now.since(self.start).as_nanos() % (on + off).as_nanos();
                if phase < on.as_nanos() { u64::MAX } else { written }
            }
        }
    }

    /// Next time at which the available data changes; `written` payload bytes are out.
    pub fn next_change(&self, now: Time, written: u64) -> Time {
        if now < self.start {
            return self.start;
        }
        if now >= self.stop {
            return Time::NEVER;
        }
        let change = match self.source {
            Source::Bulk | Source::Finite { .. } => Time::NEVER,
            Source::Rate { rate } => {
                let packets = written / self.mss;
                self.start + self.packet * packets / rate + Dur::from_nanos(1)
            }
            Source::OnOff { on, off } => {
                let period = on + off;
                let into = Dur::from_nanos(now.since(self.start).as_nanos() % period.as_nanos());
                now + if into < on {
                    Dur::from_nanos(on.as_nanos() - into.as_nanos())
                } else {
                    period.saturating_sub(into)
                }
            }
        };
        change.min(self.stop)
    }

    /// Payload bytes of the whole transfer, if that is known.
    fn limit(&self) -> Option<u64> {
        match self.source {
            Source::Finite { bytes } => Some(bytes.0.div_ceil(self.packet.0) * self.mss),
            _ => None,
        }
    }

    /// Whether this is a transfer of known length of which all data were written.
    pub fn has_finished(&self, written: u64) -> bool {
        self.limit().is_some_and(|limit| written >= limit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_path::QueueConfig;
    use fairweir_path::queue::DroptailConfig;

    const PACKET: Bytes = Bytes(1500);
    const MSS: u64 = 1448;

    fn at_ms(ms: u64) -> Time {
        Time::ZERO + Dur::from_millis(ms)
    }

    #[test]
    fn flows_that_pause_write_less_ahead() {
        let unsent_of = |mbps, source| {
            let queue = QueueConfig::Droptail(DroptailConfig { limit: None, limit_packets: Some(100) });
            let spec = FlowSpec { source, ..FlowSpec::bulk("reno", Dur::from_millis(20)) };
            let config = Config::dumbbell(Rate::from_mbps(mbps), queue, vec![spec], Dur::from_secs(1));
            unsent(&config, &config.flows[0])
        };
        let on_off = || Source::OnOff { on: Dur::from_secs(1), off: Dur::from_secs(1) };
        assert_eq!([1, 100].map(|mbps| unsent_of(mbps, on_off())), [Bytes(65_536), Bytes(125_000)]);
        assert_eq!([1, 100].map(|mbps| unsent_of(mbps, Source::Bulk)), [Bytes(65_536), Bytes(1_250_000)]);
    }

    fn app(source: Source) -> App {
        App::new(source, at_ms(100), at_ms(1_100), PACKET, MSS)
    }

    #[test]
    fn nothing_before_the_start_and_after_the_stop() {
        for source in [Source::Bulk, Source::Finite { bytes: Bytes(1_000_000) }] {
            let app = app(source);
            assert_eq!(app.available(at_ms(99), 0), 0);
            assert!(app.available(at_ms(100), 0) > 0);
            assert_eq!(app.available(at_ms(1_100), 5_000), 5_000);
            assert_eq!(app.next_change(at_ms(0), 0), at_ms(100));
            assert_eq!(app.next_change(at_ms(100), 0), at_ms(1_100));
            assert_eq!(app.next_change(at_ms(1_100), 0), Time::NEVER);
        }
    }

    #[test]
    fn a_finite_transfer_is_whole_packets() {
        let app = app(Source::Finite { bytes: Bytes(1_501) });
        assert_eq!(app.available(at_ms(100), 0), 2 * MSS);
        assert!(!app.has_finished(MSS) && app.has_finished(2 * MSS));
    }

    #[test]
    fn a_rate_gives_a_packet_every_packet_time() {
        // 12 Mbps: one packet a millisecond.
        let app = app(Source::Rate { rate: Rate::from_bytes_per_sec(1_500_000) });
        assert_eq!(app.available(at_ms(100), 0), MSS);
        assert_eq!(app.available(at_ms(110), 0), 11 * MSS);
        let next = app.next_change(at_ms(110), 11 * MSS);
        assert_eq!(next, at_ms(111) + Dur::from_nanos(1));
        assert_eq!(app.available(next, 11 * MSS), 12 * MSS);
    }

    #[test]
    fn on_and_off_take_turns() {
        let app = app(Source::OnOff { on: Dur::from_millis(30), off: Dur::from_millis(70) });
        assert_eq!(app.available(at_ms(129), 7), u64::MAX);
        assert_eq!(app.next_change(at_ms(129), 7), at_ms(130));
        assert_eq!(app.available(at_ms(130), 7), 7);
        assert_eq!(app.next_change(at_ms(130), 7), at_ms(200));
        assert_eq!(app.available(at_ms(200), 7), u64::MAX);
    }
}
