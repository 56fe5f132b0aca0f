//! The observations that determine the bounds of C. S\[t\] and I\[t\] are the cumulative packets delivered and served
//! by point t, and K = C + B.

use serde::Serialize;

/// A constraint on the link that follows from an observation or from the model, with the points of the window on which
/// it depends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fact {
    /// The model's range of C.
    ModelC,
    /// The model's range of B.
    ModelB,
    /// Data delivered by `point` had been served: I\[point\] >= S\[point\].
    Delivered {
        /// The point by which the data was delivered.
        point: u8,
        /// The last point at which the queue was empty, if it is within the window.
        empty_at: Option<u8>,
    },
    /// Data served by `point` minus the maximum jitter was delivered by `point`: I\[point - jitter\] <= S\[point\].
    JitterEnds {
        /// The point by which the data was delivered.
        point: u8,
        /// The last point at which the queue was empty, if it is within the window.
        empty_at: Option<u8>,
    },
    /// At most the accepted packets were served by `point`. If all of them were, the queue was empty.
    Accepted {
        /// The point at which the queue was empty or nearly empty.
        point: u8,
    },
    /// The buffer had space for the data accepted by `point`, and was full at `loss_at`.
    Loss {
        /// The point by which the packets were lost.
        loss_at: u8,
        /// The point whose accepted packets bound K; `None` if the model's range of B bounds it.
        point: Option<u8>,
    },
    /// The model's largest buffer had space for the data accepted by `point`.
    Room {
        /// The point by which the packets were accepted.
        point: u8,
    },
}

/// The constraint that bounds C from below or above, or the two constraints that do so together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "Document")]
pub struct Binding {
    /// The constraints.
    pub facts: [Option<Fact>; 2],
}

impl Fact {
    /// The points of the window in this constraint.
    fn points(self) -> [Option<u8>; 2] {
        match self {
            Fact::ModelC | Fact::ModelB => [None, None],
            Fact::Delivered { point, empty_at } | Fact::JitterEnds { point, empty_at } => [empty_at, Some(point)],
            Fact::Accepted { point } | Fact::Room { point } => [Some(point), None],
            Fact::Loss { loss_at, point } => [Some(loss_at), point],
        }
    }
}

impl Binding {
    /// Returns the points of the window that determine this bound of C, in order and without repetition; empty if the
    /// bound is the model's.
    pub fn points(&self) -> Vec<u8> {
        let mut all: Vec<u8> = self.facts.iter().flatten().flat_map(|fact| fact.points()).flatten().collect();
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// The JSON format of a binding.
#[derive(Serialize)]
struct Document {
    facts: Vec<Fact>,
    points: Vec<u8>,
}

impl From<Binding> for Document {
    fn from(binding: Binding) -> Document {
        Document { facts: binding.facts.into_iter().flatten().collect(), points: binding.points() }
    }
}
