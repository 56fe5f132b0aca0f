//! The application: the number of packets available, and the times at which it changes.

use fairweir_scenario::Source;
use fairweir_units::{Bytes, Dur, Rate, Time};

#[derive(Debug)]
enum Kind {
    Bulk,
    Finite,
    Rate { rate: Rate, packet: Bytes },
    OnOff { on: Dur, off: Dur },
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
    /// Creates the application of a flow that starts at `start` and numbers its packets from `first_packet`.
    pub(crate) fn new(source: &Source, start: Time, packet: Bytes, first_packet: u64) -> AppSource {
        let (kind, limit, next_change) = match *source {
            Source::Bulk => (Kind::Bulk, u64::MAX, Time::NEVER),
            Source::Finite { bytes } => (Kind::Finite, first_packet + bytes.0.div_ceil(packet.0), Time::NEVER),
            Source::Rate { rate } => (Kind::Rate { rate, packet }, first_packet, start),
            Source::OnOff { on, off } => (Kind::OnOff { on, off }, first_packet, start),
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
            Kind::OnOff { on, off } => {
                // The periods count from the flow's start, also if a handshake delays the data.
                let into = Dur::from_nanos(now.since(self.start).as_nanos() % (*on + *off).as_nanos());
                let is_on = into < *on;
                self.limit = if is_on { u64::MAX } else { snd_nxt };
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

    #[test]
    fn periods_count_from_the_start_of_the_flow() {
        let at = |ms| Time::ZERO + Dur::from_millis(ms);
        let source = Source::OnOff { on: Dur::from_millis(30), off: Dur::from_millis(70) };
        for (first_look, limit, next_change) in [(100, u64::MAX, 130), (120, u64::MAX, 130), (140, 5, 200)] {
            let mut app = AppSource::new(&source, at(100), Bytes(1500), 0);
            assert_eq!((app.limit(), app.next_change()), (0, at(100)));
            app.advance(at(first_look), 5);
            assert_eq!((app.limit(), app.next_change()), (limit, at(next_change)), "{first_look} ms");
        }
    }
}
