//! The shipped controller file that decides a rate, a tree over beliefs (docs/ccas/bulk.md), on whole paths.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{droptail, dumbbell, flow, link, max_min_ratio, run};
use fairweir_path::LinkConfig;
use fairweir_path::link::{RateStep, StepsConfig};
use fairweir_scenario::Config;
use fairweir_units::{Rate, Time};
use serde_json::json;

const BULK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../controllers/bulk.json");

/// Returns the packets of a bandwidth-delay product, times `factor`.
fn bdp(mbps: u64, rtprop_ms: u64, factor: f64) -> u64 {
    ((mbps * rtprop_ms * 125 / 1500) as f64 * factor) as u64
}

#[test]
fn fixed_links_are_filled_with_half_an_rtprop_of_queue() {
    for mbps in [2, 10, 100, 1000] {
        for rtprop_ms in [10, 50, 100] {
            for buffer in [0.25, 1.0, 8.0] {
                if bdp(mbps, rtprop_ms, buffer) < 4 || mbps * rtprop_ms > 50_000 {
                    continue;
                }
                let queue = droptail(bdp(mbps, rtprop_ms, buffer));
                let outcome = run(&dumbbell(mbps, queue, vec![flow(BULK, rtprop_ms)], 40, 20, 1)).expect("a run");
                let (used, flow) = (outcome.summary.links[0].utilization, &outcome.summary.flows[0]);
                let queue = flow.qdelay_ms.p95 / rtprop_ms as f64;
                row!(
                    "{mbps:>4} Mbps {rtprop_ms:>3} ms {buffer:>4} BDP: {used:.3} used, p95 queue {queue:.2} R, loss {:.4}",
                    flow.loss_rate
                );
                let packet_ms = 12.0 / mbps as f64;
                assert!(used > 0.9 && flow.loss_rate < 0.03 && flow.timeouts == 0);
                assert!(queue < 0.6 + 4.0 * packet_ms / rtprop_ms as f64);
            }
        }
    }
    assert_table!();
}

/// A link of 48 Mbps whose rate changes to `then` Mbps after 20 s; measured from `from` s on.
fn changing(then: u64, seconds: u64, from: u64) -> Config {
    let mut config = dumbbell(48, droptail(bdp(48, 40, 4.0)), vec![flow(BULK, 40)], seconds, from, 1);
    let mut bottleneck = link("bottleneck", 48, droptail(bdp(48, 40, 4.0)));
    let step = |(rate, at)| RateStep { at: Time::from_nanos(at), rate: Rate::from_mbps(rate) };
    let steps = [(48, 0), (then, 20_000_000_000)].map(step).to_vec();
    bottleneck.hop.link = LinkConfig::Steps(StepsConfig { steps });
    config.links = vec![bottleneck];
    config
}

#[test]
fn a_change_of_capacity_is_followed_within_seconds() {
    for then in [12, 24, 96, 192] {
        let after = |from: u64| run(&changing(then, from + 1, from)).expect("a run").summary;
        let settled = (20..30).find(|&from| {
            let second = after(from);
            second.links[0].utilization > 0.9 && second.flows[0].qdelay_ms.p95 < 30.0
        });
        let from = settled.map_or("no second".to_owned(), |from| format!("{from} s"));
        row!("48 to {then} Mbps after 20 s: 90 % with at most 30 ms of queue from {from} on");
        assert!(settled.is_some_and(|from| from <= 23));
    }
    assert_table!();
}

#[test]
fn random_aggregation_costs_throughput_and_no_queue() {
    for (mbps, rtprop_ms) in [(24, 20), (24, 80), (48, 40), (96, 20), (96, 80)] {
        let mut flow = flow(BULK, rtprop_ms);
        let element = json!({"kind": "random-aggregation", "max": rtprop_ms * 1_000_000, "rate": mbps * 125_000});
        flow.egress = vec![serde_json::from_value(element).expect("an element")];
        let outcome = run(&dumbbell(mbps, droptail(bdp(mbps, rtprop_ms, 2.0)), vec![flow], 60, 20, 1)).expect("a run");
        let (used, flow) = (outcome.summary.links[0].utilization, &outcome.summary.flows[0]);
        row!("{mbps} Mbps {rtprop_ms} ms with jitter: {used:.3} used, loss {:.4}", flow.loss_rate);
        assert!(used > 0.3 && flow.loss_rate < 0.02);
    }
    assert_table!();
}

#[test]
fn several_flows_use_the_link_but_need_not_share_it() {
    for (mbps, rtprops) in [(48, vec![40, 40]), (96, vec![40, 40]), (48, vec![40; 4]), (48, vec![20, 80])] {
        let ratios: Vec<_> = (1..=3)
            .map(|seed| {
                let flows: Vec<_> = rtprops.iter().map(|&rtprop_ms| flow(BULK, rtprop_ms)).collect();
                let queue = droptail(bdp(mbps, 40, 4.0));
                let outcome = run(&dumbbell(mbps, queue, flows, 90, 30, seed)).expect("a run");
                assert!(outcome.summary.links[0].utilization > 0.95 && outcome.summary.links[0].drops == 0);
                max_min_ratio(&outcome)
            })
            .collect();
        row!("{mbps} Mbps, RTprops of {rtprops:?} ms: throughputs differ by {ratios:.1?}");
    }
    assert_table!();
}
