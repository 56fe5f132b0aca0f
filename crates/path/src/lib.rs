//! Models of what the network does to a packet: links, queues, jitter, loss, policers.
//!
//! Every part answers at the packet's arrival: deliver at a time, mark, or drop ([`Verdict`]). That is exact for FIFO
//! parts, and lets the simulator pass a packet through any number of them without an event for each. Only a queue that
//! decides at departure (CoDel) needs a later event: [`Hop::service`].
//!
//! - [`Element`]: one flow's own part (delay, jitter, loss, policer, private link); [`Chain`]: several in a row.
//! - [`Link`]: when does a packet leave? [`Queue`]: may it enter? [`Hop`]: a queue before a link, shared by flows.
#![forbid(unsafe_code)]

mod chain;
mod chance;
mod departures;
mod element;
mod error;
mod hop;
mod opportunity;
mod packet;
mod private_link;
mod token_bucket;

pub mod jitter;
pub mod link;
pub mod loss;
pub mod queue;

pub use chain::Chain;
pub use element::{Element, ElementConfig};
pub use error::{ConfigError, check_dur, check_positive_dur, check_rate};
pub use hop::{Departure, Hop, HopConfig};
pub use link::{Link, LinkConfig};
pub use packet::{Packet, Verdict};
pub use private_link::{PrivateLink, PrivateLinkConfig};
pub use queue::{Admission, Backlog, Queue, QueueConfig};
