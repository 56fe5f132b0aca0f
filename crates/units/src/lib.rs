//! Types for time, amounts of data and rates, with the operators for which dimensions are consistent.
//!
//! All values are integers: [`Time`] and [`Dur`] in nanoseconds, [`Bytes`] in bytes, [`Rate`] in bytes per second. Only
//! the interfaces to users parse text: `"40ms"`, `"96Mbps"`, `"64KiB"`, `"1.5bdp"`, `"512pkts"`; a bare number is an
//! error. [`SplitMix64`] is the generator of random numbers of which every flow has one.
#![forbid(unsafe_code)]

mod data;
mod hint;
mod parse;
mod rate;
mod split_mix;
mod system;
mod time;

pub use data::{Bytes, Size};
pub use hint::Hint;
pub use parse::ParseError;
pub use rate::{Rate, mbps};
pub use split_mix::SplitMix64;
pub use system::{During, SystemError};
pub use time::{Dur, Time};

/// Nanoseconds per second.
pub const NANOS_PER_SEC: u64 = 1_000_000_000;
