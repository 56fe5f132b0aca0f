//! One flow's own part of the path.

use crate::private_link::{PrivateLink, PrivateLinkConfig};
use crate::{ConfigError, Packet, Verdict, jitter, loss};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// One flow's own part of the path: it serves one flow in one direction and never reorders.
///
/// Neither `now` nor the returned delivery times ever decrease from call to call.
pub trait Element: Debug + Send {
    /// Returns the fate of `packet`, which arrives at `now`.
    fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict;

    /// How often the element violated its own bound (a virtual link its jitter bound).
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
    /// Random delay up to a bound.
    Uniform(jitter::UniformConfig),
    /// Silence and bursts of fixed length.
    AckAggregation(jitter::AckAggregationConfig),
    /// Batches at random instants.
    RandomAggregation(jitter::RandomAggregationConfig),
    /// Release at multiples of a period.
    PeriodicRelease(jitter::PeriodicReleaseConfig),
    /// A constant delay that spares a chosen packet.
    EarlyPacket(jitter::EarlyPacketConfig),
    /// Delay along an explicit trajectory.
    Trajectory(jitter::TrajectoryConfig),
    /// Delay that makes the path look like an ideal link.
    VirtualLink(jitter::VirtualLinkConfig),
    /// Independent random loss.
    IidLoss(loss::IidLossConfig),
    /// Random loss in bursts.
    BurstLoss(loss::BurstLossConfig),
    /// Every n-th packet is lost.
    PeriodicLoss(loss::PeriodicLossConfig),
    /// Drops what exceeds a token bucket.
    Policer(loss::PolicerConfig),
    /// A link that the flow has for itself.
    Link(PrivateLinkConfig),
}

impl ElementConfig {
    /// The element, with a random stream of its own. The configuration must be valid.
    pub fn build(&self, rng: ChaCha8Rng) -> Box<dyn Element> {
        match self {
            ElementConfig::Delay(c) => Box::new(jitter::Delay::new(c)),
            ElementConfig::Uniform(c) => Box::new(jitter::Uniform::new(c, rng)),
            ElementConfig::AckAggregation(c) => Box::new(jitter::AckAggregation::new(c)),
            ElementConfig::RandomAggregation(c) => Box::new(jitter::RandomAggregation::new(c, rng)),
            ElementConfig::PeriodicRelease(c) => Box::new(jitter::PeriodicRelease::new(c)),
            ElementConfig::EarlyPacket(c) => Box::new(jitter::EarlyPacket::new(c)),
            ElementConfig::Trajectory(c) => Box::new(jitter::Trajectory::new(c)),
            ElementConfig::VirtualLink(c) => Box::new(jitter::VirtualLink::new(c)),
            ElementConfig::IidLoss(c) => Box::new(loss::IidLoss::new(c, rng)),
            ElementConfig::BurstLoss(c) => Box::new(loss::BurstLoss::new(c, rng)),
            ElementConfig::PeriodicLoss(c) => Box::new(loss::PeriodicLoss::new(c)),
            ElementConfig::Policer(c) => Box::new(loss::Policer::new(c)),
            ElementConfig::Link(c) => Box::new(PrivateLink::new(c, rng)),
        }
    }

    /// Is this an element that can be built?
    ///
    /// # Errors The first key whose value is rejected.
    pub fn validate(&self) -> Result<(), ConfigError> {
        match self {
            ElementConfig::Delay(c) => c.validate(),
            ElementConfig::Uniform(c) => c.validate(),
            ElementConfig::AckAggregation(c) => c.validate(),
            ElementConfig::RandomAggregation(c) => c.validate(),
            ElementConfig::PeriodicRelease(c) => c.validate(),
            ElementConfig::EarlyPacket(c) => c.validate(),
            ElementConfig::Trajectory(c) => c.validate(),
            ElementConfig::VirtualLink(c) => c.validate(),
            ElementConfig::IidLoss(c) => c.validate(),
            ElementConfig::BurstLoss(c) => c.validate(),
            ElementConfig::PeriodicLoss(c) => c.validate(),
            ElementConfig::Policer(c) => c.validate(),
            ElementConfig::Link(c) => c.validate(),
        }
    }

    /// The shortest that the element holds a packet, whatever arrives.
    pub fn shortest_hold(&self) -> Dur {
        match self {
            ElementConfig::Delay(c) if c.from == Time::ZERO => c.by,
            _ => Dur::ZERO,
        }
    }

    /// The maximum time that the element holds a packet, for any traffic; `None` if that depends on the traffic.
    pub fn longest_hold(&self) -> Option<Dur> {
        match self {
            ElementConfig::Delay(c) => Some(c.by),
            ElementConfig::Uniform(c) => Some(c.max),
            ElementConfig::PeriodicRelease(c) => Some(c.period.saturating_sub(Dur::from_nanos(1))),
            ElementConfig::EarlyPacket(c) => Some(c.offset),
            ElementConfig::Trajectory(c) => c.points.iter().map(|p| p.delay).max(),
            ElementConfig::VirtualLink(c) => Some(c.from.since(Time::ZERO) + c.bound),
            ElementConfig::IidLoss(_)
            | ElementConfig::BurstLoss(_)
            | ElementConfig::PeriodicLoss(_)
            | ElementConfig::Policer(_) => Some(Dur::ZERO),
            ElementConfig::AckAggregation(_) | ElementConfig::RandomAggregation(_) | ElementConfig::Link(_) => None,
        }
    }
}
