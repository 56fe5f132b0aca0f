//! The handshake of TCP (`transport`): its time, its losses, and the RTT that it gives to the sender.

use crate::common::{PACKET, droptail, dumbbell, flow, run};
use fairweir_path::ElementConfig;
use fairweir_path::loss::PeriodicLossConfig;
use fairweir_scenario::{FlowSpec, FlowSummary, Mechanism, Source};
use fairweir_units::Dur;

/// Returns an element that loses the first packet that reaches it, and no other.
fn loses_the_first() -> ElementConfig {
    ElementConfig::PeriodicLoss(PeriodicLossConfig { every: 1 << 40, first: Some(1) })
}

/// A flow with 40 ms that loses its first `syns` SYNs and then its first `answers` SYN-ACKs.
fn losing(cca: &str, syns: usize, answers: usize, mechanisms: &[Mechanism]) -> FlowSpec {
    FlowSpec {
        transport: mechanisms.iter().copied().collect(),
        ingress: vec![loses_the_first(); syns],
        reverse: vec![loses_the_first(); answers],
        ..flow(cca, 40)
    }
}

/// Runs `flow` alone at 12 Mbit/s for `seconds`.
fn alone(flow: FlowSpec, seconds: u64) -> FlowSummary {
    run(&dumbbell(12, droptail(200), vec![flow], seconds, 0, 1)).expect("a run").summary.flows.remove(0)
}

/// Returns the time in ms before the first data: one packet per ms arrives on a link that the flow keeps busy.
fn delay_ms(syns: usize, answers: usize) -> u64 {
    let delivered = |flow| alone(flow, 20).delivered_pkts;
    let mut without = flow("reno", 40);
    without.initial_cwnd = 100;
    let with = FlowSpec { initial_cwnd: 100, ..losing("reno", syns, answers, &[Mechanism::Handshake]) };
    delivered(without) - delivered(with)
}

#[test]
fn the_data_wait_for_a_round_trip() {
    assert!((40..=42).contains(&delay_ms(0, 0)), "{}", delay_ms(0, 0));
}

#[test]
fn a_lost_syn_is_sent_again_after_a_second_and_later_ones_after_two_and_four() {
    for (lost, seconds) in [(1, 1), (2, 2), (5, 5), (6, 7), (7, 11)] {
        let delay = delay_ms(lost, 0);
        assert!((1000 * seconds + 40..=1000 * seconds + 42).contains(&delay), "{lost}: {delay}");
    }
}

#[test]
fn a_lost_answer_delays_the_flow_as_a_lost_syn() {
    assert_eq!(delay_ms(0, 1), delay_ms(1, 0));
    assert_eq!(delay_ms(1, 1), delay_ms(2, 0));
}

#[test]
fn periods_of_an_on_off_source_count_from_the_start() {
    let delivered = |mechanisms: &[Mechanism]| {
        let mut one = losing("reno", 0, 0, mechanisms);
        let (on, off) = (Dur::from_millis(100), Dur::from_secs(60));
        (one.initial_cwnd, one.source) = (100, Source::OnOff { on, off });
        alone(one, 3).delivered_pkts
    };
    // Slow start: from the first ACK to the end of the period, one ACK per ms, each for two new packets. A handshake
    // leaves 20 ms of 60. The application has written up to 23 packets more in one run than in the other.
    let (without, with) = (delivered(&[]), delivered(&[Mechanism::Handshake]));
    assert!((57..=103).contains(&(without - with)), "{without} {with}");
}

#[test]
fn completion_counts_from_the_first_data() {
    let completion = |mut one: FlowSpec| {
        one.source = Source::Finite { bytes: PACKET * 5 };
        alone(one, 3).completion_s.expect("a complete transfer")
    };
    let without = completion(flow("reno", 40));
    for lost in [0, 1] {
        let with = completion(losing("reno", lost, 0, &[Mechanism::Handshake]));
        assert!((with - without).abs() < 1e-3, "{lost}: {with} {without}");
    }
}

#[test]
fn the_first_timeout_knows_the_rtt() {
    // All ten packets of the first window are lost.
    let completion = |mechanisms: &[Mechanism]| {
        let skipped = usize::from(!mechanisms.is_empty()) as u64;
        let lost = |n| ElementConfig::PeriodicLoss(PeriodicLossConfig { every: 1 << 40, first: Some(n) });
        let one = FlowSpec {
            source: Source::Finite { bytes: PACKET * 10 },
            ingress: vec![lost(1 + skipped); 10],
            ..losing("reno", 0, 0, mechanisms)
        };
        alone(one, 5).completion_s.expect("a complete transfer")
    };
    let (without, with) = (completion(&[]), completion(&[Mechanism::Handshake]));
    // 1 s before a sample; with it srtt + 200 ms.
    assert!((0.74..0.78).contains(&(without - with)), "{without} {with}");
}

#[test]
fn controllers_that_pace_know_the_rtt_when_the_data_start() {
    // BBR paces the first window for an assumed RTT of 1 ms, if it knows none: the packets leave in a burst and queue.
    for cca in ["bbr", "bbr3"] {
        let first_window = |mechanisms: &[Mechanism]| {
            let mut one = losing(cca, 0, 0, mechanisms);
            one.source = Source::Finite { bytes: PACKET * 10 };
            alone(one, 3).rtt_ms.mean
        };
        let (without, with) = (first_window(&[]), first_window(&[Mechanism::Handshake]));
        assert!(without > with + 2.0 && with < 42.5, "{cca}: {without} {with}");
    }
}

#[test]
fn a_flow_whose_first_syn_was_lost_has_no_ecn() {
    let marks = |syns, answers| {
        let mut one = losing("reno", syns, answers, &[Mechanism::Handshake]);
        one.ecn = true;
        let queue = serde_json::json!({"kind": "ecn-threshold", "mark_above_packets": 10, "limit_packets": 40});
        let queue = serde_json::from_value(queue).expect("a queue");
        run(&dumbbell(12, queue, vec![one], 5, 0, 1)).expect("a run").summary.links[0].marks
    };
    assert!(marks(0, 0) > 0);
    assert!(marks(0, 1) > 0, "the receiver has seen the first SYN");
    assert_eq!(marks(1, 0), 0);
}

#[test]
fn quic_has_none() {
    let [with, without] =
        [&[Mechanism::Handshake][..], &[]].map(|set| format!("{:?}", alone(losing("quinn/bbr", 0, 0, set), 3)));
    assert_eq!(with, without);
}
