//! Effect of the main update on one flow's cwnd in a round, over all choices of the adversary.
//!
//! A flow holds the share `f` of the link. `N_T` is the queueing delay and R the propagation RTT, both in units of
//! theta; `N_C = 1/f`, and `N^_T`, `N^_C` are the flow's estimates. The adversary chooses (thesis D.3.4.1) `T = N^_T`,
//! the ratio `h` of measured to true rate, and the error `e` of the excess delay in units of D. `gamma D` is the delay
//! that a probe adds if the estimates agree. Then
//!
//! ```text
//! N^_C = max(1, T / x),  x = h T f + e / gamma;  N^_C infinite if x <= 0        (Algorithm 2, lines 3-4)
//! s    = (R + N^_C) / (R + T), clamped to [slowest, fastest];  fastest if T = 0 (line 7, the kernel's clamps)
//! ```
//!
//! For a fixed share, the extremes of `s` are:
//!
//! - `s` decreases in `x`, so its maximum is at the minimum `h` and `e`. There, if `T / x` is finite, it decreases in
//!   `T`, and so does `s`: the maximum is at the minimum `T`.
//! - The minimum of `s` is at the maximum `h` and `e`. With these, `T / x` increases in `T`. As long as `T / x` is
//!   below 1, `s = (R + 1) / (R + T)` decreases; this ends at the *dip*, where `T (1 - h f) = e / gamma`. Beyond the
//!   dip, `R + T / x` is concave and positive and `R + T` is affine, so `s` is quasi-concave. The minimum is therefore
//!   at the dip or at an end of the range of `T`.
//! - The minimum over shares is at the maximum share, and the maximum is at the minimum share.

use crate::assumptions::Enclosed;
use crate::interval::Interval;

const ONE: Interval = Interval::point(1.0);

/// Effect of a round on one flow, over all choices of the adversary.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// Range of cwnd' / cwnd.
    pub factor: Interval,
    /// Range of `(R + N_T) (factor - 1)`: the change of `N_T` if all flows' cwnd changed by this factor.
    pub change: Interval,
    /// The limit that the factor reaches for every choice of the adversary, if any.
    pub pinned: Option<Clamp>,
}

/// A limit of cwnd' / cwnd.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clamp {
    /// The lower limit.
    Slowest,
    /// The upper limit.
    Fastest,
}

/// The lower or the upper end of the factor and the change, before the factor is limited.
#[derive(Debug, Clone, Copy)]
struct End {
    factor: f64,
    change: f64,
}

/// Returns all possible steps of a flow with a share in `f`, a positive `N_T` in `nt`, and R / theta in `rtprop`.
pub fn step(assumed: &Enclosed, f: Interval, nt: Interval, rtprop: Interval) -> Step {
    let Enclosed { slowest, fastest, .. } = *assumed;
    let least = (slowest - ONE) * (rtprop + nt);
    let most = (fastest - ONE) * (rtprop + nt);
    let low = lower_end(assumed, f.hi, nt, rtprop);
    let high = upper_end(assumed, f.lo, nt.lo, rtprop).unwrap_or(End { factor: f64::INFINITY, change: f64::INFINITY });
    Step {
        factor: Interval::new(low.factor.clamp(slowest.lo, fastest.lo), high.factor.clamp(slowest.hi, fastest.hi)),
        change: Interval::new(low.change.clamp(least.lo, most.lo), high.change.clamp(least.hi, most.hi)),
        pinned: if low.factor >= fastest.hi {
            Some(Clamp::Fastest)
        } else if high.factor <= slowest.lo {
            Some(Clamp::Slowest)
        } else {
            None
        },
    }
}

/// Returns the upper end before the factor is limited; `None` if `N^_C` may be infinite.
fn upper_end(assumed: &Enclosed, f: f64, nt: f64, rtprop: Interval) -> Option<End> {
    let t = (Interval::point(nt) - assumed.nt_under).lo;
    if t <= 0.0 {
        return None;
    }
    let t = Interval::point(t);
    let share = assumed.rate_under * Interval::point(f) - assumed.noise / t;
    if share.lo <= 0.0 {
        return None;
    }
    let count = (ONE / Interval::point(share.lo)).max(ONE);
    let end = unclamped(count, t, assumed.nt_under, rtprop);
    Some(End { factor: end.factor.hi, change: end.change.hi })
}

fn lower_end(assumed: &Enclosed, f: f64, nt: Interval, rtprop: Interval) -> End {
    let share = assumed.rate_over * Interval::point(f);
    let dip = crossing(assumed.noise, ONE - share);
    let (first, last) = (nt - assumed.nt_under, nt + assumed.nt_over);
    let candidates = [
        first.meet(Interval { lo: dip.lo, hi: f64::INFINITY }).map(|t| (t, assumed.nt_under)),
        dip.meet(Interval { lo: first.lo, hi: last.hi }).map(|t| (t, nt - t)),
        Some((last, -assumed.nt_over)),
    ];
    let mut end = End { factor: f64::INFINITY, change: f64::INFINITY };
    for (t, lag) in candidates.into_iter().flatten() {
        let count = (ONE / (share + assumed.noise / Interval::point(t.lo))).max(ONE);
        let step = unclamped(Interval::point(count.lo), t, lag, rtprop);
        end.factor = end.factor.min(step.factor.lo);
        end.change = end.change.min(step.change.lo);
    }
    end
}

/// Returns factor and change, before the factor is limited, for the estimates `N^_C = count` and `N^_T = t`; `N_T`
/// exceeds `t` by `lag`.
fn unclamped(count: Interval, t: Interval, lag: Interval, rtprop: Interval) -> Unclamped {
    let rtt = rtprop + t;
    let gap = count - t;
    Unclamped { factor: ONE + gap / rtt, change: gap * (ONE + lag / rtt) }
}

#[derive(Debug, Clone, Copy)]
struct Unclamped {
    factor: Interval,
    change: Interval,
}

/// Returns the solution T of `T rest = noise`, or infinity if there is no solution.
fn crossing(noise: Interval, rest: Interval) -> Interval {
    let solve = |rest: f64| (rest > 0.0).then(|| noise / Interval::point(rest));
    Interval { lo: solve(rest.hi).map_or(f64::INFINITY, |t| t.lo), hi: solve(rest.lo).map_or(f64::INFINITY, |t| t.hi) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::assumptions::Assumptions;
    use crate::exact::Ratio;
    use proptest::prelude::*;

    /// Assumptions with errors in both directions, so that each bound affects the result.
    const TWO_SIDED: Assumptions =
        Assumptions { nt_under: Ratio::new(1, 4), rate_over: Ratio::new(6, 5), ..Assumptions::THESIS };

    /// Computes cwnd' / cwnd by Algorithm 2, lines 2 to 5 and 7, with the kernel's clamps; `e` is in units of D.
    fn factor(f: f64, t: f64, h: f64, e: f64, rtprop: f64) -> f64 {
        if t <= 0.0 {
            return 1.3;
        }
        let x = h * t * f + e / 4.0;
        let count = if x > 0.0 { (t / x).max(1.0) } else { f64::INFINITY };
        ((rtprop + count) / (rtprop + t)).clamp(0.8, 1.3)
    }

    /// Returns estimates of `N_T` from the minimum to the maximum, for a true value of `nt`.
    fn estimates(nt: f64) -> impl Iterator<Item = f64> {
        (0..=1000).map(move |k| (nt - 0.25 + 0.75 * f64::from(k) / 1000.0).max(0.0))
    }

    fn extremes(f: f64, nt: f64, rtprop: f64) -> (f64, f64) {
        let mut ends = (f64::INFINITY, 0.0_f64);
        for t in estimates(nt) {
            for (h, e) in [(0.5, -1.0), (0.5, 1.0), (1.2, -1.0), (1.2, 1.0)] {
                let s = factor(f, t, h, e, rtprop);
                ends = (ends.0.min(s), ends.1.max(s));
            }
        }
        ends
    }

    proptest! {
        #[test]
        fn steps_are_what_the_adversary_can_do(f in 0.001..0.999_f64, nt in 0.25..20.0_f64, rtprop in 0.01..30.0_f64) {
            let found = step(&TWO_SIDED.enclosed(), Interval::point(f), Interval::point(nt), Interval::point(rtprop));
            let (lo, hi) = extremes(f, nt, rtprop);
            prop_assert!(found.factor.lo <= lo + 1e-12 && hi - 1e-12 <= found.factor.hi);
            // The enclosure is also tight, up to the resolution of the search (a thousandth).
            prop_assert!(found.factor.lo >= lo - 2e-3 && found.factor.hi <= hi + 1e-9, "{found:?} {lo} {hi}");
            let change = |s: f64| (rtprop + nt) * (s - 1.0);
            prop_assert!(found.change.lo <= change(lo) + 1e-9 && change(hi) - 1e-9 <= found.change.hi);
            prop_assert!(found.change.lo >= change(lo) - 2e-3 * (rtprop + nt) && found.change.hi <= change(hi) + 1e-9);
        }

        #[test]
        fn a_wider_cell_can_do_what_its_points_can(
            f in 0.01..0.9_f64, nt in 0.25..20.0_f64, rtprop in 0.01..30.0_f64, at in 0.0..=1.0_f64, width in 0.0..0.1_f64,
        ) {
            let assumed = TWO_SIDED.enclosed();
            let widen = |x: f64| Interval::new(x, x * (1.0 + width));
            let within = |x: f64| Interval::point((x * (1.0 + width * at)).min(x * (1.0 + width)));
            let cell = step(&assumed, widen(f), widen(nt), widen(rtprop));
            let point = step(&assumed, within(f), within(nt), within(rtprop));
            prop_assert_eq!(cell.factor.hull(point.factor), cell.factor);
            prop_assert_eq!(cell.change.hull(point.change), cell.change);
            prop_assert!(cell.pinned.is_none() || cell.pinned == point.pinned);
        }
    }

    /// With a small share and a small minimum estimate, `N^_C` exceeds 1 only above the dip, which is inside the range
    /// of estimates.
    #[test]
    fn the_dip_counts() {
        let (f, nt, rtprop) = (0.05, 0.25, 20.0);
        let found = step(&TWO_SIDED.enclosed(), Interval::point(f), Interval::point(nt), Interval::point(rtprop));
        let ends = [0.0, 0.5].map(|gap| factor(f, nt + gap, 1.2, 1.0, rtprop));
        let dip = (rtprop + 1.0) / (rtprop + 0.25 / (1.0 - 1.2 * f));
        assert!(dip < ends[0] && dip < ends[1]);
        assert!((found.factor.lo - dip).abs() < 1e-9, "{found:?} {dip}");
    }

    #[test]
    fn one_clamp_for_every_choice_is_noticed() {
        let at = |f: f64, nt: f64| {
            step(&Assumptions::THESIS.enclosed(), Interval::point(f), Interval::point(nt), Interval::point(0.1)).pinned
        };
        assert_eq!(at(0.01, 0.5), Some(Clamp::Fastest));
        assert_eq!(at(0.99, 9.0), Some(Clamp::Slowest));
        assert_eq!(at(0.5, 2.0), None);
    }
}
