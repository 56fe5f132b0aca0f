//! Objectives as data: components in order of importance, each a weighted sum of a line's outcome.
//!
//! A sum is rounded to multiples of its quantum and compared as an integer, so that the order is exact, ties are the
//! same on every machine, and irrelevant differences do not decide.

use serde::{Deserialize, Serialize};

/// The maximum number of components of a phase.
pub const MAX_COMPONENTS: usize = 8;

/// Stands for a step that did not occur.
pub const NEVER: f64 = 99.0;

macro_rules! metrics {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// Measurements of a line at the end of the search's horizon.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Metric { $($(#[$doc])* $variant),* }

        impl Metric {
            /// All, in the order of [`Outcome`]'s array.
            pub const ALL: &[Metric] = &[$(Metric::$variant),*];

            /// The name in query files.
            pub fn name(self) -> &'static str {
                match self { $(Metric::$variant => $name),* }
            }
        }
    };
}

metrics! {
    /// Batches that were lost or came after the deadline.
    LateFrames = "late_frames",
    /// 1 while max C is at the model's cap: the link is not known.
    MaxCUnknown = "max_c_unknown",
    /// The step at which the range of C first shrank, 99 if never.
    ShrinkStep = "shrink_step",
    /// The step at which min(C + B) first rose by `raise_packets`, 99 if never.
    RaiseStep = "raise_step",
    /// Width of C's range, over the starting M.
    Width = "width",
    /// Batches received in time.
    ReceivedFrames = "received_frames",
    /// Message packets received in time (quality), over the starting M.
    ReceivedMessage = "received_message",
    /// Batches in flight at the horizon, which cannot have been received yet.
    FramesInFlight = "frames_in_flight",
    /// Batches never sent.
    DroppedFrames = "dropped_frames",
    /// Waiting batches beyond the first, which every pipeline has.
    Backlog = "backlog",
    /// Sum of the ages of the received batches, steps.
    Delay = "delay",
    /// Max queue, over the starting M: steps at the minimum capacity.
    Queue = "queue",
    /// The queue beyond `queue_steps`, in steps.
    QueueExcess = "queue_excess",
    /// Min C over the starting M.
    MinC = "min_c",
    /// Min(C + B) over the starting M.
    MinCPlusB = "min_c_plus_b",
    /// Packets known to be lost, over the starting M.
    Lost = "lost",
    /// 1 if more than `tolerance_packets` and `tolerance_steps` together are known to be lost.
    LostTooMuch = "lost_too_much",
    /// Packets delivered, over the starting M.
    Delivered = "delivered",
    /// Packets sent and neither delivered nor known to be lost, over the starting M.
    InFlight = "in_flight",
}

/// The number of metrics.
pub const METRICS: usize = Metric::ALL.len();

/// Outcome of a line, in the order of [`Metric::ALL`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Outcome(pub [f64; METRICS]);

impl Outcome {
    /// An outcome with all metrics zero.
    pub const fn zero() -> Outcome {
        Outcome([0.0; METRICS])
    }

    /// Set one metric.
    #[inline]
    pub fn set(&mut self, metric: Metric, value: f64) {
        self.0[metric as usize] = value;
    }
}

/// The value of a line: the controller minimises it, component by component.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub [i32; MAX_COMPONENTS]);

impl Value {
    /// Smaller (better) than every value.
    pub const MIN: Value = Value([i32::MIN; MAX_COMPONENTS]);
    /// Larger (worse) than every value.
    pub const MAX: Value = Value([i32::MAX; MAX_COMPONENTS]);
}

/// A component: the sum of `weight x metric`, at most `max`, in multiples of `quantum`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// A name for explanations.
    pub name: String,
    /// Weights of metrics.
    #[serde(with = "terms")]
    pub terms: Vec<(Metric, f64)>,
    /// Differences below this do not matter, in the unit of the sum.
    pub quantum: f64,
    /// Upper bound on the sum.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max: Option<f64>,
    /// The reason, for documentation.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
}

mod terms {
    use super::Metric;
    use serde::de::{Deserialize, Deserializer, Error};
    use serde::ser::{Serialize, Serializer};
    use std::collections::BTreeMap;

    pub fn serialize<S: Serializer>(terms: &[(Metric, f64)], s: S) -> Result<S::Ok, S::Error> {
        terms.iter().map(|(m, w)| (m.name(), *w)).collect::<BTreeMap<_, _>>().serialize(s)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<(Metric, f64)>, D::Error> {
        let named = BTreeMap::<String, f64>::deserialize(d)?;
        let find = |name: &str| {
            Metric::ALL.iter().find(|m| m.name() == name).copied().ok_or_else(|| {
                let names: Vec<_> = Metric::ALL.iter().map(|m| m.name()).collect();
                D::Error::custom(format!("unknown metric `{name}`, expected one of {}", names.join(", ")))
            })
        };
        // Summed in the order of `Metric`, so that the same query gives the same bits.
        let mut terms =
            named.into_iter().map(|(name, w)| Ok((find(&name)?, w))).collect::<Result<Vec<_>, D::Error>>()?;
        terms.sort_unstable_by_key(|(m, _)| *m as usize);
        Ok(terms)
    }
}

/// Rounding is shifted by this share of a quantum, so that sums that lie halfway fall to one side for any last bit.
const HALFWAY: f64 = 1e-6;

impl Component {
    fn of(&self, outcome: &Outcome) -> i32 {
        let sum = self.terms.iter().fold(0.0, |sum, &(m, w)| sum + w * outcome.0[m as usize]);
        let sum = self.max.map_or(sum, |max| sum.min(max));
        // `as` saturates.
        (sum / self.quantum + 0.5 + HALFWAY).floor() as i32
    }
}

/// Numbers that metrics depend on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// A batch decoded later than this since its encoding began is late, steps.
    pub deadline_steps: u32,
    /// A waiting batch older than this is dropped, steps.
    pub stale_steps: u32,
    /// Minimum gain of min(C + B) that counts as raised, packets.
    pub raise_packets: f64,
    /// Queue above which the excess counts, in steps at the minimum capacity.
    pub queue_steps: f64,
    /// Losses within the horizon that do not count as too much, packets.
    pub tolerance_packets: f64,
    /// Additional tolerance, in steps of the starting M.
    #[serde(default)]
    pub tolerance_steps: f64,
}

/// An objective: two phases, since a controller that knows the link should stop measuring it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Numbers that metrics depend on.
    pub limits: Limits,
    /// Until max C is held.
    pub searching: Vec<Component>,
    /// While max C is held.
    pub converged: Vec<Component>,
}

impl Objective {
    /// The components of a phase.
    pub fn phase(&self, is_converged: bool) -> &[Component] {
        if is_converged { &self.converged } else { &self.searching }
    }

    /// Returns the value of an outcome.
    pub fn value(&self, is_converged: bool, outcome: &Outcome) -> Value {
        let mut value = Value([0; MAX_COMPONENTS]);
        for (v, component) in value.0.iter_mut().zip(self.phase(is_converged)) {
            *v = component.of(outcome);
        }
        value
    }

    /// Check that both phases can be compared.
    ///
    /// # Errors
    /// Key, what is wrong, and a hint.
    pub fn check(&self) -> Result<(), (String, String, &'static str)> {
        let l = &self.limits;
        for (key, n) in [("deadline_steps", l.deadline_steps), ("stale_steps", l.stale_steps)] {
            if !(1..=20).contains(&n) {
                return Err((format!("objective.limits.{key}"), format!("`{n}` is not 1 to 20"), "write steps"));
            }
        }
        for (key, x) in [
            ("raise_packets", l.raise_packets),
            ("queue_steps", l.queue_steps),
            ("tolerance_packets", l.tolerance_packets),
            ("tolerance_steps", l.tolerance_steps),
        ] {
            if !(x.is_finite() && x >= 0.0) {
                let reason = format!("`{x}` is not a finite number from 0 on");
                return Err((format!("objective.limits.{key}"), reason, "write packets or steps"));
            }
        }
        for (phase, components) in [("searching", &self.searching), ("converged", &self.converged)] {
            let key = format!("objective.{phase}");
            if components.is_empty() || components.len() > MAX_COMPONENTS {
                let reason = format!("{} components, expected 1 to {MAX_COMPONENTS}", components.len());
                return Err((key, reason, "list what matters, most important first"));
            }
            for (i, c) in components.iter().enumerate() {
                let key = format!("{key}[{i}]");
                if c.terms.is_empty() || c.terms.iter().any(|(_, w)| !w.is_finite()) {
                    return Err((
                        format!("{key}.terms"),
                        "no weight, or one that is not finite".into(),
                        "write { late_frames = 1 }",
                    ));
                }
                if !(c.quantum.is_finite() && c.quantum > 0.0) {
                    return Err((
                        format!("{key}.quantum"),
                        format!("`{}` is not positive", c.quantum),
                        "write what does not matter",
                    ));
                }
                if c.max.is_some_and(|max| !max.is_finite()) {
                    return Err((format!("{key}.max"), "not finite".into(), "leave it out for no maximum"));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn component(terms: Vec<(Metric, f64)>, quantum: f64, max: Option<f64>) -> Component {
        Component { name: "c".into(), terms, quantum, max, why: String::new() }
    }

    #[test]
    fn a_metric_has_the_name_that_files_use() {
        for m in Metric::ALL {
            assert_eq!(serde_json::to_value(m).unwrap(), m.name());
        }
    }

    #[test]
    fn sums_are_rounded_capped_and_compared_in_order() {
        let mut o = Outcome::zero();
        o.set(Metric::LateFrames, 3.0);
        o.set(Metric::Queue, 0.3);
        assert_eq!(component(vec![(Metric::LateFrames, 1.0)], 1.0, Some(1.0)).of(&o), 1);
        assert_eq!(component(vec![(Metric::LateFrames, -0.5), (Metric::Queue, 10.0)], 0.25, None).of(&o), 6);
        for last_bit in [0.3, 0.3 - f64::EPSILON, 0.3 + f64::EPSILON] {
            o.set(Metric::Queue, last_bit);
            assert_eq!(component(vec![(Metric::Queue, 5.0)], 1.0, None).of(&o), 2, "1.5 rounds to one side");
        }
        assert!(Value([0, 5, 0, 0, 0, 0, 0, 0]) < Value([1, 0, 0, 0, 0, 0, 0, 0]));
    }
}
