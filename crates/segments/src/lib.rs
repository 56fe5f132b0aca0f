//! The simulator's packets as TCP segments: captures and the receiver's side see the same segments.
//!
//! A [`TcpFlow`] converts one flow's packets to TCP segments. [`Wire`] observes a run and passes on, in time order, the
//! segments that a capture at one [`fairweir_tcp::Side`] would contain.
#![forbid(unsafe_code)]

mod tcp_flow;
mod wire;

pub use tcp_flow::{EPOCH, HEADERS, TcpFlow, receiver_address};
pub use wire::{SegmentSink, Wire, flow_of};
