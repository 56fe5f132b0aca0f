//! Controllers of `fairweir-game` that decide frame by frame: trees and the search.
//!
//! These controllers are made for steps, with batches and rates per step. A frame is treated as its fraction of a
//! step's batch: its size is scaled to that of a whole batch, and the sizes that the controller sends and encodes are
//! scaled back.
//!
//! **M is the working rate R**, which is at least min C, so that jitter does not reduce it. Q and R0, on which a shield
//! and the proofs of decodability rest, are those of the belief. Steps are long compared with frame intervals: instead
//! of skipping steps as a controller does, packets ahead of a frame reduce its size or skip it, as with the rules.

use super::rate::{Growth, WorkingRate};
use super::{Decide, Plan, Situation};
use fairweir_game::action::{Action, Send};
use fairweir_game::controller::Controller;
use fairweir_game::frames::{Batch, Frames};
use fairweir_game::query::Query;
use fairweir_game::state::{self, State};

/// The pacer is faster than the rate that the controller requests by this factor; on a link that loses packets,
/// LOSSY_PACE keeps bursts short.
const PACE: f64 = 1.25;
const LOSSY_PACE: f64 = 1.1;
/// Growth of R per step while no packet is queued; it is slow, because controllers probe.
const GROWTH: Growth = Growth { allowed: 0.1, per_step: 1.01 };

/// Converts the situation to the game's, with the working rate `rate`.
fn in_steps(s: &Situation, encoding: f64, rate: f64) -> state::Situation {
    let mut window = s.view.window;
    // Data in the pacer also count as data in transit.
    window.sent_next += s.backlog;
    let mut belief = s.view.belief;
    belief.bounds.q.max += s.backlog;
    belief.bounds.c.min = belief.bounds.c.min.max(rate);
    belief.bounds.c.max = belief.bounds.c.max.max(rate);
    let mut frames = Frames::new();
    frames.encoding = encoding;
    if s.newest > 0.0 {
        frames.push(Batch { size: s.newest / s.frame_steps, age: 1 });
    }
    state::Situation { state: State { window, frames }, belief, max_c: s.view.held, min_b: s.view.min_b }
}

/// Returns the size of a frame, packets, if the controller requests `encode` packets per step; if `encode` is 0, R is
/// used.
fn budget(encode: f64, rate: &WorkingRate, s: &Situation) -> f64 {
    let asked = if encode > 0.0 { encode } else { rate.get() };
    rate.target(s, asked * s.frame_steps)
}

/// Converts a controller's action for a step to a plan for a frame.
fn plan(leaf: String, action: &Action, s: &Situation) -> Plan {
    // A frame is always sent when it is coded. Where the controller would hold it, its packets are paced and the next
    // frame is smaller.
    let total = if action.send == Send::None { s.newest } else { action.rate * s.frame_steps };
    let pace = if s.view.is_lossy { LOSSY_PACE } else { PACE };
    let pace = pace * (total.max(s.newest) + s.backlog) / s.frame_steps;
    Plan { leaf, total, pace: pace.max(s.view.bounds.c.min) }
}

/// Decides by a controller file.
#[derive(Debug)]
pub(crate) struct TreeControl {
    controller: Controller,
    rate: WorkingRate,
    encode: f64,
}

impl TreeControl {
    pub(crate) fn new(controller: Controller) -> TreeControl {
        TreeControl { controller, rate: WorkingRate::new(GROWTH), encode: 1.0 }
    }
}

impl Decide for TreeControl {
    fn encode(&mut self, s: &Situation) -> f64 {
        self.rate.update(s);
        budget(self.encode, &self.rate, s)
    }

    fn send(&mut self, s: &Situation) -> Plan {
        let decided = self.controller.decide(&in_steps(s, self.encode, self.rate.get()).view());
        self.encode = decided.action.encode;
        plan(format!("leaf {}", decided.leaf), &decided.action, s)
    }
}

/// Decides by a search for every frame.
#[derive(Debug)]
pub(crate) struct SearchControl {
    query: Query,
    rate: WorkingRate,
    encode: f64,
}

impl SearchControl {
    pub(crate) fn new(query: Query) -> SearchControl {
        SearchControl { query, rate: WorkingRate::new(GROWTH), encode: 1.0 }
    }

    /// Returns the best action and its name; `None` if no link of the model explains the window.
    fn best(&self, s: &Situation) -> Option<(String, Action)> {
        let situation = in_steps(s, self.encode, self.rate.get());
        let found = situation.search(&self.query)?.decide();
        Some((self.query.actions.0[found.template].name.clone(), found.action))
    }
}

impl Decide for SearchControl {
    fn encode(&mut self, s: &Situation) -> f64 {
        self.rate.update(s);
        budget(self.encode, &self.rate, s)
    }

    fn send(&mut self, s: &Situation) -> Plan {
        match self.best(s) {
            Some((name, action)) => {
                self.encode = action.encode;
                plan(name, &action, s)
            }
            None => {
                self.encode = self.rate.get();
                let pace = (PACE * self.encode).max((s.newest + s.backlog) / s.frame_steps);
                Plan::new("fallback".to_owned(), s.newest, pace)
            }
        }
    }
}
