//! Objectives as data. A *line of play* is a sequence of moves of the controller and the network. An objective is a
//! list of components in order of importance; each is a weighted sum of metrics of a line of play.
//!
//! A sum is rounded to multiples of its quantum and compared as an integer. The order is therefore exact, ties are the
//! same on every machine, and irrelevant differences have no effect. M is the minimum capacity of the belief, in
//! packets per step; the initial M is that of the belief at the start of the search.

use serde::{Deserialize, Serialize};

/// The maximum number of components of a phase.
pub const MAX_COMPONENTS: usize = 8;

/// Value of `shrink_step` and `raise_step` if the event did not occur.
pub const NEVER: f64 = 99.0;

macro_rules! metrics {
    ($($(#[$doc:meta])* $variant:ident = $name:literal),* $(,)?) => {
        /// Metrics of a line of play at the end of the search's horizon.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Metric { $($(#[$doc])* $variant),* }

        impl Metric {
            /// All metrics, in the order of [`Outcome`]'s array.
            pub const ALL: &[Metric] = &[$(Metric::$variant),*];

            /// Returns the name in query files.
            pub fn name(self) -> &'static str {
                match self { $(Metric::$variant => $name),* }
            }
        }
    };
}

metrics! {
    /// Batches that were lost or received after the deadline.
    LateFrames = "late_frames",
    /// 1 while max C is the model's maximum: the capacity is unknown.
    MaxCUnknown = "max_c_unknown",
    /// The step at which the range of C first shrank; 99 if it did not.
    ShrinkStep = "shrink_step",
    /// The step at which min(C + B) first rose by `raise_packets`; 99 if it did not.
    RaiseStep = "raise_step",
    /// Width of C's range, divided by the initial M.
    Width = "width",
    /// Batches received in time.
    ReceivedFrames = "received_frames",
    /// Message packets received in time (quality), divided by the initial M.
    ReceivedMessage = "received_message",
    /// Batches in flight at the horizon.
    FramesInFlight = "frames_in_flight",
    /// Batches never sent.
    DroppedFrames = "dropped_frames",
    /// Number of waiting batches beyond the first, which is not a backlog.
    Backlog = "backlog",
    /// Sum of the ages of the received batches, steps.
    Delay = "delay",
    /// Maximum queue divided by the initial M.
    Queue = "queue",
    /// Maximum queue divided by the initial M, minus `queue_steps`; 0 if negative.
    QueueExcess = "queue_excess",
    /// Min C divided by the initial M.
    MinC = "min_c",
    /// Min(C + B) divided by the initial M.
    MinCPlusB = "min_c_plus_b",
    /// Packets known to be lost, divided by the initial M.
    Lost = "lost",
    /// 1 if more packets are known to be lost than `tolerance_packets` plus `tolerance_steps` times the initial M.
    LostTooMuch = "lost_too_much",
    /// Packets delivered, divided by the initial M.
    Delivered = "delivered",
    /// Packets sent and neither delivered nor known to be lost, divided by the initial M.
    InFlight = "in_flight",
}

/// The number of metrics.
pub const METRICS: usize = Metric::ALL.len();

/// Outcome of a line of play, in the order of [`Metric::ALL`].
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

/// The value of a line of play. The controller minimizes it, in lexicographic order of the components.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub [i32; MAX_COMPONENTS]);

impl Value {
    /// Smaller (better) than every value.
    pub const MIN: Value = Value([i32::MIN; MAX_COMPONENTS]);
    /// Larger (worse) than every value.
    pub const MAX: Value = Value([i32::MAX; MAX_COMPONENTS]);
}

/// A component: the sum of weight times metric, at most `max`, rounded to a multiple of `quantum`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Component {
    /// Name in explanations.
    pub name: String,
    /// Weights of metrics.
    #[serde(with = "terms")]
    pub terms: Vec<(Metric, f64)>,
    /// Rounding unit, in the unit of the sum; smaller differences have no effect.
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
        // Summed in the order of `Metric`, so that the same query always gives the same bits.
        let mut terms =
            named.into_iter().map(|(name, w)| Ok((find(&name)?, w))).collect::<Result<Vec<_>, D::Error>>()?;
        terms.sort_unstable_by_key(|(m, _)| *m as usize);
        Ok(terms)
    }
}

/// Sums are shifted by this fraction of a quantum, so that a sum halfway between two multiples is rounded independently
/// of its last bit.
const HALFWAY: f64 = 1e-6;

impl Component {
    fn of(&self, outcome: &Outcome) -> i32 {
        let sum = self.terms.iter().fold(0.0, |sum, &(m, w)| sum + w * outcome.0[m as usize]);
        let sum = self.max.map_or(sum, |max| sum.min(max));
        // The cast saturates.
        (sum / self.quantum + 0.5 + HALFWAY).floor() as i32
    }
}

/// Parameters of the metrics.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Limits {
    /// A batch is late if it is decoded later than this after its encoding began, steps.
    pub deadline_steps: u32,
    /// A waiting batch older than this is dropped, steps.
    pub stale_steps: u32,
    /// Minimum gain of min(C + B) that counts as raised, packets.
    pub raise_packets: f64,
    /// Queue above which `queue_excess` counts, in multiples of the initial M.
    pub queue_steps: f64,
    /// Number of lost packets within the horizon that is tolerated.
    pub tolerance_packets: f64,
    /// Additional number of lost packets that is tolerated, in multiples of the initial M.
    #[serde(default)]
    pub tolerance_steps: f64,
}

/// An objective. It has two phases, because a controller that knows the link should stop probing it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Objective {
    /// Parameters of the metrics.
    pub limits: Limits,
    /// Components while max C is unknown.
    pub searching: Vec<Component>,
    /// Components while max C is held, i.e. known and not to be measured again yet.
    pub converged: Vec<Component>,
}

impl Objective {
    /// Returns the components of a phase.
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
    /// Key, description of the error, and a hint.
    pub fn check(&self) -> Result<(), (String, String, &'static str)> {
        let l = &self.limits;
        for (key, n) in [("deadline_steps", l.deadline_steps), ("stale_steps", l.stale_steps)] {
            if !(1..=20).contains(&n) {
                return Err((
                    format!("objective.limits.{key}"),
                    format!("`{n}` is not between 1 and 20"),
                    "write a number of steps",
                ));
            }
        }
        for (key, x) in [
            ("raise_packets", l.raise_packets),
            ("queue_steps", l.queue_steps),
            ("tolerance_packets", l.tolerance_packets),
            ("tolerance_steps", l.tolerance_steps),
        ] {
            if !(x.is_finite() && x >= 0.0) {
                let reason = format!("`{x}` is not a finite number of at least 0");
                return Err((
                    format!("objective.limits.{key}"),
                    reason,
                    "write a number of packets or steps, as the key says",
                ));
            }
        }
        for (phase, components) in [("searching", &self.searching), ("converged", &self.converged)] {
            let key = format!("objective.{phase}");
            if components.is_empty() || components.len() > MAX_COMPONENTS {
                let reason = format!("{} components, expected 1 to {MAX_COMPONENTS}", components.len());
                return Err((key, reason, "list the components in order of priority"));
            }
            for (i, c) in components.iter().enumerate() {
                let key = format!("{key}[{i}]");
                if c.terms.is_empty() || c.terms.iter().any(|(_, w)| !w.is_finite()) {
                    return Err((
                        format!("{key}.terms"),
                        "no weight, or a weight that is not finite".into(),
                        "write a weight for each metric, such as { late_frames = 1 }",
                    ));
                }
                if !(c.quantum.is_finite() && c.quantum > 0.0) {
                    return Err((
                        format!("{key}.quantum"),
                        format!("`{}` is not positive", c.quantum),
                        "write the smallest difference that counts",
                    ));
                }
                if c.max.is_some_and(|max| !max.is_finite()) {
                    return Err((
                        format!("{key}.max"),
                        "the maximum is not finite".into(),
                        "remove the key for no maximum",
                    ));
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
