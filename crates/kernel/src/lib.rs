//! BPF congestion controllers in the running kernel.
//!
//! A [`Source`] (an algorithm of `bpf/`, or a user's `.bpf.c`) is compiled by clang, and loaded as a [`Cca`] under a
//! unique name: sockets select it with `TCP_CONGESTION` and get parameters through their descriptors. All resources are
//! owned by descriptors of this process and end with it; only [`permanent`] leaves objects behind, on purpose, and
//! removes them again.
//!
//! An algorithm can be observed from outside: [`Records`] of its hooks, which the native build replays
//! (`fairweir_native::replay`), and a [`Probe`] of any TCP flow. Needs root.
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
