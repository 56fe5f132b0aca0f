//! A path for tests: flows that share one link of constant rate.

use crate::case::{Case, Path};
use crate::flow::Flow;
use crate::message;
use crate::quantity::parse;
use crate::repeat::first_difference;
use crate::runs::Runs;
use fairweir_units::{Dur, Size};

/// A path: a link of constant rate with a droptail queue that all flows share, and the times and seeds of its runs.
///
/// Quantities are texts with units, as in scenario files.
#[derive(Clone, Debug)]
pub struct Dumbbell {
    path: Path,
    seeds: Vec<u64>,
}

impl Dumbbell {
    /// Creates a path with a buffer of 1 BDP and no jitter; runs of 60 s, of which the last 40 s are measured, with the
    /// seeds 1 to 5.
    ///
    /// # Panics
    /// If `rate` is not a rate such as `"24Mbps"`, or `rtprop` not a time such as `"40ms"`. Rates and times of zero are
    /// rejected when a run starts.
    #[track_caller]
    pub fn new(rate: &str, rtprop: &str) -> Dumbbell {
        let path = Path {
            rate: parse("rate", rate),
            rtprop: parse("rtprop", rtprop),
            buffer: Size::MicroBdp(1_000_000),
            jitter: Dur::ZERO,
            duration: Dur::from_secs(60),
            warmup: Dur::from_secs(20),
        };
        Dumbbell { path, seeds: (1..=5).collect() }
    }

    /// Sets the capacity of the queue: `"1.5bdp"`, `"64KiB"`, `"100pkts"` or `"infinite"`. A BDP is that of the flow
    /// with the longest rtprop.
    ///
    /// # Panics
    /// If `size` is not a size.
    #[track_caller]
    pub fn buffer(mut self, size: &str) -> Dumbbell {
        self.path.buffer = parse("buffer", size);
        self
    }

    /// Delays every data packet after the link by a random time, uniform between 0 and `max`, without reordering.
    ///
    /// # Panics
    /// If `max` is not a time.
    #[track_caller]
    pub fn jitter(mut self, max: &str) -> Dumbbell {
        self.path.jitter = parse("jitter", max);
        self
    }

    /// Sets the length of a run, and the part at its start that is not measured.
    ///
    /// # Panics
    /// If one of them is not a time.
    #[track_caller]
    pub fn duration(mut self, duration: &str, warmup: &str) -> Dumbbell {
        self.path.duration = parse("duration", duration);
        self.path.warmup = parse("warmup", warmup);
        self
    }

    /// Sets the seeds. A seed determines start times, jitter, the order of simultaneous packets, and the random numbers
    /// of controllers; there is one run per seed.
    ///
    /// # Panics
    /// If there are none, or a seed is repeated: the interval would be too narrow.
    #[track_caller]
    pub fn seeds(mut self, seeds: impl IntoIterator<Item = u64>) -> Dumbbell {
        self.seeds = seeds.into_iter().collect();
        let mut sorted = self.seeds.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert!(!sorted.is_empty(), "seeds: there must be at least one");
        assert!(sorted.len() == self.seeds.len(), "seeds: each may occur once: {:?}", self.seeds);
        self
    }

    /// Runs `flow` alone.
    ///
    /// # Panics
    /// As [`Dumbbell::run`].
    #[track_caller]
    pub fn alone(&self, flow: &Flow) -> Runs {
        self.run(&[flow])
    }

    /// Runs `flow` and one `competitor`.
    ///
    /// # Panics
    /// As [`Dumbbell::run`].
    #[track_caller]
    pub fn against(&self, flow: &Flow, competitor: &Flow) -> Runs {
        self.run(&[flow, competitor])
    }

    /// Runs `flows` with each seed. The first flow is the one under test: metrics of a flow are about it.
    ///
    /// # Panics
    /// If the configuration is invalid, or a controller cannot be built or misbehaves; the message has the scenario.
    #[track_caller]
    pub fn run(&self, flows: &[&Flow]) -> Runs {
        let case = self.case(flows);
        let run =
            |&seed| case.simulate(seed).unwrap_or_else(|error| panic!("{}", message::of_error(&case, seed, &error)));
        let summaries = self.seeds.iter().map(run).collect();
        Runs { case, seeds: self.seeds.clone(), summaries }
    }

    /// Asserts that two runs with the same seed are identical, packet by packet, with every seed.
    ///
    /// A controller that reads a clock, iterates over a `HashMap` or shares state between flows does not pass, and no
    /// result about it can be repeated. The first four million events of packets are compared.
    ///
    /// # Panics
    /// If two runs differ; the message has the first difference. Also as [`Dumbbell::run`].
    #[track_caller]
    pub fn assert_repeatable(&self, flows: &[&Flow]) {
        let case = self.case(flows);
        for &seed in &self.seeds {
            match first_difference(&case, seed) {
                Ok(None) => {}
                Ok(Some(difference)) => panic!("{}", message::of_difference(&case, seed, &difference)),
                Err(error) => panic!("{}", message::of_error(&case, seed, &error)),
            }
        }
    }

    fn case(&self, flows: &[&Flow]) -> Case {
        Case { path: self.path.clone(), flows: flows.iter().map(|&flow| flow.clone()).collect() }
    }
}
