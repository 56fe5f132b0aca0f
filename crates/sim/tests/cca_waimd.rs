//! Weighted AIMD on whole paths: shares as a function of weight (WCC paper; docs/derivations.md).
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, droptail, dumbbell, flow, run, throughputs};
use fairweir_path::ElementConfig;
use fairweir_path::jitter::UniformConfig;
use fairweir_path::loss::IidLossConfig;
use fairweir_units::{Dur, Time};
use serde_json::json;

/// Returns the throughput of a flow of `weight` divided by that of a flow of weight 1, on 50 Mbps with a queue of
/// `buffer` packets.
fn ratio(cca: &str, weight: f64, buffer: u64) -> f64 {
    noisy_ratio(cca, weight, buffer, Dur::ZERO, 1)
}

/// As `ratio`, with ACKs delayed by up to `noise`.
fn noisy_ratio(cca: &str, weight: f64, buffer: u64, noise: Dur, seed: u64) -> f64 {
    let flows = [weight, 1.0]
        .iter()
        .enumerate()
        .map(|(i, weight)| {
            let mut flow = flow(cca, 20);
            flow.params = json!({"weight": weight});
            flow.start = Time::ZERO + Dur::from_millis(100) * i as u64;
            if noise > Dur::ZERO {
                flow.reverse = vec![ElementConfig::Uniform(UniformConfig { max: noise })];
            }
            flow
        })
        .collect();
    let rates = throughputs(&run(&dumbbell(50, droptail(buffer), flows, 200, 20, seed)).expect("a run that ends well"));
    rates[0] / rates[1]
}

#[test]
fn equal_weights_share_equally() {
    for cca in ["multcp", "ewtcp", "wcc_ai", "wcc_md"] {
        for weight in [1.0, 2.0] {
            let flows = (0..2)
                .map(|i| {
                    let mut flow = flow(cca, 20);
                    flow.params = json!({"weight": weight});
                    flow.start = Time::ZERO + Dur::from_millis(100) * i;
                    flow
                })
                .collect();
            let outcome = run(&dumbbell(50, droptail(150), flows, 200, 20, 1)).expect("a run that ends well");
            let rates = throughputs(&outcome);
            assert!((0.8..1.25).contains(&(rates[0] / rates[1])), "{cca} of weight {weight}: {rates:?}");
        }
    }
}

#[test]
fn synchronised_losses_of_a_deep_buffer_give_the_sawtooth_ratios() {
    // Both flows lose packets at each overflow: the ratio of the mean windows is A (2 - B) / B.
    for a in [2.0, 3.0] {
        let expected =
            [("wcc_ai", a), ("ewtcp", a * a), ("multcp", a * (4.0 * a - 1.0) / 3.0), ("wcc_md", (4.0 * a - 1.0) / 3.0)];
        for (cca, expected) in expected {
            let ratio = ratio(cca, a, 150);
            row!("{cca}, weights {a} : 1, deep buffer: {ratio:.2}, formula {expected:.2}");
            assert!((ratio / expected - 1.0).abs() < 0.15, "{cca}, weight {a}: {ratio}");
        }
    }
    assert_table!();
}

#[test]
fn timing_noise_of_two_packets_parts_the_losses() {
    // The packet by which a window grows finds the queue full only if the spacing of ACKs is preserved. With noise an
    // overflow drops an arbitrary packet, often of one flow only, and the ratio approaches the ratio at equal loss
    // rates: sqrt(2) for wcc_ai, 2.16 for multcp. A packet takes 0.24 ms.
    for (cca, common_rate) in [("wcc_ai", 2_f64.sqrt()), ("multcp", 2.16)] {
        for seed in SEEDS {
            let [still, little, noisy] = [0, 50, 500].map(|us| noisy_ratio(cca, 2.0, 150, Dur::from_micros(us), seed));
            row!(
                "{cca}, weights 2 : 1, seed {seed}, ACKs late by up to 0, 0.05, 0.5 ms: {still:.2}, {little:.2}, {noisy:.2}"
            );
            assert!((little / still - 1.0).abs() < 0.05);
            assert!(noisy < 0.9 * still && noisy > 0.9 * common_rate);
        }
    }
    assert_table!();
}

#[test]
fn heavy_weights_keep_the_published_order() {
    // Table III: MulTCP about a^2 or above, EWTCP between a and a^2, WCC-AI at most a.
    let a = 5.0;
    let [multcp, ewtcp, wcc_ai] = ["multcp", "ewtcp", "wcc_ai"].map(|cca| ratio(cca, a, 60));
    row!("weights 5 : 1: multcp {multcp:.1}, ewtcp {ewtcp:.1}, wcc_ai {wcc_ai:.2}");
    assert!(multcp > ewtcp && ewtcp > wcc_ai);
    assert!(ewtcp > a && ewtcp < a * a && wcc_ai > 0.9 * a.sqrt() && wcc_ai < 1.02 * a);
    assert_table!();
}

#[test]
fn at_a_common_loss_rate_windows_follow_the_square_root_of_a_by_b() {
    // One flow at a time with Bernoulli loss and no queue: W = sqrt(A (2 - B) / (2 B)) / sqrt(p).
    let per_billion = 200_000;
    let rate = |cca: &str, weight: f64| {
        let mut flow = flow(cca, 20);
        flow.params = json!({"weight": weight});
        flow.ingress = vec![ElementConfig::IidLoss(IidLossConfig { per_billion })];
        let outcome = run(&dumbbell(2000, droptail(10_000), vec![flow], 400, 20, 1)).expect("a run that ends well");
        throughputs(&outcome)[0]
    };
    let p = f64::from(per_billion) / 1e9;
    for (cca, weight, a, b) in [
        ("wcc_ai", 1.0, 1.0, 0.5),
        ("wcc_ai", 2.5, 2.5, 0.5),
        ("ewtcp", 2.0, 4.0, 0.5),
        ("multcp", 2.0, 2.0, 0.25),
        ("wcc_md", 2.0, 1.0, 0.25),
    ] {
        let window = (a * (2.0 - b) / (2.0 * b) / p).sqrt();
        let expected_mbps = window * 1500.0 * 8.0 / 20e-3 / 1e6;
        let rate = rate(cca, weight);
        row!("{cca}, weight {weight}: {rate:.1} Mbps, formula {expected_mbps:.1}");
        assert!((rate / expected_mbps - 1.0).abs() < 0.15, "{cca}: {rate}");
    }
    assert_table!();
}
