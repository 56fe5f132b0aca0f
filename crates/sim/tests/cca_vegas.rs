//! Vegas on whole paths: packets in the queue, a parking lot, flows that start late, and Linux's different contract.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, dumbbell, flow, infinite, link, run, throughputs};
use fairweir_scenario::FlowSpec;
use fairweir_sim::Outcome;
use fairweir_units::{Dur, Time};
use serde_json::{Value, json};

/// Number of packets that a flow keeps in the queue (the starvation paper's alpha).
const ALPHA: u64 = 4;

/// Returns a flow with alpha = beta and an oracle for `rtprop_ms` (including a packet's transmission time at `mbps`).
fn informed(mbps: u64, rtprop_ms: u64, mut params: Value) -> FlowSpec {
    params["alpha"] = ALPHA.into();
    params["beta"] = ALPHA.into();
    let mut flow = flow("vegas", rtprop_ms);
    flow.params = params;
    flow.oracle_rtprop = Some(Dur::from_millis(rtprop_ms) + Dur::from_nanos(12_000_000 / mbps));
    flow
}

fn play(mbps: u64, flows: Vec<FlowSpec>, seconds: u64) -> Outcome {
    play_seed(mbps, flows, seconds, 1)
}

fn play_seed(mbps: u64, flows: Vec<FlowSpec>, seconds: u64, seed: u64) -> Outcome {
    run(&dumbbell(mbps, infinite(), flows, seconds, seconds / 2, seed)).expect("a run that ends well")
}

#[test]
fn n_flows_keep_n_alpha_packets_in_the_queue_and_do_not_swing() {
    for mbps in [12u64, 96, 480] {
        for n in [1u64, 2, 4] {
            let outcome = play(mbps, (0..n).map(|_| informed(mbps, 50, json!({}))).collect(), 240);
            let rtt = outcome.summary.flows[0].rtt_ms;
            let queued = (rtt.mean - 50.0) * mbps as f64 / 12.0 - 1.0;
            row!("{mbps} Mbps, {n} flows: {queued:.2} packets queue, RTT {:.3} ms", rtt.mean);
            // Windows are whole packets: a flow's queue settles between alpha and alpha + 1.
            assert!(queued >= (n * ALPHA) as f64 - 0.5 && queued <= (n * (ALPHA + 1)) as f64 + 0.5, "{n}: {queued}");
            assert!(rtt.max - rtt.min < 1.5 * 12.0 / mbps as f64, "delta(C) = 0 once settled");
            assert!(outcome.summary.links[0].utilization > 0.999);
        }
    }
    assert_table!();
}

#[test]
fn the_long_flow_of_a_parking_lot_gets_a_share_of_one_by_its_hops() {
    // rate = alpha / (sum of queueing delays): proportional fairness.
    for hops in [2usize, 3] {
        let mut config = dumbbell(24, infinite(), vec![], 200, 100, 1);
        config.links = (0..hops).map(|i| link(&format!("hop{i}"), 24, infinite())).collect();
        let mut long = informed(24, 20, json!({}));
        long.path = (0..hops).collect();
        long.oracle_rtprop = Some(Dur::from_millis(20) + Dur::from_micros(500) * hops as u64);
        config.flows.push(long);
        for hop in 0..hops {
            let mut short = informed(24, 20, json!({}));
            short.path = vec![hop];
            config.flows.push(short);
        }
        let rates = throughputs(&run(&config).expect("a run that ends well"));
        row!("{hops} hops: {rates:.2?} Mbps");
        for short in &rates[1..] {
            assert!((short / rates[0] / hops as f64 - 1.0).abs() < 0.3, "{hops} hops: {rates:?}");
        }
    }
    assert_table!();
}

#[test]
fn a_late_comer_that_takes_the_queue_for_propagation_gets_more() {
    let mut flows = vec![informed(24, 40, json!({})), informed(24, 40, json!({}))];
    for flow in &mut flows {
        flow.oracle_rtprop = None;
    }
    flows[1].start = Time::ZERO + Dur::from_secs(20);
    for seed in SEEDS {
        let rates = throughputs(&play_seed(24, flows.clone(), 200, seed));
        row!("first and late, seed {seed}: {rates:.1?} Mbps");
        assert!(rates[1] > 1.3 * rates[0]);
    }
    assert_table!();
}

#[test]
fn linux_divides_by_the_base_rtt_and_so_has_another_contract() {
    // Here: q rate = alpha. Linux: q (Rm + q) rate = alpha Rm. 2 flows on 2 Mbps, 20 ms; alpha is 100 packets of 6 ms.
    let (base_ms, packet_ms, alpha) = (26.0, 6.0, 100.0);
    let qdelay_ms = |is_linux: bool| {
        let flows = (0..2).map(|_| {
            let mut flow = informed(2, 20, json!({}));
            flow.params = json!({"alpha": 100, "beta": 100, "kernel_diff": is_linux});
            flow
        });
        play(2, flows.collect(), 400).summary.flows[0].rtt_ms.mean - base_ms
    };
    let (ours, linux) = (qdelay_ms(false), qdelay_ms(true));
    let rate = 1.0 / (2.0 * packet_ms);
    let (kept, kept_by_linux) = (ours * rate, linux * (base_ms + linux) * rate / base_ms);
    row!("q {ours:.0} ms, so q rate = {kept:.1}; Linux q {linux:.0} ms, q (Rm + q) rate / Rm = {kept_by_linux:.1}");
    assert!((kept / alpha - 1.0).abs() < 0.05);
    assert!((kept_by_linux / alpha - 1.0).abs() < 0.15);
    assert_table!();
}

#[test]
fn linux_leaves_slow_start_with_a_queue_that_lasts_minutes() {
    let mean_rtt = |params: Value| {
        let outcome = run(&dumbbell(96, infinite(), vec![informed(96, 50, params)], 20, 5, 1));
        outcome.expect("a run that ends well").summary.flows[0].rtt_ms.mean
    };
    let (ours, linux) = (mean_rtt(json!({})), mean_rtt(json!({"kernel_exit": true})));
    row!("mean RTT from 5 s to 20 s: {ours:.1} ms, as Linux {linux:.1} ms");
    assert!(ours < 55.0 && linux > 80.0);
    assert_table!();
}
