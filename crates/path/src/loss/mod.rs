//! Loss that is not a full buffer: random, in bursts, periodic, or by a policer.

mod burst;
mod iid;
mod periodic;
mod policer;

pub use burst::{BurstLoss, BurstLossConfig};
pub use iid::{IidLoss, IidLossConfig};
pub use periodic::{PeriodicLoss, PeriodicLossConfig};
pub use policer::{Policer, PolicerConfig};
