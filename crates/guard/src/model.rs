//! Throughput of a Reno flow from its loss rate (Mathis et al. 1997; Padhye et al. 1998 as in RFC 5348 §3.1).
//!
//! In units of segments per RTT and without delayed ACKs (b = 1), both are functions of only the loss event rate p:
//!
//! ```text
//! Mathis  sqrt(3/2) / sqrt(p)
//! Padhye  1 / (sqrt(2p/3) + t_RTO/RTT · 3 sqrt(3p/8) · p · (1 + 32 p²)),   t_RTO = 4 RTT
//! ```

use serde::{Deserialize, Serialize};
use std::fmt;

/// RFC 5348 §3.1 recommends a retransmission timeout of 4 RTTs.
const RTO_RTTS: f64 = 4.0;

/// Formula for a Reno flow's mean rate as a function of the loss event rate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Without timeouts; 9 % above Padhye's at 1 % loss.
    #[default]
    Mathis,
    /// With timeouts, which matter at losses of several percent.
    Padhye,
}

impl Model {
    /// Returns the mean window in segments at loss event rate `p`; unknown without loss.
    pub fn segments(self, p: f64) -> Option<f64> {
        (p > 0.0).then(|| match self {
            Model::Mathis => (1.5 / p).sqrt(),
            Model::Padhye => {
                let timeouts = RTO_RTTS * 3.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p);
                1.0 / ((2.0 * p / 3.0).sqrt() + timeouts)
            }
        })
    }

    /// Returns the loss event rate at which the mean window is `segments`, between 1e-9 and 1.
    pub fn loss_event_rate(self, segments: f64) -> f64 {
        let (mut low, mut high) = (1e-9, 1.0f64);
        // The window decreases with p. Each step halves the logarithm of the interval; the result is accurate to well
        // under a thousandth.
        for _ in 0..20 {
            let middle = (low * high).sqrt();
            if self.segments(middle).is_some_and(|found| found > segments) { low = middle } else { high = middle }
        }
        high
    }

    /// Returns the mean payload rate in Mbit/s; unknown without loss or RTT.
    pub fn mbps(self, mss: u32, rtt_us: Option<f64>, p: f64) -> Option<f64> {
        Some(8.0 * f64::from(mss) * self.segments(p)? / rtt_us?)
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Model::Mathis => "mathis",
            Model::Padhye => "padhye",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn round(x: Option<f64>) -> Option<f64> {
        x.map(|x| (x * 100.0).round() / 100.0)
    }

    #[test]
    fn known_values() {
        assert_eq!(round(Model::Mathis.segments(0.01)), Some(12.25));
        assert_eq!(round(Model::Mathis.segments(0.0001)), Some(122.47));
        // 1 / (0.0816497 + 12 · 0.0612372 · 0.01 · 1.0032)
        assert_eq!(round(Model::Padhye.segments(0.01)), Some(11.23));
        assert_eq!(round(Model::Padhye.segments(1.0)), Some(0.0));
        // 1,448 bytes · 8 · 12.247 / 20 ms
        assert_eq!(round(Model::Mathis.mbps(1448, Some(20_000.0), 0.01)), Some(7.09));
        for model in [Model::Mathis, Model::Padhye] {
            assert_eq!(model.segments(0.0), None);
            assert_eq!(model.segments(f64::NAN), None);
            assert_eq!(model.mbps(1448, None, 0.01), None);
        }
    }

    #[test]
    fn windows_and_loss_event_rates_belong_together() {
        for model in [Model::Mathis, Model::Padhye] {
            for p in [1e-6, 1e-3, 0.05] {
                let back = model.loss_event_rate(model.segments(p).unwrap());
                assert!((back / p - 1.0).abs() < 1e-3, "{model} {p}: {back}");
            }
        }
    }

    #[test]
    fn padhye_is_below_mathis_and_nearly_it_when_losses_are_rare() {
        for p in [1e-6, 1e-4, 1e-2, 0.1, 0.5] {
            let ratio = Model::Padhye.segments(p).unwrap() / Model::Mathis.segments(p).unwrap();
            assert!(ratio < 1.0, "{p}: {ratio}");
            assert!(p > 1e-4 || ratio > 0.99, "{p}: {ratio}");
        }
    }
}
