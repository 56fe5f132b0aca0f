//! Assumptions of the theorem: the rule's constants and the bounds on measurement errors.

use crate::exact::Ratio;
use crate::interval::Interval;
use serde::{Deserialize, Serialize};

/// The rule's constants and the bounds of the errors, as written.
///
/// FRCC's update in the thesis (Algorithm 2, section D.3.4.1) has the defaults' names in parentheses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Assumptions {
    /// Size of a probe: it delays by `gamma D` if `N_T` and `N_C` agree.
    pub gamma: Ratio,
    /// Minimum cwnd' / cwnd of a round (1 / delta_L).
    pub slowest: Ratio,
    /// Greatest cwnd' / cwnd of a round (delta_H).
    pub fastest: Ratio,
    /// `N_T` is under-estimated by at most this, though never below 0.
    pub nt_under: Ratio,
    /// `N_T` is over-estimated by at most this (Delta_R / (2 theta)).
    pub nt_over: Ratio,
    /// Minimum of measured over true rate (1 / gamma_R).
    pub rate_under: Ratio,
    /// Greatest of measured over true rate.
    pub rate_over: Ratio,
    /// Maximum error of the excess delay in either direction, in units of D (Delta_R / D).
    pub excess: Ratio,
}

impl Assumptions {
    /// The thesis' constants: gamma = 4, cwnd changes by a factor of 0.8 to 1.3 per round, theta >= Delta_R, D >=
    /// Delta_R, and rates are under-estimated by at most a factor of 2, never over-estimated.
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

/// The assumptions' numbers, enclosed.
#[derive(Debug, Clone, Copy)]
pub struct Enclosed {
    /// Minimum cwnd' / cwnd.
    pub slowest: Interval,
    /// Maximum cwnd' / cwnd.
    pub fastest: Interval,
    /// Greatest under-estimate of `N_T`.
    pub nt_under: Interval,
    /// Greatest over-estimate of `N_T`.
    pub nt_over: Interval,
    /// Minimum of measured over true rate.
    pub rate_under: Interval,
    /// Greatest of measured over true rate.
    pub rate_over: Interval,
    /// Greatest error of `N^_T / N^_C`: excess / gamma.
    pub noise: Interval,
}
