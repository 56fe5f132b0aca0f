//! A constant delay.

use crate::{Element, Packet, Verdict};
use fairweir_units::{Dur, Time};
use serde::{Deserialize, Serialize};

/// Parameters of [`Delay`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayConfig {
    /// How long every packet is held, ns.
    pub by: Dur,
}

/// Holds every packet equally long.
#[derive(Clone, Debug)]
pub struct Delay {
    by: Dur,
}

impl Delay {
    /// The element for `config`.
    pub fn new(config: &DelayConfig) -> Delay {
        Delay { by: config.by }
    }
}

impl Element for Delay {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        Verdict::Deliver(now + self.by)
    }
}
