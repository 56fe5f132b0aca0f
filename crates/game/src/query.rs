//! A query: links, encoder, actions, shield, objective and horizon, as in `queries/game/*.toml`.

use crate::action::{Action, Template, Waiting};
use crate::controller::{ControllerError, Kind, refuse, unreadable};
use crate::form::{Amounts, Form};
use crate::frames::Deadlines;
use crate::model::{LinkModel, Range};
use crate::objective::Objective;
use crate::shield::Shield;
use crate::tree::Leaf;
use serde::{Deserialize, Serialize};

/// The maximum number of templates of an action set.
pub const MAX_ACTIONS: usize = 24;

/// The maximum horizon, steps. With a larger horizon a decision takes minutes.
pub const MAX_DEPTH: u32 = 8;

/// A row of an action set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NamedTemplate {
    /// Name shown in leaves and explanations.
    pub name: String,
    /// The batches that are sent.
    #[serde(default = "crate::tree::no_batch")]
    pub send: crate::action::Send,
    /// Rate, such as `3 M - Q` (see [`crate::form`]); default: the message.
    #[serde(default, with = "form_text")]
    pub rate: Form,
    /// Target size of the next frames, such as `M`; default: they are skipped.
    #[serde(default, with = "form_text")]
    pub encode: Form,
    /// If true, moves after the first consider this action only if the maximum queue is above M or at least two batches
    /// wait.
    #[serde(default)]
    pub only_backlogged: bool,
    /// If true, only the first move of the search considers this action: a finer choice for this step at little cost.
    #[serde(default)]
    pub only_now: bool,
    /// The reason, for documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

impl NamedTemplate {
    /// Returns the row as a template.
    pub fn template(&self) -> Template {
        Template { send: self.send, rate: self.rate, encode: self.encode }
    }

    /// Returns the row as a leaf of a controller file.
    pub fn leaf(&self) -> Leaf {
        Leaf { name: Some(self.name.clone()), send: self.send, rate: self.rate, encode: self.encode }
    }
}

mod form_text {
    use crate::form::Form;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::Serializer;

    pub fn serialize<S: Serializer>(form: &Form, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(form)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Form, D::Error> {
        Form::parse(&String::deserialize(d)?).map_err(D::Error::custom)
    }
}

/// Actions in order of preference. Of actions with equal values the first is taken, so the simplest action that sends
/// something comes first.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActionSet(pub Vec<NamedTemplate>);

/// An action with its template.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// Index of the template.
    pub template: usize,
    /// The template's action after the shield.
    pub action: Action,
}

/// A list of actions without heap allocation.
#[derive(Debug, Clone, Copy)]
pub struct Choices {
    all: [Choice; MAX_ACTIONS],
    len: usize,
}

impl std::ops::Deref for Choices {
    type Target = [Choice];
    fn deref(&self) -> &[Choice] {
        &self.all[..self.len]
    }
}

/// Rates and targets that differ by less are equal, packets.
const SAME: f64 = 1e-6;

impl ActionSet {
    /// Compute the templates' actions, apply the shield, and omit actions equal to an earlier one.
    pub fn choices(&self, shield: &Shield, amounts: &Amounts, waiting: &Waiting, is_now: bool) -> Choices {
        let mut choices = Choices { all: [Choice { template: 0, action: Action::hold(0.0) }; MAX_ACTIONS], len: 0 };
        let is_backlogged = amounts.max_q > amounts.min_c || waiting.len >= 2;
        for (template, row) in self.0.iter().enumerate().take(MAX_ACTIONS) {
            if !is_now && (row.only_now || row.only_backlogged && !is_backlogged) {
                continue;
            }
            let action = shield.apply(row.template().realise(amounts, waiting), amounts, waiting);
            let is_known = choices.iter().any(|o| {
                o.action.send == action.send
                    && (o.action.rate - action.rate).abs() < SAME
                    && (o.action.encode - action.encode).abs() < SAME
            });
            if !is_known {
                choices.all[choices.len] = Choice { template, action };
                choices.len += 1;
            }
        }
        choices
    }
}

/// A query without the tables on sampling and trees, which only Python reads.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Query {
    /// Name.
    pub name: String,
    /// The purpose of the query.
    #[serde(default)]
    pub description: String,
    /// The kind of decision.
    pub kind: Kind,
    /// The length of a step, such as `50ms`.
    pub step: String,
    /// Number of points of history.
    #[serde(default = "six")]
    pub points: usize,
    /// The horizon, in steps: each step is a move of the controller and one of the network.
    pub depth: u32,
    /// Number of steps for which max C is held after it falls below the model's maximum.
    pub probe_period: u32,
    /// Size of an encoded batch divided by its target size.
    #[serde(default = "exact")]
    pub encoder: Range,
    /// The links.
    pub model: LinkModel,
    /// Possible actions, simplest first.
    pub actions: ActionSet,
    /// The shield of every action.
    #[serde(default = "Shield::standard")]
    pub shield: Shield,
    /// The objective.
    pub objective: Objective,
}

fn six() -> usize {
    crate::POINTS
}

fn exact() -> Range {
    Range::new(1.0, 1.0)
}

impl Query {
    /// Read a query from JSON (Python reads the TOML).
    ///
    /// # Errors
    /// The first error, with its key.
    pub fn from_json(text: &str) -> Result<Query, ControllerError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let query: Query = serde_path_to_error::deserialize(&mut json).map_err(|e| unreadable(text, &e, HINT))?;
        json.end().map_err(|e| refuse(".", e.to_string(), HINT))?;
        query.check()?;
        Ok(query)
    }

    fn check(&self) -> Result<(), ControllerError> {
        let positive = |r: &Range| r.min.is_finite() && r.max.is_finite() && 0.0 < r.min && r.min <= r.max;
        for (key, range) in [("model.c", &self.model.c), ("model.b", &self.model.b), ("encoder", &self.encoder)] {
            if !positive(range) {
                let reason = format!("`[{}, {}]` is not a range with a positive minimum", range.min, range.max);
                return Err(refuse(key, reason, "write a range in packets, such as [1, 200]"));
            }
        }
        if !(1..=crate::POINTS).contains(&self.model.jitter) {
            let reason = format!("`{}` is not between 1 and {}", self.model.jitter, crate::POINTS);
            return Err(refuse("model.jitter", reason, "write a number of steps"));
        }
        if !(self.model.slack.is_finite() && self.model.slack >= 0.0) {
            return Err(refuse(
                "model.slack",
                format!("`{}` is negative", self.model.slack),
                "write a number of packets, at least 0",
            ));
        }
        let step: Result<fairweir_units::Dur, _> = self.step.parse();
        if step.map_or(true, |s| s.as_nanos() == 0) {
            let reason = format!("`{}` is not a positive time", self.step);
            return Err(refuse("step", reason, "write a time with its unit: \"50ms\""));
        }
        if !(3..=crate::POINTS).contains(&self.points) {
            return Err(refuse(
                "points",
                format!("`{}` is not between 3 and {}", self.points, crate::POINTS),
                "write 6",
            ));
        }
        if !(1..=MAX_DEPTH).contains(&self.depth) {
            let hint = "5 steps are the published 10 plies; below 3 the search never probes";
            return Err(refuse("depth", format!("`{}` is not between 1 and {MAX_DEPTH}", self.depth), hint));
        }
        if self.probe_period == 0 {
            return Err(refuse(
                "probe_period",
                "`0` is not positive",
                "write the number of steps for which max C is held, such as 200",
            ));
        }
        let n = self.actions.0.len();
        if n == 0 || n > MAX_ACTIONS {
            let reason = format!("{n} actions, expected 1 to {MAX_ACTIONS}");
            return Err(refuse("actions", reason, "write one [[actions]] table for each action"));
        }
        for (i, row) in self.actions.0.iter().enumerate() {
            if self.actions.0[..i].iter().any(|r| r.name == row.name) {
                return Err(refuse(
                    format!("actions[{i}].name"),
                    format!("the name `{}` is given twice", row.name),
                    "names are distinct",
                ));
            }
            let has_frames = row.send != crate::action::Send::None || row.encode != Form::ZERO;
            if self.kind == Kind::Rate && has_frames {
                let hint = "remove `send` and `encode`, or write kind = \"video\"";
                return Err(refuse(format!("actions[{i}]"), "`send` and `encode` apply only to video queries", hint));
            }
        }
        if self.actions.0.iter().all(|row| row.only_now || row.only_backlogged) {
            let hint = "remove `only_now` and `only_backlogged` from at least one action";
            return Err(refuse("actions", "no action is possible in every situation", hint));
        }
        self.objective.check().map_err(|(key, reason, hint)| refuse(key, reason, hint))
    }

    /// Deadlines of batches.
    pub fn deadlines(&self) -> Deadlines {
        let limits = &self.objective.limits;
        Deadlines { stale: limits.stale_steps, late: limits.deadline_steps }
    }
}

const HINT: &str = "docs/formal/game.md describes queries; queries/game has examples";
