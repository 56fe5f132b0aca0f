//! Video at the level of frames: encoders as tables, senders, forward error correction, and a link of `fairweir-path`.
//! Delay, quality and frame rate are measured at the receiver, with the same definition for all senders.
//!
//! [`play`] runs a session: it takes a [`Config`] and a [`Table`] and returns an [`Outcome`]. Amounts are in full
//! packets, by bytes on the wire. The packets of a group have equal sizes, so that any of them may be repair packets.
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
