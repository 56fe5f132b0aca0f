//! rLEDBAT: background flows that yield when a queue builds up, limited by the receiver (RFC 9840).
//!
//! The window is LEDBAT++'s (draft-irtf-iccrg-ledbat-plus-plus). W is the window and `arrived` the data that arrived,
//! both in segments; q = RTT - minimum RTT; T = 60 ms:
//!
//! ```text
//! GAIN = 1 / min(16, ceil(2T / minimum RTT))
//! slow start, until q > 3T/4     W += GAIN · arrived
//! q < T, per RTT                 W += GAIN
//! otherwise, per RTT             W += max(GAIN - W (q/T - 1), -W/2)
//! loss, once per RTT             W /= 2
//! slowdown                       W = 2 for 2 RTTs, then slow start up to the earlier W; 1/10 of the time in total
//! ```
//!
//! A receiver does not see how the sender reacts to an ACK, so W changes with the data that arrives. A window that was
//! announced is not withdrawn: [`crate::Promise`] ensures this at each ACK.
//!
//! **Deviations**: decisions are made about every 100 ms, not for each segment, and each changes W for all data that
//! arrived since the previous decision. q is computed from the mean RTT over the last minimum RTT. The minimum RTT is
//! over the flow's lifetime, not over the last ten minutes.

use super::group::named;
use super::{Classify, Decision, Group, ModelError, Policy, Rule, View, Why};
use crate::features::{Feature, WindowStat};
use crate::flow::FlowId;
use crate::window::WindowTarget;
use fairweir_units::{Dur, Time};
use serde::Deserialize;
use std::collections::{HashMap, HashSet};

const TARGET: Dur = Dur::from_millis(60);
const MAX_GAIN_DIVISOR: f64 = 16.0;
const MIN_SEGMENTS: f64 = 2.0;
/// Queueing delay that ends the first slow start, as a fraction of the target.
const EXIT: f64 = 0.75;
/// Duration of a slowdown, and time from the end of the first slow start to the first slowdown, in RTTs.
const SLOWDOWN_RTTS: u64 = 2;
/// The next slowdown starts after this multiple of the time from the start of the slowdown to the end of the slow start
/// that follows, so slowdowns take a tenth of the time.
const SLOWDOWN_EVERY: u64 = 9;

/// Selection of background flows.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RledbatRule {
    /// Grouping that defines the services' names.
    pub group: Group,
    /// Apply only to flows of this service; to all flows if absent.
    pub service: Option<String>,
}

impl Rule for RledbatRule {
    fn policy(&self, _classifier: &mut Option<Box<dyn Classify>>) -> Result<Box<dyn Policy>, ModelError> {
        Ok(Box::new(Rledbat::new(self.clone())))
    }

    fn group(&self) -> Option<Group> {
        Some(self.group)
    }

    fn examples() -> &'static [&'static str] {
        &["[[rledbat]]\n[[cap]]\ngroup = 'flow'\nrate = '900Tbps'\n"]
    }
}

/// Makes background flows yield to others.
#[derive(Debug)]
pub struct Rledbat {
    rule: RledbatRule,
    flows: HashMap<FlowId, Background>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    SlowStart { until: f64 },
    Avoidance,
    Slowdown { end: Time, back_to: f64 },
}

#[derive(Clone, Copy, Debug)]
struct Background {
    /// Segments.
    window: f64,
    phase: Phase,
    /// Start of the present or the latest slowdown; before the first slowdown, of the first slow start.
    began: Time,
    next_slowdown: Time,
    place: u64,
    lost: u64,
    reduced: Time,
}

/// Inputs of one decision.
#[derive(Clone, Copy, Debug)]
struct Sight {
    now: Time,
    rtt: Dur,
    min_rtt: Dur,
    place: u64,
    lost: u64,
}

impl Sight {
    fn queue(&self) -> f64 {
        self.rtt.saturating_sub(self.min_rtt).as_secs_f64() / TARGET.as_secs_f64()
    }

    fn gain(&self) -> f64 {
        let divisor = (2.0 * TARGET.as_secs_f64() / self.min_rtt.as_secs_f64()).ceil();
        1.0 / divisor.clamp(1.0, MAX_GAIN_DIVISOR)
    }
}

impl Background {
    fn new(sight: &Sight) -> Background {
        Background {
            window: MIN_SEGMENTS,
            phase: Phase::SlowStart { until: f64::INFINITY },
            began: sight.now,
            next_slowdown: Time::NEVER,
            place: sight.place,
            lost: sight.lost,
            reduced: sight.now,
        }
    }

    fn step(&mut self, sight: &Sight) {
        let arrived = (sight.place - self.place) as f64;
        let has_lost = sight.lost > self.lost;
        (self.place, self.lost) = (sight.place, sight.lost);
        match self.phase {
            Phase::Slowdown { end, back_to } => {
                if sight.now >= end {
                    self.phase = Phase::SlowStart { until: back_to };
                }
            }
            Phase::SlowStart { until } => {
                self.window = (self.window + sight.gain() * arrived).min(until);
                let is_congested = until.is_infinite() && sight.queue() > EXIT;
                if self.window >= until || is_congested || has_lost {
                    self.leave_slow_start(until, sight);
                }
            }
            Phase::Avoidance if sight.now >= self.next_slowdown => {
                self.phase = Phase::Slowdown { end: sight.now + sight.rtt * SLOWDOWN_RTTS, back_to: self.window };
                self.began = sight.now;
                self.window = MIN_SEGMENTS;
            }
            Phase::Avoidance => self.avoid(arrived, sight),
        }
        if has_lost && sight.now.since(self.reduced) >= sight.rtt && self.phase == Phase::Avoidance {
            self.window /= 2.0;
            self.reduced = sight.now;
        }
        self.window = self.window.max(MIN_SEGMENTS);
    }

    fn leave_slow_start(&mut self, until: f64, sight: &Sight) {
        self.phase = Phase::Avoidance;
        let wait =
            if until.is_infinite() { sight.rtt * SLOWDOWN_RTTS } else { sight.now.since(self.began) * SLOWDOWN_EVERY };
        self.next_slowdown = sight.now + wait;
    }

    fn avoid(&mut self, arrived: f64, sight: &Sight) {
        // The arrivals as a fraction of a window are the elapsed part of an RTT. Arrivals of more than one window
        // between decisions count as one RTT.
        let rtts = (arrived / self.window).min(1.0);
        let (gain, over) = (sight.gain(), sight.queue() - 1.0);
        let change = if over < 0.0 { gain } else { (gain - self.window * over).max(-self.window / 2.0) };
        self.window += change * rtts;
    }
}

impl Rledbat {
    /// Creates the policy of one rule.
    pub fn new(rule: RledbatRule) -> Rledbat {
        Rledbat { rule, flows: HashMap::new() }
    }

    fn one(&mut self, now: Time, view: &View<'_>) -> Option<Decision> {
        let service = named(self.rule.group, self.rule.service.as_deref(), view)?;
        let (rtt, min_rtt) = (Dur::from_nanos((view.values[0]? * 1e3) as u64), view.monitor.rtt().min()?);
        let sight = Sight { now, rtt, min_rtt, place: view.monitor.place(), lost: view.monitor.lost() };
        let flow = self.flows.entry(view.id).or_insert_with(|| Background::new(&sight));
        flow.step(&sight);
        let mss = view.monitor.mss().max(super::ETHERNET_MSS);
        let window = WindowTarget::from_bytes((flow.window * f64::from(mss)) as u64, mss);
        let qdelay = rtt.saturating_sub(min_rtt);
        let why = Why::Background { service, qdelay };
        Some(Decision { window: Some(window), rate_mbps: None, why })
    }
}

impl Policy for Rledbat {
    fn features(&self) -> Vec<Feature> {
        vec![Feature::Window(WindowStat::Rtt, 1)]
    }

    fn decide(&mut self, now: Time, flows: &[View<'_>]) -> Vec<Decision> {
        let decide = |view| self.one(now, view).unwrap_or_else(|| Decision::release(Why::Unmanaged));
        let decisions = flows.iter().map(decide).collect();
        let living: HashSet<FlowId> = flows.iter().map(|view| view.id).collect();
        self.flows.retain(|id, _| living.contains(id));
        decisions
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sight(ms: u64, rtt_ms: u64, place: u64, lost: u64) -> Sight {
        let (rtt, min_rtt) = (Dur::from_millis(rtt_ms), Dur::from_millis(30));
        Sight { now: Time::ZERO + Dur::from_millis(ms), rtt, min_rtt, place, lost }
    }

    #[test]
    fn slow_start_ends_with_the_queue_and_a_slowdown_follows() {
        let mut flow = Background::new(&sight(0, 30, 0, 0));
        // GAIN is 1 / ceil(120 / 30).
        flow.step(&sight(100, 30, 100, 0));
        assert_eq!(flow.window, 27.0);
        flow.step(&sight(200, 76, 200, 0));
        assert_eq!((flow.window, flow.phase), (52.0, Phase::Avoidance));
        flow.step(&sight(300, 30, 252, 0));
        assert_eq!(flow.window, 52.25, "one RTT's arrivals");
        flow.step(&sight(400, 30, 300, 0));
        assert_eq!(flow.window, 2.0, "two RTTs after slow start");
        flow.step(&sight(460, 30, 301, 0));
        flow.step(&sight(500, 30, 701, 0));
        assert_eq!((flow.window, flow.phase), (52.25, Phase::Avoidance), "back where it was");
        assert_eq!(flow.next_slowdown, Time::ZERO + Dur::from_millis(500 + 9 * 100));
    }

    #[test]
    fn it_yields_in_proportion_to_the_queue_but_halves_at_most() {
        let mut flow = Background { phase: Phase::Avoidance, window: 40.0, ..Background::new(&sight(0, 30, 0, 0)) };
        flow.step(&sight(100, 105, 1000, 0));
        assert_eq!(flow.window, 40.0 + 0.25 - 40.0 * 0.25, "75 ms of queue");
        flow.step(&sight(200, 300, 2000, 0));
        assert_eq!(flow.window, 30.25 / 2.0);
        flow.step(&sight(300, 30, 2000, 1));
        assert_eq!(flow.window, 30.25 / 4.0, "a loss");
        flow.step(&sight(320, 30, 2000, 2));
        assert_eq!(flow.window, 30.25 / 4.0, "within the same RTT");
        for i in 0..10 {
            flow.step(&sight(400 + 100 * i, 300, 3000 + 100 * i, 2));
        }
        assert_eq!(flow.window, 2.0);
    }
}
