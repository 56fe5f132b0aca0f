//! A scenario in base units (ns, bytes, bytes per second). The front end has resolved the TOML file's units, BDP
//! multiples and defaults.

use crate::Transport;
use fairweir_path::link::ConstantConfig;
use fairweir_path::{ElementConfig, HopConfig, LinkConfig, QueueConfig};
use fairweir_units::{Bytes, Dur, Rate, Time};
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Headers of a data packet, and size of an ACK: 20 B IP and 32 B TCP with timestamps.
pub const HEADER_BYTES: u64 = 52;

/// A whole scenario.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Simulated duration.
    pub duration: Dur,
    /// Length of the warm-up, which summary metrics exclude; shorter than `duration`.
    #[serde(default)]
    pub warmup: Dur,
    /// Seed of all random streams and of the order of simultaneous events.
    pub seed: u64,
    /// Data packet size on the wire.
    #[serde(default = "default_packet")]
    pub packet: Bytes,
    /// ACK size on the wire.
    #[serde(default = "default_ack")]
    pub ack: Bytes,
    /// Hops shared by flows.
    pub links: Vec<LinkSpec>,
    /// The senders.
    pub flows: Vec<FlowSpec>,
    /// Interval of the time series; if absent, none is recorded.
    #[serde(default)]
    pub interval: Option<Dur>,
    /// The hosts of QUIC stacks.
    #[serde(default, skip_serializing_if = "Host::is_default")]
    pub host: Host,
}

/// The hosts of QUIC stacks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Host {
    /// Interval at which a host runs its stack; zero: at every arrival and every deadline of the stack.
    #[serde(default)]
    pub wake: Dur,
    /// How packets are encrypted.
    #[serde(default)]
    pub crypto: Crypto,
}

/// Encryption of QUIC packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Crypto {
    /// None: tags of the usual size, and a handshake of the shape of TLS 1.3's.
    #[default]
    Null,
    /// TLS 1.3.
    Tls,
}

impl Host {
    fn is_default(&self) -> bool {
        *self == Host::default()
    }
}

impl Config {
    /// Creates a run of `duration` in which `flows` share one link of constant `rate` with `queue`: packets of 1500 B,
    /// ACKs of 52 B, seed 1, no warm-up and no time series.
    ///
    /// ```
    /// use fairweir_path::QueueConfig;
    /// use fairweir_path::queue::DroptailConfig;
    /// use fairweir_scenario::{Config, FlowSpec, check};
    /// use fairweir_units::{Bytes, Dur, Rate};
    ///
    /// let queue = QueueConfig::Droptail(DroptailConfig { limit: Some(Bytes(60_000)), ..DroptailConfig::default() });
    /// let flows = vec![FlowSpec::bulk("reno", Dur::from_millis(40)), FlowSpec::bulk("cubic", Dur::from_millis(80))];
    /// let config = Config::dumbbell(Rate::from_mbps(96), queue, flows, Dur::from_secs(60));
    /// assert!(check(&config).is_ok());
    /// ```
    pub fn dumbbell(rate: Rate, queue: QueueConfig, flows: Vec<FlowSpec>, duration: Dur) -> Config {
        Config {
            duration,
            warmup: Dur::ZERO,
            seed: 1,
            packet: default_packet(),
            ack: default_ack(),
            links: vec![LinkSpec::constant("bottleneck", rate, queue)],
            flows,
            interval: None,
            host: Host::default(),
        }
    }
}

/// A named hop.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinkSpec {
    /// Name by which flows refer to it and summaries print it.
    pub name: String,
    /// Queue and link.
    pub hop: HopConfig,
    /// One-way propagation delay from this hop to the next hop of a path. After the last hop it counts as part of
    /// `forward_delay`.
    #[serde(default)]
    pub delay: Dur,
}

impl LinkSpec {
    /// Creates a link of constant `rate` with `queue`, without propagation to the next one.
    pub fn constant(name: &str, rate: Rate, queue: QueueConfig) -> LinkSpec {
        let link = LinkConfig::Constant(ConstantConfig { rate });
        LinkSpec { name: name.to_owned(), hop: HopConfig { link, queue }, delay: Dur::ZERO }
    }
}

/// One sender, its path and its receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FlowSpec {
    /// Id printed in summaries.
    pub id: String,
    /// The controller's name.
    pub cca: String,
    /// The controller's parameters: an object, or null.
    #[serde(default)]
    pub params: Value,
    /// The hops of the data packets: indices into `links`, in order.
    pub path: Vec<usize>,
    /// The hops of the ACKs, usually empty.
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
    /// Propagation of the ACKs before the first hop of `ack_path` (or all of it, if `ack_path` is empty).
    pub reverse_delay: Dur,
    /// Elements on the return path before the first hop of `ack_path`.
    #[serde(default)]
    pub reverse: Vec<ElementConfig>,
    /// Elements on the return path after the last hop of `ack_path`.
    #[serde(default)]
    pub reverse_egress: Vec<ElementConfig>,
    /// Start time of the flow.
    #[serde(default)]
    pub start: Time,
    /// Time at which it stops sending; if absent, the end of the run.
    #[serde(default)]
    pub stop: Option<Time>,
    /// Data that the application provides.
    #[serde(default)]
    pub source: Source,
    /// Initial window, packets.
    #[serde(default = "default_initial_cwnd")]
    pub initial_cwnd: u64,
    /// Acknowledgement policy of the receiver.
    #[serde(default)]
    pub receiver: Receiver,
    /// Whether queues may mark instead of drop (ECN) and the sender responds to marks.
    #[serde(default)]
    pub ecn: bool,
    /// Maximum number of packets sent back to back when pacing releases them (segmentation offload).
    #[serde(default = "default_one")]
    pub gso: u64,
    /// Receive window, packets; if absent, unlimited.
    #[serde(default)]
    pub rwnd: Option<u64>,
    /// Maximum of the random time that the sender's host takes to process an ACK ([`fairweir_path::Processing`]).
    #[serde(default)]
    pub processing: Dur,
    /// Mechanisms of Linux's TCP that its hosts have; the kernel world, whose hosts are real, reads only
    /// [`Mechanism::Autotuning`](crate::Mechanism::Autotuning).
    #[serde(default)]
    pub transport: Transport,
    /// Minimum retransmission timeout.
    #[serde(default = "default_min_rto")]
    pub min_rto: Dur,
    /// True two-way propagation delay, passed to the controller if the scenario enables its oracle.
    #[serde(default)]
    pub oracle_rtprop: Option<Dur>,
    /// Two-way propagation delay, for qdelay = RTT - rtprop in summaries.
    pub rtprop: Dur,
}

impl FlowSpec {
    /// Creates a flow of unlimited data over link 0, with default parameters, half of `rtprop` in each direction, and
    /// the defaults of the receiver and the sender.
    pub fn bulk(cca: &str, rtprop: Dur) -> FlowSpec {
        FlowSpec {
            id: cca.to_owned(),
            cca: cca.to_owned(),
            params: Value::Null,
            path: vec![0],
            ack_path: Vec::new(),
            ingress: Vec::new(),
            forward_delay: rtprop / 2,
            egress: Vec::new(),
            reverse_delay: rtprop.saturating_sub(rtprop / 2),
            reverse: Vec::new(),
            reverse_egress: Vec::new(),
            start: Time::ZERO,
            stop: None,
            source: Source::Bulk,
            initial_cwnd: default_initial_cwnd(),
            receiver: Receiver::default(),
            ecn: false,
            gso: default_one(),
            rwnd: None,
            processing: Dur::ZERO,
            transport: Transport::default(),
            min_rto: default_min_rto(),
            oracle_rtprop: None,
            rtprop,
        }
    }
}

/// Data that the application provides.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Source {
    /// Unlimited data.
    #[default]
    Bulk,
    /// A fixed number of bytes, rounded up to whole packets; the flow then ends.
    Finite {
        /// Size of the transfer.
        bytes: Bytes,
    },
    /// Data that becomes available at a constant rate: application-limited.
    Rate {
        /// Rate of the application.
        rate: Rate,
    },
    /// Unlimited data in sending periods, none in idle periods; starts with a sending period.
    OnOff {
        /// Length of a sending period.
        on: Dur,
        /// Length of an idle period.
        off: Dur,
    },
}

/// Acknowledgement policy of the receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receiver {
    /// Number of in-order packets per ACK.
    #[serde(default = "default_one")]
    pub ack_every: u64,
    /// Maximum delay of an ACK.
    #[serde(default = "default_ack_timer")]
    pub ack_timer: Dur,
    /// Whether ACKs carry SACK; otherwise they are cumulative only.
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
fn default_ack() -> Bytes {
    Bytes(HEADER_BYTES)
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
