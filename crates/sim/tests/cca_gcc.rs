//! GCC on whole paths: alone, with losses, on a varying link, and next to Reno.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, droptail, dumbbell, flow, make_cellular, run};
use fairweir_path::ElementConfig;
use fairweir_path::loss::IidLossConfig;
use fairweir_scenario::{Config, FlowSpec, Summary};
use fairweir_units::Time;
use serde_json::{Value, json};

const RTT_MS: u64 = 50;

fn gcc(params: Value) -> FlowSpec {
    FlowSpec { params, ..flow("gcc", RTT_MS) }
}

/// Packets that a link of `mbps` sends in `ms`.
fn packets(mbps: u64, ms: u64) -> u64 {
    mbps * 125 * ms / 1500
}

/// `flows` for 180 s, of which the first 60 s are warm-up, with a buffer of `buffer_ms`; the flows start about 1 s after one
/// another, by the seed.
fn scenario(mbps: u64, buffer_ms: u64, mut flows: Vec<FlowSpec>, seed: u64) -> Config {
    for (i, f) in flows.iter_mut().enumerate() {
        f.start = Time::from_nanos(i as u64 * (1_000_000_000 + seed * 137_000_000));
    }
    dumbbell(mbps, droptail(packets(mbps, buffer_ms)), flows, 180, 60, seed)
}

fn play(config: &Config) -> Summary {
    run(config).expect("a run").summary
}

#[test]
fn alone_it_uses_the_link_with_a_short_queue() {
    for (mbps, buffer_ms) in [(1, 300), (4, 300), (4, 1000), (20, 300)] {
        let summary = play(&scenario(mbps, buffer_ms, vec![gcc(json!({}))], 1));
        let (flow, used) = (&summary.flows[0], summary.links[0].utilization);
        let (mean, p95, lost) = (flow.qdelay_ms.mean, flow.qdelay_ms.p95, flow.lost_pkts);
        row!("{mbps} Mbps, {buffer_ms} ms: utilization {used:.3}, queue mean {mean:.1}, p95 {p95:.1} ms, lost {lost}");
        assert!(used > 0.75, "{used}");
        assert!(p95 < 150.0, "{p95}");
    }
    assert_table!();
}

#[test]
fn losses_count_above_10_percent() {
    for percent in [0, 1, 5, 15] {
        let mut lossy = gcc(json!({"start_rate": "2Mbps"}));
        if percent > 0 {
            lossy.ingress.push(ElementConfig::IidLoss(IidLossConfig { per_billion: percent * 10_000_000 }));
        }
        let summary = play(&scenario(4, 300, vec![lossy], 1));
        let rate = summary.flows[0].throughput_mbps;
        row!("{percent} % lost: {rate:.2} of 4 Mbps");
        assert_eq!(rate < 1.0, percent == 15, "{rate}");
    }
    assert_table!();
}

#[test]
fn on_a_varying_link_the_delay_stays_below_that_of_cubic() {
    for name in ["gcc", "cubic"] {
        let mut config = scenario(5, 3000, vec![flow(name, RTT_MS)], 1);
        make_cellular(&mut config);
        let summary = play(&config);
        let flow = &summary.flows[0];
        let (rate, mean, p95) = (flow.throughput_mbps, flow.qdelay_ms.mean, flow.qdelay_ms.p95);
        row!("{name}: {rate:.2} of 5 Mbps, queue mean {mean:.0}, p95 {p95:.0} ms");
        assert_eq!(mean < 500.0, name == "gcc", "{mean}");
    }
    assert_table!();
}

#[test]
fn flows_share_with_each_other_and_with_reno() {
    for other in ["gcc", "reno"] {
        for buffer_ms in [150, 300] {
            for seed in SEEDS {
                let config = scenario(4, buffer_ms, vec![gcc(json!({})), flow(other, RTT_MS)], seed);
                let summary = play(&config);
                let [first, second] = [0, 1].map(|i| summary.flows[i].throughput_mbps);
                row!("buffer {buffer_ms} ms, seed {seed}: gcc {first:.2}, {other} {second:.2} Mbps");
            }
        }
    }
    assert_table!();
}
