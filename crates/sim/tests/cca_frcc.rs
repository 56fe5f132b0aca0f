//! FRCC on whole paths: the published outcomes (FRCC paper section 7) and the closed form of docs/derivations.md.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{dumbbell, flow, infinite, max_min_ratio, run, throughputs};
use fairweir_path::ElementConfig;
use fairweir_path::loss::IidLossConfig;
use fairweir_scenario::FlowSpec;
use fairweir_sim::Outcome;
use fairweir_units::{Dur, Time};
use serde_json::{Value, json};

/// FRCC's theta and D, ms.
const THETA_MS: f64 = 10.0;
/// gamma D, ms.
const GAMMA_D_MS: f64 = 40.0;

/// Returns flows with `rtprops_ms` that start 5 s apart, as in the paper's experiments.
fn staggered(rtprops_ms: &[u64], params: &Value) -> Vec<FlowSpec> {
    let flows = rtprops_ms.iter().enumerate().map(|(i, &rtprop_ms)| {
        let mut flow = flow("frcc", rtprop_ms);
        flow.params = params.clone();
        flow.start = Time::ZERO + Dur::from_secs(5) * i as u64;
        flow
    });
    flows.collect()
}

/// Runs for 300 s and measures the last 120 s (40 %, as in the paper).
fn play(mbps: u64, flows: Vec<FlowSpec>, seed: u64) -> Outcome {
    run(&dumbbell(mbps, infinite(), flows, 300, 180, seed)).expect("a run that ends well")
}

/// Returns the JFI of the throughputs.
fn jain(outcome: &Outcome) -> f64 {
    let rates = throughputs(outcome);
    let (sum, squares) = (rates.iter().sum::<f64>(), rates.iter().map(|r| r * r).sum::<f64>());
    sum * sum / (squares * rates.len() as f64)
}

#[test]
fn rtt_is_r_plus_theta_n_whatever_the_rate() {
    for mbps in [12, 48, 200] {
        for n in 1..=4 {
            let outcome = play(mbps, staggered(&vec![50; n], &Value::Null), 1);
            let transmission_ms = 12.0 / mbps as f64;
            let expected = 50.0 + transmission_ms + THETA_MS * n as f64;
            let rtt = outcome.summary.flows[0].rtt_ms;
            row!("{mbps} Mbps, {n} flows: RTT {:.1} ms (p50), R + theta N = {expected:.1} ms", rtt.p50);
            // When probes collide, flows reduce their rates. The mean RTT also includes the probes
            // (docs/derivations.md).
            assert!(
                (rtt.p50 - expected).abs() < 0.35 * THETA_MS + 0.02 * expected,
                "{mbps} Mbps, {n} flows: {}",
                rtt.p50
            );
            assert!(rtt.mean > rtt.p50 && rtt.mean < expected + 20.0);
            assert!(outcome.summary.links[0].utilization > 0.98);
            assert!(jain(&outcome) > 0.98);
        }
    }
    assert_table!();
}

#[test]
fn eight_flows_are_nearly_fair_though_probes_collide() {
    for seed in 1..=3 {
        let outcome = play(48, staggered(&[50; 8], &Value::Null), seed);
        row!("seed {seed}: JFI {:.3}, RTT {:.1} ms", jain(&outcome), outcome.summary.flows[0].rtt_ms.p50);
        assert!(jain(&outcome) > 0.9);
        // When probes collide, they observe each other's delay and underestimate C; the delay is then below R + theta N
        // = 130 ms.
        assert!((95.0..135.0).contains(&outcome.summary.flows[0].rtt_ms.p50));
    }
    assert_table!();
}

#[test]
fn flows_of_10_20_and_30_ms_share_as_the_closed_form_says() {
    // Rates are proportional to R_i + theta N + gamma D: (30 + 30 + 40)/(10 + 30 + 40) = 1.25.
    let expected = (30.0 + 3.0 * THETA_MS + GAMMA_D_MS) / (10.0 + 3.0 * THETA_MS + GAMMA_D_MS);
    for mbps in [12, 48, 192, 500] {
        let ratios: Vec<f64> = (1..=3)
            .map(|seed| {
                let rates = throughputs(&play(mbps, staggered(&[10, 20, 30], &Value::Null), seed));
                rates[2] / rates[0]
            })
            .collect();
        let mean = ratios.iter().sum::<f64>() / ratios.len() as f64;
        row!("{mbps} Mbps: 30 ms to 10 ms {ratios:.2?}, mean {mean:.2}, closed form {expected}");
        assert!((mean - expected).abs() < 0.15, "{mbps} Mbps: {mean}");
    }
    assert_table!();
}

#[test]
fn the_ratio_of_two_rtprops_lies_between_one_and_their_rtts() {
    for (far_ms, expected) in [(8, 1.06), (32, 1.43), (256, 4.94)] {
        let flows = [4, far_ms].iter().map(|&ms| flow("frcc", ms)).collect();
        let outcome = run(&dumbbell(48, infinite(), flows, 600, 300, 1)).expect("a run that ends well");
        let rates = throughputs(&outcome);
        row!("4 and {far_ms} ms: {:.2}, closed form {expected}", rates[1] / rates[0]);
        assert!((rates[1] / rates[0] / expected - 1.0).abs() < 0.15);
    }
    assert_table!();
}

#[test]
fn ack_aggregation_on_one_flow_starves_none() {
    for hold_ms in [8u64, 32, 128] {
        for mbps in [12u64, 96] {
            let aggregation: ElementConfig = serde_json::from_value(json!({
                "kind": "ack-aggregation", "hold": hold_ms * 1_000_000, "rate": mbps * 125_000,
                "burst_rate": 48_128_000, "smooth": 64_000_000, "opportunity": 1504,
            }))
            .expect("an element");
            let mut flows = staggered(&[32; 3], &Value::Null);
            flows[0].reverse = vec![aggregation];
            let ratio = max_min_ratio(&play(mbps, flows, 1));
            row!("hold {hold_ms} ms at {mbps} Mbps: {ratio:.2}");
            assert!(ratio < if hold_ms > 100 { 2.0 } else { 1.4 });
        }
    }
    assert_table!();
}

#[test]
fn rtprop_probes_need_a_clock_that_hosts_share() {
    // A flow that drains alone still observes the queue of the others, and treats it as propagation delay.
    let rtt_ms = |params: Value| play(48, staggered(&[50; 8], &params), 1).summary.flows[0].rtt_ms.p50;
    let (wall, boot) = (rtt_ms(Value::Null), rtt_ms(json!({"boot_clock": true})));
    row!("8 flows: RTT {wall:.0} ms by the wall clock, {boot:.0} ms by each host's own");
    assert!(boot > wall + 20.0);
    // Without probes, no flow measures R again, unless an oracle provides R.
    let mut blind = staggered(&[50; 3], &json!({"probe_interval": "0s"}));
    let unprobed = max_min_ratio(&play(48, blind.clone(), 1));
    for flow in &mut blind {
        flow.oracle_rtprop = Some(Dur::from_micros(50_250));
    }
    let with_oracle = max_min_ratio(&play(48, blind, 1));
    row!("3 flows without probes: ratio {unprobed:.2}, with an oracle {with_oracle:.2}");
    assert!(with_oracle < 1.3 && unprobed > with_oracle);
    assert_table!();
}

#[test]
fn clamping_the_flow_count_slows_convergence_by_the_share_of_theta_in_the_rtt() {
    // docs/derivations.md: with R = 5 theta the paper's clamp on N_C permits 5 to 9 % per round, the kernel's 30 %.
    let time_to_share = |params: Value| -> f64 {
        let mut flows = staggered(&[50; 2], &params);
        flows[1].start = Time::ZERO + Dur::from_secs(60);
        let outcome = run(&dumbbell(96, infinite(), flows, 120, 60, 1)).expect("a run that ends well");
        throughputs(&outcome)[1]
    };
    let (by_cwnd, by_count) = (time_to_share(Value::Null), time_to_share(json!({"clamp_flow_count": true})));
    row!("a newcomer's first minute: {by_cwnd:.1} Mbps, with the clamp on N_C {by_count:.1} Mbps");
    assert!(by_count < 0.9 * by_cwnd);
    assert_table!();
}

#[test]
fn random_loss_does_not_blind_a_probe_that_knows_its_packets() {
    // The kernel module attributes RTTs to the probe by snd_una. While a packet is missing, these include RTTs of the
    // drain.
    let rtt_ms = |params: Value, percent: u32| {
        let mut lossy = flow("frcc", 40);
        lossy.params = params;
        lossy.ingress = vec![ElementConfig::IidLoss(IidLossConfig { per_billion: percent * 10_000_000 })];
        let outcome = run(&dumbbell(48, infinite(), vec![lossy], 120, 60, 1)).expect("a run that ends well");
        (outcome.summary.flows[0].rtt_ms.p50, outcome.summary.links[0].utilization)
    };
    for percent in [1, 2, 5] {
        let (ours, used) = rtt_ms(Value::Null, percent);
        let (kernel, _) = rtt_ms(json!({"cumulative_probe": true}), percent);
        row!("{percent} % loss: RTT {ours:.1} ms, by snd_una {kernel:.0} ms (R + theta = 50.25 ms)");
        assert!((ours - 50.25).abs() < 4.0 && used > 0.98);
        assert!(kernel > 150.0);
    }
    assert_table!();
}
