//! Autotuning of receive windows: transfers, and what limits the sender.

use crate::common::{PACKET, droptail, dumbbell, flow, run};
use fairweir_path::ElementConfig;
use fairweir_path::loss::PeriodicLossConfig;
use fairweir_scenario::{FlowSpec, FlowSummary, Mechanism, Source};
use fairweir_units::Bytes;

/// Returns a flow with 100 ms and the given mechanisms.
fn far(cca: &str, mechanisms: &[Mechanism]) -> FlowSpec {
    FlowSpec { transport: mechanisms.iter().copied().collect(), ..flow(cca, 100) }
}

/// Runs `flow` alone at 100 Mbit/s with a buffer of one BDP.
fn alone(flow: FlowSpec, seconds: u64) -> FlowSummary {
    run(&dumbbell(100, droptail(833), vec![flow], seconds, 0, 1)).expect("a run").summary.flows.remove(0)
}

/// Returns the completion time of a transfer of `megabytes` in packets of `packet` bytes over a link of `mbps`, ms.
fn completion_ms(mbps: u64, packet: u64, megabytes: u64, mechanisms: &[Mechanism]) -> f64 {
    let source = Source::Finite { bytes: Bytes(1_000_000 * megabytes) };
    let params = serde_json::json!({"hystart": "linux", "counting": "linux"});
    let one = FlowSpec { source, params, ..far("cubic", mechanisms) };
    let bdp = mbps * 12_500 / packet;
    let mut config = dumbbell(mbps, droptail(bdp * packet / PACKET.0), vec![one], 10, 0, 1);
    config.packet = Bytes(packet);
    1e3 * run(&config).expect("a run").summary.flows[0].completion_s.expect("a transfer that ends")
}

#[test]
fn the_window_follows_a_slow_start_of_small_packets() {
    for megabytes in [1, 4] {
        let [with, without] = [&[Mechanism::Autotuning][..], &[]].map(|set| completion_ms(100, 1500, megabytes, set));
        assert!((with - without).abs() < 1.0, "{megabytes}: {with} {without}");
    }
}

#[test]
fn the_first_window_of_seven_large_packets_delays_slow_start_by_a_round_trip() {
    let [with, without] = [&[Mechanism::Autotuning][..], &[]].map(|set| completion_ms(1000, 9000, 4, set));
    assert!((with - without - 100.0).abs() < 10.0, "{with} {without}");
}

#[test]
fn a_window_of_the_scenario_is_not_autotuned() {
    let limited =
        |mechanisms: &[Mechanism]| format!("{:?}", alone(FlowSpec { rwnd: Some(30), ..far("reno", mechanisms) }, 5));
    assert_eq!(limited(&[Mechanism::Autotuning]), limited(&[]));
}

#[test]
fn quic_has_none() {
    let of = |mechanisms: &[Mechanism]| format!("{:?}", alone(far("quinn/cubic", mechanisms), 5));
    assert_eq!(of(&[Mechanism::Autotuning]), of(&[]));
}

#[test]
fn the_window_does_not_limit_a_flow_in_equilibrium() {
    for cca in ["reno", "bbr"] {
        let of = |mechanisms: &[Mechanism]| alone(far(cca, mechanisms), 20).throughput_mbps;
        let (with, without) = (of(&[Mechanism::Autotuning]), of(&[]));
        assert!(with > 0.95 * without, "{cca}: {with} {without}");
    }
}

#[test]
fn acks_are_delayed_only_when_the_window_has_grown() {
    let acks = |mechanisms: &[Mechanism]| {
        let mut one = far("reno", mechanisms);
        one.receiver.ack_every = 2;
        one.source = Source::Finite { bytes: PACKET * 300 };
        let outcome = run(&dumbbell(100, droptail(833), vec![one], 3, 0, 1)).expect("a run");
        outcome.summary.events
    };
    let grows = acks(&[Mechanism::QuickAcks, Mechanism::Autotuning]);
    let fixed = acks(&[Mechanism::QuickAcks]);
    assert!(grows > fixed + 20, "{grows} {fixed}");
}

#[test]
fn losses_of_packets_and_acks_stop_no_flow() {
    let lossy = |every| vec![ElementConfig::PeriodicLoss(PeriodicLossConfig { every, first: Some(every) })];
    for sack in [true, false] {
        let mut one = far("reno", &[Mechanism::Handshake, Mechanism::QuickAcks, Mechanism::Autotuning]);
        (one.receiver.ack_every, one.receiver.sack) = (2, sack);
        (one.ingress, one.reverse) = (lossy(400), lossy(50));
        one.source = Source::Finite { bytes: PACKET * 4_000 };
        let summary = alone(one, 60);
        assert!(summary.completion_s.is_some() && summary.lost_pkts >= 8, "{sack}: {summary:?}");
    }
}
