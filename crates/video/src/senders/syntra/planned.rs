//! Controllers of `fairweir-game` in the per-frame frame: trees and the search.
//!
//! They are made for steps: batches a step, rates a step. A frame is a batch of its share of a step, so that its size counts
//! as that of the batch it would be part of; what they send and encode is scaled back.

use super::{Decide, Plan, Situation};
use fairweir_game::action::{Action, Send};
use fairweir_game::controller::Controller;
use fairweir_game::frames::{Batch, Frames};
use fairweir_game::query::Query;
use fairweir_game::state::{self, State};

/// Frames are not made smaller than this, packets a step.
const MIN_TARGET: f64 = 0.3;
/// The pacer sends what a controller asks for within this share of a frame interval.
const PACE: f64 = 1.25;

/// The situation as the game knows it.
fn in_steps(s: &Situation, encoding: f64) -> state::Situation {
    let mut window = s.view.window;
    // What waits in the pacer is on its way, too.
    window.sent_next += s.backlog;
    let mut belief = s.view.belief;
    belief.bounds.q.max += s.backlog;
    let mut frames = Frames::new();
    frames.encoding = encoding;
    if s.newest > 0.0 {
        frames.push(Batch { size: s.newest / s.frame_steps, age: 1 });
    }
    state::Situation { state: State { window, frames }, belief, max_c: s.view.held, min_b: s.view.min_b }
}

/// What a controller's action for a step is for a frame.
fn plan(leaf: String, action: &Action, s: &Situation) -> Plan {
    // A frame is sent when it is coded: its packets are paced, and the next frame is smaller, where a controller would hold it.
    let total = if action.send == Send::None { s.newest } else { action.rate * s.frame_steps };
    let pace = PACE * (total.max(s.newest) + s.backlog) / s.frame_steps;
    Plan { leaf, total, pace: pace.max(s.view.bounds.c.min) }
}

/// A controller file.
#[derive(Debug)]
pub(crate) struct TreeControl {
    controller: Controller,
    encode: f64,
}

impl TreeControl {
    pub(crate) fn new(controller: Controller) -> TreeControl {
        TreeControl { controller, encode: 1.0 }
    }
}

impl Decide for TreeControl {
    fn encode(&mut self, s: &Situation) -> f64 {
        if s.newest == 0.0 && self.encode <= 0.0 {
            // A frame was skipped: no decision was taken since.
            self.encode = self.controller.decide(&in_steps(s, 0.0).view()).action.encode;
        }
        if self.encode <= 0.0 { 0.0 } else { self.encode.max(MIN_TARGET) * s.frame_steps }
    }

    fn send(&mut self, s: &Situation) -> Plan {
        let decided = self.controller.decide(&in_steps(s, self.encode).view());
        self.encode = decided.action.encode;
        plan(format!("leaf {}", decided.leaf), &decided.action, s)
    }
}

/// The search, at every frame.
#[derive(Debug)]
pub(crate) struct SearchControl {
    query: Query,
    encode: f64,
}

impl SearchControl {
    pub(crate) fn new(query: Query) -> SearchControl {
        SearchControl { query, encode: 1.0 }
    }

    /// The best action and its name; `None`: no link of the model explains the window.
    fn best(&self, s: &Situation) -> Option<(String, Action)> {
        let situation = in_steps(s, self.encode);
        let found = situation.search(&self.query)?.decide();
        Some((self.query.actions.0[found.template].name.clone(), found.action))
    }
}

impl Decide for SearchControl {
    fn encode(&mut self, s: &Situation) -> f64 {
        if s.newest == 0.0 && self.encode <= 0.0 {
            self.encode = self.best(s).map_or(s.view.bounds.c.min, |b| b.1.encode);
        }
        if self.encode <= 0.0 { 0.0 } else { self.encode.max(MIN_TARGET) * s.frame_steps }
    }

    fn send(&mut self, s: &Situation) -> Plan {
        let m = s.view.bounds.c.min;
        match self.best(s) {
            Some((name, action)) => {
                self.encode = action.encode;
                plan(name, &action, s)
            }
            // The delivered rate is all that is known: what was asked for goes on at that rate.
            None => {
                self.encode = (m - s.view.bounds.q.max / 3.0).max(MIN_TARGET);
                Plan { leaf: "fallback".to_owned(), total: s.newest, pace: (PACE * m).max(s.newest / s.frame_steps) }
            }
        }
    }
}
