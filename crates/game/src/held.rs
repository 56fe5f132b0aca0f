//! Memory of max C and min B after the observations that showed them have left the window. C is the capacity and B the
//! buffer of the links that explain the window; max and min are their bounds.
//!
//! Only a full queue or a loss bounds C from above, and only a long queue shows that a buffer is deep. A sender that
//! probed for these bounds at every step would have long queues, so it holds them for a period. Min C is always that of
//! the window, because a link that has become slower must be detected.

use crate::believe::{Belief, BeliefSource, believe};
use crate::model::{EPS, LinkModel, Range};
use crate::window::Window;

/// Holds max C once it is below the model's maximum, and min B once it is above the model's minimum, each for a number
/// of steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeldCapacity {
    /// Number of steps for which a bound is held.
    pub probe_period: u32,
    /// Tolerance by which min C may exceed the held max C without contradicting it, packets per step. It is 0 for a
    /// fluid link. If a link sends whole packets, a window may count one packet too many.
    grain: f64,
    max_c: Option<Held>,
    /// Held for the same time as max C. A link's rate may change; its buffer rarely does.
    min_b: Option<Held>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    bound: f64,
    steps_left: f64,
}

/// Belief from a window and the held bounds together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Remembered {
    /// The belief. If min B is held, it contains only links with at least that buffer.
    pub belief: Belief,
    /// The held max C, packets per step.
    pub max_c: Option<f64>,
    /// The held min B that the belief uses, packets. Without it, the safe rate (minimum of C + B - queue) would fall to
    /// little more than min C after the packets that showed the buffer have left the window.
    pub min_b: Option<f64>,
}

impl HeldCapacity {
    /// Returns a memory that holds no bound.
    pub const fn new(probe_period: u32) -> HeldCapacity {
        HeldCapacity { probe_period, grain: 0.0, max_c: None, min_b: None }
    }

    /// Sets the tolerance for links that send whole packets: the packet size, in packets.
    pub const fn with_grain(self, grain: f64) -> HeldCapacity {
        HeldCapacity { grain, ..self }
    }

    /// Returns the held max C, in packets per step.
    pub fn max_c(&self) -> Option<f64> {
        self.max_c.map(|held| held.bound)
    }

    /// Returns the held min B, in packets.
    pub fn min_b(&self) -> Option<f64> {
        self.min_b.map(|held| held.bound)
    }

    /// Return the belief from `w` and the held bounds, and update the held bounds from `w`. `steps`: number of steps
    /// since the last call.
    pub fn believe(&mut self, w: &Window, model: &LinkModel, steps: f64) -> Remembered {
        let deeper = self.min_b().map(|min| LinkModel { b: Range::new(min, model.b.max.max(min)), ..*model });
        let is_explained = |belief: &Belief| belief.from == BeliefSource::Window;
        let remembered = deeper.map(|deeper| believe(w, &deeper)).filter(is_explained);
        let belief = remembered.unwrap_or_else(|| believe(w, model));
        let is_contradicted = deeper.is_some() && remembered.is_none() && is_explained(&belief);
        let min_b = if is_explained(&belief) { belief.bounds.b.min } else { model.b.min };
        self.hold_buffer((!is_contradicted).then_some(min_b), model, steps);
        self.hold_capacity(belief.bounds.c, model, steps);
        let min_b = if remembered.is_some() { deeper.map(|deeper| deeper.b.min) } else { None };
        Remembered { belief, max_c: self.max_c(), min_b }
    }

    /// Update the held min B; `None` removes a contradicted one. A larger min B replaces it and starts a new period.
    fn hold_buffer(&mut self, min_b: Option<f64>, model: &LinkModel, steps: f64) {
        self.min_b = Held::after(self.min_b, steps).filter(|_| min_b.is_some());
        let Some(min_b) = min_b.filter(|&b| b > model.b.min + EPS) else { return };
        if self.min_b.is_none_or(|held| min_b > held.bound + EPS) {
            self.min_b = Some(self.begin(min_b));
        }
    }

    /// Update the held max C. It is dropped at the end of its period, or when min C contradicts it. A smaller max C
    /// replaces it and starts a new period.
    pub fn hold_capacity(&mut self, c: Range, model: &LinkModel, steps: f64) {
        self.max_c = Held::after(self.max_c, steps).filter(|held| c.min <= held.bound + self.grain + EPS);
        let is_known = c.max < model.c.max - EPS;
        if is_known && self.max_c.is_none_or(|held| c.max < held.bound - EPS) {
            self.max_c = Some(self.begin(c.max));
        }
    }

    fn begin(&self, bound: f64) -> Held {
        Held { bound, steps_left: f64::from(self.probe_period.max(1)) }
    }
}

impl Held {
    /// Returns the bound if it is still held after `steps`.
    fn after(held: Option<Held>, steps: f64) -> Option<Held> {
        let held = held?;
        let steps_left = held.steps_left - steps;
        (steps_left > EPS).then_some(Held { steps_left, ..held })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_held_capacity_ends_with_its_period_or_by_contradiction() {
        let model = LinkModel::default();
        let unknown = Range::new(1.0, model.c.max);
        let mut held = HeldCapacity::new(3);
        held.hold_capacity(unknown, &model, 1.0);
        assert_eq!(held.max_c(), None);
        held.hold_capacity(Range::new(5.0, 20.0), &model, 1.0);
        held.hold_capacity(unknown, &model, 1.0);
        held.hold_capacity(unknown, &model, 1.0);
        assert_eq!(held.max_c(), Some(20.0));
        held.hold_capacity(unknown, &model, 1.0);
        assert_eq!(held.max_c(), None);
        held.hold_capacity(Range::new(5.0, 20.0), &model, 1.0);
        held.hold_capacity(Range::new(21.0, model.c.max), &model, 1.0);
        assert_eq!(held.max_c(), None);
    }

    #[test]
    fn a_period_is_the_same_time_however_often_it_is_looked_at() {
        let model = LinkModel::default();
        let lasts = |steps: f64| {
            let mut held = HeldCapacity::new(6);
            held.hold_capacity(Range::new(5.0, 20.0), &model, steps);
            let looks = (1..).take_while(|_| {
                held.hold_capacity(Range::new(1.0, model.c.max), &model, steps);
                held.max_c().is_some()
            });
            (looks.count() + 1) as f64 * steps
        };
        assert_eq!((lasts(1.0), lasts(0.25), lasts(2.0)), (6.0, 6.0, 6.0));
    }
}
