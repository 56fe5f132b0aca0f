//! Assumptions of the theorem: the rule's constants and the bounds on measurement errors.

use crate::exact::Ratio;
use crate::interval::Interval;
use serde::{Deserialize, Serialize};

/// The rule's constants and the bounds on measurement errors, as written in a question. `N_T` is the queueing delay in
/// units of theta, `N_C` is 1 / a flow's share of the link, and D the unit of the delay that a probe adds.
///
/// The names in parentheses are those of FRCC's update in the thesis (Algorithm 2, section D.3.4.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumptions {
    /// Size of a probe: if `N_T` and `N_C` agree, a probe adds a delay of `gamma D`.
    pub gamma: Ratio,
    /// Minimum cwnd' / cwnd of a round (1 / delta_L); cwnd' is the cwnd after the round.
    pub slowest: Ratio,
    /// Maximum cwnd' / cwnd of a round (delta_H).
    pub fastest: Ratio,
    /// Maximum amount by which `N_T` is underestimated; the estimate is at least 0.
    pub nt_under: Ratio,
    /// Maximum amount by which `N_T` is overestimated (Delta_R / (2 theta)).
    pub nt_over: Ratio,
    /// Minimum ratio of measured to true rate (1 / gamma_R).
    pub rate_under: Ratio,
    /// Maximum ratio of measured to true rate.
    pub rate_over: Ratio,
    /// Maximum error of the excess delay in either direction, in units of D (Delta_R / D).
    pub excess: Ratio,
}

impl Assumptions {
    /// The thesis's constants: gamma = 4, cwnd changes by a factor between 0.8 and 1.3 per round, theta >= Delta_R, and
    /// D >= Delta_R. Rates are underestimated by at most a factor of 2 and never overestimated.
    pub const THESIS: Self = Self {
        gamma: Ratio::new(4, 1),
        slowest: Ratio::new(4, 5),
        fastest: Ratio::new(13, 10),
        nt_under: Ratio::new(0, 1),
        nt_over: Ratio::new(1, 2),
        rate_under: Ratio::new(1, 2),
        rate_over: Ratio::new(1, 1),
        excess: Ratio::new(1, 1),
    };

    /// Returns the assumptions as intervals for rigorous arithmetic.
    pub fn enclosed(&self) -> Enclosed {
        Enclosed {
            slowest: self.slowest.interval(),
            fastest: self.fastest.interval(),
            nt_under: self.nt_under.interval(),
            nt_over: self.nt_over.interval(),
            rate_under: self.rate_under.interval(),
            rate_over: self.rate_over.interval(),
            noise: self.excess.interval() / self.gamma.interval(),
        }
    }
}

/// The numbers of [`Assumptions`] as intervals that contain them.
#[derive(Debug, Clone, Copy)]
pub struct Enclosed {
    /// Minimum cwnd' / cwnd.
    pub slowest: Interval,
    /// Maximum cwnd' / cwnd.
    pub fastest: Interval,
    /// Maximum underestimate of `N_T`.
    pub nt_under: Interval,
    /// Maximum overestimate of `N_T`.
    pub nt_over: Interval,
    /// Minimum ratio of measured to true rate.
    pub rate_under: Interval,
    /// Maximum ratio of measured to true rate.
    pub rate_over: Interval,
    /// Maximum error of `N^_T / N^_C` (the ratio of the estimates of `N_T` and `N_C`): excess / gamma.
    pub noise: Interval,
}
