//! Congestion controllers: the [`Controller`] trait, its events, one file per algorithm.
//!
//! A controller is pure: it receives events and a [`Context`], and sets a cwnd and a pacing rate. It has no clock, no
//! global randomness and does no I/O. Algorithms that the kernel can run are C under `bpf/`, loaded by `crates/native`;
//! the others are Rust files here, which [`registry`] lists.
#![forbid(unsafe_code)]

/// The modules of the listed algorithms, and the rows of the list.
macro_rules! algorithms {
    ($($(#[$attribute:meta])* $module:ident,)*) => {
        $($(#[$attribute])* pub mod $module;)*
        const RUST: &[Algorithm] = &[$($(#[$attribute])* $module::ALGORITHM),*];
    };
}

// To add one: a file with an `ALGORITHM`, a line here.
algorithms! {
    reno,
    cubic,
    bbr,
    bbr3,
    dctcp,
    pcc_allegro,
    pcc_vivace,
    aimd_delay,
    contract,
    fast,
    ledbat,
    poseidon,
    swift,
    tfrc,
    #[cfg(test)]
    dummy,
}

mod algorithm;
mod controller;
mod delay;
mod fluid_window;
mod hystart;
pub mod limits;
pub mod math;
mod monitor_interval;
mod pcc_sender;
mod quantity;
mod range;
pub mod registry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tree;

pub use algorithm::{Algorithm, Build, BuildError, Row, Start, defaults, typed};
pub use controller::{
    Ack, AckedPacket, CaState, Cause, Context, Controller, Decision, Fault, Interests, Loss, LostPacket, RateSample,
    Recovery, Sender, Sent,
};
