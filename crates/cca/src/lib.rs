//! Congestion controllers: the [`Controller`] trait, its events, one file per algorithm.
//!
//! A controller is pure: it sees events and a [`Context`], and answers with a cwnd and a pacing rate. It has no clock,
//! no global randomness and does no I/O. Algorithms that the kernel can run are C under `bpf/` and come in through
//! [`native`]; the others are Rust files here. [`registry`] is the list of both.
#![deny(unsafe_code)]

pub mod bbr;
pub mod bbr3;
mod controller;
pub mod cubic;
pub mod dctcp;
mod hystart;
pub mod math;
mod monitor_interval;
pub mod native;
pub mod pcc_allegro;
mod pcc_sender;
pub mod pcc_vivace;
mod quantity;
pub mod registry;
pub mod reno;
#[cfg(test)]
mod testing;

pub use controller::{
    Ack, CaState, Cause, Context, Controller, Decision, Fault, Interests, Loss, LostPacket, RateSample, Sender, Sent,
};
pub use registry::{BuildError, Start};
