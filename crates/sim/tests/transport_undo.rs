//! Undo of spurious timeouts: a path pauses for longer than the retransmission timeout and loses nothing.

use crate::common::{droptail, dumbbell, flow, run};
use fairweir_path::ElementConfig;
use fairweir_path::loss::IidLossConfig;
use fairweir_scenario::{FlowSummary, Mechanism};
use serde_json::{Value, json};

/// Returns the summary of a flow of `cca` over 24 Mbit/s and 40 ms, whose path pauses for 600 ms every 5 s.
fn paused(cca: &str, params: Value, mechanisms: &[Mechanism]) -> FlowSummary {
    let mut one = flow(cca, 40);
    one.params = params;
    let point = |ms: u64, delay: u64| json!({"at": ms * 1_000_000, "delay": delay * 1_000_000});
    let trajectory = json!({
        "kind": "trajectory", "points": [point(0, 0), point(4_000, 600), point(4_600, 0)], "repeat": 5_000_000_000_u64,
    });
    one.egress = vec![serde_json::from_value::<ElementConfig>(trajectory).expect("an element")];
    one.transport = mechanisms.iter().copied().collect();
    let mut summary = run(&dumbbell(24, droptail(80), vec![one], 30, 2, 1)).expect("a run").summary;
    summary.flows.remove(0)
}

#[test]
fn a_spurious_timeout_is_undone() {
    for cca in ["reno", "cubic", "dctcp", "bbr", "vegas", "highspeed"] {
        let (without, with) = (paused(cca, Value::Null, &[]), paused(cca, Value::Null, &[Mechanism::Undo]));
        assert_eq!((without.timeouts, with.timeouts), (6, 6), "{cca}");
        // Without undo a window is sent again after each pause.
        assert!(with.retransmits < without.retransmits, "{cca}: {} {}", with.retransmits, without.retransmits);
        assert!(with.throughput_mbps > without.throughput_mbps * 0.97, "{cca}");
    }
}

#[test]
fn a_real_timeout_is_not_undone() {
    let lossy = |mechanisms: &[Mechanism]| {
        let mut one = flow("reno", 40);
        one.transport = mechanisms.iter().copied().collect();
        let loss = ElementConfig::IidLoss(IidLossConfig { per_billion: 200_000_000 });
        one.ingress = vec![loss];
        run(&dumbbell(24, droptail(80), vec![one], 300, 0, 1)).expect("a run").summary.flows.remove(0)
    };
    let (without, with) = (lossy(&[]), lossy(&[Mechanism::Undo]));
    assert!(without.timeouts > 50 && with.timeouts > 50, "{} {}", without.timeouts, with.timeouts);
    let ratio = with.throughput_mbps / without.throughput_mbps;
    assert!((0.8..1.25).contains(&ratio), "{ratio}");
}
