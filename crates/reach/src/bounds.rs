//! Bounds that every run reaches within a bounded number of rounds: the part of the proof that needs no cells.
//!
//! Units: time is in rounds, cwnd in C theta (C: link rate; theta: unit of delay of FRCC's contract), `R` is the
//! propagation RTT / theta, `N_T` is the queueing delay / theta, and `W = R + N_T` is the sum of all flows' cwnd. A
//! flow estimates `N_T` as `T`, and 1 / its share as `N^_C`. `u` and `o` are the maximum under- and overestimate of
//! `N_T`, `c` is excess / gamma, `h` is the maximum ratio of measured to true rate, and `s` is cwnd' / cwnd. Primes
//! denote values after a round.
//!
//! 1. *Floor.* A flow's cwnd falls only if `T > N^_C >= 1`. Below `N_T = 1 - o`, all cwnd therefore grow; at
//!    `N_T <= floor` they grow by a factor of at least `(R + 1) / (R + floor + o)`. From above, a flow reduces `N_T` by
//!    at most `T - 1 <= N_T + o - 1` times its share, hence `N_T' >= min(N_T, 1 - o)`. With `floor = (1 - o) / 2`, the
//!    link is fully used from some round on.
//! 2. *Ceiling.* Take a target `s*` in [slowest, 1). At `N_T >= peak`, a flow whose share is at least `f`, with
//!    `f = (c / T + 1 / N*) / h`, `N* = s* (R + T) - R` and `T = peak - u`, has `N^_C <= N*` and so `s <= s*`. If
//!    `n f < 1`, the other flows together hold less than `(n - 1) f`, so `W' <= W (s* + (n - 1) f (fastest - s*))`. If
//!    that is less than `W`, the sum falls until `N_T < peak`; one round from there leads to at most
//!    `fastest (R + peak)`. (`N*` rises and `f` falls in `T`.) If flows update one after another, `W` may have grown by
//!    `fastest` before a flow with a share below `f` updates, and all `n` flows may have such a share; `n f fastest`
//!    then replaces `(n - 1) f`. The round in which `N_T < peak` was observed ends at no more than
//!    `fastest (R + peak)`, and the sum may grow by `fastest` again during the next round.
//! 3. *Persistence.* A flow is *small* while `h f (N_T + o) <= 1 - c - m`, with a margin `m`. Then `x <= 1 - m`, so
//!    `N^_C >= T / (1 - m)` and `s > 1` by a margin: a small flow grows until it is no longer small. At that time
//!    `cwnd = f (R + N_T) > (1 - c - m) / h (R + N_T) / (N_T + o)`. One update multiplies cwnd by at least `slowest`,
//!    so cwnd then never falls below `slowest` times the minimum of this expression over `N_T >= floor`.
//!
//! Parts 2 and 3 together bound the ratio of rates for any number of flows and any R ([`Bounds::worst_ratio`]), though
//! the bound is far from tight.

use crate::assumptions::Enclosed;
use crate::interval::Interval;
use crate::schedule::Schedule;
use thiserror::Error;

const ONE: Interval = Interval::point(1.0);

/// Bounds that hold from some round on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bounds {
    /// Range of `N_T`.
    pub nt: Interval,
    /// Minimum cwnd of every flow, in C theta.
    pub cwnd_floor: f64,
}

/// Reasons why there are no bounds.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
pub enum Unbounded {
    /// Jitter alone can look like a flow.
    #[error("no floor of N_T exists: N_T may be overestimated by one flow or more (theta <= Delta_R / 2)")]
    NoFloor,
    /// Jitter can hide the probe.
    #[error(
        "the error of the excess delay is as large as a probe's effect (gamma D <= Delta_R): a small flow need not grow"
    )]
    NoPersistence,
    /// With these limits of cwnd' / cwnd, small flows may gain more than large flows lose.
    #[error("no ceiling of N_T was found up to {searched}")]
    NoCeiling {
        /// Maximum `N_T` of the search.
        searched: f64,
    },
}

/// The margin `m` of part 3; any positive number suffices.
const MARGIN: f64 = 1.0 / 64.0;

impl Bounds {
    /// Returns bounds for `flows` flows whose R / theta is in `rtprop`.
    ///
    /// # Errors
    ///
    /// If an assumption is too weak for one of the three parts.
    pub fn new(assumed: &Enclosed, schedule: Schedule, flows: usize, rtprop: Interval) -> Result<Self, Unbounded> {
        let floor = floor(assumed)?;
        let cwnd_floor = cwnd_floor(assumed, floor, rtprop)?;
        let peak = peak(assumed, schedule, flows, rtprop)?;
        let rounds = match schedule {
            Schedule::Synchronous => assumed.fastest,
            Schedule::Sequential => assumed.fastest * assumed.fastest,
        };
        let ceiling = (rounds - ONE) * Interval::point(rtprop.hi) + rounds * Interval::point(peak);
        Ok(Self { nt: Interval::new(floor, ceiling.hi), cwnd_floor })
    }

    /// Returns a bound on the ratio of two flows' rates that follows from these bounds.
    pub fn worst_ratio(&self, rtprop: Interval) -> f64 {
        let largest = rtprop + self.nt - Interval::point(self.cwnd_floor);
        (largest / Interval::point(self.cwnd_floor)).hi
    }
}

fn floor(assumed: &Enclosed) -> Result<f64, Unbounded> {
    let room = ONE - assumed.nt_over;
    if room.lo <= 0.0 { Err(Unbounded::NoFloor) } else { Ok(room.lo / 2.0) }
}

fn cwnd_floor(assumed: &Enclosed, floor: f64, rtprop: Interval) -> Result<f64, Unbounded> {
    let signal = ONE - assumed.noise - Interval::point(MARGIN);
    if signal.lo <= 0.0 {
        return Err(Unbounded::NoPersistence);
    }
    // (R + N_T) / (N_T + o) is monotone in N_T and tends to 1.
    let floor = Interval::point(floor);
    let least = ((Interval::point(rtprop.lo) + floor) / (floor + assumed.nt_over)).min(ONE);
    Ok((assumed.slowest * signal / assumed.rate_over * least).lo)
}

/// Returns the minimum `N_T`, among those searched, from which the sum of cwnd falls.
fn peak(assumed: &Enclosed, schedule: Schedule, flows: usize, rtprop: Interval) -> Result<f64, Unbounded> {
    let limit = 64.0 * (flows as f64 + rtprop.hi);
    let mut nt = 1.0;
    while nt <= limit {
        if sum_falls(assumed, schedule, flows, rtprop, nt) {
            return Ok(nt);
        }
        nt *= 1.0 + 1.0 / 64.0;
    }
    Err(Unbounded::NoCeiling { searched: limit })
}

fn sum_falls(assumed: &Enclosed, schedule: Schedule, flows: usize, rtprop: Interval, nt: f64) -> bool {
    let t = Interval::point(nt) - assumed.nt_under;
    if t.lo <= 0.0 {
        return false;
    }
    (0..16).any(|k| {
        let target = assumed.slowest + (ONE - assumed.slowest) * Interval::point(f64::from(k) / 16.0);
        // s* < 1, so N* decreases in R.
        let count = target * (Interval::point(rtprop.hi) + t) - Interval::point(rtprop.hi);
        if count.lo <= 1.0 {
            return false;
        }
        let share = (assumed.noise / t + ONE / count) / assumed.rate_under;
        let flows = Interval::point(flows as f64);
        let others = match schedule {
            Schedule::Synchronous if (share * flows).hi >= 1.0 => return false,
            Schedule::Synchronous => share * (flows - ONE),
            Schedule::Sequential => share * flows * assumed.fastest,
        };
        (target + others * (assumed.fastest - target)).hi < 1.0
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assumptions::Assumptions;
    use crate::exact::Ratio;

    fn bounds(assumptions: Assumptions, flows: usize, rtprop: f64) -> Result<Bounds, Unbounded> {
        Bounds::new(&assumptions.enclosed(), Schedule::Synchronous, flows, Interval::point(rtprop))
    }

    #[test]
    fn the_thesis_constants_bound_any_number_of_flows() {
        for flows in [2, 3, 10, 100] {
            for rtprop in [0.0, 1.0, 10.0, 1000.0] {
                let found = bounds(Assumptions::THESIS, flows, rtprop).expect("bounds");
                assert!(found.nt.lo > 0.2499 && found.nt.lo <= 0.25);
                assert!(found.cwnd_floor > 0.19 && found.worst_ratio(Interval::point(rtprop)).is_finite());
            }
        }
    }

    #[test]
    fn a_flow_that_looks_like_two_leaves_no_floor() {
        let blurred = Assumptions { nt_over: Ratio::new(1, 1), ..Assumptions::THESIS };
        assert_eq!(bounds(blurred, 2, 1.0), Err(Unbounded::NoFloor));
    }

    #[test]
    fn a_probe_that_drowns_leaves_small_flows_small() {
        let drowned = Assumptions { excess: Ratio::new(4, 1), ..Assumptions::THESIS };
        assert_eq!(bounds(drowned, 2, 1.0), Err(Unbounded::NoPersistence));
    }

    #[test]
    fn clamps_that_favour_growth_leave_no_ceiling() {
        let greedy =
            Assumptions { fastest: Ratio::new(1000, 1), slowest: Ratio::new(999, 1000), ..Assumptions::THESIS };
        assert!(matches!(bounds(greedy, 2, 1.0), Err(Unbounded::NoCeiling { .. })));
    }
}
