//! A receiver's policies: from measurements to a window for each flow, with a reason. Pure: packets, clock and names of
//! flows are inputs; the decision is the only output.
//!
//! ```
//! use fairweir_guard::policy::{Config, Policies};
//! use fairweir_guard::{Limits, Table};
//!
//! let config = Config::from_toml("[service]\ngroup = 'sender'\n")?;
//! let mut policies = Policies::new(&config, None)?;
//! let mut table = Table::new(Limits::default(), [7; 16], policies.plan());
//! // for each packet: table.observe(&packet);
//! for (id, decision) in policies.decide(&table, |_| Default::default()) {
//!     println!("{:?} {:?} {}", id, decision.window, decision.why);
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod budget;
mod cap;
mod classify;
mod config;
mod flow;
mod group;
mod history;
mod rledbat;
mod rtts;
mod service;
mod share;
mod stack;
mod view;
mod weights;
mod why;

pub use cap::{Cap, CapRule};
pub use classify::{Class, Classify};
pub use config::{Config, ConfigError};
pub use flow::{FlowConfig, FlowPolicy};
pub use group::{Group, Labels, Service};
pub use history::History;
pub use rledbat::{Rledbat, RledbatRule};
pub use service::{ServiceConfig, ServiceModel, ServicePolicy};
pub use share::max_min;
pub use stack::{ModelError, Policies};
pub use view::View;
pub use weights::{Weights, WeightsConfig};
pub use why::{Sharing, Why};

use crate::features::Feature;
use crate::window::WindowTarget;
use fairweir_units::{Dur, Time};
use std::fmt::Debug;

/// Between decisions (CMU-CS-24-129 §3.3.2).
pub const DECIDE_EVERY: Dur = Dur::from_millis(100);
/// Segments seen so far may have been small writes; two of these must always fit, so that no sender waits for a timer.
const ETHERNET_MSS: u32 = 1460;

/// A policy's decision on one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Maximum bytes that its sender may have in flight; `None` leaves the window to the host.
    pub window: Option<WindowTarget>,
    /// The corresponding rate, Mbit/s of payload, for policies based on rates.
    pub rate_mbps: Option<f64>,
    /// Why.
    pub why: Why,
}

impl Decision {
    /// The host's own window applies.
    pub fn release(why: Why) -> Decision {
        Decision { window: None, rate_mbps: None, why }
    }

    /// Limits the flow to `rate_mbps` at its present RTT, queues included, as the window limits inflight; the minimum
    /// RTT would give less than the rate whenever there is a queue.
    pub fn hold(rate_mbps: f64, view: &View<'_>, why: Why) -> Decision {
        match view.rtt() {
            Some(rtt) => {
                let mss = view.monitor.mss().max(ETHERNET_MSS);
                let window = WindowTarget::for_rate(rate_mbps, rtt, mss);
                Decision { window: Some(window), rate_mbps: Some(rate_mbps), why }
            }
            None => Decision::release(Why::TooYoung),
        }
    }
}

/// A receiver's rate policy.
pub trait Policy: Debug + Send {
    /// The features that it needs of each flow; [`View::values`] have this order.
    fn features(&self) -> Vec<Feature>;

    /// One decision for each of `flows`, in their order. To be called again every [`DECIDE_EVERY`] or so with a `now`
    /// that does not decrease; the state of missing flows is dropped.
    fn decide(&mut self, now: Time, flows: &[View<'_>]) -> Vec<Decision>;
}
