//! Reachable sets of FRCC's main cwnd update under jitter.
//!
//! The claim and how it is proved are in `docs/formal/frcc-main.md`. In short: n flows share a link, an adversary errs
//! in their measurements within bounds ([`Assumptions`]), and each flow's cwnd follows Algorithm 2 of the thesis with
//! the main update. [`bounds`] argues by hand that every run ends up in a bounded region. The region is cut into
//! [`cells`]; [`map`] encloses where a round takes each cell, in outward-rounded [`interval`] arithmetic; [`attract`]
//! finds the least set of cells where all runs end, with a rank for every other cell, which proves that they do.
#![forbid(unsafe_code)]

pub mod assumptions;
pub mod attract;
pub mod axis;
pub mod bits;
pub mod bounds;
pub mod cells;
pub mod exact;
pub mod interval;
pub mod map;
pub mod schedule;
pub mod sequential;
pub mod theorem;
pub mod update;

pub use assumptions::Assumptions;
pub use exact::Ratio;
pub use schedule::Schedule;
pub use theorem::{Answer, Certificate, Question, Refusal};
