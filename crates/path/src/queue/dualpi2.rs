//! Coupled dual queue: a queue of low latency for L4S traffic (L) next to a queue for other traffic (C), whose PI2
//! controller also marks in L.
//!
//! Packets with ECT(1) wait in L, all others in C. Every `update` the base probability p' follows the larger delay q of
//! the two queues; packets are decided on when they are dequeued:
//!
//! ```text
//! p' += alpha (q - target) + beta (q - q before), within [0, 1]
//! C:  mark with p'^2, or drop if not ECN-capable
//! L:  mark with max(native, k p'); native rises from 0 to 1 while the packet's delay is in
//!     [l_threshold, l_threshold + l_range]: a step if l_range is 0
//! overload, k p' >= 1:  C drops with p'^2; L drops with p'^2 and marks all others
//! ```
//!
//! Windows of Reno, W = sqrt(2) / sqrt(p_C), and of a scalable controller, W = 2 / p_L, are then alike: p_L = k sqrt(p_C).
//! Two queues with packets share the link by weighted round robin: L is served until C has a credit of `classic_weight` of
//! the bytes.
//!
//! **Source**: RFC 9332 sections 2.5 and 4, appendices A.1 and A.2; defaults and the scheduler of Linux's
//! `sch_dualpi2.c` (6.17). De Schepper et al., "PI2: A Linearized AQM for both Classic and Scalable TCP", CoNEXT 2016.
//!
//! **Deviations**: the queue of a packet depends on the codepoint that its sender set: one that an earlier hop has marked
//! (CE) stays in its flow's queue, where the RFC has it in L, because no element reorders a flow. A packet is chosen with
//! its probability independently of others (Linux), not at equal distances (the RFC's `recur`), which flows could lock to.
//! p' is computed exactly, in units of 10^-18, and only when a packet leaves, for all update times since the last one.

use super::limit::Limit;
use super::{Admission, Backlog, Class, Heads, Queue, QueueSpec};
use crate::error::{check_dur, check_limit, check_packet, check_probability};
use crate::{ConfigError, Packet};
use fairweir_units::{Bytes, Dur, Time};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::fmt::Display;
use std::ops::RangeInclusive;

/// Parameters of [`Dualpi2`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dualpi2Config {
    /// Delay that the PI controller aims at.
    #[serde(default = "default_target")]
    pub target: Dur,
    /// Time between updates of the base probability.
    #[serde(default = "default_update")]
    pub update: Dur,
    /// Integral gain, in 10^-9 Hz.
    #[serde(default = "default_alpha")]
    pub alpha_nanohertz: u64,
    /// Proportional gain, in 10^-9 Hz.
    #[serde(default = "default_beta")]
    pub beta_nanohertz: u64,
    /// k: marking probability in L divided by the base probability.
    #[serde(default = "default_coupling")]
    pub coupling: u64,
    /// Delay in L above which packets are marked natively.
    #[serde(default = "default_l_threshold")]
    pub l_threshold: Dur,
    /// Range of delays over which the probability of a native mark rises to 1.
    #[serde(default)]
    pub l_range: Dur,
    /// Weight of C when both queues have packets, in units of 10^-9.
    #[serde(default = "default_classic_weight")]
    pub classic_weight_per_billion: u32,
    /// Size of a full packet.
    #[serde(default = "default_packet")]
    pub packet: Bytes,
    /// Maximum bytes held in both queues; unlimited if absent.
    #[serde(default)]
    pub limit: Option<Bytes>,
    /// Maximum packets held in both queues; unlimited if absent.
    #[serde(default)]
    pub limit_packets: Option<u64>,
}

fn default_target() -> Dur {
    Dur::from_millis(15)
}
fn default_update() -> Dur {
    Dur::from_millis(16)
}
fn default_alpha() -> u64 {
    160_000_000
}
fn default_beta() -> u64 {
    3_200_000_000
}
fn default_coupling() -> u64 {
    2
}
fn default_l_threshold() -> Dur {
    Dur::from_millis(1)
}
fn default_classic_weight() -> u32 {
    100_000_000
}
fn default_packet() -> Bytes {
    Bytes(1500)
}

// Bounds with which a packet needs at most about 10^5 updates, after any pause.
const TARGETS: RangeInclusive<Dur> = Dur::from_nanos(1)..=Dur::from_secs(10);
const UPDATES: RangeInclusive<Dur> = Dur::from_micros(100)..=Dur::from_secs(366 * 86_400);
const GAINS_NANOHERTZ: RangeInclusive<u64> = 1_000_000..=1_000_000_000_000_000;

impl Default for Dualpi2Config {
    fn default() -> Dualpi2Config {
        Dualpi2Config {
            target: default_target(),
            update: default_update(),
            alpha_nanohertz: default_alpha(),
            beta_nanohertz: default_beta(),
            coupling: default_coupling(),
            l_threshold: default_l_threshold(),
            l_range: Dur::ZERO,
            classic_weight_per_billion: default_classic_weight(),
            packet: default_packet(),
            limit: None,
            limit_packets: None,
        }
    }
}

impl Dualpi2Config {
    /// Checks the configuration.
    ///
    /// # Errors
    /// Times, gains, weights or limits that are out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_within("target", self.target, TARGETS)?;
        check_within("update", self.update, UPDATES)?;
        check_within("alpha_nanohertz", self.alpha_nanohertz, GAINS_NANOHERTZ)?;
        check_within("beta_nanohertz", self.beta_nanohertz, GAINS_NANOHERTZ)?;
        check_within("coupling", self.coupling, 1..=255)?;
        check_dur("l_threshold", self.l_threshold)?;
        check_dur("l_range", self.l_range)?;
        check_probability("classic_weight_per_billion", self.classic_weight_per_billion)?;
        check_packet("packet", self.packet)?;
        check_limit(self.limit, self.limit_packets)
    }
}

fn check_within<T: PartialOrd + Display>(key: &str, value: T, range: RangeInclusive<T>) -> Result<(), ConfigError> {
    const HINT: &str = "without the key it has the value of Linux's sch_dualpi2";
    if range.contains(&value) {
        return Ok(());
    }
    let reason = format!("must be between {} and {}: `{value}`", range.start(), range.end());
    Err(ConfigError::new(key, reason, HINT))
}

impl QueueSpec for Dualpi2Config {
    fn validate(&self) -> Result<(), ConfigError> {
        Dualpi2Config::validate(self)
    }

    fn build(&self, rng: ChaCha8Rng) -> Box<dyn Queue> {
        Box::new(Dualpi2::new(self, rng))
    }

    fn examples() -> &'static [&'static str] {
        &[
            r#"{"kind": "dualpi2", "limit": 90000}"#,
            r#"{"kind": "dualpi2", "target": 5000000, "update": 4000000, "alpha_nanohertz": 400000000,
                "beta_nanohertz": 9000000000, "coupling": 2, "l_threshold": 800000, "l_range": 400000,
                "classic_weight_per_billion": 100000000, "limit_packets": 90}"#,
        ]
    }
}

/// Probability 1. A gain in 10^-9 Hz times a delay in ns is a probability in this unit.
const ONE: i128 = 1_000_000_000_000_000_000;
/// Sum of the weights of C and L.
const WEIGHTS: i64 = 1_000_000_000;

/// The PI controller of the base probability p'.
#[derive(Clone, Debug)]
struct BaseProbability {
    target: i128,
    update: Dur,
    alpha: i128,
    beta: i128,
    /// p', in units of 1 / [`ONE`].
    value: i128,
    /// Time of the last update, and the delay then, ns.
    updated: Time,
    delay: i128,
}

impl BaseProbability {
    fn new(config: &Dualpi2Config) -> BaseProbability {
        BaseProbability {
            target: i128::from(config.target.as_nanos()),
            update: config.update,
            alpha: i128::from(config.alpha_nanohertz),
            beta: i128::from(config.beta_nanohertz),
            value: 0,
            updated: Time::ZERO,
            delay: 0,
        }
    }

    /// Makes the updates up to `now`. The heads of the queues have not changed since the last one, except that the first
    /// packet of an empty queue has arrived; `oldest` is the earlier arrival of the two heads.
    fn advance(&mut self, now: Time, oldest: Time) {
        while self.updated.after(self.update) <= now {
            let at = self.updated.after(self.update);
            if self.delay == 0 && at <= oldest {
                // No packet waits, so each update subtracts the same.
                let updates = now.min(oldest).since(self.updated).as_nanos() / self.update.as_nanos();
                self.value = (self.value - self.alpha * self.target * i128::from(updates)).max(0);
                self.updated = self.updated.after(self.update * updates);
                continue;
            }
            let delay = i128::from(at.since(oldest).as_nanos());
            let change = self.alpha * (delay - self.target) + self.beta * (delay - self.delay);
            self.value = (self.value + change).clamp(0, ONE);
            (self.updated, self.delay) = (at, delay);
            if self.value == ONE && delay >= self.target {
                // The same head waits longer and longer: p' stays.
                let updates = now.since(at).as_nanos() / self.update.as_nanos();
                self.updated = at.after(self.update * updates);
                self.delay = i128::from(self.updated.since(oldest).as_nanos());
            }
        }
    }
}

/// The coupled dual queue in integer arithmetic.
#[derive(Clone, Debug)]
pub struct Dualpi2 {
    limit: Limit,
    coupling: i128,
    l_threshold: Dur,
    l_range: Dur,
    classic_weight: i64,
    base: BaseProbability,
    /// Credit of C, in bytes times weight: C is served if it is positive.
    credit: i64,
    /// Credit after an idle period: L is served first.
    first_credit: i64,
    /// Credit of C per byte of the packet that is about to leave.
    credit_per_byte: i64,
    rng: ChaCha8Rng,
}

impl Dualpi2 {
    /// The queue for `config`, which must be valid.
    pub fn new(config: &Dualpi2Config, rng: ChaCha8Rng) -> Dualpi2 {
        let classic_weight = i64::from(config.classic_weight_per_billion);
        let first_credit = config.packet.0 as i64 * (2 * classic_weight - WEIGHTS);
        Dualpi2 {
            limit: Limit::new(config.limit, config.limit_packets),
            coupling: i128::from(config.coupling),
            l_threshold: config.l_threshold,
            l_range: config.l_range,
            classic_weight,
            base: BaseProbability::new(config),
            credit: first_credit,
            first_credit,
            credit_per_byte: 0,
            rng,
        }
    }

    /// Returns true with `probability`.
    fn roll(&mut self, probability: i128) -> bool {
        (i128::from(self.rng.next_u64()) * ONE) >> 64 < probability
    }

    /// Returns true with probability p'^2.
    fn roll_squared(&mut self) -> bool {
        self.roll(self.base.value) && self.roll(self.base.value)
    }

    /// RFC 9332 appendix A.1, `laqm`: the probability of a native mark in L after a delay of `sojourn`.
    fn native(&self, sojourn: Dur) -> i128 {
        if sojourn >= self.l_threshold + self.l_range {
            return ONE;
        }
        let above = sojourn.saturating_sub(self.l_threshold);
        i128::from(above.as_nanos()) * ONE / i128::from(self.l_range.as_nanos().max(1))
    }

    /// Decides on a packet of L; `others` is the number of packets behind it.
    fn decide_l4s(&mut self, sojourn: Dur, others: u64) -> Admission {
        let coupled = self.coupling * self.base.value;
        if coupled >= ONE {
            return if self.roll_squared() { Admission::Drop } else { Admission::Mark };
        }
        // RFC 9332 appendix A.2: no native mark in a queue of one packet, which may take longer than the threshold to send
        let native = if others > 0 { self.native(sojourn) } else { 0 };
        if self.roll(native.max(coupled)) { Admission::Mark } else { Admission::Accept }
    }

    fn decide_classic(&mut self, packet: &Packet) -> Admission {
        let is_overloaded = self.coupling * self.base.value >= ONE;
        match (self.roll_squared(), packet.ecn.is_capable() && !is_overloaded) {
            (false, _) => Admission::Accept,
            (true, true) => Admission::Mark,
            (true, false) => Admission::Drop,
        }
    }
}

impl Queue for Dualpi2 {
    fn admit(&mut self, _now: Time, packet: &Packet, backlog: Backlog) -> Admission {
        if self.limit.has_room(packet, backlog) { Admission::Accept } else { Admission::Drop }
    }

    fn on_idle(&mut self, _idle: Dur) {
        self.credit = self.first_credit;
    }

    fn decides_on_leave(&self) -> bool {
        true
    }

    fn has_classes(&self) -> bool {
        true
    }

    fn next(&mut self, now: Time, heads: Heads) -> Class {
        let arrival = |class| heads[class as usize].unwrap_or(Time::NEVER);
        self.base.advance(now, arrival(Class::Classic).min(arrival(Class::L4s)));
        let (class, credit_per_byte) = match heads {
            [Some(_), None] => (Class::Classic, 0),
            [Some(_), Some(_)] if self.credit > 0 => (Class::Classic, self.classic_weight - WEIGHTS),
            [Some(_), Some(_)] => (Class::L4s, self.classic_weight),
            [None, _] => (Class::L4s, 0),
        };
        self.credit_per_byte = credit_per_byte;
        class
    }

    fn leave(&mut self, _now: Time, packet: &Packet, sojourn: Dur, backlog: Backlog) -> Admission {
        let admission = match Class::of(packet) {
            Class::L4s => self.decide_l4s(sojourn, backlog.packets),
            Class::Classic => self.decide_classic(packet),
        };
        if admission != Admission::Drop {
            self.credit += self.credit_per_byte * packet.bytes.0 as i64;
        }
        admission
    }
}

#[cfg(test)]
mod tests;
