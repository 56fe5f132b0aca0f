//! Compares enclosed rounds with rounds of the rule itself, which this file implements independently.

use fairweir_reach::assumptions::Assumptions;
use fairweir_reach::axis::{Axis, Extent};
use fairweir_reach::bounds::Bounds;
use fairweir_reach::cells::Cells;
use fairweir_reach::exact::Ratio;
use fairweir_reach::interval::Interval;
use fairweir_reach::map::{Map, Synchronous};
use fairweir_reach::schedule::Schedule;
use fairweir_reach::sequential::Sequential;
use proptest::prelude::*;

const RTPROP: f64 = 3.0;
const ASSUMED: Assumptions = Assumptions { nt_under: Ratio::new(1, 4), ..Assumptions::THESIS };

/// The adversary's choices for one flow, each between 0 and 1 over its range.
type Choice = [f64; 3];

/// Computes cwnd' / cwnd (thesis, Algorithm 2) for a flow with cwnd `cwnd`, when the sum of all cwnd is `sum`, in C
/// theta.
fn factor(cwnd: f64, sum: f64, choice: Choice) -> f64 {
    let nt = sum - RTPROP;
    let t = (nt - 0.25 + 0.75 * choice[0]).max(0.0);
    if t == 0.0 {
        return 1.3;
    }
    let x = (0.5 + 0.5 * choice[1]) * t * cwnd / sum + (2.0 * choice[2] - 1.0) / 4.0;
    let count = if x > 0.0 { (t / x).max(1.0) } else { f64::INFINITY };
    ((RTPROP + count) / (RTPROP + t)).clamp(0.8, 1.3)
}

fn cells<const M: usize>() -> Cells<M> {
    Cells { odds: Axis::odds(0.07, 40.0), nt: Axis::graded(0.25, 30.0, |nt| 0.07 * nt.max(1.0)) }
}

/// Returns a state inside a cell, as the flows' cwnd.
fn state<const M: usize>(cells: &Cells<M>, number: usize, at: [f64; 3]) -> Vec<f64> {
    let cell = cells.cell(number);
    let inside = |interval: Interval, at: f64| interval.lo + (interval.hi - interval.lo) * at;
    let mut rates: Vec<f64> = cell.odds.iter().zip(at).map(|(odds, at)| inside(*odds, at)).collect();
    rates.push(1.0);
    let sum = RTPROP + inside(cell.nt, at[2]);
    let total: f64 = rates.iter().sum();
    rates.iter().map(|rate| rate / total * sum).collect()
}

/// Returns whether the state is, up to rounding, in a cell to which the map leads, or outside all cells.
fn is_covered<const M: usize>(cells: &Cells<M>, map: &impl Map, from: usize, copy: usize, cwnd: &[f64]) -> bool {
    let sum: f64 = cwnd.iter().sum();
    let odds: Vec<f64> = cwnd[..M].iter().map(|w| w / cwnd[M]).collect();
    let near = |interval: Interval, x: f64| interval.lo <= x * (1.0 + 1e-9) && x * (1.0 - 1e-9) <= interval.hi;
    let mut found = false;
    let extent = map.image(from, &mut |run| {
        found |= run.filter(|next| next / cells.count() == copy).any(|next| {
            let cell = cells.cell(next % cells.count());
            near(cell.nt, sum - RTPROP) && cell.odds.iter().zip(&odds).all(|(interval, x)| near(*interval, *x))
        });
        !found
    });
    let in_cells = near(cells.nt.span(), sum - RTPROP) && odds.iter().all(|x| near(cells.odds.span(), *x));
    found || (extent == Extent::Beyond && !in_cells)
}

/// Generates choices, often at the ends of their range, where the bounds are tight.
fn choice() -> impl Strategy<Value = Choice> {
    prop::array::uniform3(prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0_f64])
}

fn check_synchronous<const M: usize>(number: usize, at: [f64; 3], choices: [Choice; 3]) -> bool {
    let cells = cells::<M>();
    let map = Synchronous { cells: cells.clone(), assumed: ASSUMED.enclosed(), rtprop: Interval::point(RTPROP) };
    let from = number % cells.count();
    let cwnd = state(&cells, from, at);
    let sum = cwnd.iter().sum();
    let next: Vec<f64> = cwnd.iter().zip(choices).map(|(w, choice)| w * factor(*w, sum, choice)).collect();
    is_covered(&cells, &map, from, 0, &next)
}

proptest! {
    #[test]
    fn two_flows_at_once(number: usize, at in prop::array::uniform3(0.0..=1.0_f64), choices in prop::array::uniform3(choice())) {
        prop_assert!(check_synchronous::<1>(number, at, choices));
    }

    #[test]
    fn three_flows_at_once(number: usize, at in prop::array::uniform3(0.0..=1.0_f64), choices in prop::array::uniform3(choice())) {
        prop_assert!(check_synchronous::<2>(number, at, choices));
    }

    #[test]
    fn three_flows_one_after_another(
        number: usize, at in prop::array::uniform3(0.0..=1.0_f64), choice in choice(), left in 1..8_usize, pick in 0..3_usize,
    ) {
        let cells = cells::<2>();
        let map = Sequential { cells: cells.clone(), assumed: ASSUMED.enclosed(), rtprop: Interval::point(RTPROP) };
        let flow = (0..3).cycle().skip(pick).find(|flow| left >> flow & 1 == 1).expect("a flow is left");
        let from = number % cells.count();
        let mut cwnd = state(&cells, from, at);
        cwnd[flow] *= factor(cwnd[flow], cwnd.iter().sum(), choice);
        let still_left = left & !(1 << flow);
        let copy = if still_left == 0 { 7 } else { still_left } - 1;
        prop_assert!(is_covered(&cells, &map, (left - 1) * cells.count() + from, copy, &cwnd));
    }

    /// The lemmas proved by hand: from any start, runs reach the bounds and stay within them.
    #[test]
    fn runs_come_to_the_bounds_and_stay(
        start in prop::collection::vec(0.001..50.0_f64, 2..5),
        choices in prop::collection::vec(prop::collection::vec(choice(), 4), 60),
        is_sequential: bool,
    ) {
        let schedule = if is_sequential { Schedule::Sequential } else { Schedule::Synchronous };
        let bounds = Bounds::new(&ASSUMED.enclosed(), schedule, start.len(), Interval::point(RTPROP)).expect("bounds");
        let mut cwnd = start;
        // While cwnd is below the floor, 0.001 grows by more than 6 % per round, and so does a sum that is too small.
        for round in 0..400 {
            let mut sum: f64 = cwnd.iter().sum();
            for (w, choice) in cwnd.iter_mut().zip(&choices[round % choices.len()]) {
                let next = *w * factor(*w, sum, *choice);
                if is_sequential {
                    sum += next - *w;
                }
                *w = next;
            }
            if round >= 200 {
                let nt = cwnd.iter().sum::<f64>() - RTPROP;
                prop_assert!(bounds.nt.contains(nt), "{nt} {bounds:?}");
                prop_assert!(cwnd.iter().all(|w| *w >= bounds.cwnd_floor), "{cwnd:?} {bounds:?}");
            }
        }
    }
}
