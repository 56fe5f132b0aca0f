//! Poseidon on whole paths: delay grows with the logarithm of the flow count, equal shares, and the effect of a large
//! step.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{crowd, max_min_ratio, run, throughputs};
use serde_json::json;

/// Delay for a factor of e in rate with the default parameters, ms: 50 / ln 1000.
const S0_MS: f64 = 7.238_24;

#[test]
fn delay_grows_with_the_logarithm_of_the_flows() {
    for mbps in [48u64, 200] {
        for n in [1u64, 2, 4, 8] {
            let outcome = run(&crowd("poseidon", &json!({}), mbps, 40, n, 80)).expect("a run");
            let qdelay_ms = outcome.summary.links[0].queue_ms.mean;
            let law = S0_MS * (1000.0 * n as f64 / mbps as f64).ln();
            row!("{mbps} Mbps, {n} flows: {qdelay_ms:.2} ms, contract {law:.2} ms, {:.1?}", throughputs(&outcome));
            // tolerance: one packet per flow
            assert!((qdelay_ms - law).abs() < (n + 1) as f64 * 12.0 / mbps as f64, "{n} flows: {qdelay_ms}, not {law}");
            assert!(max_min_ratio(&outcome) < 1.05, "{:?}", throughputs(&outcome));
        }
    }
    assert_table!();
}

#[test]
fn a_step_that_is_large_for_the_rtt_swings() {
    // m (rtprop + delay) divided by p/L: 0.1 62/7.2 = 0.9 and 0.4 62/7.2 = 3.4
    let swing_ms = |m: f64| {
        let outcome = run(&crowd("poseidon", &json!({"m": m}), 48, 40, 1, 60)).expect("a run");
        let rtt = outcome.summary.flows[0].rtt_ms;
        rtt.max - rtt.min
    };
    let (small, large) = (swing_ms(0.1), swing_ms(0.4));
    row!("range of the RTT {small:.1} ms with m 0.1, {large:.1} ms with m 0.4");
    assert!(small < 1.0 && large > 10.0);
    assert_table!();
}
