//! CUBIC on whole paths: its response function, its Reno-friendly region, and its queue.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{PACKET, droptail, dumbbell, flow, infinite, run, throughputs};
use fairweir_path::ElementConfig;
use fairweir_path::loss::PeriodicLossConfig;
use fairweir_scenario::FlowSummary;
use fairweir_units::Dur;
use serde_json::json;

/// Returns the mean window, packets, by Little's law.
fn mean_cwnd(flow: &FlowSummary) -> f64 {
    flow.throughput_mbps * 1e6 / 8.0 * flow.rtt_ms.mean / 1e3 / PACKET.0 as f64
}

/// Runs one flow that loses every `every`-th packet, on a link so fast that no queue builds up.
fn under_periodic_loss(rtprop_ms: u64, every: u64, seconds: u64, params: serde_json::Value) -> f64 {
    let mut one = flow("cubic", rtprop_ms);
    one.params = params;
    one.ingress.push(ElementConfig::PeriodicLoss(PeriodicLossConfig { every, first: None }));
    let outcome = run(&dumbbell(40_000, infinite(), vec![one], seconds, seconds / 4, 1)).expect("a run");
    mean_cwnd(&outcome.summary.flows[0])
}

#[test]
fn rare_loss_gives_the_response_function() {
    // RFC 9438 §5.1: 1.054 (RTT/p)^(3/4), if every cycle ends at its plateau. The plateau is flat, so a window near the
    // plateau changes slowly. Without fast convergence the window falls from slow start's value and remains above the
    // law; with fast convergence it ends below the law.
    for (rtprop_ms, every) in [(100, 10_000), (100, 30_000), (200, 30_000)] {
        let law = 1.054 * (rtprop_ms as f64 / 1e3 * every as f64).powf(0.75);
        let mean = under_periodic_loss(rtprop_ms, every, 600, json!({"friendliness": false}));
        let upper =
            under_periodic_loss(rtprop_ms, every, 600, json!({"friendliness": false, "fast_convergence": false}));
        row!("cubic {rtprop_ms} ms, one loss in {every}: {mean:.1} to {upper:.1}, law {law:.1}");
        assert!((0.9..=1.02).contains(&(mean / law)), "{rtprop_ms} ms, {every}: {mean} {law}");
        assert!((0.98..=1.25).contains(&(upper / law)), "{rtprop_ms} ms, {every}: {upper} {law}");
    }
    assert_table!();
}

#[test]
fn frequent_loss_gives_reno_s_law() {
    // below the crossover the window of AIMD(alpha, beta) is larger: 1.22/sqrt(p)
    for (rtprop_ms, every) in [(10, 1_000), (20, 2_000), (40, 500)] {
        let mean = under_periodic_loss(rtprop_ms, every, 200, json!({}));
        let law = (1.5 * every as f64).sqrt();
        row!("cubic {rtprop_ms} ms, one loss in {every}: {mean:.1}, law {law:.1}");
        assert!((mean / law - 1.0).abs() < 0.1, "{rtprop_ms} ms, {every}: {mean} {law}");
    }
    assert_table!();
}

#[test]
fn utilization_and_queue_are_the_buffer_s() {
    // a buffer of three BDPs: the RTT is 4 R, as for loss-based algorithms in the FRCC paper's figure 8
    let outcome = run(&dumbbell(96, droptail(960), vec![flow("cubic", 40); 4], 120, 30, 1)).expect("a run");
    let (link, p95) = (&outcome.summary.links[0], outcome.summary.flows[0].rtt_ms.p95);
    row!("cubic, 4 flows, 3 BDP: utilization {:.4}, p95 of RTT {p95:.1} ms", link.utilization);
    assert!(link.utilization > 0.999);
    assert!((150.0..=161.0).contains(&p95), "{p95}");
    assert_table!();
}

#[test]
fn equal_flows_share_equally() {
    let mut sums = [0.0; 2];
    for seed in 1..=6 {
        let outcome = run(&dumbbell(96, droptail(320), vec![flow("cubic", 40); 2], 300, 60, seed)).expect("a run");
        let rates = throughputs(&outcome);
        sums[0] += rates[0];
        sums[1] += rates[1];
    }
    row!("cubic, two equal flows over six seeds: {:.1} {:.1} Mbps", sums[0] / 6.0, sums[1] / 6.0);
    assert!((sums[0] / sums[1] - 1.0).abs() < 0.2, "{sums:?}");
    assert_table!();
}

#[test]
fn idle_time_does_not_grow_the_window() {
    // RFC 9438 §5.8: the 9 s of idle time in each period of 10 s do not count as time in the cubic function
    let mut on_off = flow("cubic", 40);
    on_off.source = fairweir_scenario::Source::OnOff { on: Dur::from_secs(1), off: Dur::from_secs(9) };
    let mut config = dumbbell(96, droptail(320), vec![on_off], 100, 20, 1);
    config.interval = Some(Dur::from_millis(50));
    let outcome = run(&config).expect("a run");
    let largest = outcome.series.expect("recorded").flows.cwnd_bytes.iter().skip(200).max().copied().unwrap_or(0);
    row!("cubic, one second in ten: largest cwnd {} packets", largest / PACKET.0);
    assert!(largest / PACKET.0 < 2 * 640 + 64, "{}", largest / PACKET.0);
    assert_table!();
}
