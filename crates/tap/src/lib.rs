//! The simulator's packets as TCP segments: the same view for captures, replays and the receiver's side.
//!
//! [`Wire`] watches a run and hands on, in the order of time, what a capture at one [`Side`] would show; [`Lessons`] lets
//! the receiver's flow table see it, and keeps rows of features with the truth that a receiver cannot know.
//! [`guard_packet`] is the door from any [`fairweir_capture::Segment`] to the receiver's side.
#![forbid(unsafe_code)]

mod dialogue;
mod lessons;
mod packet;
mod wire;

pub use lessons::{Lessons, Rows, Sampling};
pub use packet::guard_packet;
pub use wire::{EPOCH, Side, Taker, Wire, receiver_address};
