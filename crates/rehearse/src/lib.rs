//! The guard in the simulator. [`Receiver`] lets policies set the windows in its ACKs; [`FairShare`] is a classifier
//! with perfect information; [`Examples`] records features with true labels; [`Replay`] applies policies to a capture.
#![forbid(unsafe_code)]

mod classifier;
mod examples;
mod fair_share;
mod host_window;
mod receiver;
mod receivers;
mod replay;

pub use classifier::classifier;
pub use examples::{Examples, HeldExamples, Rows, Sampling};
pub use fair_share::FairShare;
pub use receiver::Receiver;
pub use receivers::Receivers;
pub use replay::{Change, FlowReport, Replay};
