//! RTT samples by TCP timestamps (RFC 7323), as in Linux 6.18: `tcp_ack_update_rtt` and `tcp_rtt_tsopt_us`
//! (net/ipv4/tcp_input.c).
//!
//! The send time of a packet that was retransmitted says nothing about the RTT, because the ACK may be for either
//! transmission (Karn). If a cumulative ACK covers such packets, and does not SACK others that were sent only once, the
//! timestamp that it echoes gives the sample. Timestamps are whole milliseconds (`TCP_TS_HZ`), so a sample is up to one
//! millisecond too long or too short; the minimum RTT of a flow with losses is therefore up to one millisecond below the
//! path's. The statistics of the run contain no such samples.

use fairweir_units::{Dur, Time};

/// A tick of the timestamps, ns.
const TICK: u64 = 1_000_000;

/// Returns the sample of an ACK that arrives at `now` and echoes a timestamp of the time `echo`, at least one tick.
pub(super) fn rtt(echo: Time, now: Time) -> Dur {
    let ticks = (now.as_nanos() / TICK).saturating_sub(echo.as_nanos() / TICK);
    Dur::from_nanos(ticks.max(1) * TICK)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_differences_of_whole_milliseconds() {
        let at = |us: u64| Time::from_nanos(us * 1000);
        for (sent, received, ms) in [(900, 4_100, 4), (0, 4_999, 4), (999, 5_000, 5), (10, 20, 1), (999, 1_001, 1)] {
            assert_eq!(rtt(at(sent), at(received)), Dur::from_millis(ms), "{sent} {received}");
        }
    }
}
