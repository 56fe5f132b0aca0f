//! A FIFO that refuses what does not fit.

use super::{Admission, Backlog, Queue};
use crate::Packet;
use fairweir_units::{Bytes, Time};
use serde::{Deserialize, Serialize};

/// Parameters of [`Droptail`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DroptailConfig {
    /// Most bytes held, the packet in transmission included; absent means no limit.
    #[serde(default)]
    pub limit: Option<Bytes>,
}

/// A FIFO that refuses what does not fit.
#[derive(Clone, Debug)]
pub struct Droptail {
    limit: Bytes,
}

impl Droptail {
    /// The queue for `config`.
    pub fn new(config: &DroptailConfig) -> Droptail {
        Droptail { limit: config.limit.unwrap_or(Bytes::MAX) }
    }
}

impl Queue for Droptail {
    #[inline]
    fn admit(&mut self, _now: Time, packet: &Packet, backlog: Backlog) -> Admission {
        // An empty queue takes any packet: a limit under one packet would cut the link.
        if backlog.packets > 0 && backlog.bytes + packet.bytes > self.limit {
            Admission::Drop
        } else {
            Admission::Accept
        }
    }
}
