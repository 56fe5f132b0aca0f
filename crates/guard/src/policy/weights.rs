//! A known capacity divided among services by weight; what one does not use, the others get.

use super::group::group_by;
use super::share::{Demands, THROUGHPUT, max_min};
use super::{Decision, Group, Policy, Service, View, Why};
use crate::features::Feature;
use fairweir_units::{Rate, Time};
use serde::Deserialize;
use std::collections::BTreeMap;

/// The capacity and who gets what of it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WeightsConfig {
    /// How flows are grouped.
    #[serde(default)]
    pub group: Group,
    /// What all services get together, payload: a little under what the link carries, so that its queue stays empty.
    #[serde(deserialize_with = "super::config::rate")]
    pub capacity: Rate,
    /// By a service's name; 1 if it is not named.
    #[serde(default, deserialize_with = "super::config::weights")]
    pub weights: BTreeMap<String, f64>,
}

/// Divides a capacity.
#[derive(Debug)]
pub struct Weights {
    config: WeightsConfig,
    demands: Demands,
}

impl Weights {
    /// Nothing seen yet.
    pub fn new(config: WeightsConfig) -> Weights {
        Weights { config, demands: Demands::default() }
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
        let demands: Vec<f64> = flows.iter().map(|view| self.demands.of(view, now)).collect();
        let wanted = |members: &[usize]| -> f64 { members.iter().map(|&index| demands[index]).sum() };
        let capacity = self.config.capacity.as_mbps_f64();
        let parts: Vec<(f64, f64)> =
            services.iter().map(|(service, members)| (self.weight(service), wanted(members))).collect();
        let level = max_min(capacity, parts.iter().copied());
        let mut decisions = vec![Decision::release(Why::Unmanaged); flows.len()];
        for ((service, members), (weight, _)) in services.into_iter().zip(parts) {
            let service_mbps = (weight * level).min(capacity);
            let each = max_min(service_mbps, members.iter().map(|&index| (1.0, demands[index]))).min(service_mbps);
            let why = Why::Cap { service, service_mbps, flows: members.len() };
            for index in members {
                decisions[index] = Decision::hold(each, &flows[index], why.clone());
            }
        }
        self.demands.note(flows, &decisions);
        decisions
    }
}
