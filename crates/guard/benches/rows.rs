//! Measures the cost of a data packet with its ACK: table lookups, measurement, and a row of features. Budget per core:
//! 1 M data packets/s with a complete row of 20 features for each, 5 M packets/s for the service policy's six features.
//!
//! ```text
//! cargo bench -p fairweir-guard
//! ```

#[allow(dead_code)]
#[path = "../tests/guard/peer.rs"]
mod peer;

use divan::Bencher;
use divan::counter::ItemsCount;
use fairweir_guard::policy::DECIDE_EVERY;
use fairweir_guard::{Feature, Limits, Packet, Plan, Row, Table, catalogue};
use fairweir_units::Time;
use peer::{Peer, key_from};

fn main() {
    divan::main();
}

const FLOWS: u16 = 4;
const PACKETS_PER_FLOW: u64 = 12_000;
const MIN_RTT_US: u64 = 20_000;
/// 1,514 bytes at 25 Mbit/s.
const GAP_US: u64 = 484;

/// The features that CMU-CS-24-129, table 6, finds most important: slow averages of losses and gaps, windows, and loss
/// events.
const TWENTY: [&str; 20] = [
    "min_rtt_us",
    "rtt_ratio.ewma0.01",
    "interarrival_us.ewma0.001",
    "interarrival_us.ewma0.01",
    "arrival_rate_mbps.ewma0.1",
    "inv_sqrt_loss_rate.ewma0.001",
    "inv_sqrt_loss_rate.ewma0.003",
    "inv_sqrt_loss_rate.ewma0.005",
    "rtt_us.window8",
    "rtt_ratio.window8",
    "rtt_ratio.window32",
    "throughput_mbps.window8",
    "throughput_mbps.window32",
    "interarrival_us.window16",
    "loss_rate.window8",
    "loss_rate.window32",
    "mathis_mbps.window32",
    "loss_event_rate.intervals8",
    "inv_sqrt_loss_event_rate.intervals8",
    "mathis_event_mbps.intervals8",
];

const SERVICE: [&str; 6] = [
    "min_rtt_us",
    "rtt_us.window8",
    "throughput_mbps.window8",
    "loss_rate.window8",
    "loss_event_rate.intervals8",
    "mathis_event_mbps.intervals8",
];

fn named(names: &[&str]) -> Vec<Feature> {
    names.iter().map(|name| name.parse().expect("a feature of the catalogue")).collect()
}

/// A random number generator; numbers are uniform below `n`.
struct Draws(u64);

impl Draws {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 33) * n) >> 31
    }
}

/// 4 flows of 25 Mbit/s. Each arrival is answered by an ACK. The RTT is a sawtooth of 20 to 36 ms, gaps vary by 30 %,
/// and bursts of 1 to 3 losses occur about every 2,500 packets.
fn workload() -> Vec<Packet> {
    let mut draws = Draws(1);
    let mut packets: Vec<Packet> = (0..FLOWS).flat_map(|flow| one_flow(flow, &mut draws)).collect();
    packets.sort_by_key(|packet| packet.at);
    packets
}

fn one_flow(number: u16, draws: &mut Draws) -> Vec<Packet> {
    let mut peer = Peer::new(key_from(0xc000_0201, 4000 + number), MIN_RTT_US);
    let mut now = u64::from(number) * 100 + 1_000_000;
    let mut send = |i: u64| {
        now += GAP_US * 7 / 10 + draws.below(GAP_US * 6 / 10);
        if draws.below(2500) == 0 {
            peer.lose(1 + draws.below(3) as u32);
        }
        peer.rtt_us = MIN_RTT_US + MIN_RTT_US * 8 / 10 * (i % 2000) / 2000;
        peer.exchange(now, 1)
    };
    (0..PACKETS_PER_FLOW).flat_map(&mut send).collect()
}

/// Times at which rows are written.
#[derive(Clone, Copy)]
enum Rows {
    EveryPacket,
    EveryDecision,
}

fn run(bencher: Bencher, features: Vec<Feature>, rows: Rows) {
    let packets = workload();
    let data = u64::from(FLOWS) * PACKETS_PER_FLOW;
    bencher
        .counter(ItemsCount::new(data))
        .with_inputs(|| Table::new(Limits::default(), [7; 16], Plan::new(features.iter().copied())))
        .bench_refs(|table| {
            let mut row = Row::for_plan(table.plan());
            let mut decided = Time::ZERO;
            for packet in &packets {
                let id = table.observe(packet);
                match rows {
                    Rows::EveryPacket => {
                        if let Some(id) = id {
                            table.fill(id, &mut row);
                            divan::black_box(&row);
                        }
                    }
                    Rows::EveryDecision if packet.at.since(decided) >= DECIDE_EVERY => {
                        decided = packet.at;
                        let ids: Vec<_> = table.iter().map(|(id, _)| id).collect();
                        for id in ids {
                            table.fill(id, &mut row);
                            divan::black_box(&row);
                        }
                    }
                    Rows::EveryDecision => {}
                }
            }
            // In windows without a loss, no loss-based rate is known; all other values must be known.
            let known = row.iter().flatten().count();
            assert!(10 * known >= 8 * features.len(), "only {known} of {} known", features.len());
        });
}

#[divan::bench]
fn twenty_every_packet(bencher: Bencher) {
    run(bencher, named(&TWENTY), Rows::EveryPacket);
}

#[divan::bench]
fn twenty_every_decision(bencher: Bencher) {
    run(bencher, named(&TWENTY), Rows::EveryDecision);
}

#[divan::bench]
fn service_every_packet(bencher: Bencher) {
    run(bencher, named(&SERVICE), Rows::EveryPacket);
}

#[divan::bench]
fn service_every_decision(bencher: Bencher) {
    run(bencher, named(&SERVICE), Rows::EveryDecision);
}

#[divan::bench]
fn all_209_every_packet(bencher: Bencher) {
    run(bencher, catalogue(), Rows::EveryPacket);
}
