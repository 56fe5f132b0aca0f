//! Parameters of BBR version 1 and their valid values.

use crate::BuildError;
use fairweir_units::Dur;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// alpha: packets that cwnd has in addition to gain x BDP. With alpha = 0, the shares of cwnd-limited flows are
    /// arbitrary.
    pub quanta_pkts: u64,
    /// Whether alpha is three send quanta, as in the kernel, but at least `quanta_pkts`. A quantum is the data paced in
    /// 1 ms: at least two packets (one packet below 1.2 Mbps), at most 64 KiB.
    pub send_quanta: bool,
    /// Whether cwnd is an even number of packets, for receivers that acknowledge every second packet.
    pub round_to_even: bool,
    /// Whether cwnd includes the packets that ACKs deliver at once in excess of the bandwidth.
    pub ack_aggregation: bool,
    /// Whether to detect token-bucket policers.
    pub policer_detection: bool,
    /// Pacing and cwnd gain of STARTUP; DRAIN's pacing gain is its inverse.
    pub startup_gain: f64,
    /// Pacing gain of PROBE_BW's first phase.
    pub probe_up_gain: f64,
    /// Pacing gain of PROBE_BW's second phase.
    pub probe_down_gain: f64,
    /// Pacing gain of PROBE_BW's other phases. If it is well above 1, only cwnd limits the flow.
    pub cruise_gain: f64,
    /// cwnd gain of PROBE_BW.
    pub cwnd_gain: f64,
    /// Percentage by which the pacing rate is below the bandwidth.
    pub pacing_margin_percent: u32,
    /// Length of the window of the bandwidth maximum, rounds.
    pub bw_window_rounds: usize,
    /// Time after which the minimum RTT expires.
    #[serde(with = "crate::quantity")]
    pub min_rtt_window: Dur,
    /// Duration of PROBE_RTT; `0s` disables it.
    #[serde(with = "crate::quantity")]
    pub probe_rtt_duration: Dur,
    /// Phase in which PROBE_BW starts, 0 to 7; random if absent.
    pub first_phase: Option<u32>,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            quanta_pkts: 3,
            send_quanta: false,
            round_to_even: true,
            ack_aggregation: true,
            policer_detection: true,
            startup_gain: 2.89, // the kernel rounds 2.885 up to 739/256
            probe_up_gain: 1.25,
            probe_down_gain: 0.75,
            cruise_gain: 1.0,
            cwnd_gain: 2.0,
            pacing_margin_percent: 1,
            bw_window_rounds: 10,
            min_rtt_window: Dur::from_secs(10),
            probe_rtt_duration: Dur::from_millis(200),
            first_phase: None,
        }
    }
}

impl Params {
    pub(super) fn check(&self) -> Result<(), BuildError> {
        let bad = |reason: String| Err(BuildError::BadParams { name: "bbr".into(), reason });
        let in_range = |x: f64, lo: f64, hi: f64| (lo..=hi).contains(&x);
        if self.quanta_pkts > 1_000_000 {
            return bad(format!("quanta_pkts must be at most 1000000: `{}`", self.quanta_pkts));
        }
        for (key, x, lo, hi) in [
            ("startup_gain", self.startup_gain, 1.01, 10.0),
            ("probe_up_gain", self.probe_up_gain, 1.0, 10.0),
            ("probe_down_gain", self.probe_down_gain, 0.01, 10.0),
            ("cruise_gain", self.cruise_gain, 0.1, 10.0),
            ("cwnd_gain", self.cwnd_gain, 0.1, 10.0),
        ] {
            if !in_range(x, lo, hi) {
                return bad(format!("{key} must be between {lo} and {hi}: `{x}`"));
            }
        }
        if self.pacing_margin_percent > 50 {
            return bad(format!("pacing_margin_percent must be at most 50: `{}`", self.pacing_margin_percent));
        }
        if !(1..=1000).contains(&self.bw_window_rounds) {
            return bad(format!("bw_window_rounds must be between 1 and 1000: `{}`", self.bw_window_rounds));
        }
        if self.min_rtt_window == Dur::ZERO {
            return bad("min_rtt_window must be positive".into());
        }
        if let Some(phase) = self.first_phase.filter(|p| *p > 7) {
            return bad(format!("first_phase must be between 0 and 7: `{phase}`"));
        }
        Ok(())
    }
}
