//! Prague on whole paths with a coupled dual queue: its share next to CUBIC, the delay of its queue, and equal rates of
//! flows with different short RTTs.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, dumbbell, flow, run};
use fairweir_path::QueueConfig;
use fairweir_path::queue::Dualpi2Config;
use fairweir_scenario::{FlowSpec, Summary};
use fairweir_units::{Bytes, Time};
use serde_json::json;

const MBPS: u64 = 40;

/// The default of Linux, with a buffer of 250 ms (RFC 9332 appendix A.1).
fn dualpi2() -> QueueConfig {
    QueueConfig::Dualpi2(Dualpi2Config { limit: Some(Bytes(MBPS * 125_000 / 4)), ..Dualpi2Config::default() })
}

fn ecn(cca: &str, rtprop_ms: u64) -> FlowSpec {
    FlowSpec { ecn: true, ..flow(cca, rtprop_ms) }
}

/// Runs `flows`, which start 37 ms after one another, for 60 s; the summary leaves out the first 20 s.
fn play(mut flows: Vec<FlowSpec>, seed: u64) -> Summary {
    for (i, f) in flows.iter_mut().enumerate() {
        f.start = Time::from_nanos(i as u64 * 37_000_000);
    }
    run(&dumbbell(MBPS, dualpi2(), flows, 60, 20, seed)).expect("a run").summary
}

/// Returns the largest rate divided by the smallest.
fn ratio(summary: &Summary) -> f64 {
    let rates = || summary.flows.iter().map(|f| f.throughput_mbps);
    rates().fold(0.0, f64::max) / rates().fold(f64::INFINITY, f64::min)
}

#[test]
fn it_shares_a_dual_queue_with_cubic_and_its_own_queue_is_short() {
    for rtprop_ms in [10, 20] {
        for cubic in [flow("cubic", rtprop_ms), ecn("cubic", rtprop_ms)] {
            for seed in SEEDS {
                let what = if cubic.ecn { "with" } else { "without" };
                let summary = play(vec![ecn("prague", rtprop_ms), cubic.clone()], seed);
                let [prague, cubic] = &summary.flows[..] else { unreachable!("two flows") };
                row!(
                    "{rtprop_ms} ms, seed {seed}: prague {:.2} Mbps, queue p99 {:.2} ms, marks {:.4}; cubic {what} ECN {:.2} Mbps, \
                     queue mean {:.2} ms; utilization {:.4}",
                    prague.throughput_mbps,
                    prague.qdelay_ms.p99,
                    prague.mark_rate,
                    cubic.throughput_mbps,
                    cubic.qdelay_ms.mean,
                    summary.links[0].utilization,
                );
                assert!(ratio(&summary) <= 2.0, "{}", ratio(&summary));
                assert!(prague.qdelay_ms.p99 <= 2.0, "{}", prague.qdelay_ms.p99);
            }
        }
    }
    assert_table!();
}

#[test]
fn alone_it_fills_the_link_with_a_queue_of_a_few_milliseconds() {
    for (n, most_ms) in [(1, 2.0), (2, 2.0), (8, 4.0)] {
        let summary = play(vec![ecn("prague", 20); n], 1);
        let p99 = summary.flows.iter().map(|f| f.qdelay_ms.p99).fold(0.0, f64::max);
        let utilization = summary.links[0].utilization;
        row!("{n} flows: rates within {:.3}, queue p99 {p99:.2} ms, utilization {utilization:.4}", ratio(&summary));
        assert!(p99 <= most_ms && utilization > 0.9, "{p99} {utilization}");
        assert_eq!(summary.links[0].drops, 0);
    }
    assert_table!();
}

#[test]
fn short_rtts_below_the_virtual_one_hardly_matter() {
    let rates = |virtual_rtt: &str, seed| {
        let mut flows = vec![ecn("prague", 5), ecn("prague", 20)];
        flows.iter_mut().for_each(|f| f.params = json!({"virtual_rtt": virtual_rtt}));
        let summary = play(flows, seed);
        summary.flows[0].throughput_mbps / summary.flows[1].throughput_mbps
    };
    for seed in SEEDS {
        let (independent, dependent) = (rates("25ms", seed), rates("0ms", seed));
        row!("5 against 20 ms, seed {seed}: {independent:.2} times the rate; without RTT independence {dependent:.2}");
        assert!((0.67..1.5).contains(&independent), "{independent}");
        assert!(dependent > 2.0, "{dependent}");
    }
    assert_table!();
}
