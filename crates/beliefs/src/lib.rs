//! What a flow's record allows to be true of its path (thesis chapter 3, sections 4.1.1 and A.2).
//!
//! [`Flows`] turns segments into packets with their fates; [`rate_bounds`] inverts the CCAC model, [`slice`] and
//! [`explain`] the CBR-delay model, of which the ideal link is the one without jitter; [`Limits`] tells what a flow waited for; [`report`] does all
//! of it for a file.
//!
//! | symbol | here | meaning |
//! | --- | --- | --- |
//! | A(t), S(t), L(t) | [`Packet`]'s `sent`, `acked`, `fate` | what was sent, delivered, lost by t |
//! | C, R, D, beta | `rate`, `rtprop`, `jitter`, `buffer` | the path |
//! | C_L, C_U | [`RateBounds`] | least and largest rate |
#![forbid(unsafe_code)]

mod cbr_delay;
mod flows;
mod hull;
mod limits;
mod packet;
mod rates;
mod report;
mod series;

pub use cbr_delay::{Belief, Interval, Slice, explain, slice};
pub use flows::{Flow, Flows, View};
pub use limits::{Ack, Data, Limit, Limits, Period, Terms};
pub use packet::{Fate, Packet};
pub use rates::{RateBounds, rate_bounds};
pub use report::{FlowReport, Report, report};
pub use series::{Bins, Series};
