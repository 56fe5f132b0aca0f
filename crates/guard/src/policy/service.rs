//! ServicePolicy: all flows of a service together get what one Reno flow would (CMU-CS-24-129 §4).
//!
//! A Reno flow's rate follows from its loss event rate p and RTT. A service is taken as one flow: losses of any of its
//! flows within an RTT are one event, counted over the segments of all. As every service at a bottleneck sees loss events
//! in proportion to its segments, services of equal RTT settle at equal rates, however many flows they have.
//!
//! ```text
//! rate = weight · model(p, RTT),  RTT = mean over flows of the mean over 8 minimum RTTs
//! flow's window = λ · its RTT,  Σ min(demand, λ) = rate
//! ```
//!
//! **Deviations** from the paper: it takes the least loss event rate of the flows, which for n flows that see every
//! event is n times too high, and makes up for it by constants fitted to one testbed; it divides the rate equally, so
//! an application-limited flow's share is lost; it multiplies by the minimum RTT. A service without any loss is left alone.

use super::group::group_by;
use super::share::{Demands, THROUGHPUT, max_min};
use super::{Decision, Group, Policy, Service, View, Why};
use crate::features::{Feature, WindowStat};
use crate::flow::FlowId;
use crate::measure::LossEvents;
use crate::model::Model;
use fairweir_units::{Dur, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet};

/// RFC 5348 §5.4 and the paper.
const INTERVALS: usize = 8;
/// Slots of the features.
const MEAN_RTT: usize = 1;

/// How services are told apart and what each gets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceConfig {
    /// Which flows are one service.
    pub group: Group,
    /// The rate of one flow.
    pub model: Model,
    /// By a service's name: so many flows may it be like; 1 if it is not named.
    #[serde(deserialize_with = "super::config::weights")]
    pub weights: BTreeMap<String, f64>,
}

/// Holds each service to the rate of one Reno flow.
#[derive(Debug)]
pub struct ServicePolicy {
    config: ServiceConfig,
    services: HashMap<Service, Losses>,
    flows: HashMap<FlowId, Seen>,
    demands: Demands,
}

/// What has been taken over of one flow.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    place: u64,
    event: Option<Time>,
}

/// The loss events of a service.
#[derive(Debug, Default)]
struct Losses {
    events: LossEvents,
    /// Segments of all its flows, up to `at`.
    place: u64,
    at: Time,
}

impl ServicePolicy {
    /// Nothing seen yet.
    pub fn new(config: ServiceConfig) -> ServicePolicy {
        ServicePolicy { config, services: HashMap::new(), flows: HashMap::new(), demands: Demands::default() }
    }

    /// Merges what happened to the flows since the last decision into the service's history.
    fn merge(&mut self, service: &Service, flows: &[&View<'_>], rtt: Option<Dur>, now: Time) {
        let losses = self.services.entry(service.clone()).or_default();
        let (mut segments, mut starts) = (0, Vec::new());
        for view in flows {
            let seen = self.flows.entry(view.id).or_default();
            segments += view.monitor.place() - seen.place;
            seen.place = view.monitor.place();
            starts.extend(view.monitor.events().starts().take_while(|&at| seen.event.is_none_or(|last| at > last)));
            seen.event = view.monitor.events().starts().next();
        }
        starts.sort_unstable();
        let (from, span) = (losses.at, now.since(losses.at));
        for at in starts {
            // Segments are spread evenly between decisions.
            let part = segments as f64 * at.since(from).as_secs_f64() / span.as_secs_f64();
            losses.events.on_loss(at, losses.place + (part as u64).min(segments), rtt);
        }
        losses.place += segments;
        losses.at = now;
    }

    fn judge(&self, service: &Service, flows: &[&View<'_>], rtt_us: Option<f64>, now: Time) -> Verdict {
        let losses = &self.services[service];
        if losses.events.starts().next().is_none() {
            return Verdict::Release(Why::NoLoss { service: service.clone() });
        }
        let weight = self.config.weights.get(&service.to_string()).copied().unwrap_or(1.0);
        let mss = flows.iter().map(|view| view.monitor.mss()).max().unwrap_or(0);
        let p = losses.events.rate(losses.place, INTERVALS);
        let Some((p, mbps)) = p.and_then(|p| Some((p, self.config.model.mbps(mss, rtt_us, p)?))) else {
            return Verdict::Release(Why::TooYoung);
        };
        let service_mbps = weight * mbps;
        let level = max_min(service_mbps, flows.iter().map(|view| (1.0, self.demands.of(view, now))));
        let why = Why::Share {
            service: service.clone(),
            model: self.config.model,
            loss_event_rate: p,
            service_mbps,
            flows: flows.len(),
        };
        Verdict::Hold { mbps: level.min(service_mbps), why }
    }
}

/// What all flows of a service get.
enum Verdict {
    Release(Why),
    Hold { mbps: f64, why: Why },
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

impl Policy for ServicePolicy {
    fn features(&self) -> Vec<Feature> {
        vec![THROUGHPUT, Feature::Window(WindowStat::Rtt, 8)]
    }

    fn decide(&mut self, now: Time, flows: &[View<'_>]) -> Vec<Decision> {
        let services = group_by(flows, |view| Some(self.config.group.service(view.key, view.labels)));
        let mut decisions = vec![Decision::release(Why::TooYoung); flows.len()];
        for (service, members) in &services {
            let views: Vec<&View<'_>> = members.iter().map(|&index| &flows[index]).collect();
            let rtt_us = mean(views.iter().filter_map(|view| view.values[MEAN_RTT]));
            let rtt = rtt_us.map(|us| Dur::from_nanos((us * 1e3) as u64));
            self.merge(service, &views, rtt, now);
            let verdict = self.judge(service, &views, rtt_us, now);
            for (&index, view) in members.iter().zip(views) {
                decisions[index] = match &verdict {
                    Verdict::Release(why) => Decision::release(why.clone()),
                    Verdict::Hold { mbps, why } => Decision::hold(*mbps, view, why.clone()),
                };
            }
        }
        self.services.retain(|service, _| services.contains_key(service));
        let living: HashSet<FlowId> = flows.iter().map(|view| view.id).collect();
        self.flows.retain(|id, _| living.contains(id));
        self.demands.note(flows, &decisions);
        decisions
    }
}
