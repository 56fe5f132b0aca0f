//! Video at frame level: encoders as tables, senders, forward error correction, a link of `fairweir-path`, and one definition
//! of delay, quality and frame rate for all senders, taken at the receiver.
//!
//! [`play`] is the whole of it: a [`Config`] and a [`Table`] in, an [`Outcome`] out. Amounts are in full packets, by wire
//! bytes; a frame's packets have one size, so that any of a group's may be repair.
#![forbid(unsafe_code)]

mod config;
mod encoder;
pub mod fec;
mod ledger;
mod metrics;
mod network;
mod outgoing;
mod receiver;
mod senders;
mod session;
mod table;
mod vp8_scale;

pub use config::Config;
pub use encoder::{CallbackEncoder, EncodeCallback, Encoder, FrozenCallback, Job, Miss, Quality, TableEncoder};
pub use ledger::{Ledger, SentPacket};
pub use metrics::{Fate, FrameRecord, Metrics, quantile};
pub use network::NetworkConfig;
pub use outgoing::{Frame, Group, Outgoing, Sizes, Stage};
pub use senders::{Ack, Coding, Decision, Recovery, SENDERS, Sender, SenderConfig, SyntraConfig};
pub use session::{GroupRecord, Outcome, PacketRecord, SessionError, Traffic, play, play_with};
pub use table::{Coded, Table, TableError, ssim_db};
