//! The window that a host advertises without a guard, as set by Linux's receive autotuning (`tcp_rcv_space_adjust`):
//! twice the data of an RTT plus 16 segments, up to the limit of `tcp_rmem`. The window never shrinks.

use fairweir_guard::RttMeter;
use fairweir_segments::EPOCH;
use fairweir_units::Time;

/// Initial window of Linux, bytes.
const FIRST: u64 = 64 << 10;
/// Maximum window, bytes, with a `tcp_rmem` of 32 MiB.
const MOST: u64 = 16 << 20;
/// Window scale with a `tcp_rmem` of 32 MiB: the unit is 1 KiB.
pub(crate) const WSCALE: u8 = 10;
const SPARE_SEGMENTS: u64 = 16;

/// State of one connection.
#[derive(Debug)]
pub(crate) struct HostWindow {
    bytes: u64,
    rtt: RttMeter,
    since: Time,
    arrived: u64,
}

impl HostWindow {
    pub(crate) fn new() -> HostWindow {
        HostWindow { bytes: FIRST, rtt: RttMeter::default(), since: EPOCH, arrived: 0 }
    }

    /// Processes data that echo the timestamp `tsecr`.
    pub(crate) fn on_data(&mut self, now: Time, tsecr: u32) {
        self.rtt.on_arrival(tsecr, now);
    }

    /// Returns the window, bytes, of an ACK with timestamp `tsval`, when `arrived` bytes have arrived in order.
    pub(crate) fn advertise(&mut self, now: Time, tsval: u32, arrived: u64, mss: u64) -> u64 {
        self.rtt.on_departure(tsval, now);
        if self.rtt.latest().is_some_and(|rtt| now.since(self.since) >= rtt) {
            let wanted = 2 * (arrived - self.arrived) + SPARE_SEGMENTS * mss;
            self.bytes = self.bytes.max(wanted).min(MOST);
            (self.since, self.arrived) = (now, arrived);
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_units::Dur;

    #[test]
    fn it_keeps_ahead_of_a_sender_that_doubles_and_never_shrinks() {
        let (mut window, mut arrived) = (HostWindow::new(), 0);
        let mut widths = Vec::new();
        for (round, sent) in [0u32, 20, 40, 80, 160, 10, 50_000].into_iter().enumerate() {
            let now = EPOCH + Dur::from_millis(100 * (round as u64 + 1));
            window.on_data(now, round as u32);
            arrived += u64::from(sent) * 1448;
            widths.push(window.advertise(now, round as u32 + 1, arrived, 1448));
        }
        let segments = |n: u64| n * 1448;
        assert_eq!(widths[0], FIRST, "no RTT is known");
        assert_eq!(widths[1..], [segments(56), segments(96), segments(176), segments(336), segments(336), MOST]);
    }
}
