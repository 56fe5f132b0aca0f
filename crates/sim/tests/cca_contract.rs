//! The canonical contracts on whole paths: fixed points of n flows, parking lots, noise, and the dynamics that
//! converge.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, crowd, infinite, informed, max_min_ratio, parking_lot, queued, run, throughputs};
use fairweir_sim::Outcome;
use fairweir_units::{Bytes, Dur, Rate, Time};
use serde_json::{Value, json};

const S0_MS: f64 = 20.0;
const C0_MBPS: f64 = 100.0;

/// Returns the contract's delay at `mbps`, ms.
fn delay_ms(function: &str, mbps: f64) -> f64 {
    let share = mbps / C0_MBPS;
    S0_MS
        * match function {
            "power" => 1.0 / share,
            "exponential" => (1.0 / share).ln(),
            "logarithmic" => (-share).exp(),
            "linear" => 1.0 - share,
            other => panic!("no contract `{other}`"),
        }
}

fn params(function: &str, dynamics: &str) -> Value {
    json!({"function": function, "dynamics": dynamics, "c0": "100Mbps", "s0": "20ms"})
}

fn play(params: &Value, mbps: u64, n: u64) -> Outcome {
    run(&crowd("contract", params, mbps, 40, n, 60)).expect("a run")
}

#[test]
fn n_flows_rest_at_the_contracts_delay_to_the_packet() {
    for function in ["power", "exponential", "logarithmic", "linear"] {
        for n in [1, 2, 4] {
            let outcome = play(&params(function, "rtt_ratio"), 96, n);
            let wanted = delay_ms(function, 96.0 / n as f64) * 96.0 / 12.0;
            let queued = queued(&outcome, 96);
            row!(
                "{function}, {n} flows: {queued:.2} packets queue, contract {wanted:.2}, {:.1?}",
                throughputs(&outcome)
            );
            // windows are whole packets: the queue may be up to one packet per flow shorter, and one packet is in
            // transit
            assert!(queued < wanted + 1.0 && queued > wanted - n as f64 - 0.5, "{function}, {n}: {queued}, {wanted}");
            assert!(max_min_ratio(&outcome) < 1.04, "{:?}", throughputs(&outcome));
        }
    }
    assert_table!();
}

#[test]
fn the_other_ratios_reach_it_on_some_links_only() {
    // thesis figure 6.5; with s0 = 20 ms and R = 40 ms both rules overshoot where rate and delay are not proportional
    for dynamics in ["rtt_ratio", "rate_ratio", "delay_ratio"] {
        let errors: Vec<f64> = ["power", "linear"]
            .iter()
            .map(|function| {
                let queue_ms = play(&params(function, dynamics), 96, 4).summary.links[0].queue_ms;
                (queue_ms.p99 - delay_ms(function, 24.0)).abs()
            })
            .collect();
        row!("{dynamics}: p99 of the queue is {errors:.1?} ms from the contract's, power and linear");
        assert!(errors[0] < 1.0, "{dynamics}: {errors:?}");
        assert_eq!(errors[1] < 1.0, dynamics == "rtt_ratio", "{dynamics}: {errors:?}");
    }
    assert_table!();
}

#[test]
fn a_parking_lot_of_k_hops_gives_k_to_the_exponent_and_an_intercept_starves() {
    for (exponent, s0) in [(0.5, "2ms"), (1.0, "20ms"), (2.0, "40ms")] {
        let params = json!({"exponent": exponent, "c0": "48Mbps", "s0": s0});
        for hops in [2u64, 3] {
            let rates = throughputs(&run(&parking_lot("contract", &params, 48, 20, hops, 200)).expect("a run"));
            let (ratio, law) = (rates[1] / rates[0], (hops as f64).powf(exponent));
            row!("1/s^{exponent}, {hops} hops: ratio {ratio:.3}, law {law:.3}");
            assert!((ratio / law - 1.0).abs() < 0.05, "1/s^{exponent}, {hops} hops: {rates:?}");
        }
    }
    // thesis figure 6.4: ICC on two hops of 10 Mbps and 30 ms; here each hop's delay exceeds s0/2, so the long flow
    // observes more than s0, at which the contract's rate is zero
    let icc = json!({"function": "logarithmic", "c0": "20Mbps", "s0": "40ms"});
    for seed in SEEDS {
        let mut config = parking_lot("contract", &icc, 10, 30, 2, 200);
        config.seed = seed;
        let rates = throughputs(&run(&config).expect("a run"));
        row!("logarithmic, 2 hops, seed {seed}: {rates:.2?} Mbps");
        assert!(rates[1] > 10.0 * rates[0], "{rates:?}");
    }
    assert_table!();
}

#[test]
fn noise_costs_what_the_contract_says() {
    // one of two flows observes an additional delay of ds: f(s)/f(s + ds)
    let noisy = |params: &Value, ds: Dur| {
        let mut config = crowd("contract", params, 48, 40, 2, 100);
        config.flows[1].forward_delay += ds;
        let outcome = run(&config).expect("a run");
        let rates = throughputs(&outcome);
        (rates[0] / rates[1], outcome.summary.links[0].queue_ms.mean)
    };
    let ds_ms = 5.0;
    let ds = Dur::from_millis(5);
    for exponent in [0.5, 1.0, 2.0] {
        let (ratio, s) = noisy(&json!({"exponent": exponent, "c0": "48Mbps", "s0": "10ms"}), ds);
        let law = (1.0 + ds_ms / s).powf(exponent);
        row!("1/s^{exponent}: ratio {ratio:.3}, law {law:.3} at {s:.1} ms");
        assert!((ratio / law - 1.0).abs() < 0.05, "{ratio}, not {law}");
    }
    let (ratio, _) = noisy(&params("exponential", "rtt_ratio"), ds);
    row!("exponential: ratio {ratio:.3}, law {:.3}", (ds_ms / S0_MS).exp());
    assert!((ratio / (ds_ms / S0_MS).exp() - 1.0).abs() < 0.03, "{ratio}");
    assert_table!();
}

#[test]
fn congestion_grows_as_in_the_thesis_on_a_data_centres_link() {
    // thesis section 6.5: 100 Gbps, 12 us, packets of 4 KB, a delay of 1.2 us at the full rate
    const PACKET: Bytes = Bytes(4096);
    let packet_ns = PACKET.0 as f64 * 8.0 / 100.0;
    for exponent in [0.5, 1.0, 2.0] {
        let mut alone = 0.0;
        for n in [1u64, 2, 4, 8] {
            let params = json!({"exponent": exponent, "c0": "100Gbps", "s0": "1200ns"});
            let mut one = informed("contract", params, 100_000, 0, 1);
            (one.rtprop, one.forward_delay, one.reverse_delay) =
                (Dur::from_micros(12), Dur::from_micros(6), Dur::from_micros(6));
            one.oracle_rtprop = Some(Dur::from_micros(12) + PACKET / Rate::from_mbps(100_000));
            let mut config = crate::common::dumbbell(100_000, infinite(), vec![one; n as usize], 1, 0, 1);
            (config.packet, config.duration, config.warmup) = (PACKET, Dur::from_millis(20), Dur::from_millis(10));
            for (i, f) in config.flows.iter_mut().enumerate() {
                f.start = Time::from_nanos(i as u64 * 50_000);
            }
            let outcome = run(&config).expect("a run");
            let queued = outcome.summary.links[0].queue_ms.mean * 1e6 / packet_ns;
            let law = 1200.0 * (n as f64).powf(1.0 / exponent) / packet_ns;
            alone = if n == 1 { queued } else { alone };
            row!("1/s^{exponent}, {n} flows: {queued:.2} packets, law {law:.2}, growth {:.2}", queued / alone);
            assert!((queued - law).abs() < n as f64 + 0.5, "1/s^{exponent}, {n} flows: {queued}, not {law}");
        }
    }
    assert_table!();
}
