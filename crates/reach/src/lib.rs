//! Reachable sets of FRCC's main cwnd update under jitter.
//!
//! The claim and its proof are in `docs/formal/frcc-main.md`. In short: n flows share a link, an adversary chooses
//! measurement errors within bounds ([`Assumptions`]), and each flow's cwnd follows Algorithm 2 of the thesis with the
//! main update. [`bounds`] derives by hand that every run reaches a bounded region. The region is divided into
//! [`cells`]; [`map`] encloses the image of each cell after a round, in outward-rounded [`interval`] arithmetic;
//! [`attract`] finds the minimum set of cells that all runs reach, with a rank for every other cell as proof.
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
