//! The token bucket by which quinn and noq space packets.

use crate::stack::Limits;
use fairweir_cca::Spacing;
use fairweir_units::{Bytes, NANOS_PER_SEC};
use std::time::Duration;

/// `BURST_INTERVAL_NANOS`, `TARGET_BURST_INTERVAL`: what the bucket holds, in time at the rate.
const BURST_INTERVAL_NS: u128 = 2_000_000;
/// `MIN_BURST_SIZE` and `MAX_BURST_SIZE`, packets.
const BURST_PKTS: (u64, u64) = (10, 256);

/// The capacity of the bucket, bytes, that is refilled at `rate` bytes per second.
fn capacity(rate: u128, mtu: u64) -> u64 {
    let bytes = u64::try_from(rate * BURST_INTERVAL_NS / u128::from(NANOS_PER_SEC)).unwrap_or(u64::MAX);
    bytes.clamp(BURST_PKTS.0 * mtu, BURST_PKTS.1 * mtu)
}

/// Paces a window per smoothed RTT, refilled at 5/4 of that rate (RFC 9002 §7.7), as both stacks do for controllers
/// without a rate. When the bucket is empty, they wait until it is full. Windows above 2^32 bytes are not paced.
pub(crate) fn by_window(cwnd: u64, srtt: Duration, mtu: u16, ssthresh: Option<u64>) -> Limits {
    let srtt_ns = srtt.as_nanos();
    if srtt_ns == 0 || cwnd > u64::from(u32::MAX) {
        return Limits { cwnd, pacing_rate: None, spacing: Spacing::Transport, ssthresh };
    }
    let rate = u128::from(cwnd) * u128::from(NANOS_PER_SEC) / srtt_ns;
    let pacing_rate = u64::try_from(rate * 5 / 4).unwrap_or(u64::MAX).max(1);
    let capacity = Bytes(capacity(rate, mtu.into()));
    let spacing = Spacing::Bucket { capacity, resumes_with: capacity };
    Limits { cwnd, pacing_rate: Some(pacing_rate), spacing, ssthresh }
}

/// `MAX_BURST_INTERVAL` of noq, ns: a bucket filled at an explicit rate holds at most this.
const MAX_BURST_INTERVAL_NS: u128 = 10_000_000;

/// Paces at the controller's own rate, as noq does. When the bucket is empty, it waits for one packet.
pub(crate) fn by_rate(cwnd: u64, rate: u64, mtu: u16, ssthresh: Option<u64>) -> Limits {
    let most = (u128::from(rate) * MAX_BURST_INTERVAL_NS / u128::from(NANOS_PER_SEC)).max(u128::from(mtu));
    let capacity = capacity(rate.into(), mtu.into()).min(u64::try_from(most).unwrap_or(u64::MAX));
    let spacing = Spacing::Bucket { capacity: Bytes(capacity), resumes_with: Bytes(mtu.into()) };
    Limits { cwnd, pacing_rate: Some(rate.max(1)), spacing, ssthresh }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The bucket's capacity and with how much it resumes, bytes.
    fn bucket(limits: Limits) -> (u64, u64) {
        match limits.spacing {
            Spacing::Bucket { capacity, resumes_with } => (capacity.0, resumes_with.0),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_window_is_paced_at_five_quarters_in_bursts_of_two_ms_or_ten_packets() {
        // 240 kB in 40 ms are 6 MB/s; 2 ms of that are 12 kB, less than ten packets of 1500.
        let limits = by_window(240_000, Duration::from_millis(40), 1500, None);
        assert_eq!((limits.pacing_rate, bucket(limits)), (Some(7_500_000), (15_000, 15_000)));
        let limits = by_window(2_000_000, Duration::from_millis(50), 1500, None);
        assert_eq!(bucket(limits), (80_000, 80_000));
        assert_eq!(by_window(1 << 33, Duration::from_millis(50), 1500, None).pacing_rate, None);
        assert_eq!(by_window(240_000, Duration::ZERO, 1500, None).pacing_rate, None);
    }

    #[test]
    fn a_slow_rate_has_small_bursts() {
        assert_eq!(bucket(by_rate(100_000, 6_000_000, 1500, None)), (15_000, 1500));
        assert_eq!(bucket(by_rate(100_000, 10_000, 1500, None)), (1500, 1500));
        assert_eq!(by_rate(100_000, 0, 1500, None).pacing_rate, Some(1));
    }
}
