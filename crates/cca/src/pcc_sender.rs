//! The sending side of the PCC family: packets leave at the rate on trial, or else at the base rate.

use crate::monitor_interval::{Monitor, Report};
use crate::{Ack, Context, Interests, LostPacket, Recovery, Start};
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate};
use rand::Rng;

/// cwnd, in rate times srtt (the authors' kernel modules): limits the data sent into a path without ACKs.
const CWND_GAIN: f64 = 2.0;

/// Smallest window, packets (the kernel modules').
const MIN_CWND_PKTS: u64 = 4;

/// A connection that sends at rates on trial.
#[derive(Clone, Debug)]
pub(crate) struct Sender {
    mss: Bytes,
    initial_cwnd: Bytes,
    pub srtt: Dur,
    /// The base rate: trials are around it, and it is used while there is no trial.
    pub rate: Rate,
    monitor: Monitor,
}

impl Sender {
    /// Calls that the family needs from the transport.
    pub const INTERESTS: Interests = Interests {
        sent: true,
        lost: true,
        acked: false,
        rate_sample: false,
        own_recovery: true,
        own_ecn: false,
        exact_marks: false,
        l4s: false,
        recovery: Recovery::Tcp,
    };

    /// Starts a connection with a trial of `rate`; trials have at least `min_packets`.
    pub fn new(start: &Start, rate: Rate, min_packets: u64) -> Sender {
        let mut monitor = Monitor::new(start.mss, min_packets);
        monitor.plan([rate]);
        Sender { mss: start.mss, initial_cwnd: start.initial_cwnd, srtt: Dur::ZERO, rate, monitor }
    }

    /// Sets the next trials and discards the current ones.
    pub fn plan(&mut self, rates: impl IntoIterator<Item = Rate>) {
        self.monitor.plan(rates);
    }

    /// The rate of `packets` per RTT, bytes/s.
    pub fn per_rtt(&self, packets: f64) -> f64 {
        self.mss.0 as f64 * packets / self.srtt.as_secs_f64()
    }

    /// An ACK arrives: the reports of all trials planned, once they are in.
    pub fn on_ack(&mut self, ack: &Ack<'_>, cx: &Context<'_>) -> Option<Vec<Report>> {
        self.srtt = ack.sender.srtt;
        self.monitor.on_ack(cx.now, ack);
        self.monitor.take_reports()
    }

    /// Processes a sent packet. `rtts` returns the length of a trial that begins with it, in RTTs.
    pub fn on_send(&mut self, cx: &mut Context<'_>, rtts: impl FnOnce(&mut dyn Rng) -> f64) {
        if self.srtt == Dur::ZERO {
            return; // the length of a trial is not known yet
        }
        let (srtt, rng) = (self.srtt, &mut *cx.rng);
        self.monitor.on_send(cx.now, || Dur::from_nanos((srtt.as_nanos() as f64 * rtts(rng)) as u64));
    }

    pub fn on_packet_lost(&mut self, lost: &LostPacket) {
        self.monitor.on_packet_lost(lost);
    }

    /// Read at every event, so no 128-bit division.
    pub fn cwnd(&self) -> Bytes {
        if self.srtt == Dur::ZERO {
            return self.initial_cwnd;
        }
        let srtts = self.srtt.as_nanos() as f64 * (CWND_GAIN / NANOS_PER_SEC as f64);
        Bytes((self.pacing_rate().bytes_per_sec() as f64 * srtts) as u64).max(self.mss * MIN_CWND_PKTS)
    }

    /// A trial below the smallest rates would be rounded to zero, which stops the flow.
    pub fn pacing_rate(&self) -> Rate {
        self.monitor.rate().unwrap_or(self.rate).max(Rate::from_bytes_per_sec(1))
    }
}

/// Returns du/dx over a pair of trials with their utilities, or `None` if the rates at which packets left differed by less
/// than half of what was planned (limited by the application or cwnd).
pub(crate) fn gradient([a, b]: [(&Report, f64); 2]) -> Option<f64> {
    let ((high, high_utility), (low, low_utility)) = if a.0.target >= b.0.target { (a, b) } else { (b, a) };
    let apart = high.rate_mbps - low.rate_mbps;
    let planned = high.target.as_mbps_f64() - low.target.as_mbps_f64();
    (apart > planned / 2.0).then(|| (high_utility - low_utility) / apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::MSS;

    fn sender(rate: Rate, srtt: Dur) -> Sender {
        let start = Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 0 };
        Sender { srtt, ..Sender::new(&start, rate, 10) }
    }

    #[test]
    fn the_window_is_two_rate_srtt_and_four_packets_at_least() {
        assert_eq!(sender(Rate::from_mbps(12), Dur::from_millis(100)).cwnd(), Bytes(300_000));
        assert_eq!(sender(Rate::MAX, Dur::MAX).cwnd(), Bytes::MAX);
        assert_eq!(sender(Rate::from_mbps(1), Dur::from_millis(1)).cwnd(), MSS * 4);
        assert_eq!(sender(Rate::from_mbps(12), Dur::ZERO).cwnd(), MSS * 10);
    }
}
