//! Reachable sets of FRCC's main cwnd update under jitter.
//!
//! `docs/formal/frcc-main.md` contains the claim and its proof. In short: n flows share a link, an adversary chooses
//! measurement errors within bounds ([`Assumptions`]), and each flow's cwnd follows Algorithm 2 of the thesis with the
//! main update. Lemmas proved by hand show that every run reaches a bounded region; [`bounds`] computes it. The region
//! is divided into [`cells`], and [`map`] encloses the image of each cell after a round in outward-rounded [`interval`]
//! arithmetic. [`attract`] finds the minimum set of cells that all runs reach, with a rank for every other cell as a
//! proof.
//!
//! Symbols: C, link rate; R, propagation RTT; theta, the unit of delay in FRCC's contract; D, unit of the delay that a
//! probe adds; `N_T`, queueing delay divided by theta; `N_C`, 1 / a flow's share of the link, i.e. the number of flows
//! to which the share corresponds; `N^_T` and `N^_C`, a flow's estimates of these. cwnd is in units of C theta, and a
//! prime denotes a value after a round.
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
