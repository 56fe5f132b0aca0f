//! Whole QUIC stacks in virtual time: real code of both ends, over the paths of the simulator.
//!
//! An [`Endpoint`] is one end of a connection: datagrams and the time go in, datagrams and a deadline come out. [`play`]
//! runs the two ends of each flow on one virtual clock; the network is the [`fairweir_scenario::relay`] of the emulator,
//! the record is the simulator's.
//!
//! A stack is a folder here, which turns a scenario's flow into its two ends, and a line in [`stacks`]. quinn and noq, its
//! fork, include the same files of `fork/`, each next to an `api.rs` with the calls in which they differ. The controllers of
//! fairweir run in the transport of a stack, too ([`hosted`]).
#![forbid(unsafe_code)]
#![allow(clippy::duplicate_mod, reason = "quinn and noq, its fork, share the files in fork/")]

pub mod ambient;
mod clock;
mod endpoint;
mod handshake;
mod host;
mod hosted;
mod limits;
mod noq;
mod plugin;
pub mod program;
#[cfg(feature = "quiche")]
mod quiche;
mod quinn;
mod record;
pub mod stacks;
mod tls;
mod trace;
mod world;

pub use endpoint::{Datagram, Ecn, Endpoint, Ends, Fault, IP_UDP_BYTES, Stage, State};
pub use limits::check;
pub use world::{Ending, play};
