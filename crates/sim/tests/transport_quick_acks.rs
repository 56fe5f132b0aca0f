//! Quick ACKs: transfers and marked packets whose receiver delays ACKs, with and without them.

use crate::common::{PACKET, droptail, dumbbell, flow, infinite, link, run};
use fairweir_path::QueueConfig;
use fairweir_path::queue::EcnThresholdConfig;
use fairweir_scenario::{Mechanism, Source};
use fairweir_units::{Dur, Time};

/// Returns the completion time of a transfer of `packets` at 20 Mbit/s and 40 ms, ms, with an ACK for every second packet.
fn completion_ms(packets: u64, mechanisms: &[Mechanism]) -> f64 {
    let mut one = flow("reno", 40);
    one.receiver.ack_every = 2;
    one.source = Source::Finite { bytes: PACKET * packets };
    one.transport = mechanisms.iter().copied().collect();
    let outcome = run(&dumbbell(20, droptail(300), vec![one], 2, 0, 1)).expect("a run");
    outcome.summary.flows[0].completion_s.expect("a transfer that ends") * 1e3
}

#[test]
fn a_transfer_does_not_wait_for_the_delayed_ack_of_its_last_packet() {
    // the kernel: 40.8, 41.9, 81.7, 122.4, 181.1 ms (docs/measured/transport.md)
    for (packets, kernel_ms) in [(1, 40.8), (3, 41.9), (11, 81.7), (31, 122.4), (101, 181.1)] {
        let (with, without) = (completion_ms(packets, &[Mechanism::QuickAcks]), completion_ms(packets, &[]));
        assert!((without - with - 40.0).abs() < 2.0, "{packets}: {without} {with}");
        assert!((with - kernel_ms).abs() < 3.0, "{packets}: {with} {kernel_ms}");
    }
}

#[test]
fn a_receiver_that_acknowledges_every_packet_is_not_changed() {
    let run_with = |mechanisms: &[Mechanism]| {
        let mut one = flow("cubic", 20);
        one.start = Time::ZERO + Dur::from_millis(3);
        one.transport = mechanisms.iter().copied().collect();
        format!("{:?}", run(&dumbbell(20, droptail(30), vec![one], 4, 1, 1)).expect("a run").summary)
    };
    assert_eq!(run_with(&[Mechanism::QuickAcks]), run_with(&[]));
}

/// Returns the number of ACKs per packet of a flow with ECN over 10 Mbit/s and 10 ms that marks above 6 kB, with an ACK
/// for every second packet.
fn acks_per_packet(cca: &str, mechanisms: &[Mechanism]) -> f64 {
    let mut one = flow(cca, 10);
    one.receiver.ack_every = 2;
    one.ecn = true;
    one.ack_path = vec![1];
    one.transport = mechanisms.iter().copied().collect();
    let marking = EcnThresholdConfig { mark_above: Some(PACKET * 4), ..EcnThresholdConfig::default() };
    let mut config = dumbbell(10, QueueConfig::EcnThreshold(marking), vec![one], 8, 2, 1);
    config.links.push(link("acks", 100, infinite()));
    let summary = run(&config).expect("a run").summary;
    summary.links[1].arrivals as f64 / summary.flows[0].delivered_pkts as f64
}

#[test]
fn marks_are_acknowledged_at_once() {
    // the kernel: 0.506 for Reno; 0.63 for DCTCP, whose receiver acknowledges when marks begin and when they end
    for (cca, low, high) in [("reno", 0.502, 0.52), ("dctcp", 0.6, 0.75)] {
        let (with, without) = (acks_per_packet(cca, &[Mechanism::QuickAcks]), acks_per_packet(cca, &[]));
        assert!((without - 0.5).abs() < 0.002, "{cca}: {without}");
        assert!((low..high).contains(&with), "{cca}: {with}");
    }
}
