//! The search for the controller's best action against every move of the network over several steps (alpha-beta).
//!
//! Each step is a move of the controller (an action) and a move of the network. The network chooses an observation that
//! a link of the belief can cause, and once also a factor: the size of the encoder's batches divided by their target.
//! Values are compared in lexicographic order of their components ([`crate::objective`]); of equal actions the first in
//! the query's list is taken. M, Q and R0 are the minimum capacity, maximum queue and safe rate of a belief.

use crate::action::Action;
use crate::believe::Belief;
use crate::bounds::Bounds;
use crate::bounds_fast::Within;
use crate::frames::{Counts, Frames};
use crate::model::{LinkModel, Range};
use crate::objective::{Metric, NEVER, Outcome, Value};
use crate::query::{Choice, Query};
use crate::reply::{Branch, MAX_REPLIES, Replies, Reply};
use crate::state::{Situation, State, amounts};
use std::cmp::Reverse;

/// History of the path from the root to a node, for metrics that depend on time.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// Number of steps from the root.
    steps: u32,
    /// The step at which C's range first shrank.
    shrink: f64,
    /// The step at which min(C + B) was first raised.
    raise: f64,
    /// The encoder's factor, once the network has chosen it.
    factor: Option<f64>,
}

/// A state before the controller's move.
struct Node<'a> {
    branch: &'a Branch,
    /// Packets sent in the previous step; they reach the queue by the next point.
    arriving: f64,
    bounds: Bounds,
    frames: Frames,
    way: Way,
}

/// Values at the root, from which the metrics of a line of play are measured.
#[derive(Debug, Clone, Copy)]
struct Start {
    bounds: Bounds,
    counts: Counts,
    lost: f64,
    delivered: f64,
}

/// An action at the root with its value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Judged {
    /// Index of its template in the query.
    pub template: usize,
    /// The shielded action.
    pub action: Action,
    /// The action's value against the network's best moves.
    pub value: Value,
    /// The network's best move, the first of equal ones; `None` if no link explains any observation that follows.
    pub reply: Option<Reply>,
    /// The encoder's factor in that move.
    pub factor: f64,
}

/// The search's decision.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    /// Index of the template in the query.
    pub template: usize,
    /// The shielded action.
    pub action: Action,
    /// The action's value against the network's best moves.
    pub value: Value,
    /// Number of nodes searched.
    pub nodes: u64,
}

/// A move of the controller and the network's best reply.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Ply {
    /// Index of the template in the query.
    pub template: usize,
    /// The controller's action.
    pub action: Action,
    /// The network's move.
    pub reply: Option<Reply>,
    /// M, max C and Q after the reply.
    pub after: Option<[f64; 3]>,
}

/// A search from one state.
pub struct Search<'a> {
    query: &'a Query,
    model: LinkModel,
    is_converged: bool,
    within: Within,
    start: Start,
    root: Branch,
    arriving: f64,
    frames: Frames,
    depth: u32,
    nodes: u64,
    /// Branches of the nodes on the current line of play, by number of steps from the root.
    scratch: Vec<Vec<Option<Option<Branch>>>>,
    /// By number of steps from the root: the indices of the action and the reply that were best in the last node
    /// searched there; they are tried first.
    killers: Vec<(usize, usize)>,
    /// By number of steps from the root: the number of times that each reply caused a cutoff. After the killer, replies
    /// are tried in decreasing order of this number.
    refutations: Vec<[u32; MAX_REPLIES]>,
}

impl<'a> Search<'a> {
    /// Prepare a search; `None` if no link of `model` explains the state's window. `bounds` are the bounds of the
    /// belief. The actions at the root are computed from `bounds`, which should therefore be exact.
    pub fn new(
        query: &'a Query,
        model: &LinkModel,
        state: &State,
        bounds: &Bounds,
        is_converged: bool,
    ) -> Option<Search<'a>> {
        let w = &state.window;
        let depth = query.depth;
        Some(Search {
            query,
            model: *model,
            is_converged,
            within: Within::of(w, model)?,
            start: Start {
                bounds: *bounds,
                counts: state.frames.counts,
                lost: w.lost_known(),
                delivered: w.delivered_last(),
            },
            root: Branch::new(*w, model)?,
            arriving: state.last_rate(),
            frames: state.frames,
            depth,
            nodes: 0,
            scratch: vec![Vec::new(); depth as usize + 1],
            killers: vec![(0, 0); depth as usize + 1],
            refutations: vec![[0; MAX_REPLIES]; depth as usize + 1],
        })
    }

    /// Override the query's depth, steps.
    pub fn with_depth(mut self, depth: u32) -> Search<'a> {
        self.depth = depth;
        self.scratch.resize(depth as usize + 1, Vec::new());
        self.killers.resize(depth as usize + 1, (0, 0));
        self.refutations.resize(depth as usize + 1, [0; MAX_REPLIES]);
        self
    }

    fn root_way(&self) -> Way {
        Way { steps: 0, shrink: NEVER, raise: NEVER, factor: None }
    }

    /// Returns the best action, the first if several are equal.
    pub fn decide(&mut self) -> Decision {
        let root = self.root.clone();
        let node = self.node(&root);
        let choices = self.choices(&node);
        let replies = root.replies(&self.model, &self.within, node.arriving);
        let mut best = (Value::MAX, choices[0]);
        let mut branches = self.take_scratch(0, replies.len());
        for choice in choices.iter() {
            let value = self.network(&node, &choice.action, &replies, &mut branches, Value::MIN, best.0, None);
            if value < best.0 {
                best = (value, *choice);
            }
        }
        self.scratch[0] = branches;
        Decision { template: best.1.template, action: best.1.action, value: best.0, nodes: self.nodes }
    }

    /// Return every action of the root with its exact value, in the query's order. Trees are fitted to the differences
    /// between these values.
    pub fn decide_all(&mut self) -> Vec<Judged> {
        let root = self.root.clone();
        let node = self.node(&root);
        self.judge(&node)
    }

    /// Return, for each template of the query, its value; templates with the same action have the same value.
    pub fn values(&mut self) -> Vec<Value> {
        let judged = self.decide_all();
        let (a, waiting) = (amounts(&self.start.bounds), self.frames.sizes());
        let same = |x: &Action, y: &Action| {
            x.send == y.send && (x.rate - y.rate).abs() < 2e-6 && (x.encode - y.encode).abs() < 2e-6
        };
        let rows = &self.query.actions.0;
        rows.iter()
            .enumerate()
            .map(|(i, row)| {
                let action = self.query.shield.apply(row.template().realise(&a, &waiting), &a, &waiting);
                let hit = judged
                    .iter()
                    .find(|j| j.template == i)
                    .or_else(|| judged.iter().find(|j| same(&j.action, &action)));
                hit.map_or(Value::MAX, |j| j.value)
            })
            .collect()
    }

    /// Returns the line of play in which both sides act optimally, with at most `depth` steps.
    pub fn line(&mut self) -> Vec<Ply> {
        let depth = self.depth;
        let (mut branch, mut plies) = (self.root.clone(), Vec::new());
        let mut node_parts = (self.arriving, self.start.bounds, self.frames, self.root_way());
        while plies.len() < depth as usize {
            let (arriving, bounds, frames, way) = node_parts;
            let node = Node { branch: &branch, arriving, bounds, frames, way };
            let judged = self.judge(&node);
            let Some(best) = judged.iter().reduce(|a, b| if b.value < a.value { b } else { a }) else { break };
            let next = best.reply.and_then(|r| Some((r, branch.after(&self.model, arriving, &r)?)));
            let Some((reply, after)) = next else {
                plies.push(Ply { template: best.template, action: best.action, reply: None, after: None });
                break;
            };
            let child = self.child(&node, &best.action, best.factor, &reply, &after);
            let b = child.bounds;
            let after_bounds = Some([b.c.min, b.c.max, b.q.max]);
            plies.push(Ply { template: best.template, action: best.action, reply: Some(reply), after: after_bounds });
            node_parts = (child.arriving, child.bounds, child.frames, child.way);
            branch = after;
        }
        plies
    }

    fn node<'b>(&self, branch: &'b Branch) -> Node<'b> {
        Node { branch, arriving: self.arriving, bounds: self.start.bounds, frames: self.frames, way: self.root_way() }
    }

    fn choices(&self, node: &Node) -> crate::query::Choices {
        let (a, is_now) = (amounts(&node.bounds), node.way.steps == 0);
        self.query.actions.choices(&self.query.shield, &a, &node.frames.sizes(), is_now)
    }

    fn judge(&mut self, node: &Node) -> Vec<Judged> {
        let replies = node.branch.replies(&self.model, &self.within, node.arriving);
        let mut branches = self.take_scratch(node.way.steps as usize, replies.len());
        let judged = self
            .choices(node)
            .iter()
            .map(|Choice { template, action }| {
                let mut found = (None, 1.0);
                let value =
                    self.network(node, action, &replies, &mut branches, Value::MIN, Value::MAX, Some(&mut found));
                let reply = found.0.map(|i: usize| replies[i]);
                Judged { template: *template, action: *action, value, reply, factor: found.1 }
            })
            .collect();
        self.scratch[node.way.steps as usize] = branches;
        judged
    }

    fn take_scratch(&mut self, steps: usize, len: usize) -> Vec<Option<Option<Branch>>> {
        let mut branches = std::mem::take(&mut self.scratch[steps]);
        branches.clear();
        branches.resize(len, None);
        branches
    }

    /// The controller's move: returns the minimum over its actions.
    fn controller(&mut self, node: &Node, alpha: Value, beta: Value) -> Value {
        let steps = node.way.steps as usize;
        let choices = self.choices(node);
        let replies = node.branch.replies(&self.model, &self.within, node.arriving);
        let mut branches = self.take_scratch(steps, replies.len());
        let mut best = Value::MAX;
        let first = self.killers[steps].0;
        let first = choices.iter().position(|c| c.template == first).unwrap_or(0);
        for k in 0..choices.len() {
            // The killer is tried first, then the other actions in order.
            let choice = &choices[if k == 0 {
                first
            } else if k <= first {
                k - 1
            } else {
                k
            }];
            let value = self.network(node, &choice.action, &replies, &mut branches, alpha, best.min(beta), None);
            if value < best {
                best = value;
                self.killers[steps].0 = choice.template;
            }
            if best <= alpha {
                break;
            }
        }
        self.scratch[steps] = branches;
        best
    }

    /// The network's move: returns the maximum over its observations and the encoder's factors. `found` receives the
    /// best move.
    #[allow(clippy::too_many_arguments)]
    fn network(
        &mut self,
        node: &Node,
        action: &Action,
        replies: &Replies,
        branches: &mut [Option<Option<Branch>>],
        alpha: Value,
        beta: Value,
        mut found: Option<&mut (Option<usize>, f64)>,
    ) -> Value {
        let steps = node.way.steps as usize;
        let encoder = &self.query.encoder;
        let factors = match node.way.factor {
            Some(factor) => [factor; 2],
            None if node.frames.encoding > 0.0 => [encoder.max, encoder.min],
            None => [encoder.max; 2],
        };
        let factors = if factors[0] == factors[1] { &factors[..1] } else { &factors[..] };
        let mut best = Value::MIN;
        for &factor in factors {
            let mut order: [usize; MAX_REPLIES] = std::array::from_fn(|j| j);
            // Of equal replies the first in their original order is reported.
            if found.is_none() {
                let (killer, refuted) = (self.killers[steps].1, &self.refutations[steps]);
                order[..replies.len()].sort_by_key(|&j| (j != killer, Reverse(refuted[j])));
            }
            for &j in &order[..replies.len()] {
                let after =
                    branches[j].get_or_insert_with(|| node.branch.after(&self.model, node.arriving, &replies[j]));
                let Some(after) = after else { continue };
                let child = self.child(node, action, factor, &replies[j], after);
                self.nodes += 1;
                let value = if child.way.steps == self.depth {
                    self.evaluate(&child)
                } else {
                    self.controller(&child, alpha.max(best), beta)
                };
                if value > best {
                    best = value;
                    self.killers[steps].1 = j;
                    if let Some(found) = found.as_deref_mut() {
                        *found = (Some(j), factor);
                    }
                }
                if best >= beta {
                    self.refutations[steps][j] += 1;
                    return best;
                }
            }
        }
        // No link explains any successor, so the node itself is evaluated.
        if best == Value::MIN { self.evaluate(node) } else { best }
    }

    fn child<'b>(&self, node: &Node, action: &Action, factor: f64, reply: &Reply, after: &'b Branch) -> Node<'b> {
        let deadlines = self.query.deadlines();
        let mut frames = node.frames;
        let had_batch = frames.encoding > 0.0;
        frames.act(action, factor, deadlines);
        frames.observe(&node.branch.window(node.arriving), &reply.observed, deadlines);
        let bounds = after.bounds(action.rate);
        let (start, mut way) = (&self.start.bounds, node.way);
        let now = f64::from(way.steps);
        const SAME: f64 = 1e-3;
        if way.shrink == NEVER && (bounds.c.min > start.c.min + SAME || bounds.c.max < start.c.max - SAME) {
            way.shrink = now;
        }
        let raised = start.min_c_plus_b + self.query.objective.limits.raise_packets;
        if way.raise == NEVER && bounds.min_c_plus_b >= raised - SAME {
            way.raise = now;
        }
        way.steps += 1;
        if had_batch {
            way.factor = Some(factor);
        }
        Node { branch: after, arriving: action.rate, bounds, frames, way }
    }

    fn evaluate(&self, node: &Node) -> Value {
        let (start, limits, b) = (&self.start, &self.query.objective.limits, &node.bounds);
        let (m, w) = (start.bounds.c.min, node.branch.window(node.arriving));
        let (old, new) = (&start.counts, &node.frames.counts);
        let lost = w.lost_known() - start.lost;
        let mut o = Outcome::zero();
        let count = |new: u32, old: u32| f64::from(new) - f64::from(old);
        o.set(Metric::LateFrames, count(new.late, old.late));
        o.set(Metric::MaxCUnknown, f64::from(u8::from(b.c.max >= self.model.c.max - crate::EPS)));
        o.set(Metric::ShrinkStep, node.way.shrink);
        o.set(Metric::RaiseStep, node.way.raise);
        o.set(Metric::Width, b.c.width() / m);
        o.set(Metric::ReceivedFrames, count(new.received, old.received));
        o.set(Metric::ReceivedMessage, (new.message - old.message) / m);
        o.set(Metric::FramesInFlight, f64::from(node.frames.batches_in_flight()));
        o.set(Metric::DroppedFrames, count(new.dropped, old.dropped));
        o.set(Metric::Backlog, node.frames.batches().len().saturating_sub(1) as f64);
        o.set(Metric::Delay, new.delay - old.delay);
        o.set(Metric::Queue, b.q.max / m);
        o.set(Metric::QueueExcess, (b.q.max / m - limits.queue_steps).max(0.0));
        o.set(Metric::MinC, b.c.min / m);
        o.set(Metric::MinCPlusB, b.min_c_plus_b / m);
        o.set(Metric::Lost, lost / m);
        let tolerance = limits.tolerance_packets + limits.tolerance_steps * m;
        o.set(Metric::LostTooMuch, f64::from(u8::from(lost > tolerance + 1e-3)));
        o.set(Metric::Delivered, (w.delivered_last() - start.delivered) / m);
        o.set(Metric::InFlight, (w.sent_next - w.delivered_last() - w.lost_known()) / m);
        self.query.objective.value(self.is_converged, &o)
    }
}

impl Situation {
    /// Prepare a search from this situation, with the points and the jitter on which the belief is based. If max C is
    /// held, only links up to that capacity are considered, unless none of them explains the points. `None` if no link
    /// explains them.
    pub fn search<'a>(&self, query: &'a Query) -> Option<Search<'a>> {
        let Belief { bounds, points, slack, jitter, .. } = self.belief;
        let window = self.state.window.latest(points.min(self.state.window.len))?;
        let state = State { window, frames: self.state.frames };
        let min_b = self.min_b.unwrap_or(query.model.b.min);
        let b = Range::new(min_b, query.model.b.max.max(min_b));
        let model = LinkModel { slack, jitter, b, ..query.model };
        let held = self.max_c.map(|max| LinkModel { c: Range::new(model.c.min, max.max(bounds.c.min)), ..model });
        let on = |model: &LinkModel| Search::new(query, model, &state, &bounds, self.is_converged());
        held.and_then(|held| on(&held)).or_else(|| on(&model))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::HeldCapacity;
    use crate::link::random_window;
    use crate::state::Situation;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    impl Search<'_> {
        /// The value by its definition: without pruning, move ordering or sharing between actions.
        fn plain(&self, node: &Node) -> Value {
            if node.way.steps == self.depth {
                return self.evaluate(node);
            }
            self.plain_actions(node).into_iter().map(|(value, _)| value).min().unwrap_or(Value::MAX)
        }

        fn plain_actions(&self, node: &Node) -> Vec<(Value, Choice)> {
            let fresh = node.branch.unshared();
            let replies = fresh.replies(&self.model, &self.within, node.arriving);
            let encoder = &self.query.encoder;
            let worst = |choice: &Choice| {
                let mut worst = Value::MIN;
                for factor in [encoder.min, encoder.max] {
                    let factor = node.way.factor.unwrap_or(factor);
                    for reply in replies.iter() {
                        let Some(after) = fresh.after(&self.model, node.arriving, reply) else { continue };
                        worst = worst.max(self.plain(&self.child(node, &choice.action, factor, reply, &after)));
                    }
                }
                if worst == Value::MIN { self.evaluate(node) } else { worst }
            };
            self.choices(node).iter().map(|choice| (worst(choice), *choice)).collect()
        }
    }

    fn shipped(name: &str) -> Query {
        let path = format!("{}/../../queries/game/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        let mut toml: toml::Table = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        toml.remove("sampling");
        toml.remove("tree");
        Query::from_json(&serde_json::to_string(&toml).unwrap()).unwrap()
    }

    /// On all shipped queries, the search returns the same decision as a search without pruning.
    #[test]
    fn pruning_order_and_sharing_change_no_decision() {
        for (seed, name) in ["bulk", "conference", "cloud-gaming", "live"].into_iter().enumerate() {
            let mut query = shipped(name);
            let random = &mut ChaCha8Rng::seed_from_u64(11 + seed as u64);
            for (depth, n) in [(1, 40), (2, 20), (3, if name == "bulk" { 20 } else { 4 })] {
                query.depth = depth;
                for i in 0..n {
                    let (_, window) = random_window(&query.model, random);
                    let mut state = State { window, ..State::fresh() };
                    if query.kind == crate::controller::Kind::Video {
                        state.frames.encoding = window.delivered_last() / 8.0;
                        if i % 2 == 0 {
                            state.frames.push(crate::frames::Batch { size: window.delivered_last() / 10.0, age: 1 });
                        }
                    }
                    let mut held = HeldCapacity::new(10);
                    let situation = Situation::new(state, &query.model, 6, &mut held);
                    let Some(mut search) = situation.search(&query) else { continue };
                    let root = search.root.clone();
                    let plain = search.plain_actions(&search.node(&root));
                    let best = plain.iter().reduce(|a, b| if b.0 < a.0 { b } else { a }).unwrap();
                    let found = search.decide();
                    assert_eq!((found.value, found.template), (best.0, best.1.template), "{name} {depth}: {window:?}");
                    assert_eq!(found.action.rate.to_bits(), best.1.action.rate.to_bits());
                    assert_eq!(found.action, best.1.action);
                }
            }
        }
    }
}
