//! Models of what the network does to a packet: links, queues, jitter, loss, policers.
//!
//! Every part decides at the packet's arrival: deliver at a time, mark, or drop ([`Verdict`]). This is exact for FIFO
//! parts, and the simulator can pass a packet through any number of them without an event for each. Only a queue that
//! decides at departure (CoDel, DualPI2) needs a later event: [`Hop::service`].
//!
//! - [`Element`]: a part that only one flow uses (delay, jitter, loss, policer, private link); [`Chain`]: several in
//!   series.
//! - [`Lane`]: a flow's path in one direction (elements, hops, elements), used in all worlds (simulator, kernel, QUIC).
//!   [`Ties`]: the order of packets that arrive in the same nanosecond.
//! - [`Link`] decides when a packet leaves, [`Queue`] whether it may enter. [`Hop`]: a queue before a link, shared by
//!   flows.
#![forbid(unsafe_code)]

use fairweir_units::Dur;
use rand_chacha::ChaCha8Rng;

mod chain;
mod chance;
mod constant_rate;
mod departures;
mod element;
mod error;
mod hop;
mod kinds;
mod lane;
mod opportunity;
mod packet;
mod processing;
mod tie;
mod token_bucket;

pub mod link;
pub mod queue;

pub use access::{PrivateLink, PrivateLinkConfig};
pub use chain::Chain;
pub use element::{Element, ElementSpec};
pub use error::{ConfigError, check_dur, check_positive_dur, check_rate};
pub use hop::{Departure, Hop, HopConfig};
pub use lane::{Direction, Lane, Visit};
pub use link::{Link, LinkConfig, LinkSpec};
pub use packet::{Ecn, Packet, Verdict};
pub use processing::Processing;
pub use queue::{Admission, Backlog, Class, Queue, QueueConfig, QueueSpec};
pub use tie::{TieKey, Ties};

// To add an element: a file with its parameters, which implement `ElementSpec`, and a line here.
kinds::kinds! {
    /// An element as scenarios describe it, in base units (ns, bytes, bytes per second).
    ElementConfig of ElementSpec;
    /// Delay that is not queueing at the bottleneck: constant, random, aggregated, adversarial. None of it reorders.
    jitter {
        /// A constant extra delay.
        Delay = delay::DelayConfig;
        /// Random delay up to a bound.
        Uniform = uniform::UniformConfig;
        /// Periods of fixed length, each a pause and then a burst.
        AckAggregation = ack_aggregation::AckAggregationConfig;
        /// Batches, each after a random wait.
        RandomAggregation = random_aggregation::RandomAggregationConfig;
        /// Release at multiples of a period.
        PeriodicRelease = periodic_release::PeriodicReleaseConfig;
        /// A constant delay of all packets except one.
        EarlyPacket = early_packet::EarlyPacketConfig;
        /// Delay as a function of time, given by points.
        Trajectory = trajectory::TrajectoryConfig;
        /// Delay that makes the path look like an ideal link.
        VirtualLink = virtual_link::VirtualLinkConfig;
        /// Nothing.
        #[cfg(test)]
        Dummy = dummy::DummyElementConfig;
    }
    /// Loss that is not a full buffer: random, in bursts, periodic, or by a policer.
    loss {
        /// Independent random loss.
        IidLoss = iid::IidLossConfig;
        /// Random loss in bursts.
        BurstLoss = burst::BurstLossConfig;
        /// Every n-th packet is lost.
        PeriodicLoss = periodic::PeriodicLossConfig;
        /// Drops what exceeds a token bucket.
        Policer = policer::PolicerConfig;
    }
    /// A flow's own link to the path.
    access {
        /// A link that the flow has for itself.
        Link = private_link::PrivateLinkConfig;
    }
}

impl ElementConfig {
    /// Builds the element, with its own random stream. The configuration must be valid.
    pub fn build(&self, rng: ChaCha8Rng) -> Box<dyn Element> {
        self.spec().build(rng)
    }

    /// Returns the minimum time that the element holds a packet, for any traffic.
    pub fn shortest_hold(&self) -> Dur {
        self.spec().shortest_hold()
    }

    /// Returns the maximum time that the element holds a packet, for any traffic; `None` if that depends on the
    /// traffic.
    pub fn longest_hold(&self) -> Option<Dur> {
        self.spec().longest_hold()
    }
}
