//! AIMD on delay: flows that share one queue have equal rates; a flow that crosses two queues starves.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, crowd, max_min_ratio, parking_lot, run, throughputs};
use fairweir_scenario::Config;
use serde_json::json;

#[test]
fn flows_that_share_one_queue_share_it_fairly() {
    for (n, seed) in [2, 4].into_iter().flat_map(|n| SEEDS.map(|seed| (n, seed))) {
        let config = Config { seed, ..crowd("aimd_delay", &json!({}), 48, 40, n, 200) };
        let outcome = run(&config).expect("a run");
        let (rates, utilization) = (throughputs(&outcome), outcome.summary.links[0].utilization);
        row!("{n} flows, seed {seed}: {rates:.1?} Mbps, utilization {utilization:.3}");
        assert!(max_min_ratio(&outcome) < 1.2, "{:?}", throughputs(&outcome));
        // the threshold is half an RTT and beta is 1/2, so the queue is empty occasionally
        assert!(utilization > 0.93);
    }
    assert_table!();
}

#[test]
fn the_flow_that_passes_two_queues_starves() {
    for seed in SEEDS {
        let ratios = [1, 2].map(|hops| {
            let config = Config { seed, ..parking_lot("aimd_delay", &json!({}), 10, 30, hops, 200) };
            let rates = throughputs(&run(&config).expect("a run"));
            row!("{hops} hops, seed {seed}: {rates:.2?} Mbps");
            rates[1] / rates[0]
        });
        assert!(ratios[0] < 1.2 && ratios[1] > 10.0, "{ratios:?}");
    }
    assert_table!();
}
