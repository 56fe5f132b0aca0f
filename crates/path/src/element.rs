//! One flow's own part of the path.

use crate::{Packet, Verdict, jitter, loss};
use fairweir_units::Time;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// One flow's own part of the path: it is fed by one flow in one direction, and never reorders.
///
/// `now` never decreases from call to call, and neither do the delivery times returned.
pub trait Element: Debug + Send {
    /// `packet` arrives at `now`: when does it leave, if at all?
    fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict;

    /// How often the element could not keep its own promise (a virtual link beyond its jitter bound).
    fn violations(&self) -> u64 {
        0
    }
}

/// An element as scenarios describe it, in base units (ns, bytes, bytes per second).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum ElementConfig {
    /// A constant extra delay.
    Delay(jitter::DelayConfig),
    /// Independent random loss.
    IidLoss(loss::IidLossConfig),
}

impl ElementConfig {
    /// The element, with a random stream of its own.
    pub fn build(&self, rng: ChaCha8Rng) -> Box<dyn Element> {
        match self {
            ElementConfig::Delay(c) => Box::new(jitter::Delay::new(c)),
            ElementConfig::IidLoss(c) => Box::new(loss::IidLoss::new(c, rng)),
        }
    }
}
