//! BBR version 1 on whole paths: its two operating modes, its fixed point, and its response to loss and jitter.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{PACKET, SEEDS, droptail, dumbbell, flow, infinite, max_min_ratio, run, throughputs};
use fairweir_path::ElementConfig;
use fairweir_path::loss::IidLossConfig;
use fairweir_scenario::{Config, FlowSpec};
use fairweir_units::{Dur, Rate, Time};
use serde_json::json;

/// Returns the BDP, packets, of a link of `mbps` with `rtprop_ms`.
fn bdp(mbps: u64, rtprop_ms: u64) -> u64 {
    (Rate::from_mbps(mbps) * Dur::from_millis(rtprop_ms)).packets(PACKET)
}

/// Returns `n` flows that start one after another.
fn staggered(n: usize, flow: &FlowSpec) -> Vec<FlowSpec> {
    (0..n).map(|i| FlowSpec { start: Time::from_nanos(i as u64 * 137_000_000), ..flow.clone() }).collect()
}

#[test]
fn one_flow_is_paced_by_the_link() {
    for mbps in [12, 96, 960] {
        let outcome = run(&dumbbell(mbps, infinite(), vec![flow("bbr", 40)], 30, 2, 1)).expect("a run");
        let (rtt, utilization) = (outcome.summary.flows[0].rtt_ms, outcome.summary.links[0].utilization);
        row!("bbr {mbps} Mbps: RTT {:.2} to {:.2} ms, utilization {utilization:.4}", rtt.min, rtt.max);
        // 5/4 R, and the quanta (8 packets) by which inflight may exceed 5/4 BDP
        let packet_ms = 12.0 / mbps as f64;
        assert!(rtt.p99 <= 50.0 + 8.0 * packet_ms, "{mbps} Mbps: {}", rtt.p99);
        assert!(utilization > 0.95, "{mbps} Mbps: {utilization}");
        // after draining, inflight is a BDP plus the quanta
        assert!(rtt.p50 < 40.5 + 6.0 * packet_ms, "{mbps} Mbps: {}", rtt.p50);
    }
    assert_table!();
}

/// Returns `n` flows of `alpha` packets, without effects that shift the fixed point: aggregation, rounding to even
/// windows, and an inexact min_rtt.
fn cwnd_limited(n: usize, mbps: u64, alpha: u64) -> Config {
    let mut one = flow("bbr", 40);
    one.params = json!({
        "quanta_pkts": alpha,
        "round_to_even": false,
        "ack_aggregation": false,
        "policer_detection": false,
    });
    one.oracle_rtprop = Some(one.rtprop);
    dumbbell(mbps, infinite(), staggered(n, &one), 60, 30, 1)
}

#[test]
fn cwnd_limited_flows_rest_at_two_rtprops_and_alpha() {
    // RTT = 2 R + n alpha / C (starvation paper §5.2)
    for (n, mbps, alpha) in [(2, 96, 12), (4, 96, 12), (8, 96, 12), (4, 24, 12), (4, 96, 48)] {
        let outcome = run(&cwnd_limited(n, mbps, alpha)).expect("a run");
        let packet_ms = 12.0 / mbps as f64;
        let law = 80.0 + (n as u64 * alpha) as f64 * packet_ms;
        let rtt = outcome.summary.flows[0].rtt_ms;
        let ratio = max_min_ratio(&outcome);
        row!(
            "bbr {n} flows, {mbps} Mbps, alpha {alpha}: RTT p50 {:.2} mean {:.2} ms, law {law:.2}, ratio {ratio:.2}",
            rtt.p50,
            rtt.mean
        );
        assert!((rtt.p50 / law - 1.0).abs() < 0.05, "{n} {mbps} {alpha}: {} {law}", rtt.p50);
    }
    assert_table!();
}

#[test]
fn alpha_alone_makes_the_shares_equal() {
    // With alpha = 0, any split of 2 C R is a fixed point (starvation paper §5.2): a flow with a small initial share
    // keeps it. Pacing is far above the bandwidth, so that only cwnd limits the flows.
    let ratios = |alpha: u64, seed: u64| -> Vec<f64> {
        [20, 220]
            .map(|warmup| {
                let mut config = cwnd_limited(2, 96, alpha);
                (config.warmup, config.duration) = (Dur::from_secs(warmup), Dur::from_secs(warmup + 10));
                config.seed = seed;
                for f in &mut config.flows {
                    for gain in ["probe_up_gain", "probe_down_gain", "cruise_gain"] {
                        f.params[gain] = json!(1.5);
                    }
                }
                config.flows[1].start = Time::from_nanos(3_000_000_000);
                config.flows[1].params["startup_gain"] = json!(1.2); // STARTUP ends far too early
                max_min_ratio(&run(&config).expect("a run"))
            })
            .to_vec()
    };
    for seed in SEEDS {
        let (without, with) = (ratios(0, seed), ratios(24, seed));
        row!("ratio of two flows after 20 s and 220 s, seed {seed}: without alpha {without:.2?}, with {with:.2?}");
        assert!(with[1] < 1.1, "{with:?}");
        assert!(without[1] > 10.0, "{without:?}");
    }
    assert_table!();
}

#[test]
fn small_rtprops_lose_to_large_ones() {
    // FRCC paper, 10/20/30 ms: the share of the 10 ms flow falls as the rate grows
    let share = |mbps: u64, seed: u64| {
        let flows = vec![flow("bbr", 10), flow("bbr", 20), flow("bbr", 30)];
        let outcome = run(&dumbbell(mbps, droptail(100 * bdp(mbps, 30)), flows, 120, 60, seed)).expect("a run");
        row!("bbr 10/20/30 ms at {mbps} Mbps, seed {seed}: {:.1?} Mbps", throughputs(&outcome));
        throughputs(&outcome)[2] / throughputs(&outcome)[0]
    };
    for seed in SEEDS {
        let (slow, fast) = (share(24, seed), share(384, seed));
        assert!(slow > 1.5, "{slow}");
        assert!(fast > slow, "{fast} {slow}");
    }
    assert_table!();
}

#[test]
fn one_of_two_rtprops_starves() {
    // starvation paper §5.2: 120 Mbps, 40 and 80 ms, 60 s: 8.3 and 107 Mbps on Mahimahi
    for seed in 1..=3 {
        let flows = vec![flow("bbr", 40), flow("bbr", 80)];
        let rates = throughputs(&run(&dumbbell(120, infinite(), flows, 60, 0, seed)).expect("a run"));
        row!("bbr 40/80 ms at 120 Mbps, seed {seed}: {rates:.1?} Mbps");
        assert!(rates[1] > 4.0 * rates[0], "{rates:?}");
    }
    assert_table!();
}

#[test]
fn random_loss_leaves_it_its_rate() {
    for (percent, least) in [(1u32, 0.9), (5, 0.8)] {
        let mut one = flow("bbr", 40);
        one.ingress.push(ElementConfig::IidLoss(IidLossConfig { per_billion: percent * 10_000_000 }));
        let outcome = run(&dumbbell(96, droptail(640), vec![one], 60, 10, 1)).expect("a run");
        let utilization = outcome.summary.links[0].utilization;
        row!("bbr, {percent} % random loss: utilization {utilization:.3}");
        assert!(utilization > least, "{percent} %: {utilization}");
    }
    assert_table!();
}

#[test]
fn probe_rtt_finds_the_propagation_delay_again() {
    let flows = staggered(2, &flow("bbr", 40));
    let outcome = run(&dumbbell(96, infinite(), flows, 60, 30, 1)).expect("a run");
    let rtt = outcome.summary.flows[0].rtt_ms;
    row!("bbr, two flows: RTT {:.2} to {:.2} ms, {:.1?} Mbps", rtt.min, rtt.max, throughputs(&outcome));
    assert!(rtt.min < 41.5, "{}", rtt.min);
    assert!(max_min_ratio(&outcome) < 1.5, "{:?}", throughputs(&outcome));
    assert_table!();
}

#[test]
fn application_limited_samples_do_not_lower_the_bandwidth() {
    let mut quiet = flow("bbr", 40);
    quiet.source = fairweir_scenario::Source::OnOff { on: Dur::from_secs(3), off: Dur::from_secs(2) };
    let mut config = dumbbell(96, droptail(640), vec![quiet], 40, 5, 1);
    config.interval = Some(Dur::from_millis(100));
    let outcome = run(&config).expect("a run");
    let flows = outcome.series.expect("recorded").flows;
    // half a second after the start of each on-period the rate has recovered
    let early: Vec<f64> = (1..8)
        .map(|period| {
            let at = (period * 50 + 6) as usize;
            flows.throughput_mbps[at..at + 10].iter().sum::<f64>() / 10.0
        })
        .collect();
    row!("bbr, on for 3 s in 5 s: {early:.1?} Mbps from 0.6 s on");
    assert!(early.iter().all(|r| *r > 85.0), "{early:?}");
    assert_table!();
}

#[test]
fn with_its_defaults_alpha_is_about_ten_packets() {
    // quanta of 3 packets, an even window, and aggregation because packets of other flows are interleaved
    let alpha = |n: u32, mbps: u64, seed: u64| {
        let flows = staggered(n as usize, &flow("bbr", 40));
        let rtt = run(&dumbbell(mbps, infinite(), flows, 60, 30, seed)).expect("a run").summary.flows[0].rtt_ms;
        (rtt.p50 - 80.0) * mbps as f64 / 12.0 / f64::from(n)
    };
    let mut alphas = Vec::new();
    for (n, mbps) in [(4, 96), (8, 96), (8, 24), (8, 384)] {
        let seeds: Vec<f64> = (1..=3).map(|seed| alpha(n, mbps, seed)).collect();
        row!("bbr, defaults, {n} flows, {mbps} Mbps: alpha {seeds:.1?} packets");
        alphas.push(seeds.iter().sum::<f64>() / 3.0);
    }
    assert!(alphas.iter().all(|alpha| (7.0..=18.0).contains(alpha)), "{alphas:?}");
    let mean = alphas.iter().sum::<f64>() / alphas.len() as f64;
    assert!((8.5..=12.5).contains(&mean), "{alphas:?}");
    assert_table!();
}
