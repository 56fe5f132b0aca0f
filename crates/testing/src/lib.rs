//! Congestion controllers on a simulated dumbbell, in unit tests.
//!
//! A test names a path, runs a controller on it with several seeds, and asserts bounds on what the runs show. It needs
//! neither Python nor a C compiler, and takes milliseconds: the simulator is that of `fairweir run`.
//!
//! ```
//! use fairweir_testing::{Ack, Bytes, Context, Controller, Dumbbell, Flow, Loss, Start};
//! use fairweir_testing::{QUEUE_P95_MS, SHARE, UTILIZATION};
//!
//! /// Adds a packet to cwnd per round trip, and halves cwnd after a loss.
//! #[derive(Debug)]
//! struct Aimd {
//!     cwnd: u64,
//!     mss: u64,
//! }
//!
//! impl Aimd {
//!     fn new(start: &Start) -> Aimd {
//!         Aimd { cwnd: start.initial_cwnd.0, mss: start.mss.0 }
//!     }
//! }
//!
//! impl Controller for Aimd {
//!     fn on_ack(&mut self, ack: &Ack<'_>, _: &mut Context<'_>) {
//!         if !ack.sender.is_reducing() {
//!             self.cwnd += ack.acked * self.mss * self.mss / self.cwnd;
//!         }
//!     }
//!     fn on_loss(&mut self, _: &Loss<'_>, _: &mut Context<'_>) {
//!         self.cwnd = (self.cwnd / 2).max(2 * self.mss);
//!     }
//!     fn cwnd(&self) -> Bytes {
//!         Bytes(self.cwnd)
//!     }
//!     fn ssthresh(&self) -> Option<Bytes> {
//!         Some(self.cwnd())
//!     }
//! }
//!
//! // In a test crate, this is the body of a `#[test]`.
//! let path = Dumbbell::new("12Mbps", "20ms").buffer("1bdp").jitter("1ms").seeds(1..=3);
//! let aimd = Flow::new("aimd", Aimd::new);
//!
//! path.alone(&aimd).assert(&UTILIZATION, 0.95..).assert(&QUEUE_P95_MS, ..21.0);
//! path.against(&aimd, &Flow::named("reno")).assert(&SHARE, 0.3..0.7);
//! path.assert_repeatable(&[&aimd]);
//! ```
//!
//! # Bounds
//!
//! [`Runs::assert`] holds if the whole 95 % interval of the mean over the seeds lies within the bounds. It panics if the
//! interval lies outside (the bound is violated), and also if the interval contains a bound (undecided: more seeds, or
//! another bound). Runs are deterministic, so a test that passes once passes every time, on every machine.
//!
//! The message of the panic has the values of all seeds and a scenario that repeats the run of the worst seed with
//! `fairweir run`. For a controller of your own, [`Flow::plugin`] names the shared library with the same controller,
//! which the scenario then refers to.
//!
//! # Compile time
//!
//! Simulations are slow without optimization. In the package whose tests use this crate:
//!
//! ```toml
//! [profile.dev.package."*"]
//! opt-level = 2
//! ```
#![forbid(unsafe_code)]

mod case;
mod dumbbell;
mod flow;
mod interval;
mod message;
mod metric;
mod quantity;
mod repeat;
mod replay;
mod runs;

pub use dumbbell::Dumbbell;
pub use fairweir_cca::{
    Ack, AckedPacket, BuildError, CaState, Cause, Context, Controller, Decision, Fault, Interests, Loss, LostPacket,
    RateSample, Recovery, Row, Sender, Sent, Start,
};
pub use fairweir_scenario::{FlowSummary, LinkSummary, Summary};
pub use fairweir_units::{Bytes, Dur, Rate, Time};
pub use flow::Flow;
pub use interval::Interval;
pub use metric::{
    JAIN, LOSS_RATE, Metric, QDELAY_P95_MS, QUEUE_MEAN_MS, QUEUE_P95_MS, SHARE, THROUGHPUT_MBPS, TIMEOUTS, UTILIZATION,
};
pub use runs::Runs;
