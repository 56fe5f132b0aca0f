//! Decision synthesis (Syntra, thesis section 4.5): beliefs of a jittery constant-bit-rate link with a finite buffer, the
//! game of a sender against that link, and the decision trees that are distilled from it.
#![forbid(unsafe_code)]

mod bounds_fast;
pub mod link;
mod model;
mod replay;
mod slice;
mod window;

pub use bounds_fast::{Bounds, Corners, Path, Within, bounds_at, c_range, corners, fast_bounds};
pub use model::{EPS, LinkModel, Range};
pub use replay::{Trajectory, extreme_trajectories, initial_accepted, replay, trajectories_from};
pub use slice::{Slice, initial_service, slice};
pub use window::{Observation, POINTS, Window};
