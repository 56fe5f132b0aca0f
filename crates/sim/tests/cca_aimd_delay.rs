//! AIMD on delay: fair where flows share one queue, starvation where one of them crosses two.
//!
//! `cargo test -p fairweir-sim --test cca_aimd_delay -- --nocapture` prints the numbers.

mod common;

use common::{crowd, max_min_ratio, parking_lot, run, throughputs};
use serde_json::json;

#[test]
fn flows_that_share_one_queue_share_it_fairly() {
    for n in [2, 4] {
        let outcome = run(&crowd("aimd_delay", &json!({}), 48, 40, n, 200)).expect("a run");
        println!(
            "{n} flows: {:.1?} Mbps, utilization {:.3}",
            throughputs(&outcome),
            outcome.summary.links[0].utilization
        );
        assert!(max_min_ratio(&outcome) < 1.2, "{:?}", throughputs(&outcome));
        // a fixed threshold of half an RTT, halving: the queue runs empty occasionally
        assert!(outcome.summary.links[0].utilization > 0.93);
    }
}

#[test]
fn the_flow_that_passes_two_queues_starves() {
    let mut ratios = vec![];
    for hops in [1, 2] {
        let rates = throughputs(&run(&parking_lot("aimd_delay", &json!({}), 10, 30, hops, 200)).expect("a run"));
        println!("{hops} hops: {rates:.2?} Mbps");
        ratios.push(rates[1] / rates[0]);
    }
    assert!(ratios[0] < 1.2 && ratios[1] > 10.0, "{ratios:?}");
}
