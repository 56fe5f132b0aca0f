//! Delay that is not queueing at the bottleneck: constant, random, aggregated, adversarial. None of it reorders.

mod ack_aggregation;
mod delay;
mod early_packet;
mod periodic_release;
mod random_aggregation;
mod trajectory;
mod uniform;
mod virtual_link;

pub use ack_aggregation::{AckAggregation, AckAggregationConfig};
pub use delay::{Delay, DelayConfig};
pub use early_packet::{EarlyPacket, EarlyPacketConfig};
pub use periodic_release::{PeriodicRelease, PeriodicReleaseConfig};
pub use random_aggregation::{RandomAggregation, RandomAggregationConfig};
pub use trajectory::{DelayPoint, Interpolation, Trajectory, TrajectoryConfig};
pub use uniform::{Uniform, UniformConfig};
pub use virtual_link::{VirtualLink, VirtualLinkConfig};
