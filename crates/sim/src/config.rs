//! A scenario in base units (ns, bytes, bytes per second), as the front end hands it over. People write TOML; the front
//! end resolves units, BDP multiples and defaults, and this is what is left.

use fairweir_path::{ElementConfig, HopConfig};
use fairweir_units::{Bytes, Dur, Rate, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A whole scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// How long to simulate.
    pub duration: Dur,
    /// Summary metrics count from here on; shorter than `duration`.
    #[serde(default)]
    pub warmup: Dur,
    /// Seeds every random stream and every tie.
    pub seed: u64,
    /// Data packet size on the wire.
    #[serde(default = "default_packet")]
    pub packet: Bytes,
    /// ACK size on the wire.
    #[serde(default = "default_ack")]
    pub ack: Bytes,
    /// Hops that flows share.
    pub links: Vec<LinkSpec>,
    /// Who sends.
    pub flows: Vec<FlowSpec>,
    /// Interval of the time series; absent: none is recorded.
    #[serde(default)]
    pub interval: Option<Dur>,
}

/// A hop with a name.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// As flows refer to it and summaries print it.
    pub name: String,
    /// Queue and link.
    pub hop: HopConfig,
    /// Propagation from this hop to the next one on a path, one way. After the last hop it counts as part of
    /// `forward_delay`.
    #[serde(default)]
    pub delay: Dur,
}

/// One sender, its path and its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// As summaries print it.
    pub id: String,
    /// The controller's name.
    pub cca: String,
    /// The controller's parameters: an object, or null.
    #[serde(default)]
    pub params: Value,
    /// The hops of the data packets: indices into `links`, in order.
    pub path: Vec<usize>,
    /// The hops of the ACKs, usually none.
    #[serde(default)]
    pub ack_path: Vec<usize>,
    /// Elements before the first hop (access link, policer, loss), in order.
    #[serde(default)]
    pub ingress: Vec<ElementConfig>,
    /// Propagation after the last hop to the receiver.
    pub forward_delay: Dur,
    /// Elements after the last hop (jitter), in order.
    #[serde(default)]
    pub egress: Vec<ElementConfig>,
    /// Propagation of the ACKs before the first hop of `ack_path` (or all of it, if there is none).
    pub reverse_delay: Dur,
    /// Elements on the ACKs' way before the first hop of `ack_path`.
    #[serde(default)]
    pub reverse: Vec<ElementConfig>,
    /// Elements on the ACKs' way after the last hop of `ack_path`.
    #[serde(default)]
    pub reverse_egress: Vec<ElementConfig>,
    /// When the flow starts.
    #[serde(default)]
    pub start: Time,
    /// When it stops sending; absent: at the end.
    #[serde(default)]
    pub stop: Option<Time>,
    /// What the application has to send.
    #[serde(default)]
    pub source: Source,
    /// Initial window, packets.
    #[serde(default = "default_initial_cwnd")]
    pub initial_cwnd: u64,
    /// What the receiver acknowledges.
    #[serde(default)]
    pub receiver: Receiver,
    /// May queues mark instead of drop, and does the sender react?
    #[serde(default)]
    pub ecn: bool,
    /// Most packets that leave back to back when pacing releases them (segmentation offload).
    #[serde(default = "default_one")]
    pub gso: u64,
    /// Receive window, packets; absent: no limit.
    #[serde(default)]
    pub rwnd: Option<u64>,
    /// Smallest retransmission timeout.
    #[serde(default = "default_min_rto")]
    pub min_rto: Dur,
    /// True two-way propagation delay, told to the controller if the scenario grants an oracle.
    #[serde(default)]
    pub oracle_rtprop: Option<Dur>,
    /// Two-way propagation delay, for qdelay = RTT - rtprop in summaries.
    pub rtprop: Dur,
}

/// What the application has to send.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Source {
    /// As much as may be sent.
    #[default]
    Bulk,
    /// So many bytes, rounded up to whole packets; the flow then ends.
    Finite {
        /// How many.
        bytes: Bytes,
    },
    /// Data become available at a constant rate: application-limited.
    Rate {
        /// How fast.
        rate: Rate,
    },
    /// Bulk while on, nothing while off, starting on.
    OnOff {
        /// Length of a sending period.
        on: Dur,
        /// Length of a silence.
        off: Dur,
    },
}

/// What the receiver acknowledges.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receiver {
    /// One ACK for so many in-order packets.
    #[serde(default = "default_one")]
    pub ack_every: u64,
    /// ... or after so long.
    #[serde(default = "default_ack_timer")]
    pub ack_timer: Dur,
    /// Selective acknowledgements, or cumulative ones only.
    #[serde(default = "default_true")]
    pub sack: bool,
}

impl Default for Receiver {
    fn default() -> Receiver {
        Receiver { ack_every: default_one(), ack_timer: default_ack_timer(), sack: true }
    }
}

fn default_packet() -> Bytes {
    Bytes(1500)
}
/// 20 B IP + 32 B TCP with timestamps.
fn default_ack() -> Bytes {
    Bytes(52)
}
/// RFC 6928.
fn default_initial_cwnd() -> u64 {
    10
}
fn default_one() -> u64 {
    1
}
/// Linux `TCP_DELACK_MIN`.
fn default_ack_timer() -> Dur {
    Dur::from_millis(40)
}
/// Linux `TCP_RTO_MIN`.
fn default_min_rto() -> Dur {
    Dur::from_millis(200)
}
fn default_true() -> bool {
    true
}
