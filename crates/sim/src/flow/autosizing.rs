//! TSO autosizing: a paced burst is what the pacing rate sends in about a millisecond (`tcp_tso_autosize` and
//! `tcp_tso_segs` of Linux's tcp_output.c).
//!
//! `flow.gso` is the maximum of a burst in packets, as `gso_max_segs` of the sender's device is: a device without
//! segmentation offload (`gso = 1`) sends every packet on its own. Without this mechanism every burst has the maximum.
//!
//! **Deviations from Linux**: packets count with their headers; the minimum of two packets also holds for BBR below 1.2
//! Mbps (`bbr_min_tso_segs` is one there); only paced flows send bursts, while Linux also collects packets of others
//! (`tcp_tso_should_defer`).

use fairweir_units::Dur;

/// A burst is the data of 2^-10 s (`sk_pacing_shift`).
const PACING_SHIFT: u32 = 10;
/// Maximum bytes of a burst (`sk_gso_max_size`, without larger sizes that a device may offer).
const MAX_BYTES: u64 = 65_536;
/// Minimum of a burst, packets (`sysctl_tcp_min_tso_segs`).
const MIN_PACKETS: u64 = 2;
/// Near paths get larger bursts: `MAX_BYTES` are halved for each 2^9 us of the minimum RTT (`sysctl_tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;

/// Returns the packets of `mss` bytes in a burst at `rate` bytes per second, at most `limit`.
pub(super) fn burst(rate: u64, min_rtt: Dur, mss: u64, limit: u64) -> u64 {
    let min_rtt_us = min_rtt.as_nanos() / 1000;
    let halvings = min_rtt_us >> RTT_SHIFT;
    let for_near_paths = if halvings < u64::from(u32::BITS) { MAX_BYTES >> halvings } else { 0 };
    let bytes = (rate >> PACING_SHIFT).saturating_add(for_near_paths).min(MAX_BYTES);
    (bytes / mss).max(MIN_PACKETS).min(limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_burst_is_a_millisecond_of_the_rate() {
        let far = Dur::from_millis(40);
        for (mbps, packets) in [(1, 2), (24, 2), (50, 4), (100, 8), (1000, 43)] {
            assert_eq!(burst(mbps * 125_000, far, 1500, 44), packets, "{mbps} Mbps");
        }
        assert_eq!(burst(125_000_000, far, 1500, 1), 1);
    }

    #[test]
    fn bursts_are_larger_on_near_paths() {
        let packets = |rtt_us| burst(3_000_000, Dur::from_micros(rtt_us), 1500, 44);
        assert_eq!([100, 600, 2_000, 5_000].map(packets), [43, 23, 7, 2]);
    }
}
