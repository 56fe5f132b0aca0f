//! The guard in the simulator: [`Receiver`] lets policies set the windows that its ACKs carry, [`FairShare`] knows what a
//! classifier would have to learn, [`Lessons`] keeps rows of features with the truth that a receiver cannot know,
//! [`Replay`] shows policies a capture.
//!
//! [`guard_packet`] is the door from any [`fairweir_capture::Segment`] to the receiver's side.
#![forbid(unsafe_code)]

mod fair_share;
mod host_window;
mod lessons;
mod packet;
mod receiver;
mod replay;

pub use fair_share::FairShare;
pub use lessons::{HeldLessons, Lessons, Rows, Sampling};
pub use packet::guard_packet;
pub use receiver::Receiver;
pub use replay::{Change, FlowReport, Replay};
