//! The simulator's packets as TCP segments: the same view for captures and for the receiver's side.
//!
//! A [`Dialogue`] writes one flow's packets as TCP would; [`Wire`] watches a run and hands on, in the order of time, what
//! a capture at one [`Side`] would show.
#![forbid(unsafe_code)]

mod dialogue;
mod wire;

pub use dialogue::{Dialogue, EPOCH, HEADERS, Side, receiver_address};
pub use wire::{Taker, Wire, flow_of};
