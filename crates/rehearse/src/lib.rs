//! The guard in the simulator: [`Tap`] turns what becomes of simulated packets into what the receiver's interface sees,
//! [`Receiver`] lets policies set the windows that its ACKs carry, [`FairShare`] knows what a classifier would have to learn.
#![forbid(unsafe_code)]

mod fair_share;
mod host_window;
mod receiver;
mod tap;

pub use fair_share::FairShare;
pub use receiver::Receiver;
pub use tap::Tap;
