//! The window that a host advertises by itself: Linux's receive autotuning, `tcp_rcv_space_adjust`: twice what arrived in
//! an RTT and 16 segments, growing only, up to the limit of `tcp_rmem`.

use fairweir_units::{Dur, Time};

/// Bytes that Linux advertises first.
const FIRST: u64 = 64 << 10;
/// What a `tcp_rmem` of 32 MiB leaves for data.
const MOST: u64 = 16 << 20;
const SPARE_SEGMENTS: u64 = 16;

/// One connection's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostWindow {
    bytes: u64,
    since: Time,
    arrived: u64,
}

impl HostWindow {
    pub(crate) fn new() -> HostWindow {
        HostWindow { bytes: FIRST, since: Time::ZERO, arrived: 0 }
    }

    /// The window when `arrived` bytes have arrived in order.
    pub(crate) fn advertise(&mut self, now: Time, arrived: u64, rtt: Option<Dur>, mss: u32) -> u64 {
        if rtt.is_some_and(|rtt| now.since(self.since) >= rtt) {
            let wanted = 2 * (arrived - self.arrived) + SPARE_SEGMENTS * u64::from(mss);
            self.bytes = self.bytes.max(wanted).min(MOST);
            (self.since, self.arrived) = (now, arrived);
        }
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_ahead_of_a_sender_that_doubles_and_never_shrinks() {
        let (mut window, mut arrived) = (HostWindow::new(), 0);
        let rtt = Some(Dur::from_millis(100));
        let mut widths = Vec::new();
        for (round, sent) in [20u64, 40, 80, 160, 10, 50_000].into_iter().enumerate() {
            arrived += sent * 1448;
            widths.push(window.advertise(Time::ZERO + Dur::from_millis(100 * (round as u64 + 1)), arrived, rtt, 1448));
        }
        let segments = |n: u64| n * 1448;
        assert_eq!(widths, [segments(56), segments(96), segments(176), segments(336), segments(336), MOST]);
    }
}
