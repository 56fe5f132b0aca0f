//! Delay that is not queueing at the bottleneck: constant, random, aggregated, adversarial. None of it reorders.

mod delay;

pub use delay::{Delay, DelayConfig};
