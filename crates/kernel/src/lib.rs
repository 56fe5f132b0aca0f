//! BPF congestion controllers in the running kernel.
//!
//! clang compiles a [`Source`] (an algorithm of `bpf/`, or a user's `.bpf.c`), which is then loaded as a [`Cca`] under
//! a unique name. Sockets select the controller with `TCP_CONGESTION` and get parameters through their descriptors.
//! Descriptors of this process own all resources, so that the resources are freed when the process ends. Only
//! [`permanent`] intentionally creates objects that outlive the process; it also removes them.
//!
//! Two tools observe an algorithm: [`Records`] of its hooks' calls, which the native build replays
//! (`fairweir_native::replay`), and a [`Probe`] of any TCP flow. All of this requires root.
#![warn(missing_docs)]

mod cca;
mod compile;
pub mod cost;
pub mod doctor;
mod error;
mod layout;
pub mod libbpf;
pub mod permanent;
mod probe;
mod records;
mod source;

pub use cca::Cca;
pub use compile::Compiled;
pub use cost::Cost;
pub use error::KernelError;
pub use probe::{Probe, ProbeFilter, ProbeSample};
pub use records::Records;
pub use source::Source;
