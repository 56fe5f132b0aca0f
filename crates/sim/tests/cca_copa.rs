//! Copa on whole paths: its contract, its oscillation, and the single packet that corrupts its RTTmin (starvation paper
//! section 5.1).
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, droptail, dumbbell, flow, infinite, max_min_ratio, run, throughputs};
use fairweir_path::ElementConfig;
use fairweir_scenario::FlowSpec;
use fairweir_sim::Outcome;
use fairweir_units::{Dur, Time};
use serde_json::json;

/// Returns a flow with an oracle for its path of `rtprop_ms` (including a packet's transmission time at `mbps`).
fn informed(mbps: u64, rtprop_ms: u64) -> FlowSpec {
    let mut flow = flow("copa", rtprop_ms);
    flow.oracle_rtprop = Some(Dur::from_millis(rtprop_ms) + Dur::from_nanos(12_000_000 / mbps));
    flow
}

fn play(mbps: u64, flows: Vec<FlowSpec>) -> Outcome {
    play_seed(mbps, flows, 1)
}

fn play_seed(mbps: u64, flows: Vec<FlowSpec>, seed: u64) -> Outcome {
    run(&dumbbell(mbps, infinite(), flows, 120, 60, seed)).expect("a run that ends well")
}

/// Returns the mean queue in packets of 12 kbit, from the RTT in excess of the path's own delay.
fn queued_pkts(outcome: &Outcome, mbps: u64, rtprop_ms: u64) -> f64 {
    (outcome.summary.flows[0].rtt_ms.mean - rtprop_ms as f64) * mbps as f64 / 12.0 - 1.0
}

#[test]
fn flows_keep_about_one_by_delta_packets_each_in_the_queue() {
    for mbps in [12, 48, 96] {
        for (n, delta) in [(1, 0.5), (2, 0.5), (4, 0.5), (2, 0.125)] {
            let flows = (0..n)
                .map(|i| {
                    let mut flow = informed(mbps, 50);
                    flow.params = json!({"delta": delta});
                    flow.start = Time::ZERO + Dur::from_secs(1) * i;
                    flow
                })
                .collect();
            let outcome = play(mbps, flows);
            let (queued, contract) = (queued_pkts(&outcome, mbps, 50), n as f64 / delta);
            row!("{mbps} Mbps, {n} flows, delta {delta}: {queued:.1} packets queue, n/delta = {contract}");
            assert!((queued / contract - 1.0).abs() < 0.45, "{mbps} Mbps, {n} flows: {queued}");
            assert!(outcome.summary.links[0].utilization > 0.995);
            assert!(max_min_ratio(&outcome) < 1.1);
        }
    }
    assert_table!();
}

#[test]
fn one_flow_swings_by_four_packets() {
    // delta(C) = 4 alpha / C with alpha = one packet (starvation paper, footnote to delay convergence).
    for mbps in [12, 48, 96, 480] {
        let outcome = play(mbps, vec![informed(mbps, 50)]);
        let rtt = outcome.summary.flows[0].rtt_ms;
        let swing_pkts = (rtt.max - rtt.min) * mbps as f64 / 12.0;
        row!("{mbps} Mbps: range {swing_pkts:.2} packets");
        assert!((3.5..4.6).contains(&swing_pkts), "{mbps} Mbps: {swing_pkts}");
    }
    assert_table!();
}

/// Returns a flow whose first packet is 1 ms early, with a window of RTTmin longer than the run.
fn poisoned() -> FlowSpec {
    let early: ElementConfig = serde_json::from_value(json!({
        "kind": "early-packet", "offset": 1_000_000, "packet": 0,
    }))
    .expect("an element");
    let mut flow = flow("copa", 59);
    flow.egress = vec![early];
    flow.params = json!({"min_rtt_window": "600s"});
    flow
}

#[test]
fn one_early_packet_takes_most_of_the_link_from_a_flow_alone() {
    // 120 Mbps, Rm 60 ms, one packet with an RTT of 59 ms. Published: 8 Mbps; without Mahimahi's noise, 2 packets per
    // ms.
    let outcome = play(120, vec![poisoned()]);
    row!("poisoned alone: {:.1} Mbps", throughputs(&outcome)[0]);
    assert!(throughputs(&outcome)[0] < 0.3 * 120.0);
    assert_table!();
}

#[test]
fn the_poisoned_one_of_two_flows_starves() {
    // Published: 8.8 and 95 Mbps. The clean flow starts 0.1 s later. If the flows started together, ties would decide
    // whether the early packet waits behind the clean flow's first ten packets, which would delay it by the 1 ms by
    // which it is early.
    for seed in SEEDS {
        let clean = FlowSpec { start: Time::ZERO + Dur::from_millis(100), ..flow("copa", 60) };
        let rates = throughputs(&play_seed(120, vec![poisoned(), clean], seed));
        row!("poisoned and clean, seed {seed}: {rates:.1?} Mbps");
        assert!(rates[0] <= 24.0 && rates[1] / rates[0] >= 4.0, "seed {seed}: {rates:?}");
    }
    assert_table!();
}

#[test]
fn mode_switch_holds_its_own_against_a_flow_that_fills_the_queue() {
    let share = |mode_switch: bool, seed: u64| {
        let mut copa = flow("copa", 40);
        copa.params = json!({"mode_switch": mode_switch});
        let flows = vec![copa, flow("reno", 40)];
        let outcome = run(&dumbbell(24, droptail(160), flows, 120, 40, seed)).expect("a run that ends well");
        throughputs(&outcome)[0]
    };
    for seed in SEEDS {
        let (default, competitive) = (share(false, seed), share(true, seed));
        row!("against reno on 24 Mbps, seed {seed}: {default:.1} Mbps, with mode switching {competitive:.1} Mbps");
        assert!(competitive > 2.0 * default && competitive > 6.0);
    }
    assert_table!();
}

#[test]
fn velocity_takes_a_flow_to_a_new_rate_in_seconds() {
    // The other flow releases half of 1 Gbps: 2083 packets. At 1/delta = 2 packets per RTT of 50 ms, filling this takes
    // 52 s.
    let mut leaving = informed(1000, 50);
    leaving.stop = Some(Time::ZERO + Dur::from_secs(60));
    let config = dumbbell(1000, infinite(), vec![informed(1000, 50), leaving], 70, 63, 1);
    let rates = throughputs(&run(&config).expect("a run that ends well"));
    row!("from 3 s after the other's end: {:.0} Mbps", rates[0]);
    assert!(rates[0] > 950.0);
    assert_table!();
}
