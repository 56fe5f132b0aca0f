//! Limits the total rate of a service's flows. Capacity that one flow does not use goes to the others.

use super::budget::Budgets;
use super::group::{group_by, named};
use super::share::{Demand, Demands, THROUGHPUT, targets};
use super::{Classify, Decision, Group, ModelError, Policy, Rule, Sharing, View, Why};
use crate::features::Feature;
use fairweir_units::{Rate, Time};
use serde::Deserialize;

/// A cap of a group of flows.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CapRule {
    /// Grouping of flows into services.
    #[serde(default)]
    pub group: Group,
    /// Apply only to the service of this name; to each service if absent.
    pub service: Option<String>,
    /// Maximum rate of payload.
    #[serde(deserialize_with = "super::config::rate")]
    pub rate: Rate,
}

impl Rule for CapRule {
    fn policy(&self, _classifier: &mut Option<Box<dyn Classify>>) -> Result<Box<dyn Policy>, ModelError> {
        Ok(Box::new(Cap::new(self.clone())))
    }

    fn group(&self) -> Option<Group> {
        Some(self.group)
    }

    fn examples() -> &'static [&'static str] {
        &["[[cap]]\nrate = '10Mbps'\n"]
    }
}

/// Limits services to configured rates.
#[derive(Debug)]
pub struct Cap {
    rule: CapRule,
    demands: Demands,
    budgets: Budgets,
}

impl Cap {
    /// Creates the policy of one rule.
    pub fn new(rule: CapRule) -> Cap {
        Cap { rule, demands: Demands::default(), budgets: Budgets::default() }
    }
}

impl Policy for Cap {
    fn features(&self) -> Vec<Feature> {
        vec![THROUGHPUT]
    }

    fn decide(&mut self, now: Time, flows: &[View<'_>]) -> Vec<Decision> {
        let services = group_by(flows, |view| named(self.rule.group, self.rule.service.as_deref(), view));
        let mut decisions = vec![Decision::release(Why::Unmanaged); flows.len()];
        let service_mbps = self.rule.rate.as_mbps_f64();
        for (service, members) in services {
            let users: Vec<(f64, Demand)> =
                members.iter().map(|&index| (1.0, self.demands.of(&flows[index], now))).collect();
            let why = Why::Cap { service, service_mbps, flows: Sharing::of(&users) };
            for (index, target) in members.into_iter().zip(targets(service_mbps, &users)) {
                decisions[index] = self.budgets.hold(target, &flows[index], now, why.clone());
            }
        }
        self.budgets.retain(flows);
        self.demands.note(now, flows, &decisions);
        decisions
    }
}
