//! LEDBAT on whole paths: its target, flows that start late, and competition with Reno.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, droptail, dumbbell, flow, infinite, queued, run, throughputs};
use fairweir_scenario::FlowSpec;
use fairweir_units::Time;
use serde_json::json;

fn ledbat(start_s: u64) -> FlowSpec {
    FlowSpec { start: Time::from_nanos(start_s * 1_000_000_000), ..flow("ledbat", 40) }
}

#[test]
fn one_flow_keeps_the_target_in_the_queue() {
    for (mbps, target_ms) in [(12, 100), (24, 100), (48, 25)] {
        let params = json!({"target": format!("{target_ms}ms")});
        let flow = FlowSpec { params, ..ledbat(0) };
        let outcome = run(&dumbbell(mbps, infinite(), vec![flow], 400, 200, 1)).expect("a run");
        let qdelay_ms = outcome.summary.links[0].queue_ms.mean;
        row!("{mbps} Mbps: {qdelay_ms:.2} ms, target {target_ms} ms");
        assert!((qdelay_ms / f64::from(target_ms) - 1.0).abs() < 0.02, "{qdelay_ms}");
    }
    assert_table!();
}

#[test]
fn a_late_comer_adds_its_target_to_the_queue_and_takes_the_link() {
    for seed in SEEDS {
        let outcome = run(&dumbbell(12, infinite(), vec![ledbat(0), ledbat(60)], 400, 200, seed)).expect("a run");
        let (rates, queue_ms) = (throughputs(&outcome), outcome.summary.links[0].queue_ms.mean);
        let packets = queued(&outcome, 12);
        row!("first and late, seed {seed}: {rates:.2?} Mbps, {queue_ms:.0} ms queue, {packets:.0} packets");
        assert!(rates[1] > 10.0 * rates[0], "{rates:?}");
        assert!((queue_ms - 200.0).abs() < 20.0, "{queue_ms}");
    }
    assert_table!();
}

#[test]
fn it_yields_to_reno_where_the_queue_holds_more_than_the_target() {
    for (buffer_ms, yields) in [(400, true), (60, false)] {
        for seed in SEEDS {
            let config = dumbbell(24, droptail(buffer_ms * 2), vec![ledbat(0), flow("reno", 40)], 200, 50, seed);
            let rates = throughputs(&run(&config).expect("a run"));
            row!("{buffer_ms} ms of buffer, seed {seed}: ledbat and reno {rates:.1?} Mbps");
            assert_eq!(rates[1] > 5.0 * rates[0], yields, "{rates:?}");
        }
    }
    assert_table!();
}
