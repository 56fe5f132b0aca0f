//! Measurements of a flow by its receiver.

mod averages;
mod events;
mod holes;
mod monitor;
mod rtt;
mod values;
mod window;

pub use events::LossEvents;
pub use holes::{Holes, Revealed};
pub(crate) use monitor::Arrival;
pub use monitor::Monitor;
pub use rtt::RttMeter;
pub use window::Window;
