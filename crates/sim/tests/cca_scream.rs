//! SCReAM on whole paths: its delay target, alone and next to Reno, with and without the compensation for competing flows.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{PACKET, SEEDS, droptail, dumbbell, flow, run};
use fairweir_path::QueueConfig;
use fairweir_path::queue::EcnThresholdConfig;
use fairweir_scenario::{FlowSpec, Summary};
use fairweir_units::Time;
use serde_json::{Value, json};

const MBPS: u64 = 24;

fn scream(params: &Value) -> FlowSpec {
    FlowSpec { params: params.clone(), ..flow("scream", 40) }
}

/// Packets that the link sends in `ms`.
fn packets(ms: u64) -> u64 {
    MBPS * 125 * ms / PACKET.0
}

/// Runs `flows` for 600 s; the summary leaves out the first 300 s, because the window changes by at most a packet per RTT.
/// The flows start about 1 s after one another, by the seed.
fn play(queue: QueueConfig, mut flows: Vec<FlowSpec>, seed: u64) -> Summary {
    for (i, f) in flows.iter_mut().enumerate() {
        f.start = Time::from_nanos(i as u64 * (1_000_000_000 + seed * 137_000_000));
    }
    run(&dumbbell(MBPS, queue, flows, 600, 300, seed)).expect("a run").summary
}

#[test]
fn alone_it_fills_the_link_with_its_target() {
    // A steady delay has no trend, so fast increase resumes and overshoots. With the compensation, the flow's own steady
    // queue counts as competing traffic, and raises the target.
    for (params, expected_ms) in [
        (json!({"compensates": false, "resume_after": "1h"}), 90.0..=110.0),
        (json!({"compensates": false, "resume_after": "1h", "target_low": "30ms"}), 27.0..=33.0),
        (json!({"compensates": false}), 110.0..=200.0),
        (json!({}), 110.0..=1000.0),
    ] {
        let summary = play(droptail(packets(1000)), vec![scream(&params)], 1);
        let (flow, utilization) = (&summary.flows[0], summary.links[0].utilization);
        row!(
            "{params}: queue mean {:.1}, p95 {:.1} ms, lost {}, utilization {utilization:.4}",
            flow.qdelay_ms.mean,
            flow.qdelay_ms.p95,
            flow.lost_pkts,
        );
        assert!(expected_ms.contains(&flow.qdelay_ms.mean), "{}", flow.qdelay_ms.mean);
        assert!(utilization > 0.99, "{utilization}");
    }
    assert_table!();
}

#[test]
fn next_to_reno_the_compensation_keeps_a_share() {
    for compensates in [true, false] {
        for buffer_ms in [100, 300] {
            for seed in SEEDS {
                let flows = vec![scream(&json!({"compensates": compensates})), flow("reno", 40)];
                let summary = play(droptail(packets(buffer_ms)), flows, seed);
                let [scream, reno] = [0, 1].map(|i| summary.flows[i].throughput_mbps);
                row!(
                    "compensation {compensates}, buffer {buffer_ms} ms, seed {seed}: {scream:.2} Mbps next to {reno:.2}"
                );
                assert_eq!(scream > 0.2 * reno, compensates || buffer_ms == 100, "{scream} {reno}");
            }
        }
    }
    assert_table!();
}

#[test]
fn marks_and_losses_leave_a_buffer_below_the_target_used() {
    let marking = QueueConfig::EcnThreshold(EcnThresholdConfig {
        mark_above_packets: Some(packets(20)),
        limit_packets: Some(packets(1000)),
        ..EcnThresholdConfig::default()
    });
    for (what, queue, ecn) in [("marks above", marking, true), ("a buffer of", droptail(packets(20)), false)] {
        let summary = play(queue, vec![FlowSpec { ecn, ..scream(&json!({})) }; 2], 1);
        let rates = [0, 1].map(|i| summary.flows[i].throughput_mbps);
        let (p95, utilization) = (summary.links[0].queue_ms.p95, summary.links[0].utilization);
        row!("{what} 20 ms, two flows: {rates:.2?} Mbps, queue p95 {p95:.1} ms, utilization {utilization:.4}");
        assert!(utilization > 0.95, "{utilization}");
        assert!(p95 < 30.0, "{p95}");
    }
    assert_table!();
}
