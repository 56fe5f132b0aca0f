//! Tail loss probes (`transport`, RFC 8985 §7).

use crate::common::{PACKET, droptail, dumbbell, flow, run};
use fairweir_path::ElementConfig;
use fairweir_path::loss::PeriodicLossConfig;
use fairweir_scenario::{FlowSpec, FlowSummary, Mechanism, Source};
use fairweir_units::Rate;

/// Number of packets of the transfer.
const PACKETS: u64 = 20;

/// Returns a transfer over rtprop 40 ms of which the last `lost` packets are lost once.
fn transfer(lost: u64, mechanisms: &[Mechanism]) -> FlowSpec {
    // Each element loses the first of the packets that the elements before it have passed.
    let element = PeriodicLossConfig { every: 1000, first: Some(PACKETS + 1 - lost) };
    FlowSpec {
        source: Source::Finite { bytes: PACKET * PACKETS },
        transport: mechanisms.iter().copied().collect(),
        ingress: vec![ElementConfig::PeriodicLoss(element); lost as usize],
        ..flow("cubic", 40)
    }
}

fn summary(flow: FlowSpec) -> FlowSummary {
    run(&dumbbell(48, droptail(100), vec![flow], 10, 0, 1)).expect("a run").summary.flows.remove(0)
}

fn completion(summary: &FlowSummary) -> f64 {
    summary.completion_s.expect("a complete transfer")
}

#[test]
fn a_lost_tail_is_repaired_after_two_rtts_instead_of_a_timeout() {
    let without = summary(transfer(3, &[]));
    let with = summary(transfer(3, &[Mechanism::TailLossProbe]));
    assert_eq!((without.timeouts, without.retransmits), (1, 3));
    assert_eq!((with.timeouts, with.retransmits), (0, 3), "the probe, and the two packets before it");
    // Timeout: srtt + 200 ms, then two rounds with a cwnd of 1 and 2. Probe: 2 srtt + 2 ms, then two rounds.
    let earlier = completion(&without) - completion(&with);
    assert!((0.10..0.13).contains(&earlier), "{earlier} s");
}

#[test]
fn a_probe_declares_no_packet_lost() {
    let slowly = |mechanisms: &[Mechanism]| {
        // One packet every 600 ms; the second is lost.
        let element = PeriodicLossConfig { every: 1000, first: Some(2) };
        summary(FlowSpec {
            source: Source::Rate { rate: Rate::from_bytes_per_sec(2_500) },
            ingress: vec![ElementConfig::PeriodicLoss(element)],
            ..transfer(0, mechanisms)
        })
    };
    let (without, with) = (slowly(&[]), slowly(&[Mechanism::TailLossProbe]));
    assert_eq!((without.timeouts, without.retransmits, without.lost_pkts), (1, 1, 1));
    assert_eq!((with.timeouts, with.retransmits, with.lost_pkts), (0, 1, 0));
}

#[test]
fn a_sender_without_sack_does_not_probe() {
    let mut one = transfer(3, &[Mechanism::TailLossProbe]);
    one.receiver.sack = false;
    assert!(summary(one).timeouts > 0);
}
