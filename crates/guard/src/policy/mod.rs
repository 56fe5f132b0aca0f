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
mod classify;
mod config;
mod group;
mod history;
mod labels;
mod rtts;
mod share;
mod stack;
mod view;
mod why;

pub use classify::{Class, Classify};
pub use config::ConfigError;
pub use group::{Group, Service};
pub use history::History;
pub use labels::Labels;
pub use share::max_min;
pub use stack::{ModelError, Policies};
pub use view::View;
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
    /// The reason.
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

/// A table of a policy file: in the file of its policy.
pub trait Rule: Debug {
    /// Builds the policy; it takes the `classifier` if it needs one.
    ///
    /// # Errors
    /// [`ModelError::Missing`] if it needs one and there is none.
    fn policy(&self, classifier: &mut Option<Box<dyn Classify>>) -> Result<Box<dyn Policy>, ModelError>;

    /// Returns how the policy groups flows into services, if it does.
    fn group(&self) -> Option<Group>;

    /// Whether it needs a classifier; such a policy comes first, so that its reason stands where windows are equal.
    fn has_model(&self) -> bool {
        false
    }

    /// Returns examples of files with such a table, for tests and fuzzing.
    fn examples() -> &'static [&'static str]
    where
        Self: Sized;
}

/// The modules of the listed policies, the file that has their tables, and its rules.
macro_rules! policies {
    ($($(#[$attribute:meta])* $name:ident: $Many:ident<$Rule:ident>;)*) => {
        $($(#[$attribute])* mod $name;)*
        $($(#[$attribute])* pub use $name::*;)*

        /// A file of policies.
        #[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub struct Config {
            $($(#[$attribute])* pub $name: $Many<$Rule>,)*
        }

        impl Config {
            /// The rules, in the order of the list.
            #[allow(unused_doc_comments)]
            fn rules(&self) -> Vec<&dyn Rule> {
                let mut all: Vec<&dyn Rule> = Vec::new();
                $($(#[$attribute])* all.extend(self.$name.iter().map(|rule| rule as &dyn Rule));)*
                all
            }

            /// Returns examples of files with each of the policies, for tests and fuzzing.
            #[allow(unused_doc_comments)]
            pub fn examples() -> Vec<&'static str> {
                let mut all = Vec::new();
                $($(#[$attribute])* all.extend_from_slice(<$Rule as Rule>::examples());)*
                all
            }
        }
    };
}

// To add a policy: a file with its table, which implements `Rule`, and a line here.
policies! {
    /// Services as one Reno flow each.
    service: Option<ServiceConfig>;
    /// Flows limited near their targets by a classifier, whose model the caller reads.
    flow: Option<FlowConfig>;
    /// A capacity divided by weight.
    weights: Option<WeightsConfig>;
    /// Background flows.
    rledbat: Vec<RledbatRule>;
    /// Rates that are not exceeded.
    cap: Vec<CapRule>;
    /// Nothing.
    #[cfg(test)]
    dummy: Vec<DummyRule>;
}
