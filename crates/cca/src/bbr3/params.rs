//! Parameters of BBR version 3 and their valid values.

use crate::BuildError;
use fairweir_units::Dur;
use serde::{Deserialize, Serialize};

/// Parameters. The defaults are those of the kernel, google/bbr, branch v3.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Minimum cwnd in packets, for hosts that send in batches.
    pub quanta_pkts: u64,
    /// Pacing gain of STARTUP.
    pub startup_pacing_gain: f64,
    /// cwnd gain of STARTUP and DRAIN.
    pub startup_cwnd_gain: f64,
    /// cwnd gain of PROBE_BW; it is 0.25 higher in the UP phase.
    pub cwnd_gain: f64,
    /// Percentage by which the pacing rate is below the bandwidth.
    pub pacing_margin_percent: u32,
    /// Fraction of packets in flight whose loss indicates that inflight is too high.
    pub loss_thresh: f64,
    /// Fraction by which the short-term bounds and inflight_hi are reduced after loss.
    pub beta: f64,
    /// Fraction of inflight_hi left free in CRUISE.
    pub headroom: f64,
    /// Minimum time between probes.
    #[serde(with = "crate::quantity")]
    pub probe_wait: Dur,
    /// Maximum of a random time added to `probe_wait`.
    #[serde(with = "crate::quantity")]
    pub probe_wait_random: Dur,
    /// Maximum number of rounds until the next probe: at most the rounds that a Reno flow with this window would need.
    pub probe_max_rounds: u64,
    /// Time after which the minimum RTT expires.
    #[serde(with = "crate::quantity")]
    pub min_rtt_window: Dur,
    /// Time without a smaller RTT sample after which PROBE_RTT starts.
    #[serde(with = "crate::quantity")]
    pub probe_rtt_interval: Dur,
    /// Duration of PROBE_RTT; `0s` disables it.
    #[serde(with = "crate::quantity")]
    pub probe_rtt_duration: Dur,
    /// cwnd in PROBE_RTT as a fraction of the BDP.
    pub probe_rtt_cwnd_gain: f64,
    /// Whether to respond to marks, if min_rtt is at most `ecn_max_rtt`.
    pub ecn: bool,
    /// Maximum min_rtt at which marks are used.
    #[serde(with = "crate::quantity")]
    pub ecn_max_rtt: Dur,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            quanta_pkts: 6,
            startup_pacing_gain: 2.774, // the kernel's 710/256
            startup_cwnd_gain: 2.0,
            cwnd_gain: 2.0,
            pacing_margin_percent: 1,
            loss_thresh: 0.02,
            beta: 0.3,
            headroom: 0.15,
            probe_wait: Dur::from_secs(2),
            probe_wait_random: Dur::from_secs(1),
            probe_max_rounds: 63,
            min_rtt_window: Dur::from_secs(10),
            probe_rtt_interval: Dur::from_secs(5),
            probe_rtt_duration: Dur::from_millis(200),
            probe_rtt_cwnd_gain: 0.5,
            ecn: true,
            ecn_max_rtt: Dur::from_millis(5),
        }
    }
}

impl Params {
    pub(super) fn check(&self) -> Result<(), BuildError> {
        let bad = |reason: String| Err(BuildError::BadParams { name: "bbr3".into(), reason });
        for (key, x, lo, hi) in [
            ("startup_pacing_gain", self.startup_pacing_gain, 1.01, 10.0),
            ("startup_cwnd_gain", self.startup_cwnd_gain, 1.0, 10.0),
            ("cwnd_gain", self.cwnd_gain, 0.5, 10.0),
            ("loss_thresh", self.loss_thresh, 0.0, 0.5),
            ("beta", self.beta, 0.01, 0.9),
            ("headroom", self.headroom, 0.0, 0.9),
            ("probe_rtt_cwnd_gain", self.probe_rtt_cwnd_gain, 0.0, 1.0),
        ] {
            if !(lo..=hi).contains(&x) {
                return bad(format!("{key} must be between {lo} and {hi}: `{x}`"));
            }
        }
        if self.quanta_pkts > 1_000_000 {
            return bad(format!("quanta_pkts must be at most 1000000: `{}`", self.quanta_pkts));
        }
        if self.pacing_margin_percent > 50 {
            return bad(format!("pacing_margin_percent must be at most 50: `{}`", self.pacing_margin_percent));
        }
        if self.probe_max_rounds == 0 {
            return bad("probe_max_rounds must be positive".into());
        }
        if self.min_rtt_window < self.probe_rtt_interval {
            return bad(format!(
                "min_rtt_window `{}` must not be shorter than probe_rtt_interval `{}`",
                self.min_rtt_window, self.probe_rtt_interval
            ));
        }
        Ok(())
    }
}
