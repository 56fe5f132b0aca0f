//! The application: the number of packets available, and the times at which it changes.
//!
//! An application that pauses has written some data ahead, which are still sent, as in the kernel world
//! ([`fairweir_scenario::unsent`]).

use fairweir_scenario::{Config, FlowSpec, HEADER_BYTES, Source, unsent};
use fairweir_units::{Bytes, Dur, Rate, Time};

#[derive(Debug)]
enum Kind {
    Bulk,
    Finite,
    Rate {
        rate: Rate,
        packet: Bytes,
    },
    /// `ahead`: maximum packets that are written and not sent. `began`: number of the first packet of the sending period.
    OnOff {
        on: Dur,
        off: Dur,
        ahead: u64,
        began: u64,
    },
}

#[derive(Debug)]
pub(crate) struct AppSource {
    kind: Kind,
    start: Time,
    first_packet: u64,
    /// Packets below this number may be sent.
    limit: u64,
    next_change: Time,
}

impl AppSource {
    /// Creates the application of a flow of `spec` that numbers its packets from `first_packet`.
    pub(crate) fn new(config: &Config, spec: &FlowSpec, first_packet: u64) -> AppSource {
        let (start, packet) = (spec.start, config.packet);
        let (kind, limit, next_change) = match spec.source {
            Source::Bulk => (Kind::Bulk, u64::MAX, Time::NEVER),
            Source::Finite { bytes } => (Kind::Finite, first_packet + bytes.0.div_ceil(packet.0), Time::NEVER),
            Source::Rate { rate } => (Kind::Rate { rate, packet }, first_packet, start),
            Source::OnOff { on, off } => {
                let ahead = unsent(config, spec).0.div_ceil(packet.0.saturating_sub(HEADER_BYTES).max(1));
                (Kind::OnOff { on, off, ahead, began: first_packet }, first_packet, start)
            }
        };
        AppSource { kind, start, first_packet, limit, next_change }
    }

    /// Returns the limit: packets below this number may be sent.
    #[inline]
    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    /// Returns whether a transfer of known length is complete when `una` packets are acknowledged.
    pub(crate) fn is_done(&self, una: u64) -> bool {
        matches!(self.kind, Kind::Finite) && una >= self.limit
    }

    /// Returns the next time at which [`AppSource::advance`] changes the limit.
    pub(crate) fn next_change(&self) -> Time {
        self.next_change
    }

    /// Updates the limit to `now`.
    pub(crate) fn advance(&mut self, now: Time, snd_nxt: u64) {
        if now < self.next_change {
            return;
        }
        match &mut self.kind {
            Kind::Bulk | Kind::Finite => {}
            Kind::Rate { rate, packet } => {
                // Packet k is available after k packet times; the first packet is available immediately.
                let available = (*rate * now.since(self.start)).packets(*packet) + 1;
                self.limit = self.first_packet + available;
                let due = *packet * available / *rate + Dur::from_nanos(1);
                self.next_change = self.start + due;
            }
            Kind::OnOff { on, off, ahead, began } => {
                // The periods count from the flow's start, also if a handshake delays the data.
                let into = Dur::from_nanos(now.since(self.start).as_nanos() % (*on + *off).as_nanos());
                let is_on = into < *on;
                let was_on = self.limit == u64::MAX;
                if is_on {
                    *began = snd_nxt;
                    self.limit = u64::MAX;
                } else if was_on {
                    // The application writes `ahead` whenever half of it is sent.
                    let sent = (snd_nxt - *began) % (*ahead / 2).max(1);
                    self.limit = snd_nxt + *ahead - sent;
                }
                self.next_change =
                    now + if is_on { on.saturating_sub(into) } else { (*on + *off).saturating_sub(into) };
            }
        }
    }

    /// Closes the application: no packets from `snd_nxt` on are available.
    pub(crate) fn close(&mut self, snd_nxt: u64) {
        if !matches!(self.kind, Kind::Finite) {
            self.kind = Kind::Bulk;
        }
        self.limit = self.limit.min(snd_nxt);
        self.next_change = Time::NEVER;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_path::QueueConfig;
    use fairweir_path::queue::DroptailConfig;

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_millis(ms)
    }

    /// The application of a flow over 10 Mbps that starts at 100 ms, sends for 30 ms and pauses for 70 ms.
    fn on_off() -> AppSource {
        let mut spec = FlowSpec::bulk("reno", Dur::from_millis(20));
        spec.source = Source::OnOff { on: Dur::from_millis(30), off: Dur::from_millis(70) };
        spec.start = at(100);
        let queue = QueueConfig::Droptail(DroptailConfig { limit: None, limit_packets: Some(100) });
        let config = Config::dumbbell(Rate::from_mbps(10), queue, vec![spec.clone()], Dur::from_secs(1));
        AppSource::new(&config, &spec, 0)
    }

    #[test]
    fn periods_count_from_the_start_of_the_flow() {
        for (first_look, limit, next_change) in [(100, u64::MAX, 130), (120, u64::MAX, 130), (140, 0, 200)] {
            let mut app = on_off();
            assert_eq!((app.limit(), app.next_change()), (0, at(100)));
            app.advance(at(first_look), 0);
            assert_eq!((app.limit(), app.next_change()), (limit, at(next_change)), "{first_look} ms");
        }
    }

    #[test]
    fn what_was_written_ahead_is_sent_in_the_pause() {
        // 64 KiB in packets of 1448 bytes: 46, and the application writes again when 23 of them are sent.
        for (sent, limit) in [(0, 46), (22, 46), (23, 69), (50, 92)] {
            let mut app = on_off();
            app.advance(at(100), 0);
            app.advance(at(130), sent);
            assert_eq!(app.limit(), limit, "{sent} sent");
            app.advance(at(200), 92);
            assert_eq!(app.limit(), u64::MAX);
        }
    }
}
