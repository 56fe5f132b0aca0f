//! A known capacity, divided among services by weight. Shares that a service does not use go to the others.

use super::budget::Budgets;
use super::group::group_by;
use super::share::{Demand, Demands, THROUGHPUT, targets};
use super::{Classify, Decision, Group, ModelError, Policy, Rule, Service, Sharing, View, Why};
use crate::features::Feature;
use fairweir_units::{Rate, Time};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The capacity and its division.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightsConfig {
    /// Grouping of flows into services.
    #[serde(default)]
    pub group: Group,
    /// Total payload rate of all services. It should be slightly below the link's rate, so that the link's queue stays
    /// empty.
    #[serde(deserialize_with = "super::config::rate")]
    pub capacity: Rate,
    /// Weights by a service's name; default 1.
    #[serde(default, deserialize_with = "super::config::weights")]
    pub weights: BTreeMap<String, f64>,
}

impl Rule for WeightsConfig {
    fn policy(&self, _classifier: &mut Option<Box<dyn Classify>>) -> Result<Box<dyn Policy>, ModelError> {
        Ok(Box::new(Weights::new(self.clone())))
    }

    fn group(&self) -> Option<Group> {
        Some(self.group)
    }

    fn examples() -> &'static [&'static str] {
        &["[weights]\ncapacity = '10Mbps'\n[[cap]]\ngroup = 'all'\nrate = '1kbps'\n"]
    }
}

/// Divides a known capacity among services.
#[derive(Debug)]
pub struct Weights {
    config: WeightsConfig,
    demands: Demands,
    budgets: Budgets,
}

impl Weights {
    /// Creates the policy without state.
    pub fn new(config: WeightsConfig) -> Weights {
        Weights { config, demands: Demands::default(), budgets: Budgets::default() }
    }

    fn weight(&self, service: &Service) -> f64 {
        self.config.weights.get(&service.to_string()).copied().unwrap_or(1.0)
    }
}

impl Policy for Weights {
    fn features(&self) -> Vec<Feature> {
        vec![THROUGHPUT]
    }

    fn decide(&mut self, now: Time, flows: &[View<'_>]) -> Vec<Decision> {
        let services = group_by(flows, |view| Some(self.config.group.service(view.key, view.labels)));
        let demands: Vec<Demand> = flows.iter().map(|view| self.demands.of(view, now)).collect();
        let wanted = |members: &[usize]| Demand::of_all(members.iter().map(|&index| demands[index]));
        let capacity = self.config.capacity.as_mbps_f64();
        let parts: Vec<(f64, Demand)> =
            services.iter().map(|(service, members)| (self.weight(service), wanted(members))).collect();
        let mut decisions = vec![Decision::release(Why::Unmanaged); flows.len()];
        for ((service, members), service_mbps) in services.into_iter().zip(targets(capacity, &parts)) {
            let users: Vec<(f64, Demand)> = members.iter().map(|&index| (1.0, demands[index])).collect();
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
