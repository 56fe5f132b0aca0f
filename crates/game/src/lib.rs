//! Decision synthesis (Syntra, thesis section 4.5): beliefs about a link of constant rate with jitter and a finite
//! buffer, the game of a sender against that link, and the decision trees that are derived from it.
//!
//! Time is divided into steps of one rtprop. A *point* is the end of a step, and a *window* is a sender's observations
//! at the last points. A *belief* is the set of the links of a model that explain a window. Symbols, in packets:
//!
//! - C, B: capacity (packets per step) and buffer of a link; K = C + B
//! - A\[t\], S\[t\], L\[t\]: cumulative packets sent, delivered and lost by point t, as the sender observes them
//! - N\[t\] = A\[t\] - L\[t\]: cumulative packets that the queue accepted
//! - I\[t\]: cumulative packets that the link served; jitter then delays their delivery
//! - q: queue at the point after the window
//! - M: minimum C of a belief; Q: maximum q; R0: the safe rate, which is the minimum of C + B - q
#![forbid(unsafe_code)]

pub mod action;
mod believe;
mod binding;
mod bounds;
mod bounds_exact;
mod bounds_fast;
pub mod controller;
pub mod explain;
pub mod features;
pub mod form;
pub mod frames;
mod held;
pub mod link;
mod model;
pub mod objective;
pub mod observed;
pub mod play;
mod polygon;
pub mod query;
mod replay;
pub mod reply;
pub mod search;
pub mod shield;
mod slice;
pub mod state;
pub mod tree;
mod window;

pub use believe::{Belief, BeliefSource, believe};
pub use binding::{Binding, Fact};
pub use bounds::Bounds;
pub use bounds_exact::{ExactBounds, exact_bounds, exact_c};
pub use bounds_fast::{Corners, Path, Within, bounds_at, c_range, corners, fast_bounds};
pub use held::{HeldCapacity, Remembered};
pub use model::{EPS, LinkModel, Range};
pub use replay::{Trajectory, extreme_trajectories, initial_accepted, replay, trajectories_from};
pub use slice::{Slice, initial_service, slice};
pub use window::{Observation, POINTS, Window};
