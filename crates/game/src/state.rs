//! A controller's knowledge at the time of a decision: its observations, its frames, and its belief about the link
//! (bounds of C and B).

use crate::believe::Belief;
use crate::bounds::Bounds;
use crate::features::View;
use crate::form::Amounts;
use crate::frames::Frames;
use crate::held::{HeldCapacity, Remembered};
use crate::model::LinkModel;
use crate::window::Window;

/// Observations and frames.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct State {
    /// The last observations.
    pub window: Window,
    /// Batches that wait and FEC frames in flight.
    pub frames: Frames,
}

impl State {
    /// Creates the state of an idle connection.
    pub fn fresh() -> State {
        State { window: Window::fresh(), frames: Frames::new() }
    }

    /// Packets sent in the last step, which reach the queue by the next point.
    pub fn last_rate(&self) -> f64 {
        self.window.sent_next - self.window.sent[self.window.len - 1]
    }
}

/// Return `M` (minimum C), `Q` (maximum queue) and `R0` (safe rate) of a belief.
pub fn amounts(bounds: &Bounds) -> Amounts {
    Amounts { min_c: bounds.c.min, max_q: bounds.q.max, safe_rate: bounds.safe_rate }
}

/// A state with the belief about the link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Situation {
    /// Observations and frames.
    pub state: State,
    /// Belief about the link; its bounds are exact if the model explains the observations.
    pub belief: Belief,
    /// The held max C. If it is set, the controller has converged.
    pub max_c: Option<f64>,
    /// The held min B that the belief uses. Without it, `R0` would fall to little more than `M` after the packets that
    /// showed the buffer have left the window.
    pub min_b: Option<f64>,
}

impl Situation {
    /// Compute the belief, and update the held bounds.
    pub fn new(state: State, model: &LinkModel, points: usize, held: &mut HeldCapacity) -> Situation {
        let latest = state.window.latest(points.min(state.window.len)).unwrap_or(state.window);
        let Remembered { belief, max_c, min_b } = held.believe(&latest, model, 1.0);
        Situation { state, belief, max_c, min_b }
    }

    /// Whether max C is held.
    pub fn is_converged(&self) -> bool {
        self.max_c.is_some()
    }

    /// Returns the inputs of the tree's features.
    pub fn view(&self) -> View {
        let (bounds, w, frames) = (&self.belief.bounds, &self.state.window, &self.state.frames);
        let before = if w.len > 1 { w.delivered[w.len - 2] } else { w.delivered_last() };
        View {
            amounts: amounts(bounds),
            is_converged: self.is_converged(),
            max_c: self.max_c.unwrap_or(bounds.c.max).max(bounds.c.min),
            c_plus_b: bounds.min_c_plus_b,
            waiting: frames.sizes(),
            encoding: frames.encoding,
            in_flight: w.sent_next - w.delivered_last() - w.lost_known(),
            last_rate: self.state.last_rate(),
            delivered_last: w.delivered_last() - before,
            oldest_age: frames.batches().first().map_or(0, |b| b.age),
            group_age: frames.group_age(),
            groups: frames.groups().len(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::believe::believe;
    use crate::link::Link;

    #[test]
    fn a_buffer_is_remembered_until_it_is_contradicted() {
        let model = LinkModel::default();
        let (mut link, mut state, held) = (Link::new(10.0, 40.0), State::fresh(), &mut HeldCapacity::new(200));
        let mut step = |link: &mut Link, rate: f64| {
            link.step(state.last_rate(), 1.0);
            let seen = link.observe(&state.window);
            state.window.slide(&seen, rate);
            Situation::new(state, &model, 6, held)
        };
        for rate in [10.0, 10.0, 45.0, 5.0, 5.0, 0.0, 0.0] {
            step(&mut link, rate);
        }
        let quiet: Vec<_> = (0..20).map(|_| step(&mut link, 9.0)).collect();
        let (last, alone) = (quiet[19], believe(&quiet[19].state.window, &model).bounds);
        assert!(last.min_b.is_some_and(|b| b > 20.0 && b <= 40.0 + 1e-6), "{:?}", last.min_b);
        assert!(alone.b.min < 2.0 && alone.safe_rate < 12.0);
        assert!(last.belief.bounds.safe_rate > 25.0 && last.belief.exact);
        // The path changes to a link with a small buffer.
        link.b = 2.0;
        for rate in [9.0, 30.0, 5.0, 5.0, 5.0, 5.0] {
            step(&mut link, rate);
        }
        let after = step(&mut link, 5.0);
        assert_eq!(after.min_b, None);
        assert!(after.belief.bounds.safe_rate <= 12.0 + 1e-3, "{:?}", after.belief);
    }
}
