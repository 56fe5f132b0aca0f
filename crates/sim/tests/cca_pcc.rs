//! PCC on whole paths: the claims of its papers, and the flows that it starves.
//!
//! `docs/ccas/pcc_*.md` cite the numbers. Each test compares its numbers with its table in `laws/`;
//! `INSTA_UPDATE=always` records them again.

use crate::common::{PACKET, droptail, dumbbell, flow, max_min_ratio, run, throughputs};
use fairweir_path::ElementConfig;
use fairweir_path::jitter::PeriodicReleaseConfig;
use fairweir_path::loss::IidLossConfig;
use fairweir_scenario::{Config, FlowSpec};
use fairweir_sim::Outcome;
use fairweir_units::{Dur, Rate};
use serde_json::json;

fn lossy(mut flow: FlowSpec, percent: u32) -> FlowSpec {
    if percent > 0 {
        flow.ingress.push(ElementConfig::IidLoss(IidLossConfig { per_billion: percent * 10_000_000 }));
    }
    flow
}

fn batched_acks(mut flow: FlowSpec, period_ms: u64) -> FlowSpec {
    let config = PeriodicReleaseConfig { period: Dur::from_millis(period_ms), offset: Dur::ZERO };
    flow.reverse.push(ElementConfig::PeriodicRelease(config));
    flow
}

/// A bottleneck with a buffer of `bdps` bandwidth-delay products of `rtprop_ms`.
fn scenario(
    mbps: u64,
    rtprop_ms: u64,
    bdps: u64,
    seconds: u64,
    warmup: u64,
    seed: u64,
    flows: Vec<FlowSpec>,
) -> Config {
    let bdp = (Rate::from_mbps(mbps) * Dur::from_millis(rtprop_ms)).packets(PACKET);
    dumbbell(mbps, droptail(bdp * bdps), flows, seconds, warmup, seed)
}

fn play(config: &Config) -> Outcome {
    run(config).expect("a run that ends well")
}

/// 120 Mbps, 40 ms, 1 BDP; flow i has `percents[i]` % random loss (starvation paper §5.4). Returns the rates after
/// `warmup`, Mbps.
fn allegro(percents: &[u32], seconds: u64, warmup: u64, seed: u64) -> Vec<f64> {
    let flows = percents.iter().map(|&percent| lossy(flow("pcc_allegro", 40), percent)).collect();
    throughputs(&play(&scenario(120, 40, 1, seconds, warmup, seed, flows)))
}

/// 120 Mbps, 60 ms; the second flow's ACKs arrive only at multiples of `period_ms` (starvation paper §5.3). Returns
/// Mbps.
fn vivace(interval_rtts: f64, period_ms: u64, seed: u64) -> Vec<f64> {
    let mut plain = flow("pcc_vivace", 60);
    plain.params = json!({"interval_rtts": interval_rtts});
    let jittered = batched_acks(plain.clone(), period_ms);
    throughputs(&play(&scenario(120, 60, 2, 60, 0, seed, vec![plain, jittered])))
}

#[test]
fn allegro_alone_tolerates_loss_up_to_its_threshold() {
    for (percent, least, most) in [(0, 110.0, 120.0), (2, 110.0, 120.0), (4, 108.0, 120.0), (10, 0.0, 24.0)] {
        for seed in 1..=3 {
            let rate = allegro(&[percent], 60, 20, seed)[0];
            row!("allegro alone, {percent} % loss, seed {seed}: {rate:.1} of 120 Mbps");
            assert!((least..=most).contains(&rate), "{percent} % loss, seed {seed}: {rate} Mbps");
        }
    }
    assert_table!();
}

#[test]
fn allegro_starves_the_one_flow_that_sees_random_loss() {
    for seed in 1..=3 {
        let one = allegro(&[2, 0], 300, 240, seed);
        let both = allegro(&[2, 2], 300, 240, seed);
        let neither = allegro(&[0, 0], 60, 20, seed);
        row!("allegro, 2 % loss on one, both, neither of two flows, seed {seed}: {one:.1?} {both:.1?} {neither:.1?}");
        assert!(one[1] > 1.7 * one[0], "seed {seed}: {one:?}");
        for fair in [both, neither] {
            assert!(fair[0].max(fair[1]) < 1.2 * fair[0].min(fair[1]), "seed {seed}: {fair:?}");
            assert!(fair[0] + fair[1] > 108.0, "seed {seed}: {fair:?}");
        }
    }
    assert_table!();
}

#[test]
fn vivace_uses_an_ideal_link_with_hardly_a_queue() {
    for (mbps, rtprop_ms) in [(24, 40), (48, 40), (96, 20), (120, 60), (1000, 20)] {
        let outcome = play(&scenario(mbps, rtprop_ms, 2, 40, 20, 1, vec![flow("pcc_vivace", rtprop_ms)]));
        let summary = &outcome.summary.flows[0];
        let ideal = rtprop_ms as f64 + (PACKET / Rate::from_mbps(mbps)).as_millis_f64();
        let (share, mean) = (summary.throughput_mbps / mbps as f64, summary.rtt_ms.mean / ideal);
        let p95 = summary.rtt_ms.p95 / ideal;
        row!("vivace alone, {mbps} Mbps, {rtprop_ms} ms: {share:.3} of C, RTT {mean:.3} Rm, p95 {p95:.3} Rm");
        assert!((0.9..=1.0).contains(&share), "{mbps} Mbps: {share} of the link");
        assert!(mean < 1.05, "{mbps} Mbps: mean RTT {mean} Rm");
        // A step is at least 0.57 Mbps, so below 48 Mbps one step overshoots by more than a trial.
        assert!(mbps < 48 || p95 < 1.05, "{mbps} Mbps: 95th percentile of RTT {p95} Rm");
        assert_eq!(summary.retransmits, 0);
    }
    assert_table!();
}

#[test]
fn vivace_flows_share() {
    for seed in 1..=3 {
        let flows = vec![flow("pcc_vivace", 60); 2];
        let outcome = play(&scenario(120, 60, 2, 120, 60, seed, flows));
        row!("two vivaces, seed {seed}: {:.1?} Mbps", throughputs(&outcome));
        assert!(max_min_ratio(&outcome) < 1.2);
        assert!(throughputs(&outcome).iter().sum::<f64>() > 108.0);
    }
    assert_table!();
}

#[test]
fn vivace_starves_the_flow_whose_acks_come_in_batches() {
    for seed in 1..=4 {
        let (strong, weak) = (vivace(1.5, 60, seed), vivace(1.5, 20, seed));
        row!("vivace, ACKs of the second flow at multiples of 60 and 20 ms, seed {seed}: {strong:.1?} {weak:.1?}");
        assert!(strong[0] > 2.5 * strong[1], "seed {seed}: {strong:?}");
        assert!(weak[0] > 1.4 * weak[1], "seed {seed}: {weak:?}");
    }
    assert_table!();
}

/// If each interval of one RTT begins with a batch of ACKs, the RTT falls within every interval. The latency term is
/// then always zero, and the flow responds only to losses.
#[test]
fn vivace_intervals_of_the_batches_period_are_blind() {
    for seed in 1..=3 {
        let rates = vivace(1.0, 60, seed);
        row!("vivace with intervals of one RTT, ACKs of the second at multiples of it, seed {seed}: {rates:.1?}");
        assert!(rates[1] > 1.4 * rates[0], "seed {seed}: {rates:?}");
    }
    assert_table!();
}
