//! The workloads of the speed comparison: same names and parameters as in the published measurements of htsim and ns-3.
//!
//! Long flows, one ACK per packet, initial window 10, flow i starts at RTT (0.01 + 0.13 i), summary metrics on, no
//! time series. "min" has one hop; "full" has an access link, the shared bottleneck and an exit link, and the mirror
//! for ACKs.

use fairweir_cca::Start;
use fairweir_path::link::ConstantConfig;
use fairweir_path::queue::DroptailConfig;
use fairweir_path::{ElementConfig, LinkConfig, PrivateLinkConfig, QueueConfig};
use fairweir_scenario::{Config, FlowSpec, LinkSpec};
use fairweir_sim::{Outcome, SimError, run_with};
use fairweir_units::{Bytes, Dur, Rate, Time};
use std::ops::ControlFlow;

/// Runs a workload with the controller that it names.
pub fn run(config: &Config) -> Result<Outcome, SimError> {
    let by_name = |flow: &FlowSpec, start: &Start| fairweir_native::registry::build(&flow.cca, &flow.params, start);
    run_with(config, &by_name, &mut |_| ControlFlow::Continue(()))
}

/// Parameters that differ between workloads.
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
    QueueConfig::Droptail(DroptailConfig { limit: Some(packet * packets), ..DroptailConfig::default() })
}

fn flow(shape: &Shape, cca: &str, index: usize) -> FlowSpec {
    let extra = shape.rtt.mul_ratio(shape.spread_percent * index as u64, 100 * shape.flows as u64);
    let rtprop = shape.rtt + extra;
    FlowSpec {
        id: format!("{cca}.{index}"),
        start: Time::ZERO + shape.rtt.mul_ratio(1 + 13 * index as u64, 100),
        ecn: shape.ecn,
        ..FlowSpec::bulk(cca, rtprop)
    }
}

fn min(shape: &Shape, cca: &str) -> Config {
    let flows = (0..shape.flows).map(|i| flow(shape, cca, i)).collect();
    Config { packet: shape.packet, ..Config::dumbbell(shape.rate, shape.queue.clone(), flows, shape.duration) }
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

/// Like `w1_min` with 50 ms for all flows, over access link (1 Gbps, 2 ms), bottleneck (21 ms), exit link, and back
/// likewise.
pub fn w1_full(cca: &str, flows: usize, duration: Dur) -> Config {
    let mut config = w1_min(cca, flows, duration);
    let access = |limit| {
        ElementConfig::Link(PrivateLinkConfig {
            link: LinkConfig::Constant(ConstantConfig { rate: Rate::from_mbps(1000) }),
            limit: None,
            limit_packets: Some(limit),
        })
    };
    let delay =
        |ms| ElementConfig::Delay(fairweir_path::jitter::DelayConfig { by: Dur::from_millis(ms), from: Time::ZERO });
    config.links.push(LinkSpec::constant("return", Rate::from_mbps(100), droptail(416, Bytes(1500))));
    for (index, flow) in config.flows.iter_mut().enumerate() {
        flow.ingress = vec![access(100_000), delay(2)];
        flow.forward_delay = Dur::from_millis(21);
        flow.egress = vec![access(100_000), delay(2)];
        flow.reverse_delay = Dur::ZERO;
        flow.reverse = vec![access(100_000), delay(2)];
        flow.ack_path = vec![1];
        flow.reverse_egress = vec![delay(21), access(100_000), delay(2)];
        flow.rtprop = Dur::from_millis(50);
        flow.start = Time::ZERO + Dur::from_millis(50).mul_ratio(1 + 13 * index as u64, 100);
    }
    config
}

/// 100 Gbps, 12 us, 4 KiB packets, step marking above 60 packets, 200 packets of buffer.
pub fn w2_min(cca: &str, flows: usize, duration: Dur) -> Config {
    let packet = Bytes(4096);
    min(
        &Shape {
            rate: Rate::from_mbps(100_000),
            rtt: Dur::from_micros(12),
            packet,
            queue: QueueConfig::EcnThreshold(fairweir_path::queue::EcnThresholdConfig {
                mark_above: Some(packet * 60),
                limit: Some(packet * 200),
                ..fairweir_path::queue::EcnThresholdConfig::default()
            }),
            duration,
            flows,
            spread_percent: 0,
            ecn: true,
        },
        cca,
    )
}

/// 10 Gbps, 50 ms, 1 BDP, 1024 flows of different rtprops, all started within 0.13 s.
pub fn w3(cca: &str, duration: Dur) -> Config {
    let packet = Bytes(1500);
    let mut config = min(
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
    );
    for (index, flow) in config.flows.iter_mut().enumerate() {
        flow.start = Time::ZERO + Dur::from_millis(50).mul_ratio(1 + 13 * (index as u64 % 200), 1000);
    }
    config
}

/// Many flows of 0.5 Mbps each on one link, 100 ms, 1 BDP, all started within a second.
pub fn many(cca: &str, flows: usize, duration: Dur) -> Config {
    let (packet, rate) = (Bytes(1500), Rate::from_mbps(flows as u64).mul_ratio(1, 2));
    let rtt = Dur::from_millis(100);
    let queue = droptail((rate * rtt).0 / packet.0, packet);
    let mut config = min(&Shape { rate, rtt, packet, queue, duration, flows, spread_percent: 50, ecn: false }, cca);
    for (index, flow) in config.flows.iter_mut().enumerate() {
        flow.start = Time::ZERO + Dur::from_secs(1).mul_ratio(index as u64, flows as u64);
    }
    config
}
