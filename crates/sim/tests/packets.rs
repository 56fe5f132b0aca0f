//! The record of packets is complete and consistent with the summary.

use crate::common::{PACKET, droptail, dumbbell, flow, run};
use fairweir_path::ElementConfig;
use fairweir_path::loss::IidLossConfig;
use fairweir_scenario::{Acks, Config, FlowSpec, PacketLog, Packets};
use fairweir_sim::{Outcome, SimError, run_observed};
use fairweir_units::{Dur, Time};
use proptest::prelude::*;
use serde_json::json;
use std::ops::ControlFlow;

const NEVER: u64 = u64::MAX;
const NO_LINK: u32 = u32::MAX;
const MAX_PACKETS: usize = 1 << 20;

fn observe(config: &Config, most: usize) -> (Result<Outcome, SimError>, PacketLog) {
    let mut log = PacketLog::new(config.duration, most);
    let factory =
        |flow: &FlowSpec, start: &fairweir_cca::Start| fairweir_native::registry::build(&flow.cca, &flow.params, start);
    let outcome = run_observed(config, &factory, &mut |_| ControlFlow::Continue(()), &mut log);
    (outcome, log)
}

fn record(config: &Config) -> (Outcome, Packets, Acks) {
    let (outcome, log) = observe(config, MAX_PACKETS);
    assert!(!log.is_full());
    let (packets, acks) = log.finish();
    (outcome.expect("a run"), packets, acks)
}

fn count(column: &[u64]) -> u64 {
    column.iter().filter(|&&at| at != NEVER).count() as u64
}

/// Returns two queues: one decides on arrival, the other when packets leave.
fn queues(packets: u64) -> [serde_json::Value; 2] {
    [
        json!({"kind": "droptail", "limit": packets * PACKET.0}),
        json!({"kind": "codel", "limit": packets * PACKET.0, "target": 3_000_000, "interval": 20_000_000}),
    ]
}

fn lossy(rate: u32) -> ElementConfig {
    ElementConfig::IidLoss(IidLossConfig { per_billion: rate })
}

/// Checks properties of every record.
fn check(config: &Config) -> Result<(), TestCaseError> {
    let (outcome, packets, acks) = record(config);
    let summary = &outcome.summary;
    prop_assert_eq!(&outcome.summary, &run(config).expect("a run").summary, "watching changes nothing");
    let sent: u64 = summary.flows.iter().map(|flow| flow.sent_pkts).sum();
    prop_assert_eq!(packets.sent_ns.len() as u64, sent);
    let again: u64 = summary.flows.iter().map(|flow| flow.retransmits).sum();
    prop_assert_eq!(packets.is_retransmission.iter().map(|&x| u64::from(x)).sum::<u64>(), again);
    let by_links = packets.dropped_link.iter().filter(|&&link| link != NO_LINK).count() as u64;
    let drops: u64 = summary.links.iter().map(|link| link.drops).sum();
    // ACKs may be dropped by links too
    prop_assert!(by_links <= drops);
    prop_assert!(acks.flow.len() as u64 <= count(&packets.arrived_ns));
    let flows: Vec<u32> = (0..config.flows.len() as u32).collect();
    for i in 0..packets.sent_ns.len() {
        let (sent, dropped, arrived, acked) =
            (packets.sent_ns[i], packets.dropped_ns[i], packets.arrived_ns[i], packets.acked_ns[i]);
        let flow = &config.flows[packets.flow[i] as usize];
        prop_assert!(dropped == NEVER || arrived == NEVER);
        prop_assert!(dropped == NEVER || dropped >= sent);
        prop_assert!(arrived == NEVER || arrived > sent + flow.forward_delay.as_nanos());
        prop_assert!(acked == NEVER || acked >= arrived + flow.reverse_delay.as_nanos());
        prop_assert!(acked == NEVER || arrived != NEVER);
    }
    for flow in flows {
        let of_flow = |column: &[u64]| -> Vec<u64> {
            (0..column.len()).filter(|&i| packets.flow[i] == flow && column[i] != NEVER).map(|i| column[i]).collect()
        };
        for column in [&packets.sent_ns, &packets.arrived_ns, &packets.acked_ns] {
            prop_assert!(of_flow(column).is_sorted(), "no path reorders");
        }
        let stats = &summary.flows[flow as usize];
        // The difference is packets that arrived twice and, without SACK, packets that no ACK reports.
        prop_assert!(of_flow(&packets.acked_ns).len() as u64 >= stats.delivered_pkts);
        let of_acks = |column: &[u64]| -> Vec<u64> {
            (0..column.len()).filter(|&i| acks.flow[i] == flow && column[i] != NEVER).map(|i| column[i]).collect()
        };
        for column in [&acks.cum, &acks.sent_ns, &acks.arrived_ns] {
            prop_assert!(of_acks(column).is_sorted());
        }
    }
    Ok(())
}

#[test]
fn a_packet_takes_the_link_and_the_delay() {
    let mut config = dumbbell(12, droptail(1000), vec![flow("reno", 40)], 1, 0, 1);
    config.flows[0].forward_delay = Dur::from_millis(30);
    config.flows[0].reverse_delay = Dur::from_millis(10);
    let (_, packets, acks) = record(&config);
    // Ten packets are sent at once; the link transmits each in 1 ms.
    for i in 0..10 {
        assert_eq!(packets.sent_ns[i], 0);
        assert_eq!(packets.arrived_ns[i], (31 + i as u64) * 1_000_000);
        assert_eq!(packets.acked_ns[i], (41 + i as u64) * 1_000_000);
        assert_eq!((acks.cum[i], acks.sent_ns[i]), (i as u64 + 1, packets.arrived_ns[i]));
        assert_eq!(acks.arrived_ns[i], packets.acked_ns[i]);
    }
}

#[test]
fn an_ack_for_two_reports_both() {
    let mut config = dumbbell(12, droptail(1000), vec![flow("reno", 40)], 1, 0, 1);
    config.flows[0].receiver.ack_every = 2;
    let (_, packets, _) = record(&config);
    assert_eq!(packets.acked_ns[0], packets.acked_ns[1]);
    assert!(packets.acked_ns[2] > packets.acked_ns[1]);
}

#[test]
fn drops_say_where() {
    let mut config = dumbbell(12, droptail(20), vec![flow("reno", 40), flow("reno", 40)], 20, 0, 1);
    config.flows[1].ingress = vec![lossy(10_000_000)];
    let (outcome, packets, _) = record(&config);
    let lost = |flow: u32, link: u32| {
        (0..packets.flow.len())
            .filter(|&i| packets.flow[i] == flow && packets.dropped_ns[i] != NEVER && packets.dropped_link[i] == link)
            .count() as u64
    };
    assert_eq!(lost(0, NO_LINK), 0);
    assert!(lost(1, NO_LINK) > 0);
    assert_eq!(lost(0, 0) + lost(1, 0), outcome.summary.links[0].drops);
}

#[test]
fn a_full_log_ends_the_run() {
    let config = dumbbell(1000, droptail(1000), vec![flow("reno", 10)], 100_000, 0, 1);
    let (outcome, log) = observe(&config, 1000);
    let Err(SimError::Interrupted { at }) = outcome else { panic!("{outcome:?}") };
    assert!(at < Time::from_nanos(10_000_000_000));
    assert!(log.is_full());
    assert_eq!(log.finish().0.flow.len(), 1000);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]
    #[test]
    fn records_are_whole(
        buffer in 5..60u64, loss in prop_oneof![Just(0u32), 0..100_000_000u32], ack_loss in 0..100_000_000u32,
        ack_every in 1..4u64, sack: bool, queue in 0..2usize, with_acks: bool, hops in 1..3usize, seed: u64,
    ) {
        let mut config = dumbbell(8, droptail(10), vec![flow("reno", 30), flow("bbr", 50)], 4, 0, seed);
        config.links[0].hop.queue = serde_json::from_value(queues(buffer)[queue].clone()).unwrap();
        config.links.push(crate::common::link("second", 7, droptail(buffer)));
        for flow in &mut config.flows {
            flow.path = (0..hops).collect();
            flow.ack_path = if with_acks { vec![1] } else { vec![] };
            flow.receiver.ack_every = ack_every;
            flow.receiver.sack = sack;
            flow.egress = vec![lossy(loss)];
            flow.reverse = vec![lossy(ack_loss)];
        }
        check(&config)?;
    }
}

#[test]
fn retransmissions_are_not_ecn_capable_unless_the_algorithm_needs_ecn() {
    // The queue marks every packet that waits and is ECN-capable.
    let marks = |cca: &str| {
        let mut one = FlowSpec { ecn: true, ..flow(cca, 20) };
        one.ingress = vec![lossy(20_000_000)];
        let queue = json!({"kind": "ecn-threshold", "mark_above": 0, "limit": 100 * PACKET.0});
        let (_, packets, _) =
            record(&dumbbell(12, serde_json::from_value(queue).expect("a queue"), vec![one.clone(), one], 60, 0, 1));
        let count = |again: u8| {
            let pairs = packets.is_retransmission.iter().zip(&packets.is_marked);
            pairs.filter(|&(&is_again, &is_marked)| is_again == again && is_marked == 1).count()
        };
        [count(0), count(1)]
    };
    let [new, again] = marks("reno");
    assert!(new > 20 && again == 0, "{new} {again}");
    let [new, again] = marks("dctcp");
    assert!(new > 20 && again > 0, "{new} {again}");
}
