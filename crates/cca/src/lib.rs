//! Congestion controllers: the [`Controller`] trait, its events, one file per algorithm.
//!
//! A controller is pure: it receives events and a [`Context`], and sets a cwnd and a pacing rate. It has no clock, no
//! global randomness and does no I/O. Algorithms that the kernel can run are C under `bpf/`, loaded by `crates/native`;
//! the others are Rust files here, which [`registry`] lists.
#![forbid(unsafe_code)]

pub mod aimd_delay;
mod algorithm;
pub mod bbr;
pub mod bbr3;
pub mod contract;
mod controller;
pub mod cubic;
pub mod dctcp;
mod delay;
pub mod fast;
mod fluid_window;
mod hystart;
pub mod ledbat;
pub mod math;
mod monitor_interval;
pub mod pcc_allegro;
mod pcc_sender;
pub mod pcc_vivace;
pub mod poseidon;
mod quantity;
mod range;
pub mod registry;
pub mod reno;
pub mod swift;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tfrc;
pub mod tree;

pub use algorithm::{Algorithm, Build, BuildError, Start, defaults, typed};
pub use controller::{
    Ack, CaState, Cause, Context, Controller, Decision, Fault, Interests, Loss, LostPacket, RateSample, Sender, Sent,
};
