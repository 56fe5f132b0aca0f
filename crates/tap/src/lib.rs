//! The simulator's packets as TCP segments: the same view for captures and for the receiver's side.
//!
//! A [`Dialogue`] converts one flow's packets to TCP segments; [`Wire`] observes a run and passes on, in time order,
//! what a capture at one [`Side`] would contain.
#![forbid(unsafe_code)]

mod dialogue;
mod wire;

pub use dialogue::{Dialogue, EPOCH, HEADERS, Side, receiver_address};
pub use wire::{SegmentSink, Wire, flow_of};
