//! ServicePolicy: all flows of a service together are limited to the rate of one Reno flow (CMU-CS-24-129 §4).
//!
//! A service is treated as one flow: losses of all its flows within an RTT are one loss event, and the intervals
//! between loss events are counted in segments of all flows. Loss events and intervals determine W, the inflight of a
//! single flow in segments, and from it the window of each flow:
//!
//! ```text
//! reno            W += 1 per RTT,  W /= 2 at a loss event;  after the first one W is what arrived within an RTT
//! mathis, padhye  W of the model at the loss event rate (RFC 5348); the first interval is set so that W begins
//!                 as with reno (§6.3.1)
//! flow's window   its share (share.rs) of weight · W · mss / RTT, times its RTT; RTT: mean over 8 minimum RTTs and
//!                 over the flows that send
//! ```
//!
//! In slow start a flow's inflight is twice the data that arrives within an RTT, so the window after the first loss,
//! half the inflight, is the data that arrived. A new Reno window takes effect an RTT plus the time to the next
//! decision after a loss; further losses until then belong to the previous window.
//!
//! With weight w, W increases by w per RTT and decreases by W/(2w) at a loss event, as the sum of w flows does
//! (MulTCP). A service without any loss is not limited.
//!
//! **Deviations** from the paper: The paper uses Mathis' model with the minimum loss event rate of the n flows. If
//! every flow sees every event, the resulting rate is n times too high; the paper compensates by constants fitted to
//! one testbed. The paper divides the rate equally, so the share that an application-limited flow does not use is lost,
//! and it multiplies by the minimum RTT. A rate from a model alone keeps every service below the rate at which losses
//! occur. Flows then do not probe, and the losses in a newcomer's slow start determine the shares for minutes
//! (docs/guard.md has numbers). The default is therefore Reno's rule.

use super::group::group_by;
use super::share::{Demand, Demands, THROUGHPUT, targets};
use super::{Classify, Decision, Group, ModelError, Policy, Rule, Service, Sharing, View, Why};
use crate::features::{Feature, WindowStat};
use crate::flow::FlowId;
use crate::measure::LossEvents;
use crate::model::Model;
use fairweir_units::{Dur, Time};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::fmt;

/// Number of loss intervals that are averaged (RFC 5348 §5.4 and the paper).
const INTERVALS: usize = 8;
/// Index of the mean RTT in the policy's features.
const MEAN_RTT: usize = 1;
/// Reno's minimum window in congestion avoidance.
const MIN_SEGMENTS: f64 = 2.0;

/// Model of a single flow's throughput.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ServiceModel {
    /// Additive increase and multiplicative decrease at each loss event.
    #[default]
    Reno,
    /// The mean throughput by [`Model::Mathis`].
    Mathis,
    /// The mean throughput by [`Model::Padhye`].
    Padhye,
}

impl ServiceModel {
    fn equation(self) -> Option<Model> {
        match self {
            ServiceModel::Reno => None,
            ServiceModel::Mathis => Some(Model::Mathis),
            ServiceModel::Padhye => Some(Model::Padhye),
        }
    }
}

impl fmt::Display for ServiceModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.equation() {
            Some(model) => model.fmt(f),
            None => f.write_str("reno"),
        }
    }
}

/// The grouping of flows into services, and the model of a service's rate.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServiceConfig {
    /// Grouping of flows into services.
    pub group: Group,
    /// Model of the rate of one flow.
    pub model: ServiceModel,
    /// By a service's name: the number of flows to which it may be equivalent; default 1.
    #[serde(deserialize_with = "super::config::weights")]
    pub weights: BTreeMap<String, f64>,
}

impl Rule for ServiceConfig {
    fn policy(&self, _classifier: &mut Option<Box<dyn Classify>>) -> Result<Box<dyn Policy>, ModelError> {
        Ok(Box::new(ServicePolicy::new(self.clone())))
    }

    fn group(&self) -> Option<Group> {
        Some(self.group)
    }

    fn examples() -> &'static [&'static str] {
        &["[service]\n", "[service]\nmodel = 'padhye'\ngroup = 'prefix'\nweights = { '0.0.0.0/24' = 3.0 }\n"]
    }
}

/// Limits each service to the rate of one flow of the model.
#[derive(Debug)]
pub struct ServicePolicy {
    config: ServiceConfig,
    services: HashMap<Service, AsOneFlow>,
    flows: HashMap<FlowId, Seen>,
    demands: Demands,
}

/// Data of one flow that has already been added to its service.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    place: u64,
    event: Option<Time>,
}

/// The flows of a service, treated as one flow.
#[derive(Debug, Default)]
struct AsOneFlow {
    events: LossEvents,
    /// Number of segments of all flows, up to the time `at`.
    place: u64,
    at: Time,
    /// Values of `place` at earlier decisions, back to one RTT ago.
    earlier: VecDeque<(Time, u64)>,
    /// Reno's window, segments, since the first loss event.
    window: Option<f64>,
    /// Time when the window takes effect; earlier losses belong to the previous window.
    settled: Time,
}

/// Events of a service since the last decision.
#[derive(Debug, Default)]
struct News {
    segments: u64,
    /// Start times of its flows' loss events, oldest first.
    losses: Vec<Time>,
    mss: u32,
    /// Mean RTT of the flows, us.
    rtt_us: Option<f64>,
    /// Maximum of the flows' latest RTTs.
    longest_rtt: Option<Dur>,
    now: Time,
}

impl AsOneFlow {
    fn advance(&mut self, config: &ServiceConfig, weight: f64, news: &News) {
        let since = news.now.since(self.at);
        let effect = news.longest_rtt.unwrap_or(Dur::ZERO) + since;
        if let Some(window) = &mut self.window {
            *window += weight * news.segments as f64 / *window;
        }
        for &at in &news.losses {
            // Segments are spread evenly between decisions.
            let part = news.segments as f64 * at.since(self.at).as_secs_f64() / since.as_secs_f64();
            let is_new = self.events.on_loss(at, self.place + (part as u64).min(news.segments), news.longest_rtt);
            if !is_new || at < self.settled {
                continue;
            }
            self.settled = at + effect;
            let after = match self.window {
                Some(before) => before - before / (2.0 * weight.max(1.0)),
                None => self.per_rtt(news),
            }
            .max(MIN_SEGMENTS);
            if let (None, Some(model)) = (self.window, config.model.equation()) {
                self.events.set_first_interval((1.0 / model.loss_event_rate(after / weight)) as u64);
            }
            self.window = Some(after);
        }
        self.earlier.push_back((self.at, self.place));
        self.place += news.segments;
        self.at = news.now;
        let rtt = news.longest_rtt.unwrap_or(Dur::ZERO);
        while self.earlier.get(1).is_some_and(|(then, _)| news.now.since(*then) >= rtt) {
            self.earlier.pop_front();
        }
    }

    /// Returns the number of segments that arrived within the last RTT.
    fn per_rtt(&self, news: &News) -> f64 {
        let rtt = news.longest_rtt.unwrap_or(Dur::ZERO).as_secs_f64();
        let all = self.earlier.iter().copied().chain([(self.at, self.place)]);
        // The latest earlier decision that is at least an RTT ago; if there is none, the oldest.
        let within = |(then, _): &(Time, u64)| news.now.since(*then).as_secs_f64() >= rtt;
        let Some((then, place)) = all.clone().rfind(within).or_else(|| all.clone().next()) else { return 0.0 };
        let span = news.now.since(then).as_secs_f64();
        (self.place + news.segments - place) as f64 * (rtt / span).min(1.0)
    }

    /// Returns the loss event rate and the rate in Mbit/s; `None` before the first loss.
    fn rate(&self, config: &ServiceConfig, weight: f64, news: &News) -> Option<(f64, f64)> {
        let window = self.window?;
        let p = self.events.rate(self.place, INTERVALS)?;
        let segments = match config.model.equation() {
            None => window,
            Some(model) => weight * model.segments(p)?,
        };
        Some((p, segments * f64::from(news.mss) * 8.0 / news.rtt_us?))
    }
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0.0), |(sum, count), value| (sum + value, count + 1.0));
    (count > 0.0).then(|| sum / count)
}

impl ServicePolicy {
    /// Creates the policy without state.
    pub fn new(config: ServiceConfig) -> ServicePolicy {
        ServicePolicy { config, services: HashMap::new(), flows: HashMap::new(), demands: Demands::default() }
    }

    fn news(&mut self, flows: &[&View<'_>], now: Time) -> News {
        let mut news = News { now, ..News::default() };
        for view in flows {
            let seen = self.flows.entry(view.id).or_default();
            news.segments += view.monitor.place() - seen.place;
            seen.place = view.monitor.place();
            let is_new = |at: &Time| seen.event.is_none_or(|last| *at > last);
            news.losses.extend(view.monitor.events().starts().take_while(is_new));
            seen.event = view.monitor.events().starts().next();
        }
        news.losses.sort_unstable();
        news.mss = flows.iter().map(|view| view.monitor.mss()).max().unwrap_or(0);
        // RTTs of the present path: from the flows that send, or from all flows if none sends.
        let all_are_idle = flows.iter().all(|view| view.is_idle(now));
        let present = || flows.iter().filter(|view| all_are_idle || !view.is_idle(now));
        news.longest_rtt = present().filter_map(|view| view.rtt()).max();
        news.rtt_us = mean(present().filter_map(|view| view.values[MEAN_RTT]));
        news
    }

    /// Returns a target in Mbit/s for each flow of a service, or `None`, with the reason.
    fn judge(&mut self, service: &Service, flows: &[&View<'_>], now: Time) -> (Option<Vec<f64>>, Why) {
        let weight = self.config.weights.get(&service.to_string()).copied().unwrap_or(1.0);
        let news = self.news(flows, now);
        let one = self.services.entry(service.clone()).or_default();
        one.advance(&self.config, weight, &news);
        if one.window.is_none() {
            return (None, Why::NoLoss { service: service.clone() });
        }
        let Some((loss_event_rate, service_mbps)) = one.rate(&self.config, weight, &news) else {
            return (None, Why::TooYoung);
        };
        let users: Vec<(f64, Demand)> = flows.iter().map(|view| (1.0, self.demands.of(view, now))).collect();
        let (service, model, flows) = (service.clone(), self.config.model, Sharing::of(&users));
        let why = Why::Share { service, model, loss_event_rate, service_mbps, flows };
        (Some(targets(service_mbps, &users)), why)
    }
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
            let (targets, why) = self.judge(service, &views, now);
            for (place, (&index, view)) in members.iter().zip(views).enumerate() {
                decisions[index] = match &targets {
                    None => Decision::release(why.clone()),
                    Some(mbps) => Decision::hold(mbps[place], view, why.clone()),
                };
            }
        }
        self.services.retain(|service, _| services.contains_key(service));
        let living: HashSet<FlowId> = flows.iter().map(|view| view.id).collect();
        self.flows.retain(|id, _| living.contains(id));
        self.demands.note(now, flows, &decisions);
        decisions
    }
}
