//! Quick ACKs: transfers whose receiver delays ACKs, with and without them.

mod common;

use common::{PACKET, droptail, dumbbell, flow, run};
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
