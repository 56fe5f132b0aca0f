//! A receiver's policies: each computes a receive window for every flow from the flow's measurements, with a reason.
//! Packets, the clock and names of flows are inputs; the decisions are the only output.
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

/// Time between decisions (CMU-CS-24-129 §3.3.2).
pub const DECIDE_EVERY: Dur = Dur::from_millis(100);
/// Minimum MSS assumed for windows, because the segments so far may have been small writes. Two segments of this size
/// always fit into the window, so that no sender waits for a delayed ACK's timer.
const ETHERNET_MSS: u32 = 1460;

/// A policy's decision on one flow.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// Maximum number of bytes that the flow's sender may have in flight; `None` leaves the window to the host.
    pub window: Option<WindowTarget>,
    /// The corresponding rate, Mbit/s of payload, for policies based on rates.
    pub rate_mbps: Option<f64>,
    /// The reason.
    pub why: Why,
}

impl Decision {
    /// Creates the decision that the host's own window applies.
    pub fn release(why: Why) -> Decision {
        Decision { window: None, rate_mbps: None, why }
    }

    /// Limits the flow to `rate_mbps` at its present RTT, including queueing delay. With the minimum RTT the window
    /// would be too small whenever there is a queue, and the flow slower than `rate_mbps`.
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
    /// Returns the features that the policy needs of each flow; [`View::values`] have the same order.
    fn features(&self) -> Vec<Feature>;

    /// Returns one decision for each of `flows`, in the same order. Call this about every [`DECIDE_EVERY`] with a `now`
    /// that does not decrease. The state of flows that are not in `flows` is dropped.
    fn decide(&mut self, now: Time, flows: &[View<'_>]) -> Vec<Decision>;
}

/// A table of a policy file. The file of each policy defines the type of its table.
pub trait Rule: Debug {
    /// Builds the policy. A policy that needs a classifier takes `classifier`.
    ///
    /// # Errors
    /// [`ModelError::Missing`] if the policy needs a classifier and there is none.
    fn policy(&self, classifier: &mut Option<Box<dyn Classify>>) -> Result<Box<dyn Policy>, ModelError>;

    /// Returns how the policy groups flows into services, if it does.
    fn group(&self) -> Option<Group>;

    /// Whether the policy needs a classifier. Such policies are applied first, so that their reason is reported if
    /// several policies decide the same window.
    fn has_model(&self) -> bool {
        false
    }

    /// Returns examples of files with such a table, for tests and fuzzing.
    fn examples() -> &'static [&'static str]
    where
        Self: Sized;
}

/// Declares a module for each listed policy, and [`Config`] with the tables of all policies.
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

// To add a policy: write a file with its table, which implements `Rule`, and add a line here.
policies! {
    /// Each service is limited to the rate of one Reno flow.
    service: Option<ServiceConfig>;
    /// A classifier finds flows that exceed their target, and they are limited. The caller reads the classifier's
    /// model.
    flow: Option<FlowConfig>;
    /// A known capacity is divided among services by weight.
    weights: Option<WeightsConfig>;
    /// Background flows yield to others.
    rledbat: Vec<RledbatRule>;
    /// Services are limited to configured rates.
    cap: Vec<CapRule>;
    /// Nothing is limited.
    #[cfg(test)]
    dummy: Vec<DummyRule>;
}
