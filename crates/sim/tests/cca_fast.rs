//! FAST on whole paths: packets in the queue, equal shares, and a parking lot.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{crowd, max_min_ratio, parking_lot, queued, run, throughputs};
use serde_json::json;

#[test]
fn n_flows_keep_n_alpha_packets_in_the_queue() {
    for (mbps, alpha) in [(12, 8.0), (96, 20.0), (200, 20.0)] {
        for n in [1, 2, 4] {
            let outcome = run(&crowd("fast", &json!({"alpha_pkts": alpha}), mbps, 40, n, 60)).expect("a run");
            let queued = queued(&outcome, mbps);
            row!("{mbps} Mbps, alpha {alpha}, {n} flows: {queued:.2} packets queue, {:.2?}", throughputs(&outcome));
            // windows are whole packets: up to one packet per flow less
            assert!(queued <= n as f64 * alpha + 0.5 && queued >= n as f64 * (alpha - 1.0) - 0.5, "{n}: {queued}");
            assert!(max_min_ratio(&outcome) < 1.0 + 1.5 / alpha, "{:?}", throughputs(&outcome));
        }
    }
    assert_table!();
}

#[test]
fn the_long_flow_of_a_parking_lot_gets_a_share_of_one_by_its_hops() {
    for hops in [2u64, 3] {
        let config = parking_lot("fast", &json!({"alpha_pkts": 50.0}), 48, 20, hops, 100);
        let rates = throughputs(&run(&config).expect("a run"));
        row!("{hops} hops: {rates:.2?} Mbps");
        for short in &rates[1..] {
            assert!((short / rates[0] / hops as f64 - 1.0).abs() < 0.05, "{hops} hops: {rates:?}");
        }
    }
    assert_table!();
}
