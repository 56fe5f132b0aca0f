//! Reasons for an action: the belief and its evidence, the network's best reply, the cost of each other action and, for
//! a tree, the comparisons on the path to its leaf.

use crate::action::Action;
use crate::believe::Belief;
use crate::binding::Binding;
use crate::bounds_exact::exact_bounds;
use crate::controller::Controller;
use crate::model::LinkModel;
use crate::objective::Value;
use crate::query::Query;
use crate::reply::Reply;
use crate::search::{Judged, Ply};
use crate::state::Situation;
use serde::Serialize;

/// An action with its numbers, in packets.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ActionText {
    /// The batches that are sent.
    pub send: &'static str,
    /// Size of the message.
    pub message: f64,
    /// Number of repair packets.
    pub repair: f64,
    /// Number of packets sent.
    pub rate: f64,
    /// Target size of the next frames.
    pub encode: f64,
}

impl From<&Action> for ActionText {
    fn from(a: &Action) -> ActionText {
        ActionText { send: a.send.name(), message: a.message, repair: a.repair(), rate: a.rate, encode: a.encode }
    }
}

/// A move of the network with its numbers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ReplyText {
    /// Capacity of the link on which the move is played, packets per step.
    pub c: f64,
    /// Buffer of that link, packets.
    pub b: f64,
    /// Queue of that link, packets.
    pub queue: f64,
    /// Cumulative packets delivered at the next point.
    pub delivered: f64,
    /// Cumulative packets known to be lost at that point.
    pub lost: f64,
}

impl From<&Reply> for ReplyText {
    fn from(r: &Reply) -> ReplyText {
        let seen = &r.observed;
        let lost = seen.visible.checked_sub(1).map_or(0.0, |last| seen.lost[last]);
        ReplyText { c: r.c, b: r.b, queue: r.queue, delivered: seen.delivered, lost }
    }
}

/// An action that could have been taken.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Alternative {
    /// The template's name.
    pub name: String,
    /// The action.
    pub action: ActionText,
    /// Value of the action, by component, in quanta.
    pub value: Vec<i32>,
    /// The first component in which the action is worse than the decision, and the difference.
    pub costs: Option<Cost>,
    /// The network's best reply.
    pub reply: Option<ReplyText>,
}

/// Cost of an action compared with the decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Cost {
    /// The component's name.
    pub component: String,
    /// Difference in the component's unit.
    pub by: f64,
}

/// A step of the line of play in which both sides act optimally.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The template's name.
    pub name: String,
    /// The controller's action.
    pub action: ActionText,
    /// The network's reply.
    pub reply: Option<ReplyText>,
    /// M, max C and Q after the reply.
    pub after: Option<[f64; 3]>,
}

/// The path through a tree to a leaf.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LeafText {
    /// Index of the leaf's node.
    pub leaf: usize,
    /// The leaf's name.
    pub name: Option<String>,
    /// The comparisons on the path, with their numbers.
    pub path: Vec<String>,
    /// The leaf's action before the shield.
    pub asked: ActionText,
    /// The action after the shield.
    pub action: ActionText,
}

/// Reasons for a decision.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// `searching` or `converged`.
    pub phase: &'static str,
    /// The belief.
    pub belief: Belief,
    /// Evidence for min C and max C; `None` if the belief is not exact.
    pub binding: Option<[Binding; 2]>,
    /// The features, in the order of [`crate::features::FEATURES`].
    pub features: Vec<(&'static str, f64)>,
    /// The leaf, if a controller file decides.
    pub leaf: Option<LeafText>,
    /// All actions of the query with their costs. The search's decision is the first with cost 0.
    pub actions: Vec<Alternative>,
    /// Index of the search's decision in `actions`.
    pub best: Option<usize>,
    /// The next moves of both sides.
    pub line: Vec<Step>,
}

fn cost(query: &Query, is_converged: bool, best: &Value, value: &Value) -> Option<Cost> {
    let components = query.objective.phase(is_converged);
    let (i, component) = components.iter().enumerate().find(|(i, _)| value.0[*i] != best.0[*i])?;
    let by = (f64::from(value.0[i]) - f64::from(best.0[i])) * component.quantum;
    Some(Cost { component: component.name.clone(), by })
}

/// Explain the decision of the search, and of a tree if given, in a situation.
pub fn explain(query: &Query, situation: &Situation, controller: Option<&Controller>) -> Explanation {
    let belief = situation.belief;
    let view = situation.view();
    let x = crate::features::features(&view);
    let is_converged = situation.is_converged();
    let name = |template: usize| query.actions.0[template].name.clone();
    let (judged, line): (Vec<Judged>, Vec<Ply>) =
        situation.search(query).map_or_else(Default::default, |mut search| (search.decide_all(), search.line()));
    let best = judged.iter().map(|j| j.value).min();
    let components = query.objective.phase(is_converged).len();
    let window = situation.state.window.latest(belief.points.min(situation.state.window.len));
    let model = LinkModel { slack: belief.slack, jitter: belief.jitter, ..query.model };
    let exact = window.filter(|_| belief.exact).and_then(|w| exact_bounds(&w, &model));
    Explanation {
        phase: if is_converged { "converged" } else { "searching" },
        belief,
        binding: exact.map(|e| [e.c_min, e.c_max]),
        features: crate::features::FEATURES.iter().map(|f| f.name).zip(x).collect(),
        leaf: controller.map(|c| {
            let decided = c.decide(&view);
            let (leaf, node) = c.nodes.leaf(&x);
            LeafText {
                leaf,
                name: node.name.clone(),
                path: c.nodes.explain(&x),
                asked: (&decided.asked).into(),
                action: (&decided.action).into(),
            }
        }),
        best: best.and_then(|best| judged.iter().position(|j| j.value == best)),
        actions: judged
            .iter()
            .map(|j| Alternative {
                name: name(j.template),
                action: (&j.action).into(),
                value: j.value.0[..components].to_vec(),
                costs: best.and_then(|best| cost(query, is_converged, &best, &j.value)),
                reply: j.reply.as_ref().map(Into::into),
            })
            .collect(),
        line: line
            .iter()
            .map(|p| Step {
                name: name(p.template),
                action: (&p.action).into(),
                reply: p.reply.as_ref().map(Into::into),
                after: p.after,
            })
            .collect(),
    }
}
