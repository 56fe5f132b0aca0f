//! BBR version 3 on whole paths: its queue, its bound on inflight, and its response to loss.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{droptail, dumbbell, flow, infinite, max_min_ratio, run, throughputs};
use fairweir_path::ElementConfig;
use fairweir_path::loss::IidLossConfig;
use fairweir_scenario::FlowSpec;
use fairweir_units::Time;

#[test]
fn one_flow_fills_the_link_with_a_small_queue() {
    for mbps in [24, 96, 960] {
        let outcome = run(&dumbbell(mbps, infinite(), vec![flow("bbr3", 40)], 60, 5, 1)).expect("a run");
        let (rtt, utilization) = (outcome.summary.flows[0].rtt_ms, outcome.summary.links[0].utilization);
        row!("bbr3 {mbps} Mbps: RTT p50 {:.2}, p99 {:.2} ms, utilization {utilization:.4}", rtt.p50, rtt.p99);
        assert!(utilization > 0.95, "{mbps} Mbps: {utilization}");
        assert!(rtt.p50 < 42.0, "{mbps} Mbps: {}", rtt.p50);
    }
    assert_table!();
}

#[test]
fn one_percent_of_random_loss_leaves_most() {
    // Outside of probes, each round with loss reduces bw_lo to the delivery rate, which is 99 % of bw_lo minus the
    // loss. A short path has more such rounds in the 2 to 3 s until the next probe, so its rate falls further.
    for (rtprop_ms, least) in [(100, 0.8), (40, 0.65)] {
        let rates: Vec<f64> = (1..=3)
            .map(|seed| {
                let mut one = flow("bbr3", rtprop_ms);
                one.ingress.push(ElementConfig::IidLoss(IidLossConfig { per_billion: 10_000_000 }));
                run(&dumbbell(96, infinite(), vec![one], 90, 10, seed)).expect("a run").summary.links[0].utilization
            })
            .collect();
        row!("bbr3 {rtprop_ms} ms, 1 % random loss: utilization {rates:.3?}");
        assert!(rates.iter().sum::<f64>() / 3.0 > least, "{rtprop_ms} ms: {rates:?}");
    }
    assert_table!();
}

#[test]
fn a_shallow_buffer_costs_it_far_less_than_version_1() {
    // With a buffer of a fifth of a BDP, version 1's probes overflow the buffer continually; version 3 adapts
    // inflight_hi.
    let loss = |cca: &str| {
        let outcome = run(&dumbbell(96, droptail(64), vec![flow(cca, 40); 2], 60, 10, 1)).expect("a run");
        let summary = outcome.summary;
        row!(
            "{cca}, two flows, a fifth of a BDP: loss {:.4}, utilization {:.3}",
            summary.flows[0].loss_rate,
            summary.links[0].utilization
        );
        assert!(summary.links[0].utilization > 0.8);
        summary.flows.iter().map(|f| f.loss_rate).sum::<f64>() / 2.0
    };
    let (one, three) = (loss("bbr"), loss("bbr3"));
    assert!(three < 0.02 && three < one / 4.0, "{one} {three}");
    assert_table!();
}

#[test]
fn flows_share_and_the_queue_is_bounded() {
    let flows: Vec<FlowSpec> =
        (0..4).map(|i| FlowSpec { start: Time::from_nanos(i * 1_370_000_000), ..flow("bbr3", 40) }).collect();
    let mut ratios = vec![];
    for seed in 1..=3 {
        let outcome = run(&dumbbell(96, infinite(), flows.clone(), 120, 60, seed)).expect("a run");
        let rtt = outcome.summary.flows[0].rtt_ms;
        row!("bbr3, four flows, seed {seed}: {:.1?} Mbps, RTT p99 {:.1} ms", throughputs(&outcome), rtt.p99);
        assert!(rtt.p99 < 120.0, "{}", rtt.p99);
        ratios.push(max_min_ratio(&outcome));
    }
    assert!(ratios.iter().sum::<f64>() / 3.0 < 2.0, "{ratios:?}");
    assert_table!();
}
