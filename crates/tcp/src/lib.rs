//! Contents of TCP headers: [`Segment`] with its [`Flags`] and [`Options`], arithmetic of [`sequence`] numbers, and the
//! set of received ranges ([`Intervals`]).
//!
//! Captures, the simulator's packets, the emulator's meters and the guard share these types. Each of these has its own
//! tracking of flows.
#![forbid(unsafe_code)]

mod direction;
mod flags;
mod intervals;
mod options;
mod segment;
pub mod sequence;

pub use direction::{Direction, Side};
pub use flags::Flags;
pub use intervals::Intervals;
pub use options::{Options, SackBlocks, Timestamps};
pub use segment::{Ecn, Endpoint, Segment};
