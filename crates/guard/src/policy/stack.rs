//! Applies several policies to one flow table: the table computes the features that any policy needs, and each flow
//! gets the smallest window that any policy decides.

use super::rtts::Rtts;
use super::{Classify, Config, Decision, Labels, Policy, View, Why};
use crate::features::{Plan, Row};
use crate::flow::{FlowId, Table};
use crate::packet::FlowKey;
use fairweir_units::Hint;
use std::borrow::Cow;
use std::ops::Range;

/// A configuration and a model that do not match.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ModelError {
    /// The configuration's `[flow]` names a model, but no model was passed.
    #[error("flow.model: no classifier `{0}`")]
    Missing(String),
    /// A model was passed, but the configuration has no `[flow]` that uses it.
    #[error("a classifier is given, but the configuration has no policy [flow] that uses it")]
    Unused,
}

impl Hint for ModelError {
    fn key(&self) -> Option<&str> {
        match self {
            ModelError::Missing(_) => Some("flow.model"),
            ModelError::Unused => None,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            ModelError::Missing(_) => Some("write one with `fairweir guard train`".into()),
            ModelError::Unused => Some("add a table [flow] that names it".into()),
        }
    }
}

/// The policies of a configuration.
#[derive(Debug)]
pub struct Policies {
    parts: Vec<(Range<usize>, Box<dyn Policy>)>,
    rtts: Rtts,
}

impl Policies {
    /// Creates the policies that `config` names; `classifier` is the model of [`Config::flow`].
    ///
    /// # Errors If `config` names a model and none is passed, or if a model is passed that `config` does not use,
    /// because then the configuration may lack a policy.
    pub fn new(config: &Config, classifier: Option<Box<dyn Classify>>) -> Result<Policies, ModelError> {
        let mut policies = Policies { parts: Vec::new(), rtts: Rtts::default() };
        let mut rules = config.rules();
        rules.sort_by_key(|rule| !rule.has_model());
        let mut classifier = classifier;
        for rule in rules {
            policies.push(rule.policy(&mut classifier)?);
        }
        if classifier.is_some() {
            return Err(ModelError::Unused);
        }
        Ok(policies)
    }

    /// Adds a policy.
    pub fn push(&mut self, policy: Box<dyn Policy>) {
        let from = self.width();
        self.parts.push((from..from + policy.features().len(), policy));
    }

    fn width(&self) -> usize {
        self.parts.last().map_or(0, |(slots, _)| slots.end)
    }

    /// Returns the features that a [`Table`] must compute for the policies.
    pub fn plan(&self) -> Plan {
        Plan::new(self.parts.iter().flat_map(|(_, policy)| policy.features()))
    }

    /// Returns one decision for each measured flow of `table`, at the table's time. The table must have been created
    /// with [`Policies::plan`].
    ///
    /// # Panics
    /// If the table computes another number of features.
    pub fn decide(&mut self, table: &Table, labels: impl Fn(&FlowKey) -> Labels) -> Vec<(FlowId, Decision)> {
        let width = self.width();
        assert_eq!(table.plan().features().len(), width, "the table measures for other policies");
        let mut row = Row::for_plan(table.plan());
        let (mut values, mut named) = (Vec::new(), Vec::new());
        for (_, flow) in table.iter() {
            flow.monitor().fill(table.plan(), &mut row);
            values.extend(row.iter());
            named.push(labels(flow.key()));
        }
        let mut seen: Vec<View<'_>> = table
            .iter()
            .zip(&named)
            .map(|((id, flow), labels)| View {
                id,
                key: flow.key(),
                labels,
                monitor: flow.monitor(),
                window_rtt: self.rtts.settled(id),
                is_ended: flow.is_ended(),
                values: &[],
            })
            .collect();
        for view in &mut seen {
            view.window_rtt = self.rtts.read(view.id, view.is_idle(table.now()), view.monitor.window_rtt(table.now()));
        }
        self.rtts.retain(&seen.iter().map(|view| view.id).collect());
        let mut decisions: Vec<Option<Decision>> = vec![None; named.len()];
        for (slots, policy) in &mut self.parts {
            let place = |index: usize| index * width + slots.start..index * width + slots.end;
            let views: Vec<View<'_>> =
                seen.iter().enumerate().map(|(index, view)| View { values: &values[place(index)], ..*view }).collect();
            for (least, decision) in decisions.iter_mut().zip(policy.decide(table.now(), &views)) {
                if least.as_ref().is_none_or(|least| is_tighter(&decision, least)) {
                    *least = Some(decision);
                }
            }
        }
        let ids = table.iter().map(|(id, _)| id);
        ids.zip(decisions.into_iter().map(|it| it.unwrap_or_else(|| Decision::release(Why::Unmanaged)))).collect()
    }
}

fn is_tighter(new: &Decision, old: &Decision) -> bool {
    match (new.window, old.window) {
        (Some(new), Some(old)) => new.bytes() < old.bytes(),
        (Some(_), None) => true,
        (None, Some(_)) => false,
        (None, None) => old.why == Why::Unmanaged,
    }
}
