//! Verus on whole paths: the ratio R, a varying link, and shares.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, droptail, dumbbell, flow, make_cellular, run};
use fairweir_path::ElementConfig;
use fairweir_path::loss::IidLossConfig;
use fairweir_scenario::{Config, FlowSpec, Summary};
use fairweir_units::Time;
use serde_json::{Value, json};

const RTT_MS: u64 = 40;

fn verus(params: Value) -> FlowSpec {
    FlowSpec { params, ..flow("verus", RTT_MS) }
}

/// `flows` for 120 s, of which the first 40 s are warm-up, with a buffer of `buffer` packets; the flows start about 1 s after
/// one another, by the seed.
fn scenario(mbps: u64, buffer: u64, mut flows: Vec<FlowSpec>, seed: u64) -> Config {
    for (i, f) in flows.iter_mut().enumerate() {
        f.start = Time::from_nanos(i as u64 * (1_000_000_000 + seed * 137_000_000));
    }
    dumbbell(mbps, droptail(buffer), flows, 120, 40, seed)
}

fn play(config: &Config) -> Summary {
    run(config).expect("a run").summary
}

#[test]
fn the_ratio_bounds_the_delay() {
    for ratio in [2, 4, 6] {
        let summary = play(&scenario(20, 2000, vec![verus(json!({"ratio": ratio}))], 1));
        let (flow, used) = (&summary.flows[0], summary.links[0].utilization);
        let (mean, p95) = (flow.rtt_ms.mean, flow.rtt_ms.p95);
        row!("R = {ratio}: utilization {used:.3}, RTT mean {mean:.0}, p95 {p95:.0} ms, lost {}", flow.lost_pkts);
        assert!(used > 0.9, "{used}");
        assert!(p95 < 1.3 * (ratio * RTT_MS) as f64, "{p95}");
    }
    assert_table!();
}

#[test]
fn on_a_varying_link_the_delay_is_below_that_of_cubic() {
    for (name, params) in [("verus", json!({"ratio": 2})), ("verus", json!({})), ("cubic", json!({}))] {
        let mut config = scenario(5, 2000, vec![FlowSpec { params: params.clone(), ..flow(name, RTT_MS) }], 1);
        make_cellular(&mut config);
        let summary = play(&config);
        let flow = &summary.flows[0];
        let (rate, mean, p95) = (flow.throughput_mbps, flow.rtt_ms.mean, flow.rtt_ms.p95);
        row!("{name} {params}: {rate:.2} of 5 Mbps, RTT mean {mean:.0}, p95 {p95:.0} ms");
    }
    assert_table!();
}

#[test]
fn flows_share_with_each_other_and_with_cubic() {
    for other in ["verus", "cubic"] {
        for seed in SEEDS {
            let summary = play(&scenario(20, 400, vec![verus(json!({})), flow(other, RTT_MS)], seed));
            let [first, second] = [0, 1].map(|i| summary.flows[i].throughput_mbps);
            row!("seed {seed}: verus {first:.1}, {other} {second:.1} Mbps");
        }
    }
    assert_table!();
}

#[test]
fn random_losses_cost() {
    for tenths in [0, 1, 10] {
        let mut lossy = verus(json!({}));
        if tenths > 0 {
            lossy.ingress.push(ElementConfig::IidLoss(IidLossConfig { per_billion: tenths * 1_000_000 }));
        }
        let summary = play(&scenario(20, 400, vec![lossy], 1));
        row!("{:.1} % lost: {:.1} of 20 Mbps", f64::from(tenths) / 10.0, summary.flows[0].throughput_mbps);
    }
    assert_table!();
}
