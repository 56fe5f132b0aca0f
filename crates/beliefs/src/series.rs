//! A flow's time series, in a number of bins that a figure can show, independent of the flow's duration.

use serde::Serialize;

/// Maximum number of bins. If more are needed, neighboring bins are merged.
const MAX_BINS: usize = 1024;
/// Initial and minimum width of a bin, ns.
const FIRST_WIDTH_NS: u64 = 1_000_000;

/// Columns with one entry per bin; an entry is `None` if the bin has no data.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Bins {
    /// Start of the first bin, ns.
    pub from_ns: u64,
    /// A bin's width, ns.
    pub width_ns: u64,
    /// IP packets acknowledged in the bin, bytes.
    pub delivered_bytes: Vec<u64>,
    /// Minimum RTT of packets acknowledged in the bin, ns.
    pub rtt_min_ns: Vec<Option<u64>>,
    /// Maximum RTT of packets acknowledged in the bin, ns.
    pub rtt_max_ns: Vec<Option<u64>>,
    /// Maximum payload in flight after a packet was sent, bytes.
    pub inflight_bytes: Vec<Option<u64>>,
    /// Minimum free receive window advertised by an ACK, bytes.
    pub window_bytes: Vec<Option<u64>>,
}

/// Collects [`Bins`].
#[derive(Clone, Debug)]
pub struct Series {
    bins: Bins,
}

fn pick(known: &mut Option<u64>, value: u64, pick: fn(u64, u64) -> u64) {
    *known = Some(known.map_or(value, |known| pick(known, value)));
}

/// Merges pairs of neighboring bins.
fn join<T: Copy>(column: &mut Vec<T>, both: impl Fn(T, T) -> T) {
    *column = column.chunks(2).map(|pair| pair[1..].iter().fold(pair[0], |one, &other| both(one, other))).collect();
}

fn either(pick: fn(u64, u64) -> u64) -> impl Fn(Option<u64>, Option<u64>) -> Option<u64> {
    move |one, other| one.into_iter().chain(other).reduce(pick)
}

impl Series {
    /// Creates a series that starts at a time, ns.
    pub fn new(from_ns: u64) -> Series {
        Series { bins: Bins { from_ns, width_ns: FIRST_WIDTH_NS, ..Bins::default() } }
    }

    /// Adds the acknowledgement of a packet, with its RTT in ns if known.
    pub fn on_acked(&mut self, at: u64, rtt: Option<u64>, bytes: u32) {
        let bin = self.bin(at);
        self.bins.delivered_bytes[bin] += u64::from(bytes);
        if let Some(rtt) = rtt {
            pick(&mut self.bins.rtt_min_ns[bin], rtt, u64::min);
            pick(&mut self.bins.rtt_max_ns[bin], rtt, u64::max);
        }
    }

    /// Adds a sent packet.
    pub fn on_inflight(&mut self, at: u64, bytes: u64) {
        let bin = self.bin(at);
        pick(&mut self.bins.inflight_bytes[bin], bytes, u64::max);
    }

    /// Adds an acknowledgement's free receive window.
    pub fn on_window(&mut self, at: u64, bytes: u64) {
        let bin = self.bin(at);
        pick(&mut self.bins.window_bytes[bin], bytes, u64::min);
    }

    /// Returns the bins so far.
    pub fn bins(&self) -> &Bins {
        &self.bins
    }

    /// Returns the index of the bin of a time, and creates the bin if needed. Times before the first bin belong to it.
    fn bin(&mut self, at: u64) -> usize {
        let since = at.saturating_sub(self.bins.from_ns);
        while since / self.bins.width_ns >= MAX_BINS as u64 {
            self.bins.width_ns *= 2;
            join(&mut self.bins.delivered_bytes, |one, other| one + other);
            join(&mut self.bins.rtt_min_ns, either(u64::min));
            join(&mut self.bins.rtt_max_ns, either(u64::max));
            join(&mut self.bins.inflight_bytes, either(u64::max));
            join(&mut self.bins.window_bytes, either(u64::min));
        }
        let bin = (since / self.bins.width_ns) as usize;
        let length = self.bins.delivered_bytes.len().max(bin + 1);
        self.bins.delivered_bytes.resize(length, 0);
        for column in [
            &mut self.bins.rtt_min_ns,
            &mut self.bins.rtt_max_ns,
            &mut self.bins.inflight_bytes,
            &mut self.bins.window_bytes,
        ] {
            column.resize(length, None);
        }
        bin
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn joining_bins_loses_nothing(packets in prop::collection::vec((0u64..1 << 45, 0u64..1 << 30, 1u32..1500), 1..200)) {
            let mut series = Series::new(0);
            for &(at, rtt, bytes) in &packets {
                series.on_acked(at + rtt, Some(rtt), bytes);
                series.on_inflight(at, u64::from(bytes));
                series.on_window(at, u64::from(bytes));
            }
            let bins = series.bins();
            prop_assert!(bins.delivered_bytes.len() <= MAX_BINS);
            prop_assert_eq!(bins.delivered_bytes.iter().sum::<u64>(), packets.iter().map(|p| u64::from(p.2)).sum::<u64>());
            for (at, rtt, bytes) in packets {
                let bin = ((at + rtt) / bins.width_ns) as usize;
                prop_assert!(bins.rtt_min_ns[bin].is_some_and(|least| least <= rtt));
                prop_assert!(bins.rtt_max_ns[bin].is_some_and(|most| most >= rtt));
                let bin = (at / bins.width_ns) as usize;
                prop_assert!(bins.inflight_bytes[bin].is_some_and(|most| most >= u64::from(bytes)));
                prop_assert!(bins.window_bytes[bin].is_some_and(|least| least <= u64::from(bytes)));
            }
        }
    }
}
