//! Sprout on whole paths: its target and quantile, long paths, fast links, a varying link, and shares.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, droptail, dumbbell, flow, make_cellular, run};
use fairweir_scenario::{Config, FlowSpec, Summary};
use fairweir_units::Time;
use serde_json::{Value, json};

fn sprout(params: Value, rtt_ms: u64) -> FlowSpec {
    FlowSpec { params, ..flow("sprout", rtt_ms) }
}

/// `flows` for 120 s, of which the first 20 s are warm-up, with a buffer of 2000 packets; the flows start about 1 s after one
/// another, by the seed.
fn scenario(mbps: u64, mut flows: Vec<FlowSpec>, seed: u64) -> Config {
    for (i, f) in flows.iter_mut().enumerate() {
        f.start = Time::from_nanos(i as u64 * (1_000_000_000 + seed * 137_000_000));
    }
    dumbbell(mbps, droptail(2000), flows, 120, 20, seed)
}

fn play(config: &Config) -> Summary {
    run(config).expect("a run").summary
}

#[test]
fn the_delay_is_below_the_target_and_the_use_depends_on_rate_and_rtt() {
    for (mbps, rtt_ms) in [(1, 20), (4, 20), (8, 20), (12, 20), (24, 20), (4, 60), (4, 100), (4, 300)] {
        let summary = play(&scenario(mbps, vec![sprout(json!({}), rtt_ms)], 1));
        let (flow, used) = (&summary.flows[0], summary.links[0].utilization);
        let (mean, p95) = (flow.qdelay_ms.mean, flow.qdelay_ms.p95);
        row!("{mbps} Mbps, {rtt_ms} ms: utilization {used:.3}, queue mean {mean:.1}, p95 {p95:.1} ms");
        assert!(p95 < 100.0, "{p95}");
    }
    assert_table!();
}

#[test]
fn a_higher_quantile_trades_delay_for_throughput_on_a_varying_link() {
    let mut all = vec![("cubic", json!({}))];
    all.extend([0.05, 0.25, 0.5, 0.75].map(|quantile| ("sprout", json!({"quantile": quantile}))));
    let mut last = (0.0, 0.0);
    for (name, params) in all {
        let mut config = scenario(5, vec![FlowSpec { params: params.clone(), ..flow(name, 20) }], 1);
        make_cellular(&mut config);
        let summary = play(&config);
        let flow = &summary.flows[0];
        let (rate, mean, p95) = (flow.throughput_mbps, flow.qdelay_ms.mean, flow.qdelay_ms.p95);
        row!("{name} {params}: {rate:.2} of 5 Mbps, queue mean {mean:.0}, p95 {p95:.0} ms");
        if name == "sprout" {
            assert!(rate > last.0 - 0.05 && mean > last.1, "{rate} {mean}");
            last = (rate, mean);
        }
    }
    assert_table!();
}

#[test]
fn flows_share_with_each_other_but_not_with_cubic() {
    for other in ["sprout", "cubic"] {
        for seed in SEEDS {
            let summary = play(&scenario(6, vec![sprout(json!({}), 20), flow(other, 20)], seed));
            let [first, second] = [0, 1].map(|i| summary.flows[i].throughput_mbps);
            row!("seed {seed}: sprout {first:.2}, {other} {second:.2} Mbps");
        }
    }
    assert_table!();
}
