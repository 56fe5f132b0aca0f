//! Beliefs: the path parameters consistent with a flow's record (thesis chapter 3, sections 4.1.1 and A.2).
//!
//! [`Flows`] converts segments to packets with their fates; [`QuicFlow`] does so for a QUIC sender's log.
//! [`explain_ccac`] inverts the CCAC model, [`slice`] and [`explain`] the CBR-delay model (an ideal link is a CBR-delay
//! link without jitter). [`judge`] decides which models explain a flow, [`cut`] finds where its link changed, and
//! [`shrink`] computes the beliefs over time. [`shaper`], [`policer`] and [`aggregation`] detect behavior outside
//! these models. [`Limits`] determines what the flow waited for. [`report`] does all of this for a file.
//!
//! | symbol | here | meaning |
//! | --- | --- | --- |
//! | A(t), S(t), L(t) | [`Packet`]'s `sent`, `acked`, `fate` | what was sent, delivered, lost by t |
//! | C, R, D, beta | `rate`, `rtprop`, `jitter`, `buffer` | rate, propagation RTT, jitter, buffer of the path |
//! | T_A(t) | `tokens` | tokens admitted by t |
//! | C_L, C_U | [`CcacBelief`] | minimum and maximum rate |
//!
//! A *frame* is a packet of the capture file, identified by its number.
#![forbid(unsafe_code)]

mod aggregation;
mod cbr_delay;
mod ccac;
mod changes;
mod dispersion;
mod flows;
mod golden;
mod hull;
mod interval;
mod limits;
mod links;
mod models;
mod packet;
mod place;
mod quic;
mod record;
mod report;
mod search;
mod series;
mod sharing;
mod shrinking;
mod slice;
mod token_bucket;
mod tokens;

pub use aggregation::{Aggregation, aggregation};
pub use cbr_delay::{Belief, explain};
pub use ccac::{CcacBelief, explain_ccac, min_jitter};
pub use changes::{Change, Parts, Piece, Pieces, cut};
pub use flows::{Flow, Flows, LeftOut};
pub use interval::Interval;
pub use limits::{Ack, Data, Limit, Limits, Period, Terms};
pub use links::{Cause, Link, RateChange, RatePart, Sets};
pub use models::{Model, Verdict, judge};
pub use packet::{Fate, Packet};
pub use place::View;
pub use quic::QuicFlow;
pub use record::Record;
pub use report::{FlowReport, LinkReport, Report, report};
pub use series::{Bins, Series};
pub use sharing::{Group, groups, merge};
pub use shrinking::{Moment, shrink};
pub use slice::{Slice, slice};
pub use token_bucket::{Excess, TokenBucket, policer, shaper};
