//! A path and the flows on it: what a seed makes a run of.

use crate::flow::Flow;
use fairweir_path::jitter::UniformConfig;
use fairweir_path::queue::DroptailConfig;
use fairweir_path::{ElementConfig, QueueConfig};
use fairweir_scenario::{Config, FlowSpec, Observer, Summary};
use fairweir_sim::{SimError, run_observed, run_with};
use fairweir_units::{Bytes, Dur, Rate, Size, Time};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use std::ops::ControlFlow;

/// Data packets of every run.
const PACKET: Bytes = Bytes(1500);
/// Flows start at random times within this interval, as in audits: simultaneous starts would synchronize them.
const START_SPREAD: Dur = Dur::from_secs(2);

/// The link that all flows share, and the times of a run.
#[derive(Clone, Debug)]
pub(crate) struct Path {
    pub(crate) rate: Rate,
    pub(crate) rtprop: Dur,
    pub(crate) buffer: Size,
    pub(crate) jitter: Dur,
    pub(crate) duration: Dur,
    pub(crate) warmup: Dur,
}

/// A path, and the flows on it; the first is the one under test.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    pub(crate) path: Path,
    pub(crate) flows: Vec<Flow>,
}

impl Case {
    pub(crate) fn simulate(&self, seed: u64) -> Result<Summary, SimError> {
        let build = |spec: &FlowSpec, start: &_| self.flow(&spec.id).controller(start);
        run_with(&self.config(seed), &build, &mut |_| ControlFlow::Continue(())).map(|outcome| outcome.summary)
    }

    pub(crate) fn observe(&self, seed: u64, observer: &mut dyn Observer) -> Result<(), SimError> {
        let build = |spec: &FlowSpec, start: &_| self.flow(&spec.id).controller(start);
        run_observed(&self.config(seed), &build, &mut |_| ControlFlow::Continue(()), observer).map(drop)
    }

    /// Returns the scenario of a run in base units, as `fairweir run` resolves the file of [`crate::replay`].
    fn config(&self, seed: u64) -> Config {
        let path = &self.path;
        let bdp = path.rate * self.flows.iter().map(|flow| self.rtprop(flow)).max().unwrap_or(path.rtprop);
        let queue = DroptailConfig { limit: path.buffer.resolve(PACKET, bdp), limit_packets: None };
        let specs = self.flows.iter().zip(self.ids()).zip(self.starts(seed)).map(|((flow, id), start)| {
            let mut spec = FlowSpec { id, start, ..FlowSpec::bulk(flow.name(), self.rtprop(flow)) };
            spec.receiver.ack_every = flow.packets_per_ack();
            if path.jitter > Dur::ZERO {
                spec.egress.push(ElementConfig::Uniform(UniformConfig { max: path.jitter }));
            }
            spec
        });
        let config = Config::dumbbell(path.rate, QueueConfig::Droptail(queue), specs.collect(), path.duration);
        Config { warmup: path.warmup, seed, ..config }
    }

    /// Returns the ids of the flows: the controller's name and a number.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.flows.iter().enumerate().map(|(index, flow)| format!("{}-{}", flow.name(), index + 1)).collect()
    }

    fn flow(&self, id: &str) -> &Flow {
        let index = self.ids().iter().position(|known| known == id);
        &self.flows[index.expect("the simulator starts the flows of the configuration")]
    }

    /// Returns the start times of the flows, in whole microseconds.
    pub(crate) fn starts(&self, seed: u64) -> Vec<Time> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut start = || Time::ZERO + Dur::from_micros(rng.random_range(0..START_SPREAD.as_micros()));
        self.flows.iter().map(|_| start()).collect()
    }

    pub(crate) fn rtprop(&self, flow: &Flow) -> Dur {
        flow.own_rtprop().unwrap_or(self.path.rtprop)
    }
}
