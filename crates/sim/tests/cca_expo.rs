//! The exponential CCA on whole paths: jitter up to D costs at most a factor s, whereas Vegas' loss is unbounded
//! (starvation paper section 6.2).
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{dumbbell, flow, infinite, max_min_ratio, run, throughputs};
use fairweir_path::ElementConfig;
use fairweir_scenario::FlowSpec;
use fairweir_units::Dur;
use serde_json::{Value, json};

/// expo's default for s: the maximum factor that jitter of D = 10 ms costs.
const S: f64 = 2.0;

fn informed(cca: &str, params: Value, mbps: u64) -> FlowSpec {
    let mut flow = flow(cca, 40);
    flow.params = params;
    flow.oracle_rtprop = Some(Dur::from_millis(40) + Dur::from_nanos(12_000_000 / mbps));
    flow
}

/// Returns the throughput ratio of two flows, of which one has `jitter`.
fn ratio(cca: &str, params: &Value, mbps: u64, jitter: Value, seed: u64) -> f64 {
    let mut flows = vec![informed(cca, params.clone(), mbps), informed(cca, params.clone(), mbps)];
    flows[1].egress = vec![serde_json::from_value::<ElementConfig>(jitter).expect("an element")];
    max_min_ratio(&run(&dumbbell(mbps, infinite(), flows, 300, 100, seed)).expect("a run that ends well"))
}

#[test]
fn jitter_up_to_d_costs_a_factor_s_where_vegas_starves() {
    for jitter in [json!({"kind": "delay", "by": 10_000_000}), json!({"kind": "uniform", "max": 10_000_000})] {
        for (mbps, seed) in [(6, 1), (12, 1), (48, 1), (48, 2), (48, 3), (200, 1)] {
            let expo = ratio("expo", &Value::Null, mbps, jitter.clone(), seed);
            let vegas = ratio("vegas", &json!({"alpha": 4, "beta": 4}), mbps, jitter.clone(), seed);
            row!("{jitter} at {mbps} Mbps, seed {seed}: expo {expo:.2}, vegas {vegas:.2}");
            assert!(expo < S, "{mbps} Mbps: {expo}");
            assert!(mbps < 48 || vegas > 1.5 * S, "{mbps} Mbps: {vegas}");
        }
    }
    assert_table!();
}

#[test]
fn equal_flows_share_equally_and_use_the_link() {
    for mbps in [12, 48, 200] {
        let flows = (0..3).map(|_| informed("expo", Value::Null, mbps)).collect();
        let outcome = run(&dumbbell(mbps, infinite(), flows, 300, 150, 1)).expect("a run that ends well");
        row!(
            "{mbps} Mbps: {:.2?} Mbps, mean queue {:.1} ms",
            throughputs(&outcome),
            outcome.summary.flows[0].qdelay_ms.mean
        );
        assert!(max_min_ratio(&outcome) < 1.1);
        assert!(outcome.summary.links[0].utilization > 0.95);
    }
    assert_table!();
}

#[test]
fn delay_falls_by_d_for_each_factor_s_of_rate() {
    // q = Rmax - D log_s(rate / mu_minus). With a = (1 - b) rate, the oscillation about the curve is small.
    for (mbps, a) in [(4, "4kbps"), (16, "16kbps"), (64, "64kbps")] {
        let flow = informed("expo", json!({"a": a, "b": 0.999}), mbps);
        let outcome = run(&dumbbell(mbps, infinite(), vec![flow], 2000, 1500, 1)).expect("a run that ends well");
        let (q, expected) = (outcome.summary.flows[0].qdelay_ms.mean, 100.0 - 10.0 * (mbps as f64).log2());
        row!("{mbps} Mbps: mean queue {q:.1} ms, curve {expected:.1} ms");
        assert!((q - expected).abs() < 10.0, "{mbps} Mbps: {q}");
    }
    assert_table!();
}
