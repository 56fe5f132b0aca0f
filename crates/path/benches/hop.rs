//! Cost of a packet at a hop and at an element. Budget: 10 ns at a droptail hop before a constant link, the simulator's
//! hottest path.
//!
//! ```text
//! cargo bench -p fairweir-path
//! ```

use divan::Bencher;
use divan::counter::ItemsCount;
use fairweir_path::jitter::{AckAggregationConfig, DelayConfig, UniformConfig};
use fairweir_path::link::{ConstantConfig, RateStep, ShaperConfig, StepsConfig, TraceConfig};
use fairweir_path::queue::{CodelConfig, DroptailConfig, EcnThresholdConfig, RedConfig};
use fairweir_path::{Ecn, ElementConfig, Hop, HopConfig, LinkConfig, Packet, PrivateLinkConfig, QueueConfig};
use fairweir_units::{Bytes, Dur, Rate, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

fn main() {
    divan::main();
}

const PACKETS: u64 = 100_000;
const RATE: Rate = Rate::from_mbps(100);
/// The queue is standing and some packets are dropped.
const OVERLOAD: u64 = 105;
const PACKET: Bytes = Bytes(1500);

fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(1)
}

fn packet() -> Packet {
    Packet { seq: 0, bytes: PACKET, sent: Time::ZERO, ecn: Ecn::Ect0 }
}

/// Arrivals at `load` % of the link's rate, spread irregularly.
fn arrivals(load: u64) -> Vec<Time> {
    let mean = 12_000_000 / load;
    let mut state = 1u64;
    let mut now = 0;
    (0..PACKETS)
        .map(|_| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            now += ((state >> 33) * 2 * mean) >> 31;
            Time::from_nanos(now)
        })
        .collect()
}

fn droptail() -> QueueConfig {
    QueueConfig::Droptail(DroptailConfig { limit: Some(PACKET * 416), limit_packets: None })
}

fn constant() -> LinkConfig {
    LinkConfig::Constant(ConstantConfig { rate: RATE })
}

fn bench_hop(bencher: Bencher, load: u64, link: LinkConfig, queue: QueueConfig) {
    let (config, arrivals, packet) = (HopConfig { link, queue }, arrivals(load), packet());
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(|| Hop::new(&config, rng())).bench_refs(|hop| {
        for &now in &arrivals {
            divan::black_box(hop.arrive(now, &packet));
        }
    });
}

#[divan::bench(args = [97, 101, OVERLOAD])]
fn droptail_constant(bencher: Bencher, load: u64) {
    bench_hop(bencher, load, constant(), droptail());
}

#[divan::bench]
fn ecn_threshold_constant(bencher: Bencher) {
    let queue =
        EcnThresholdConfig { mark_above_packets: Some(60), limit_packets: Some(200), ..EcnThresholdConfig::default() };
    bench_hop(bencher, OVERLOAD, constant(), QueueConfig::EcnThreshold(queue));
}

#[divan::bench]
fn red_constant(bencher: Bencher) {
    let queue = RedConfig {
        min_threshold: PACKET * 30,
        max_threshold: PACKET * 90,
        max_per_billion: 100_000_000,
        weight_per_billion: 2_000_000,
        packet_time: PACKET / RATE,
        gentle: true,
        ecn: true,
        hard_drop: false,
        limit: Some(PACKET * 416),
        limit_packets: None,
    };
    bench_hop(bencher, OVERLOAD, constant(), QueueConfig::Red(queue));
}

#[divan::bench]
fn droptail_steps(bencher: Bencher) {
    let steps = (0..100).map(|i| RateStep { at: Time::from_nanos(i * 100_000_000), rate: RATE }).collect();
    bench_hop(bencher, OVERLOAD, LinkConfig::Steps(StepsConfig { steps }), droptail());
}

#[divan::bench]
fn droptail_trace(bencher: Bencher) {
    let opportunities = (1..=8_300u64).map(|i| Time::from_nanos(i * 120_000)).collect();
    bench_hop(bencher, OVERLOAD, LinkConfig::Trace(TraceConfig { opportunities, bytes: Bytes(1504) }), droptail());
}

#[divan::bench]
fn droptail_token_bucket(bencher: Bencher) {
    bench_hop(bencher, OVERLOAD, LinkConfig::TokenBucket(ShaperConfig { rate: RATE, burst: PACKET * 20 }), droptail());
}

/// Each packet waits and is served.
#[divan::bench]
fn codel_constant(bencher: Bencher) {
    let queue = CodelConfig { limit: Some(PACKET * 416), ..CodelConfig::default() };
    let config = HopConfig { link: constant(), queue: QueueConfig::Codel(queue) };
    let (arrivals, packet) = (arrivals(OVERLOAD), packet());
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(|| Hop::new(&config, rng())).bench_refs(|hop| {
        for &now in &arrivals {
            while hop.service_at() < now {
                divan::black_box(hop.service(hop.service_at()));
            }
            divan::black_box(hop.wait(now, &packet, 0));
        }
    });
}

#[divan::bench(args = ["delay", "uniform", "ack-aggregation"])]
fn element(bencher: Bencher, kind: &str) {
    let config = match kind {
        "delay" => ElementConfig::Delay(DelayConfig { by: Dur::from_millis(10), from: Time::ZERO }),
        "uniform" => ElementConfig::Uniform(UniformConfig { max: Dur::from_millis(10) }),
        _ => ElementConfig::AckAggregation(AckAggregationConfig {
            hold: Dur::from_millis(32),
            rate: RATE,
            burst_rate: RATE * 4,
            smooth: Time::ZERO,
            opportunity: Bytes(1504),
        }),
    };
    bench_element(bencher, &config, Packet { bytes: Bytes(52), ..packet() });
}

/// An access link ten times as fast as the arrivals, with and without a limit that is never reached.
#[divan::bench(args = [None, Some(100_000)])]
fn access_link(bencher: Bencher, limit_packets: Option<u64>) {
    let link = LinkConfig::Constant(ConstantConfig { rate: RATE * 10 });
    bench_element(bencher, &ElementConfig::Link(PrivateLinkConfig { link, limit: None, limit_packets }), packet());
}

fn bench_element(bencher: Bencher, config: &ElementConfig, packet: Packet) {
    let arrivals = arrivals(OVERLOAD);
    bencher.counter(ItemsCount::new(PACKETS)).with_inputs(|| config.build(rng())).bench_refs(|element| {
        for &now in &arrivals {
            divan::black_box(element.arrive(now, &packet));
        }
    });
}
