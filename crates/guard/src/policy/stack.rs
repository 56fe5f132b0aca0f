//! Several policies over one table: what all of them want to know, and the least window that one of them wants.

use super::{Cap, Config, Decision, Labels, Policy, Rledbat, ServicePolicy, View, Weights, Why};
use crate::features::{Plan, Row};
use crate::flow::{FlowId, Table};
use crate::packet::FlowKey;
use std::ops::Range;

/// The policies of a configuration.
#[derive(Debug)]
pub struct Policies {
    parts: Vec<(Range<usize>, Box<dyn Policy>)>,
}

impl Policies {
    /// The policies that `config` names, but for [`Config::flow`], which needs a model: [`Policies::push`] it.
    pub fn new(config: &Config) -> Policies {
        let mut policies = Policies { parts: Vec::new() };
        if let Some(service) = &config.service {
            policies.push(Box::new(ServicePolicy::new(service.clone())));
        }
        if let Some(weights) = &config.weights {
            policies.push(Box::new(Weights::new(weights.clone())));
        }
        for rule in &config.rledbat {
            policies.push(Box::new(Rledbat::new(rule.clone())));
        }
        for rule in &config.cap {
            policies.push(Box::new(Cap::new(rule.clone())));
        }
        policies
    }

    /// One more.
    pub fn push(&mut self, policy: Box<dyn Policy>) {
        let from = self.width();
        self.parts.push((from..from + policy.features().len(), policy));
    }

    fn width(&self) -> usize {
        self.parts.last().map_or(0, |(slots, _)| slots.end)
    }

    /// What a [`Table`] has to keep up for them.
    pub fn plan(&self) -> Plan {
        Plan::new(self.parts.iter().flat_map(|(_, policy)| policy.features()))
    }

    /// One decision for each measured flow of `table`, whose plan is [`Policies::plan`], at the table's time.
    ///
    /// # Panics
    /// If the table has another plan.
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
        let mut decisions: Vec<Option<Decision>> = vec![None; named.len()];
        for (slots, policy) in &mut self.parts {
            let views: Vec<View<'_>> = table
                .iter()
                .zip(&named)
                .enumerate()
                .map(|(index, ((id, flow), labels))| View {
                    id,
                    key: flow.key(),
                    labels,
                    monitor: flow.monitor(),
                    values: &values[index * width + slots.start..index * width + slots.end],
                })
                .collect();
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
