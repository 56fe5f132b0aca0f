use super::*;
use crate::monitor_interval::RttStats;
use crate::testing::{Bench, MSS, Path, refusal};
use fairweir_units::{Dur, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

/// An interval of 100 ms planned and sent at `mbps`, with an RTT that varies by `deviation` s around its gradient.
fn report(mbps: f64, gradient: f64, deviation: f64, loss_rate: f64) -> Report {
    let target = Rate::from_bytes_per_sec((mbps * 125_000.0) as u64);
    let rtts = RttStats { n: 20, mean: 0.05, deviation, residual: 0.0, interval: 0.1 };
    Report { target, rate_mbps: mbps, sent: 1000, loss_rate, throughput_mbps: mbps, rtt_gradient: gradient, rtts }
}

fn proteus(mode: Mode) -> PccProteus {
    let start = Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 1 };
    let mut proteus = PccProteus::new(Params { mode, ..Params::default() }, &start);
    proteus.sender.srtt = Dur::from_millis(50);
    proteus.sender.rate = Rate::from_mbps(20);
    proteus.phase = Phase::Probing;
    proteus
}

#[test]
fn utilities_are_the_papers() {
    let power = 20f64.powf(0.9);
    let u = |mode, r: &Report| proteus(mode).utility_of(r);
    let near = |x: f64, y: f64| (x - y).abs() < 1e-9;
    let r = report(20.0, 0.02, 0.001, 0.01);
    let primary = power - 900.0 * 20.0 * 0.02 - 11.35 * 20.0 * 0.01;
    assert!(near(u(Mode::Primary, &r), primary));
    assert!(near(u(Mode::Scavenger, &r), primary - 1500.0 * 20.0 * 0.001));
    // the threshold is 10 Mbps
    assert!(near(u(Mode::Hybrid, &r), primary - 1500.0 * 20.0 * 0.001));
    assert!(near(u(Mode::Hybrid, &report(9.0, 0.02, 0.001, 0.0)), 9f64.powf(0.9) - 900.0 * 9.0 * 0.02));
    assert!(near(u(Mode::Primary, &report(20.0, -0.5, 0.001, 0.0)), power));
}

/// The rate after a round of trials of which the pairs `better` prefer the higher rate.
fn after_probing(mode: Mode, better: &[bool]) -> f64 {
    let mut p = proteus(mode);
    let reports: Vec<Report> = better
        .iter()
        .flat_map(|&up| {
            if up {
                [21.0, 19.0].map(|x| report(x, 0.0, 0.0, 0.0))
            } else {
                [report(21.0, 0.0, 0.0, 0.1), report(19.0, 0.0, 0.0, 0.0)]
            }
        })
        .collect();
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    p.decide_probing(&reports, &mut Context { now: Time::ZERO, rng: &mut rng });
    p.sender.rate.as_mbps_f64()
}

#[test]
fn a_primary_increases_by_majority_and_both_decrease_by_consensus() {
    use Mode::{Primary, Scavenger};
    for (mode, better, direction) in [
        (Primary, &[true, true, true][..], 1),
        (Primary, &[true, false, true], 1),
        (Primary, &[true, false, false], 0),
        (Primary, &[false, false, false], -1),
        (Scavenger, &[true, true], 1),
        (Scavenger, &[true, false], 0),
        (Scavenger, &[false, false], -1),
    ] {
        let rate = after_probing(mode, better);
        match direction {
            1 => assert!(rate > 21.0, "{better:?}: {rate}"),
            -1 => assert!(rate < 19.0, "{better:?}: {rate}"),
            _ => assert_eq!(rate, 20.0, "{better:?}"),
        }
    }
}

#[test]
fn a_move_continues_while_the_utility_changes_as_predicted() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut cx = Context { now: Time::ZERO, rng: &mut rng };
    let mut p = proteus(Mode::Primary);
    let first = (report(21.0, 0.0, 0.0, 0.0), 21f64.powf(0.9));
    p.decide_moving(&report(22.0, 0.0, 0.0, 0.0), true, first, &mut cx);
    assert!(matches!(p.phase, Phase::Moving { is_up: true, .. }));
    assert!(p.sender.rate > Rate::from_mbps(20));
    p.decide_moving(&report(23.0, 0.0, 0.0, 0.1), true, first, &mut cx);
    assert!(matches!(p.phase, Phase::Probing));
    assert_eq!(p.sender.rate, Rate::from_mbps(21));
}

#[test]
fn two_undecided_rounds_at_the_minimum_rate_start_again() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut cx = Context { now: Time::ZERO, rng: &mut rng };
    let mut p = proteus(Mode::Scavenger);
    p.set_rate(0.0);
    assert_eq!(p.sender.rate, Rate::from_bytes_per_sec(62_500));
    let undecided: Vec<Report> =
        [(21.0, 0.0), (19.0, 0.0), (21.0, 0.1), (19.0, 0.0)].map(|(x, loss)| report(x, 0.0, 0.0, loss)).to_vec();
    p.decide_probing(&undecided, &mut cx);
    assert!(matches!(p.phase, Phase::Probing));
    p.decide_probing(&undecided, &mut cx);
    assert!(matches!(p.phase, Phase::Starting { last: Some(_) }));
    p.decide_starting(&report(0.5, 0.0, 0.0, 0.0), Some((p.sender.rate, 0.0)), &mut cx);
    assert_eq!(p.sender.rate, Rate::from_mbps(1));
}

#[test]
fn an_ideal_link_is_used_in_each_mode() {
    for mode in ["primary", "scavenger", "hybrid"] {
        let params = json!({"mode": mode});
        let mut bench = Bench::of(NAME, &params, Path::droptail(48, 40, 2));
        bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
        let utilization = bench.utilization_for(Dur::from_secs(20));
        assert!(utilization > 0.85, "{mode}: {utilization}");
        assert!(bench.rtt < Dur::from_millis(50), "{mode}: {:?}", bench.rtt);
    }
}

#[test]
fn bad_parameters_are_named() {
    for (params, word) in [
        (json!({"mode": "fast"}), "fast"),
        (json!({"threshold": "0bps"}), "threshold"),
        (json!({"deviation_coefficient": -1.0}), "deviation_coefficient"),
        (json!({"eps": 0.0}), "eps"),
        (json!({"interval_min_pkts": 0}), "interval_min_pkts"),
        (json!({"min_rate": "0bps"}), "min_rate"),
        (json!({"theta": 1.0}), "theta"),
    ] {
        assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
    }
}
