//! The workloads of the speed comparison: same names and parameters as in the published measurements of htsim and ns-3.
//!
//! Long flows, one ACK per packet, initial window 10, flow i starts at RTT (0.01 + 0.13 i), summary metrics on, no
//! time series. "min" has one hop; "full" has an access link, the shared bottleneck and an exit link, and the mirror
//! for ACKs.

use fairweir_path::link::ConstantConfig;
use fairweir_path::queue::DroptailConfig;
use fairweir_path::{HopConfig, LinkConfig, QueueConfig};
use fairweir_sim::{Config, FlowSpec, LinkSpec, Receiver, Source};
use fairweir_units::{Bytes, Dur, Rate, Time};
use serde_json::Value;

/// What differs between workloads.
struct Shape {
    rate: Rate,
    rtt: Dur,
    packet: Bytes,
    queue: QueueConfig,
    duration: Dur,
    flows: usize,
    /// Spread of the flows' rtprops, as a fraction of `rtt` in percent: equal ones are the easy case.
    spread_percent: u64,
    ecn: bool,
}

fn droptail(packets: u64, packet: Bytes) -> QueueConfig {
    QueueConfig::Droptail(DroptailConfig { limit: Some(packet * packets), limit_packets: None })
}

fn hop(rate: Rate, queue: QueueConfig) -> HopConfig {
    HopConfig { link: LinkConfig::Constant(ConstantConfig { rate }), queue }
}

fn flow(shape: &Shape, cca: &str, index: usize) -> FlowSpec {
    let extra = shape.rtt.mul_ratio(shape.spread_percent * index as u64, 100 * shape.flows as u64);
    let rtprop = shape.rtt + extra;
    FlowSpec {
        id: format!("{cca}.{index}"),
        cca: cca.to_owned(),
        params: Value::Null,
        path: vec![0],
        ack_path: vec![],
        ingress: vec![],
        forward_delay: rtprop / 2,
        egress: vec![],
        reverse_delay: rtprop.saturating_sub(rtprop / 2),
        reverse: vec![],
        reverse_egress: vec![],
        start: Time::ZERO + shape.rtt.mul_ratio(1 + 13 * index as u64, 100),
        stop: None,
        source: Source::Bulk,
        initial_cwnd: 10,
        receiver: Receiver::default(),
        ecn: shape.ecn,
        gso: 1,
        rwnd: None,
        min_rto: Dur::from_millis(200),
        oracle_rtprop: None,
        rtprop,
    }
}

fn min(shape: &Shape, cca: &str) -> Config {
    Config {
        duration: shape.duration,
        warmup: Dur::ZERO,
        seed: 1,
        packet: shape.packet,
        ack: Bytes(52),
        links: vec![LinkSpec {
            name: "bottleneck".into(),
            hop: hop(shape.rate, shape.queue.clone()),
            delay: Dur::ZERO,
        }],
        flows: (0..shape.flows).map(|i| flow(shape, cca, i)).collect(),
        interval: None,
    }
}

/// 100 Mbps, 50 ms (different rtprops up to 100 ms), 416 packets, 60 s.
pub fn w1_min(cca: &str, flows: usize, duration: Dur) -> Config {
    let packet = Bytes(1500);
    min(
        &Shape {
            rate: Rate::from_mbps(100),
            rtt: Dur::from_millis(50),
            packet,
            queue: droptail(416, packet),
            duration,
            flows,
            spread_percent: 100,
            ecn: false,
        },
        cca,
    )
}

/// 10 Gbps, 50 ms, 1 BDP, 1024 flows of different rtprops.
pub fn w3(cca: &str, duration: Dur) -> Config {
    let packet = Bytes(1500);
    min(
        &Shape {
            rate: Rate::from_mbps(10_000),
            rtt: Dur::from_millis(50),
            packet,
            queue: droptail(41_666, packet),
            duration,
            flows: 1024,
            spread_percent: 100,
            ecn: false,
        },
        cca,
    )
}
