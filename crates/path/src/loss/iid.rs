//! Independent random loss.

use crate::{Element, Packet, Verdict};
use fairweir_units::Time;
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`IidLoss`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct IidLossConfig {
    /// Packets lost in a thousand million.
    pub per_billion: u32,
}

/// Loses each packet with the same probability, independently.
#[derive(Clone, Debug)]
pub struct IidLoss {
    /// A 32-bit draw below this is a loss.
    threshold: u64,
    rng: ChaCha8Rng,
}

impl IidLoss {
    /// The element for `config`.
    pub fn new(config: &IidLossConfig, rng: ChaCha8Rng) -> IidLoss {
        IidLoss { threshold: (u64::from(config.per_billion) << 32) / 1_000_000_000, rng }
    }
}

impl Element for IidLoss {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        if u64::from(self.rng.next_u32()) < self.threshold { Verdict::Drop } else { Verdict::Deliver(now) }
    }
}
