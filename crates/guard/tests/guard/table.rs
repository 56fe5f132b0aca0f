//! The flow table: which flows are measured and removed, and its robustness.

use crate::peer::{LOCAL, PAYLOAD, Peer, key, key_from, packet};
use fairweir_guard::{FlowKey, Limits, Packet, Plan, Row, Table, catalogue};
use fairweir_tcp::{Direction, Flags, Timestamps};
use fairweir_units::{Bytes, Dur, Time};
use proptest::prelude::*;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

fn data(at_us: u64, flow: FlowKey, seq: u32) -> Packet {
    Packet { seq, payload: PAYLOAD, wire: 1514, ..packet(at_us, flow, Direction::Incoming) }
}

/// An ACK of ours, then data whose sender has seen it.
fn open(table: &mut Table, at_us: u64, flow: FlowKey) -> bool {
    table.observe(&packet(at_us, flow, Direction::Outgoing));
    table.observe(&data(at_us, flow, 1000)).is_some()
}

fn table(limits: Limits) -> Table {
    Table::new(limits, [1; 16], Plan::new(catalogue()))
}

#[test]
fn forged_traffic_pushes_out_no_real_flow() {
    let mut table = table(Limits { open: 8, unverified: 100, ..Limits::default() });
    assert!(open(&mut table, 0, key(1)));
    for i in 0..10_000u32 {
        let forged = Packet { ack: i.wrapping_mul(2654435761), ..data(u64::from(i), key(1000 + i), i) };
        assert_eq!(table.observe(&forged), None);
        let reset = Packet { flags: Flags::RST, ..packet(u64::from(i), key(1000 + i), Direction::Outgoing) };
        table.observe(&reset);
        let again = Packet { seq: forged.seq.wrapping_add(1448), ..forged };
        assert_eq!(table.observe(&again), None, "a RST of ours proves nothing");
    }
    assert_eq!((table.iter().count(), table.unverified()), (1, 100));
    assert_eq!(table.counts().unverified_evicted, 9_900);
    assert!(table.observe(&data(20_000, key(1), 2448)).is_some());
}

#[test]
fn only_idle_flows_make_room() {
    let mut table = table(Limits { open: 2, idle: Dur::from_secs(1), ..Limits::default() });
    assert!(open(&mut table, 0, key(1)) && open(&mut table, 900_000, key(2)));
    assert!(!open(&mut table, 950_000, key(3)));
    assert_eq!(table.counts().refused, 1);
    assert!(open(&mut table, 1_000_000, key(3)), "the first is idle by now");
    assert_eq!((table.iter().count(), table.counts().idle_evicted), (2, 1));
}

#[test]
fn within_a_budget_the_idlest_flows_go() {
    let budget = Bytes(1 << 20);
    let mut table = table(Limits { budget, ..Limits::default() });
    let mut peers: Vec<Peer> = (1..200).map(|host| Peer::new(key(host), 20_000)).collect();
    for round in 0..400u64 {
        for (index, peer) in peers.iter_mut().enumerate() {
            // Those with higher numbers send less often.
            if round % (1 + index as u64 / 10) == 0 {
                peer.arrive(&mut table, 1_000_000 + round * 1_000 + index as u64, 1);
                assert!(table.bytes() <= budget, "{}", table.bytes());
            }
        }
    }
    assert!(table.counts().budget_evicted > 0 && table.iter().count() > 20, "{:?}", table.counts());
    let busy = (1..11).filter(|host| table.iter().any(|(_, flow)| *flow.key() == key(*host))).count();
    assert_eq!(busy, 10, "the busiest stay");
    table.expire(Time::ZERO + Dur::from_secs(1000));
    assert_eq!(table.iter().count(), 0);
    assert!(table.bytes() < Bytes(512 << 10), "flows that rest take {}", table.bytes());
    table.expire(Time::ZERO + Dur::from_secs(6000));
    assert_eq!(table.bytes(), Bytes(0));
}

#[test]
fn flows_without_data_count_too() {
    let budget = Bytes(8 << 10);
    let mut table = table(Limits { budget, ..Limits::default() });
    for host in 1..100 {
        table.observe(&packet(u64::from(host), key(host), Direction::Outgoing));
        table.observe(&packet(u64::from(host), key(host), Direction::Incoming));
        assert!(table.bytes() <= budget, "{}", table.bytes());
    }
    assert!((1..20).contains(&table.iter().count()), "{}", table.iter().count());
}

/// The host acknowledges up to `ack`.
fn acknowledge(table: &mut Table, at_us: u64, flow: FlowKey, ack: u32) {
    table.observe(&Packet { ack, ..packet(at_us, flow, Direction::Outgoing) });
}

fn measured(table: &Table) -> Vec<FlowKey> {
    table.iter().map(|(_, flow)| *flow.key()).collect()
}

#[test]
fn a_fin_or_rst_that_the_host_does_not_confirm_changes_nothing() {
    let forgeries = [
        (Flags::FIN.and(Flags::ACK), 2448),
        (Flags::FIN.and(Flags::ACK), 90_000),
        (Flags::RST, 2448),
        (Flags::RST, 2449),
        (Flags::SYN, 7),
        (Flags::SYN.and(Flags::ACK), 2448),
    ];
    for (flags, seq) in forgeries {
        let mut table = table(Limits::default());
        assert!(open(&mut table, 0, key(1)));
        acknowledge(&mut table, 5, key(1), 2448);
        let (id, _) = table.iter().next().unwrap();
        for round in 0..30u32 {
            let (at, next) = (u64::from(round) * 100_000, 2448 + round * PAYLOAD);
            table.observe(&Packet { flags, seq: seq + round * PAYLOAD, ..packet(at, key(1), Direction::Incoming) });
            assert_eq!(table.observe(&data(at + 1, key(1), next)), Some(id));
            acknowledge(&mut table, at + 2, key(1), next + PAYLOAD);
            table.expire(Time::ZERO + Dur::from_micros(at + 50_000));
            assert!(!table.get(id).expect("it is measured").is_ended());
        }
    }
}

#[test]
fn a_flow_that_is_over_rests_and_is_forgotten_later_and_ids_are_not_reused() {
    let second = |s| Time::ZERO + Dur::from_secs(s);
    let mut table = table(Limits::default());
    assert!(open(&mut table, 0, key(1)));
    acknowledge(&mut table, 5, key(1), 2448);
    let (id, _) = table.iter().next().unwrap();
    table.observe(&Packet { flags: Flags::FIN, seq: 2448, ..packet(10, key(1), Direction::Incoming) });
    acknowledge(&mut table, 15, key(1), 2449);
    table.expire(second(1));
    assert!(table.get(id).is_none() && table.remembers(&key(1)), "it rests: what is held in the kernel stays");
    assert_eq!((table.iter().count(), table.resting()), (0, 1));
    // It was not a FIN.
    assert!(table.observe(&data(1_100_000, key(1), 2449)).is_some());
    acknowledge(&mut table, 1_100_005, key(1), 2449 + PAYLOAD);
    let (later, _) = table.iter().next().expect("data move again");
    assert!(later != id, "a later measurement has another name");
    // The host resets it, and says no more.
    table.observe(&Packet { flags: Flags::RST, ..packet(1_200_000, key(1), Direction::Outgoing) });
    table.expire(second(2));
    assert_eq!((measured(&table), table.remembers(&key(1))), (vec![], true));
    table.expire(second(12));
    assert!(!table.remembers(&key(1)) && table.bytes() == Bytes(0));
    assert!(open(&mut table, 20_000_000, key(1)));
}

#[test]
fn an_idle_flow_rests_with_the_scale_of_its_windows() {
    let (syn, syn_ack) = (Flags::SYN, Flags::SYN.and(Flags::ACK));
    let mut table = table(Limits::default());
    let theirs = Packet { flags: syn, seq: 999, wscale: Some(2), ..packet(0, key(1), Direction::Incoming) };
    let ours = Packet { flags: syn_ack, seq: 999, wscale: Some(7), ..packet(10, key(1), Direction::Outgoing) };
    for packet in [theirs, ours, data(20, key(1), 1000)] {
        table.observe(&packet);
    }
    acknowledge(&mut table, 30, key(1), 2448);
    table.expire(Time::ZERO + Dur::from_secs(61));
    assert_eq!((table.iter().count(), table.resting()), (0, 1));
    assert!(table.observe(&data(62_000_000, key(1), 2448)).is_some());
    let scales: Vec<_> = table.iter().map(|(_, flow)| flow.wscale()).collect();
    assert_eq!(scales, [Some(7)]);
    // A SYN that arrives means nothing to an open connection; the host's own begins another.
    table.observe(&Packet { wscale: None, at: theirs.at + Dur::from_secs(63), ..theirs });
    assert_eq!(table.iter().map(|(_, flow)| flow.wscale()).collect::<Vec<_>>(), [Some(7)]);
    let again = Packet { seq: 5_000, wscale: None, at: theirs.at + Dur::from_secs(64), ..ours };
    table.observe(&again);
    assert!(measured(&table).is_empty() && table.remembers(&key(1)), "what is held stays until it is judged again");
    table.observe(&Packet { ack: 5_001, ..data(64_000_020, key(1), 9_000) });
    assert_eq!(table.iter().map(|(_, flow)| flow.wscale()).collect::<Vec<_>>(), [Some(0)]);
}

#[test]
fn one_source_fills_no_table_and_a_flow_that_moves_data_beats_idle_ones() {
    let mut table = table(Limits { open: 64, per_source: 16, ..Limits::default() });
    let of = |source: u32, port: u16| key_from(source, port);
    for port in 1..200 {
        open(&mut table, u64::from(port), of(1, port));
    }
    assert_eq!(measured(&table).len(), 16);
    assert!(table.counts().refused > 0 && table.counts().refused_bytes > 0);
    assert!(open(&mut table, 300, of(2, 1)), "others find room");
    // Many sources fill it, with flows that sent a segment each.
    for source in 3..200 {
        open(&mut table, 400 + u64::from(source), of(source, 1));
    }
    assert_eq!(measured(&table).len(), 64);
    // A flow that moves data finds room, in a table of others as among those of its own source.
    for (bulk, ack) in [(of(1, 300), 1000), (of(900, 1), 1000)] {
        for i in 0..40u32 {
            let at = 10_000 + u64::from(i) * 1_000;
            table.observe(&Packet { ack, ..packet(at, bulk, Direction::Outgoing) });
            table.observe(&data(at + 1, bulk, 1000 + i * PAYLOAD));
        }
        assert!(measured(&table).contains(&bulk), "{bulk:?}");
    }
    // And it stays, however many come.
    for port in 300..400u32 {
        open(&mut table, 60_000 + u64::from(port), of(port, 7));
    }
    assert!(measured(&table).contains(&of(1, 300)) && measured(&table).contains(&of(900, 1)));
}

#[test]
fn the_addresses_of_one_ipv6_network_are_one_source() {
    let mut table = table(Limits { open: 64, per_source: 16, ..Limits::default() });
    for host in 1..100u128 {
        let remote = Ipv6Addr::from_bits(0x2001_0db8_0000_0001 << 64 | host);
        let flow = FlowKey::new(LOCAL, SocketAddr::new(remote.into(), 443), 0);
        open(&mut table, host as u64, flow);
    }
    assert_eq!(measured(&table).len(), 16);
}

#[test]
fn unseen_arrivals_are_measured_by_the_hosts_acknowledgements() {
    let mut table = table(Limits::default());
    for i in 0..20 {
        acknowledge(&mut table, 1_000_000 + u64::from(i) * 50_000, key(1), 1000 + i * PAYLOAD);
    }
    let (_, flow) = table.iter().next().expect("the host acknowledges data");
    // The first acknowledgment that is seen says what was before, the second one opens the flow.
    assert_eq!(flow.monitor().delivered(), u64::from(18 * PAYLOAD));
    assert_eq!(flow.monitor().window_rtt(table.now()), Some(Dur::from_millis(100)));
}

#[test]
fn ipv6_and_mapped_ipv4_and_scopes() {
    let v4 = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)), 80);
    let mapped = SocketAddr::new(IpAddr::V6(Ipv4Addr::new(192, 0, 2, 1).to_ipv6_mapped()), 80);
    assert_eq!(FlowKey::new(LOCAL, v4, 0), FlowKey::new(LOCAL, mapped, 0));
    assert_ne!(FlowKey::new(LOCAL, v4, 0), FlowKey::new(LOCAL, v4, 100), "another VLAN");
    let v6 = SocketAddr::new(IpAddr::V6(Ipv6Addr::LOCALHOST), 80);
    assert_eq!(FlowKey::new(v6, v6, 3).remote(), v6);
    assert_eq!(FlowKey::new(LOCAL, v4, 0).remote(), v4);
}

#[test]
fn every_feature_becomes_known_on_a_lossy_flow() {
    let mut table = table(Limits::default());
    let mut row = Row::for_plan(table.plan());
    assert!(open(&mut table, 0, key(1)));
    let (mut id, mut seq) = (None, 2448u32);
    for i in 0..4_000u32 {
        let at = 1_000 + u64::from(i) * 1_000;
        let ours = Timestamps { tsval: i + 1, tsecr: 0 };
        table.observe(&Packet { timestamps: Some(ours), ..packet(at, key(1), Direction::Outgoing) });
        seq = seq.wrapping_add(if i % 150 == 0 { 2 } else { 1 } * 1448);
        let echo = Timestamps { tsval: 0, tsecr: (i + 1).saturating_sub(20) };
        id = table.observe(&Packet { timestamps: Some(echo), ..data(at, key(1), seq) });
        // The last arrival is one that reveals a loss.
        if i == 3_902 {
            break;
        }
    }
    assert!(table.fill(id.unwrap(), &mut row));
    let unknown: Vec<String> = table
        .plan()
        .features()
        .iter()
        .zip(row.iter())
        .filter(|(_, value)| value.is_none())
        .map(|(feature, _)| feature.to_string())
        .collect();
    assert_eq!(unknown, Vec::<String>::new());
    let value = |name: &str| {
        let slot = table.plan().features().iter().position(|f| f.to_string() == name);
        row.get(slot.unwrap()).unwrap()
    };
    assert_eq!(value("rtt_us"), 20_000.0);
    assert!((value("throughput_mbps.window32") - 12.112).abs() < 1e-9);
    assert_eq!(value("lost_pkts"), 1.0);
    assert_eq!(value("loss_event_rate.intervals8"), 1.0 / 151.0);
}

proptest! {
    #[test]
    fn anything_goes_in_and_nothing_breaks(packets in proptest::collection::vec(
        (0u64..1 << 40, 0u32..6, any::<bool>(), any::<u8>(), any::<(u32, u32, u32, u32)>(), any::<u16>(), any::<Option<u8>>()), 1..300
    ), is_near in any::<bool>(), needs_proof in any::<bool>()) {
        let mut table = table(Limits { open: 2, unverified: 3, idle: Dur::from_secs(1), needs_proof, ..Limits::default() });
        let mut row = Row::for_plan(table.plan());
        for (at, host, is_incoming, flags, (seq, ack, payload, tsval), segs, wscale) in packets {
            let near = |n: u32| if is_near { n % 5000 } else { n };
            let direction = if is_incoming { Direction::Incoming } else { Direction::Outgoing };
            let id = table.observe(&Packet {
                at: Time::from_nanos(at), flow: key(host), direction, flags: Flags(flags), seq: near(seq), ack: near(ack),
                window: 0, timestamps: Some(Timestamps { tsval: near(tsval), tsecr: near(ack) }), payload: near(payload),
                wire: payload, segs, wscale,
            });
            if let Some(id) = id {
                prop_assert!(table.fill(id, &mut row));
                prop_assert!(row.iter().flatten().all(f64::is_finite));
            }
            prop_assert!(table.iter().count() <= 2 && table.unverified() <= 3);
        }
    }
}
