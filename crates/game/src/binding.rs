//! Which observations determine the ends of C.

use serde::Serialize;

/// One constraint on the link from an observation (or the model), with its points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Fact {
    /// The model's range of C.
    ModelC,
    /// The model's range of B.
    ModelB,
    /// Between two points the link served at most the data delivered by `point`, later by the jitter: I\[point\] >=
    /// S\[point\].
    Delivered {
        /// The point whose deliveries had been served.
        point: u8,
        /// The last point at which the queue was empty, if it was within the window.
        empty_at: Option<u8>,
    },
    /// Data served by `point - 1` had been delivered by `point`, because jitter is one step: I\[point - 1\] <=
    /// S\[point\].
    JitterEnds {
        /// The point by which it had been delivered.
        point: u8,
        /// The last point at which the queue was empty, if it was within the window.
        empty_at: Option<u8>,
    },
    /// At most the accepted packets were served by `point`; with equality the queue was empty.
    Accepted {
        /// The point at which the queue was empty, or nearly.
        point: u8,
    },
    /// The buffer had room for the data accepted by `point` and was full at the loss by `loss_at`.
    Loss {
        /// The point by which packets were lost.
        loss_at: u8,
        /// The point whose accepted packets bound K; `None`: the model's range of B does.
        point: Option<u8>,
    },
    /// The largest buffer of the model had room for the data accepted by `point`.
    Room {
        /// The point by which the packets were accepted.
        point: u8,
    },
}

/// The constraint, or two that meet, that bounds C from below or above.
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
    /// The points of the window that determine this end of C, in order, without repetition; empty if it is the model's
    /// bound.
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
