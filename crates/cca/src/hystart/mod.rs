//! Methods that end the first slow start before packets are lost.

mod linux;
mod rfc9406;

pub(crate) use linux::LinuxHyStart;
pub(crate) use rfc9406::HyStartPlusPlus;

use crate::Ack;
use fairweir_units::Time;
use serde::{Deserialize, Serialize};

/// Method that ends slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// No method: slow start ends with a loss.
    Off,
    /// HyStart++.
    Rfc9406,
    /// HyStart of Linux's CUBIC.
    Linux,
}

/// State of the method.
#[derive(Clone, Debug)]
pub(crate) enum HyStart {
    PlusPlus(HyStartPlusPlus),
    Linux(LinuxHyStart),
}

impl HyStart {
    /// Returns the state for a connection's first slow start.
    pub(crate) fn new(kind: Kind) -> Option<HyStart> {
        match kind {
            Kind::Off => None,
            Kind::Rfc9406 => Some(HyStart::PlusPlus(HyStartPlusPlus::new())),
            Kind::Linux => Some(HyStart::Linux(LinuxHyStart::new())),
        }
    }

    /// Returns the state for slow start after a timeout; none with HyStart++ (RFC 9406 section 4.3).
    pub(crate) fn after_timeout(kind: Kind) -> Option<HyStart> {
        (kind == Kind::Linux).then(|| HyStart::Linux(LinuxHyStart::new()))
    }

    /// Returns the number of packets to add to cwnd (`cwnd_pkts` now) for an ACK of `acked` packets, or `None` if slow
    /// start ends.
    pub(crate) fn growth(&mut self, ack: &Ack<'_>, acked: u64, cwnd_pkts: u64, now: Time) -> Option<u64> {
        match self {
            HyStart::PlusPlus(search) => search.growth(ack),
            HyStart::Linux(search) => (!search.is_over(ack, cwnd_pkts, now)).then_some(acked),
        }
    }
}
