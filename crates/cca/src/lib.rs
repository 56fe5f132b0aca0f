//! Congestion controllers: the [`Controller`] trait, its events, and one file for each algorithm.
//!
//! A controller is deterministic: it receives events and a [`Context`], and sets a cwnd and a pacing rate. It has no
//! clock and no global randomness, and does no I/O. Algorithms that the kernel can run are C programs in `bpf/`, which
//! `crates/native` loads; the other algorithms are Rust files in this crate, which [`registry`] lists.
#![forbid(unsafe_code)]

/// Declares the modules of the algorithms and their list.
macro_rules! algorithms {
    ($($(#[$attribute:meta])* $module:ident,)*) => {
        $($(#[$attribute])* pub mod $module;)*
        const RUST: &[Algorithm] = &[$($(#[$attribute])* $module::ALGORITHM),*];
    };
}

// To add an algorithm, write a file with an `ALGORITHM` and add a line here.
algorithms! {
    reno,
    cubic,
    bbr,
    bbr3,
    dctcp,
    prague,
    pcc_allegro,
    pcc_vivace,
    pcc_proteus,
    aimd_delay,
    contract,
    fast,
    gcc,
    ledbat,
    poseidon,
    scream,
    sprout,
    swift,
    tfrc,
    verus,
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
mod pcc_step;
mod quantity;
mod range;
pub mod registry;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tree;

pub use algorithm::{Algorithm, Build, BuildError, Row, Start, defaults, typed};
pub use controller::{
    Ack, AckedPacket, CaState, Cause, Context, Controller, Decision, Fault, Interests, Loss, LostPacket, RateSample,
    Recovery, Restart, Sender, Sent, Spacing, Undo,
};
