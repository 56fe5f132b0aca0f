//! The ten faults of the published prototype; each test shows that this implementation does not have it.

use crate::flow::{decide, flow_policy};
use crate::peer::{HEADERS, PAYLOAD, Peer, key};
use fairweir_guard::policy::{Class, Classify, Config, Labels, Policies, Why};
use fairweir_guard::{Feature, Limits, Model, Packet, Plan, Promise, Row, Table, Trees, WindowTarget, catalogue};
use fairweir_units::{Bytes, Dur, Time};
use proptest::prelude::*;
use std::path::Path;

const MS: u64 = 1_000;

fn table(features: impl IntoIterator<Item = Feature>) -> Table {
    Table::new(Limits::default(), [1; 16], Plan::new(features))
}

/// Has the promise of a wide window behind it, of which all has arrived.
fn promise(scale: u8) -> (Promise, u32) {
    let mut promise = Promise::new(scale);
    promise.advertise(0, u16::MAX, None);
    (promise, u32::from(u16::MAX) << scale)
}

/// The values of the catalog after each data packet of `packets`.
fn rows(packets: &[Packet]) -> Vec<Row> {
    let mut table = table(catalogue());
    let mut rows = Vec::new();
    for packet in packets {
        if let Some(id) = table.observe(packet) {
            let mut row = Row::for_plan(table.plan());
            assert!(table.fill(id, &mut row));
            rows.push(row);
        }
    }
    rows
}

fn value(row: &Row, name: &str) -> Option<f64> {
    let slot = catalogue().iter().position(|feature| feature.to_string() == name);
    row.get(slot.expect("a feature"))
}

/// A segment each ms, one in `lose_every` lost.
fn lossy(count: u64, lose_every: u64) -> Vec<Packet> {
    let mut peer = Peer::new(key(1), 20 * MS);
    let send = |i: u64| {
        if i % lose_every == lose_every - 1 {
            peer.lose(1);
        }
        peer.exchange(1_000 * MS + i * MS, 1)
    };
    (0..count).flat_map(send).collect()
}

proptest! {
    #[test]
    fn fault_1_the_smaller_window_counts_whatever_the_byte_order(window in 2u16.., target in 2u64..65_536) {
        let (mut promise, ack) = promise(0);
        let advertised = promise.advertise(ack, window, Some(WindowTarget::from_bytes(target, 1)));
        prop_assert_eq!(u64::from(advertised), u64::from(window).min(target));
    }

    #[test]
    fn fault_2_targets_beyond_16_bits_do_not_wrap(window: u16, excess in 0u64..1 << 40, scale in 0u8..15) {
        let (mut promise, ack) = promise(scale);
        let bytes = (65_535 << scale) + excess;
        prop_assert_eq!(promise.advertise(ack, window, Some(WindowTarget::from_bytes(bytes, 1))), window);
    }
}

/// A constant classifier.
#[derive(Debug)]
struct Always(Class);

impl Classify for Always {
    fn features(&self) -> Vec<Feature> {
        Vec::new()
    }
    fn classify(&self, rows: &[&[Option<f64>]]) -> Vec<Class> {
        rows.iter().map(|_| self.0).collect()
    }
}

#[test]
fn fault_3_without_a_throughput_there_is_no_step_down() {
    let (mut policies, mut table) = flow_policy(Box::new(Always(Class::Above)));
    let mut peer = Peer::new(key(1), 20 * MS);
    let mut targets = Vec::new();
    for i in 0..1_000u64 {
        peer.arrive(&mut table, 1_000 * MS + i * MS, 1);
        // The throughput is not known before 8 minimum RTTs have passed.
        if i > 0 && i % 10 == 0 {
            let decision = decide(&mut policies, &table);
            assert!(i > 160 || (decision.window, &decision.why) == (None, &Why::TooYoung), "{i}: {decision:?}");
            targets.extend(decision.rate_mbps);
        }
    }
    // 12.1 Mbit/s with headers.
    assert!((targets[0] / (0.57 * 12.112) - 1.0).abs() < 0.02, "{targets:?}");
    assert!(targets.windows(2).all(|pair| 0.0 < pair[1] && pair[1] <= pair[0]), "{targets:?}");
}

#[test]
fn fault_4_loss_event_rates_of_all_lengths_are_known() {
    let rows = rows(&lossy(3_000, 150));
    for intervals in [4, 8, 16] {
        for name in ["loss_event_rate", "inv_sqrt_loss_event_rate", "mathis_event_mbps"] {
            let name = format!("{name}.intervals{intervals}");
            let known = rows[100..].iter().filter(|row| value(row, &name).is_some()).count();
            assert_eq!(known, rows.len() - 100, "{name}");
        }
    }
}

#[test]
fn fault_5_training_and_service_see_the_same_values() {
    let packets = lossy(2_000, 150);
    let all = rows(&packets);
    // In service rows are needed occasionally, and not all features.
    let names = ["mathis_mbps.window8", "rtt_us.window8", "loss_rate.window8", "rtt_ratio", "rtt_us"];
    let mut table = table(names.map(|name| name.parse().expect("a feature")));
    let (mut row, mut arrivals) = (Row::for_plan(table.plan()), 0);
    for packet in &packets {
        let Some(id) = table.observe(packet) else { continue };
        if arrivals % 97 == 0 {
            table.fill(id, &mut row);
            for (slot, name) in names.iter().enumerate() {
                assert_eq!(row.get(slot), value(&all[arrivals], name), "{name} at {arrivals}");
            }
        }
        arrivals += 1;
    }
    // A window's rate is from the window's losses, and values that depend on an unknown RTT are unknown.
    let last = &all[all.len() - 1];
    let (rtt, p) = (value(last, "rtt_us.window8"), value(last, "loss_rate.window8").expect("a loss rate"));
    assert!(p > 0.0);
    assert_eq!(value(last, "mathis_mbps.window8"), Model::Mathis.mbps(PAYLOAD, rtt, p));
    assert_eq!((value(&all[0], "rtt_us"), value(&all[0], "rtt_ratio")), (None, None));
}

#[test]
fn fault_6_a_senseless_value_enters_no_average() {
    let mut packets = lossy(50, 10);
    // Several packets within a clock tick, and a clock that stands still and then jumps.
    for (i, packet) in packets.iter_mut().enumerate() {
        if i % 3 == 0 {
            packet.at = Time::ZERO;
        }
    }
    packets.extend(lossy(500, 100));
    let rows = rows(&packets);
    assert!(rows.iter().all(|row| row.iter().flatten().all(f64::is_finite)));
    for name in ["interarrival_us.ewma0.5", "arrival_rate_mbps.ewma0.5", "inv_sqrt_loss_rate.ewma0.1"] {
        assert!(value(&rows[rows.len() - 1], name).is_some(), "{name}");
    }
}

#[test]
fn fault_7_memory_does_not_grow_and_ended_flows_keep_no_window() {
    let toml = "[[cap]]\nrate = '5Mbps'";
    let mut policies = Policies::new(&Config::from_toml(toml).expect("policies"), None).expect("no model is named");
    let mut table = Table::new(Limits::default(), [1; 16], policies.plan());
    let mut peer = Peer::new(key(1), 20 * MS);
    let mut sizes = Vec::new();
    for i in 0..200_000u64 {
        if i % 100 == 7 {
            peer.lose(1);
        }
        peer.arrive(&mut table, 1_000 * MS + i * 500, 1);
        if i % 50_000 == 49_999 {
            sizes.push(table.bytes());
        }
    }
    assert!(sizes.iter().all(|size| *size == sizes[0] && *size < Bytes(40 << 10)), "{sizes:?}");
    assert!(policies.decide(&table, |_| Labels::default())[0].1.window.is_some());
    table.expire(table.now() + Limits::default().idle);
    assert!(policies.decide(&table, |_| Labels::default()).is_empty());
}

#[test]
fn fault_8_merged_segments_lose_no_more_than_single_ones() {
    let lost = |merged: u16| {
        let (mut table, mut peer) = (table(catalogue()), Peer::new(key(1), 20 * MS));
        for i in 0..300u64 {
            // 3 of 45 segments are lost, at the same places of the stream.
            peer.lose(3);
            for part in 0..42 / u64::from(merged) {
                let at = 1_000 * MS + i * 10 * MS + part * u64::from(merged) * 200;
                peer.arrive(&mut table, at, merged);
            }
        }
        let (_, flow) = table.iter().next().expect("a flow");
        (flow.monitor().lost(), flow.monitor().mss())
    };
    // The first loss comes before the flow is measured, and single segments show the last one only partly.
    let (single, merged) = (lost(1), lost(42));
    assert_eq!(single.1, PAYLOAD);
    assert_eq!(merged, (3 * 298, PAYLOAD), "each 64 KB packet but the first shows one hole");
    assert_eq!(single, (3 * 299, PAYLOAD));
    assert_eq!(PAYLOAD + HEADERS, 1514);
}

#[test]
fn fault_9_a_target_is_bounded_by_what_arrives() {
    let mut held = None;
    let (mut policies, mut table) = flow_policy(Box::new(HoldThenBelow::default()));
    let mut peer = Peer::new(key(1), 20 * MS);
    for i in 0..10_000u64 {
        peer.arrive(&mut table, 1_000 * MS + i * MS, 1);
        if i % 100 == 99 {
            let decision = decide(&mut policies, &table);
            held = decision.rate_mbps.or(held);
            assert!(decision.rate_mbps.is_none_or(|rate| rate <= 1.3 * 12.2), "{i}: {decision:?}");
        }
    }
    assert!((held.expect("a target") / (1.3 * 12.112) - 1.0).abs() < 0.02, "grown as far as it may: {held:?}");
}

/// Above its target at first, then permanently below it.
#[derive(Debug, Default)]
struct HoldThenBelow(std::sync::atomic::AtomicU32);

impl Classify for HoldThenBelow {
    fn features(&self) -> Vec<Feature> {
        Vec::new()
    }
    fn classify(&self, rows: &[&[Option<f64>]]) -> Vec<Class> {
        let asked = self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        rows.iter().map(|_| if asked < 4 { Class::Above } else { Class::Below }).collect()
    }
}

#[test]
fn fault_10_what_is_shipped_loads_and_decides() {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../policies"));
    let read = |path: &Path| std::fs::read_to_string(path).expect("text");
    let (mut files, mut forests) = (0, 0);
    for entry in std::fs::read_dir(folder).expect("the policies") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            continue;
        }
        let config = Config::from_toml(&read(&path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let forest = config.flow.as_ref().map(|flow| {
            forests += 1;
            Box::new(Trees::from_json(&read(&folder.join(&flow.model))).expect("a forest")) as Box<dyn Classify>
        });
        let mut policies = Policies::new(&config, forest).expect("a model where one is named");
        let mut table = Table::new(Limits::default(), [1; 16], policies.plan());
        for packet in lossy(500, 100) {
            table.observe(&packet);
        }
        assert_eq!(policies.decide(&table, |_| Labels::default()).len(), 1, "{}", path.display());
        files += 1;
    }
    assert!(files >= 8 && forests >= 1, "{files} files, {forests} forests");
}

#[test]
fn clock_jumps_harm_no_measurement() {
    let mut peer = Peer::new(key(1), 20 * MS);
    let mut packets: Vec<Packet> = (0..500).flat_map(|i| peer.exchange(1_000 * MS + i * MS, 1)).collect();
    // An hour back in the middle; timestamps continue.
    let hour = Dur::from_secs(3_600);
    for packet in &mut packets {
        packet.at += hour;
    }
    for packet in &mut packets[500..] {
        packet.at = Time::ZERO + packet.at.since(Time::ZERO + hour);
    }
    let rows = rows(&packets);
    let rtts: Vec<f64> = rows.iter().filter_map(|row| value(row, "rtt_us")).collect();
    assert!(rtts.iter().all(|rtt| (19_000.0..=20_001.0).contains(rtt)), "{rtts:?}");
    let last = value(&rows[rows.len() - 1], "throughput_mbps.window8").expect("a throughput");
    assert!((last / 12.112 - 1.0).abs() < 0.02, "{last}");
}
