//! FlowPolicy: a classifier determines which flows exceed their target, an equal share of the link. The rate of these
//! flows is decreased and increased by factors until they are near the target (CMU-CS-24-129 §5.3).
//!
//! The limit of a flow by its class:
//!
//! ```text
//! above  limit = decrease · min(limit, throughput)      decrease = 0.8; a flow without a limit gets one
//! below  limit = max(limit, increase · throughput)      increase = 1.3, only if the flow has a limit
//! near   unchanged
//! ```
//!
//! On an idle path (no loss in the window, RTT below `idle` = 1.05 times the minimum) every flow counts as below its
//! target: without a queue, no flow harms others.
//!
//! A flow that was never above its target is never limited. The class of a decision is the most frequent one of all
//! rows since the previous decision, or the highest of equally frequent ones. Decisions are 8 minimum RTTs plus an RTT
//! apart, so that throughput, which is measured over 8 minimum RTTs, is measured after the previous window has taken
//! effect.
//!
//! **Deviations** from the published prototype: the rate decreases by a factor of 0.8 for all flows (prototype: 0.57,
//! and 0.8 for Reno against Cubic), which leaves less of the link unused. Idle paths are detected. Increases start from
//! the measured throughput, so the limit of a flow that does not use it cannot grow without bound. A flow that leaves
//! half of its limit unused for several decisions is released. Without a measured throughput there is no decision. A
//! window is at least two segments, not 2,000 bytes.

use super::share::THROUGHPUT;
use super::{Class, Classify, Decision, Group, ModelError, Policy, Rule, View, Why};
use crate::features::{Feature, WindowStat};
use crate::flow::FlowId;
use fairweir_units::{Dur, Time};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};

/// A flow that uses less than this fraction of its limit is slowed by something else.
const MIN_USED_SHARE: f64 = 0.5;
/// Number of consecutive decisions with an unused limit after which a flow is released.
const MAX_UNUSED_DECISIONS: u32 = 4;

/// The model, and the factors by which its classes change a flow's limit.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowConfig {
    /// Path of the model, which the caller reads.
    pub model: String,
    /// Factor for flows above their target, below 1.
    #[serde(default = "decrease", deserialize_with = "super::config::decrease")]
    pub decrease: f64,
    /// Factor for flows below their target, above 1.
    #[serde(default = "increase", deserialize_with = "super::config::increase")]
    pub increase: f64,
    /// Ratio of RTT to minimum RTT below which a path without losses is idle; 1 disables this.
    #[serde(default = "idle", deserialize_with = "super::config::idle")]
    pub idle: f64,
}

impl Rule for FlowConfig {
    fn policy(&self, classifier: &mut Option<Box<dyn Classify>>) -> Result<Box<dyn Policy>, ModelError> {
        let classifier = classifier.take().ok_or_else(|| ModelError::Missing(self.model.clone()))?;
        Ok(Box::new(FlowPolicy::new(self.clone(), classifier)))
    }

    fn group(&self) -> Option<Group> {
        None
    }

    fn has_model(&self) -> bool {
        true
    }

    fn examples() -> &'static [&'static str] {
        &["[flow]\nmodel = 'forest.json'\n"]
    }
}

impl FlowConfig {
    /// Returns the default configuration with `model`.
    pub fn with_model(model: &str) -> FlowConfig {
        FlowConfig { model: model.to_owned(), decrease: decrease(), increase: increase(), idle: idle() }
    }
}

fn decrease() -> f64 {
    0.8
}

fn increase() -> f64 {
    1.3
}

/// With an RTT of 20 ms, the 1 ms ticks of timestamps alone cause a ratio of 1.05.
fn idle() -> f64 {
    1.05
}

/// The loss feature that identifies an idle path, together with the RTT.
const LOSS: Feature = Feature::Window(WindowStat::LossRate, 8);
/// The policy's own features, before those of the classifier.
const OWN: [Feature; 2] = [THROUGHPUT, LOSS];

/// Limits the flows that a classifier finds above their target.
#[derive(Debug)]
pub struct FlowPolicy {
    config: FlowConfig,
    classifier: Box<dyn Classify>,
    flows: HashMap<FlowId, Held>,
}

/// State of a flow.
#[derive(Clone, Debug)]
struct Held {
    /// The limit, Mbit/s, if the flow is limited.
    target: Option<f64>,
    /// Number of rows of each class since the last decision.
    votes: [u32; 3],
    /// Time of the last decision, and its class.
    decided: Time,
    class: Option<Class>,
    unused: u32,
}

impl Held {
    fn new(now: Time) -> Held {
        Held { target: None, votes: [0; 3], decided: now, class: None, unused: 0 }
    }

    /// Returns the most frequent class; of equally frequent classes, the highest above the target.
    fn verdict(&self) -> Option<Class> {
        let classes = [Class::Below, Class::Near, Class::Above];
        let votes = classes.into_iter().zip(self.votes).filter(|(_, votes)| *votes > 0);
        votes.max_by_key(|(_, votes)| *votes).map(|(class, _)| class)
    }

    fn decide(&mut self, config: &FlowConfig, throughput: f64) {
        let Some(class) = self.verdict() else { return };
        self.class = Some(class);
        self.target = match (class, self.target) {
            (Class::Above, target) => Some(config.decrease * throughput.min(target.unwrap_or(f64::INFINITY))),
            (Class::Below, Some(target)) => Some(target.max(config.increase * throughput)),
            (_, target) => target,
        };
        let is_unused = class != Class::Above && self.target.is_some_and(|target| throughput < MIN_USED_SHARE * target);
        self.unused = if is_unused { self.unused + 1 } else { 0 };
        if self.unused >= MAX_UNUSED_DECISIONS {
            self.target = None;
        }
    }

    fn decision(&self, view: &View<'_>) -> Decision {
        match (self.target, self.class) {
            (Some(target), Some(class)) => Decision::hold(target, view, Why::Class { class }),
            (None, Some(_)) if self.unused >= MAX_UNUSED_DECISIONS => Decision::release(Why::Unused),
            (None, Some(class)) => Decision::release(Why::Class { class }),
            (_, None) => Decision::release(Why::TooYoung),
        }
    }
}

impl FlowPolicy {
    /// Creates the policy without state.
    pub fn new(config: FlowConfig, classifier: Box<dyn Classify>) -> FlowPolicy {
        FlowPolicy { config, classifier, flows: HashMap::new() }
    }

    fn one(&mut self, now: Time, view: &View<'_>, class: Class) -> Decision {
        let held = self.flows.entry(view.id).or_insert_with(|| Held::new(now));
        let rtts = (view.rtt(), view.monitor.rtt().min());
        let is_queueless =
            matches!(rtts, (Some(rtt), Some(min)) if rtt.as_secs_f64() < self.config.idle * min.as_secs_f64());
        let class = if is_queueless && view.values[1] == Some(0.0) { Class::Below } else { class };
        held.votes[class as usize] += 1;
        let (Some(throughput), (Some(rtt), Some(min_rtt))) = (view.values[0], rtts) else {
            return Decision::release(Why::TooYoung);
        };
        let measured: Dur = min_rtt * 8;
        if now.since(held.decided) >= measured + rtt {
            held.decide(&self.config, view.faded(throughput, measured, now));
            held.votes = [0; 3];
            held.decided = now;
        }
        held.decision(view)
    }

    /// An idle flow keeps its last decision, and is classified again when data arrives.
    fn idle(&mut self, now: Time, view: &View<'_>) -> Decision {
        let held = self.flows.entry(view.id).or_insert_with(|| Held::new(now));
        held.votes = [0; 3];
        held.decided = now;
        held.decision(view)
    }
}

impl Policy for FlowPolicy {
    fn features(&self) -> Vec<Feature> {
        let mut features = OWN.to_vec();
        features.extend(self.classifier.features());
        features
    }

    fn decide(&mut self, now: Time, flows: &[View<'_>]) -> Vec<Decision> {
        // An idle flow's last measurements are outdated, and an idle flow takes no share.
        let active = || flows.iter().filter(|view| !view.is_idle(now));
        let rows: Vec<&[Option<f64>]> = active().map(|view| &view.values[OWN.len()..]).collect();
        let mut classes = self.classifier.classify(&rows).into_iter().peekable();
        let decide = |view: &View<'_>| match classes.next_if(|_| !view.is_idle(now)) {
            Some(class) => self.one(now, view, class),
            None => self.idle(now, view),
        };
        let decisions = flows.iter().map(decide).collect();
        let living: HashSet<FlowId> = flows.iter().map(|view| view.id).collect();
        self.flows.retain(|id, _| living.contains(id));
        decisions
    }
}
