//! Loss that is not a full buffer: random, in bursts, or by a policer.

mod iid;

pub use iid::{IidLoss, IidLossConfig};
