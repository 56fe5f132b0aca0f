//! PCC Proteus on whole paths: each mode alone, the scavenger next to primary flows, and noise.
//!
//! `docs/ccas/pcc_proteus.md` cites the numbers. Each test compares its numbers with its table in `laws/`;
//! `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, droptail, dumbbell, flow, run, throughputs};
use fairweir_path::ElementConfig;
use fairweir_path::jitter::UniformConfig;
use fairweir_scenario::{FlowSpec, Summary};
use fairweir_units::{Dur, Time};
use serde_json::{Value, json};

/// The paper's link: 50 Mbps, 30 ms.
const MBPS: u64 = 50;
const RTT_MS: u64 = 30;
/// Two BDPs: 375 KB.
const BUFFER: u64 = 250;

fn proteus(params: Value) -> FlowSpec {
    FlowSpec { params, ..flow("pcc_proteus", RTT_MS) }
}

fn mode(mode: &str) -> FlowSpec {
    proteus(json!({"mode": mode}))
}

/// Runs `flows` for 120 s, of which the first 40 s are warm-up; the second flow starts 5 s after the first.
fn play(buffer: u64, mut flows: Vec<FlowSpec>, seed: u64) -> Summary {
    for (i, f) in flows.iter_mut().enumerate() {
        f.start = Time::from_nanos(i as u64 * 5_000_000_000);
    }
    run(&dumbbell(MBPS, droptail(buffer), flows, 120, 40, seed)).expect("a run").summary
}

#[test]
fn alone_each_mode_fills_a_link_with_a_small_buffer() {
    for (name, buffer) in [("primary", 10), ("primary", BUFFER), ("scavenger", 10), ("scavenger", BUFFER)] {
        let summary = play(buffer, vec![mode(name)], 1);
        let flow = &summary.flows[0];
        let (used, p95) = (flow.throughput_mbps / MBPS as f64, flow.qdelay_ms.p95);
        row!(
            "{name} alone, buffer of {buffer} packets: {used:.3} of C, 95th percentile of the queueing delay {p95:.2} ms"
        );
        assert!(used > 0.9, "{used}");
        assert!(p95 < 0.2 * RTT_MS as f64, "{p95}");
    }
    assert_table!();
}

#[test]
fn a_scavenger_yields_to_primary_flows() {
    for primary in ["cubic", "bbr", "copa", "pcc_proteus"] {
        let alone = play(BUFFER, vec![flow(primary, RTT_MS)], 1).flows[0].throughput_mbps;
        for (name, scavenger) in [("scavenger", mode("scavenger")), ("ledbat", flow("ledbat", RTT_MS))] {
            for seed in SEEDS {
                let summary = play(BUFFER, vec![flow(primary, RTT_MS), scavenger.clone()], seed);
                let [first, second] = [0, 1].map(|i| summary.flows[i].throughput_mbps);
                row!(
                    "{primary} next to {name}, seed {seed}: {first:.1} next to {second:.1} Mbps, {:.3} of alone",
                    first / alone
                );
                assert_eq!(first > 0.85 * alone, name == "scavenger", "{first} of {alone}");
            }
        }
    }
    assert_table!();
}

#[test]
fn equals_share() {
    for name in ["primary", "scavenger"] {
        for seed in SEEDS {
            let summary = play(BUFFER, vec![mode(name); 2], seed);
            let rates = [0, 1].map(|i| summary.flows[i].throughput_mbps);
            row!("two of {name}, seed {seed}: {rates:.1?} Mbps");
            let bound = if name == "primary" { 1.2 } else { 2.0 };
            assert!(rates[0].max(rates[1]) < bound * rates[0].min(rates[1]), "{rates:?}");
        }
    }
    assert_table!();
}

#[test]
fn noise_is_tolerated() {
    for ms in [0, 3, 10] {
        for name in ["primary", "scavenger"] {
            for tolerates in [true, false] {
                let mut flow = proteus(json!({"mode": name, "tolerates_noise": tolerates}));
                if ms > 0 {
                    let config = UniformConfig { max: Dur::from_millis(ms) };
                    flow.egress.push(ElementConfig::Uniform(config));
                }
                let outcome = run(&dumbbell(MBPS, droptail(BUFFER), vec![flow], 120, 40, 1)).expect("a run");
                let used = throughputs(&outcome)[0] / MBPS as f64;
                row!("{name}, jitter of up to {ms} ms, tolerance {tolerates}: {used:.3} of C");
                assert!(used > 0.85 || ms > 0 && name == "scavenger" && (ms > 3 || !tolerates), "{used}");
            }
        }
    }
    assert_table!();
}
