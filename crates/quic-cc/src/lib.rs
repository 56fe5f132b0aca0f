//! Congestion controllers of QUIC stacks, as their crates publish them, behind [`fairweir_cca::Controller`].
//!
//! One file per stack implements [`stack::Stack`] for its controllers; [`adapter`] translates events, and a panic of a
//! stack ends only the run that it occurs in. The crates bring a clock and a global random generator with them
//! (`std::time::Instant`, `rand::rng`): instants are only subtracted from each other, and generators are seeded
//! ([`seed`]), so runs are repeatable. `unsafe` is confined to [`layout`].

mod adapter;
mod instants;
mod layout;
mod noq;
mod pacing;
mod panics;
mod params;
mod quinn;
mod rtt;
mod s2n;
mod stack;

pub use noq::seed_bbr3 as seed_noq_bbr3;

use fairweir_cca::Algorithm;

/// The controllers of all stacks; the names are `stack/algorithm`.
pub const ALGORITHMS: &[Algorithm] =
    &[quinn::NEWRENO, quinn::CUBIC, quinn::BBR, s2n::CUBIC, s2n::BBR, noq::NEWRENO, noq::CUBIC, noq::BBR3];
