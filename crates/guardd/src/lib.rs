//! The receiver's daemon. A [`Tap`] at a network device converts packets to summaries for [`fairweir_guard`]'s table;
//! the policies decide about its flows every 100 ms, and the resulting windows are written into departing ACKs.
//!
//! Descriptors of this process own all resources, so that nothing outlives the process. (Exception: on Linux before 6.6
//! two filters remain after a kill; the next guard removes them.) The process needs CAP_BPF, CAP_PERFMON and
//! CAP_NET_ADMIN to start, and drops them afterwards.
#![warn(missing_docs)]

mod control;
pub mod daemon;
mod device;
mod dns_cache;
mod dns_tap;
mod error;
mod exchange;
mod files;
mod guard;
mod history;
mod hook;
pub mod live;
mod log;
mod machine;
mod metadata;
pub mod metrics;
mod names;
mod owners;
mod privileges;
mod record;
mod renewal;
mod scrape;
mod settings;
mod signals;
mod skeleton;
mod socket_dir;
pub mod status;
mod tap;
pub mod terminal;
mod waits;

pub use control::{ControlSocket, ask};
pub use device::Device;
pub use dns_tap::DnsTap;
pub use error::GuardError;
pub use guard::{Guard, Turn};
pub use history::Outcome;
pub use hook::{Attachment, sweep};
pub use metadata::FlowMetadata;
pub use names::Names;
pub use owners::Owners;
pub use settings::{Policy, Settings};
pub use tap::{Enforcement, KernelCounts, Programs, Tap};
