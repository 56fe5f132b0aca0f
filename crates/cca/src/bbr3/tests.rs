use super::*;
use crate::testing::{Bench, MSS, Path};
use serde_json::Value;
use serde_json::json;

fn after(s: u64) -> Time {
    Time::from_nanos(s * 1_000_000_000)
}

#[test]
fn one_flow_fills_the_link_with_a_small_queue() {
    let mut bench = Bench::of("bbr3", &Value::Null, Path::droptail(96, 40, 10));
    bench.run_until(after(4), |_| ());
    let mut rtts = 0.0;
    let mut n = 0u32;
    bench.run_until(after(16), |b| {
        rtts += b.rtt.as_millis_f64();
        n += 1;
    });
    let mean = rtts / f64::from(n);
    assert!(mean < 44.0, "{mean}");
    let utilization = bench.utilization_for(Dur::from_secs(10));
    assert!(utilization > 0.94, "{utilization}");
    assert_eq!(bench.sender.lost, 0);
}

#[test]
fn the_modes_come_in_order_and_the_cycle_turns() {
    let mut bench = Bench::of("bbr3", &Value::Null, Path::droptail(96, 40, 10));
    let (mut modes, mut gains) = (vec![], vec![]);
    bench.run_until(after(9), |b| {
        let (mode, gain) = (b.telemetry("mode"), b.telemetry("pacing_gain"));
        if modes.last() != Some(&mode) {
            modes.push(mode);
        }
        if mode == 2.0 && gains.last() != Some(&gain) {
            gains.push(gain);
        }
    });
    assert_eq!(modes, [0.0, 1.0, 2.0, 3.0, 2.0]);
    let rounded: Vec<u32> = gains.iter().map(|g| (g * 100.0).round() as u32).collect();
    // The phases are DOWN, CRUISE and REFILL, UP, DOWN, ...; the UP of the second cycle comes after PROBE_RTT.
    assert_eq!(rounded[..4], [91, 100, 125, 91], "{rounded:?}");
}

#[test]
fn one_percent_loss_leaves_four_fifths() {
    // Every round has loss, so bw_lo follows the delivery rate, which falls by 2 % per round until the next probe. With
    // a longer RTT there are fewer such rounds.
    let mut path = Path::droptail(96, 80, 10);
    path.lose_every = Some(100);
    let mut bench = Bench::of("bbr3", &Value::Null, path);
    bench.run_until(after(6), |_| ());
    let utilization = bench.utilization_for(Dur::from_secs(20));
    assert!(utilization > 0.8, "{utilization}");
}

#[test]
fn too_much_loss_while_probing_bounds_inflight() {
    let mut bench = Bench::of("bbr3", &Value::Null, Path::droptail(96, 40, 10));
    bench.run_until(after(1), |_| ());
    assert!(bench.telemetry("inflight_hi_pkts").is_nan());
    bench.path.lose_every = Some(25);
    let (mut hi, mut gain) = (f64::NAN, 0.0);
    bench.run_until(after(8), |b| {
        if hi.is_nan() && !b.telemetry("inflight_hi_pkts").is_nan() {
            hi = b.telemetry("inflight_hi_pkts");
            gain = b.telemetry("pacing_gain");
        }
    });
    assert!(hi < 420.0, "{hi}");
    assert!((gain - 0.91).abs() < 0.01, "the probe continues at {gain}");
}

#[test]
fn a_shallow_buffer_costs_little_loss() {
    let mut path = Path::droptail(96, 40, 1);
    path.buffer = 32; // a tenth of the BDP
    let mut bench = Bench::of("bbr3", &Value::Null, path);
    bench.run_until(after(5), |_| ());
    let (sent, lost) = (bench.sender.snd_nxt, bench.sender.lost);
    let utilization = bench.utilization_for(Dur::from_secs(20));
    let loss = (bench.sender.lost - lost) as f64 / (bench.sender.snd_nxt - sent) as f64;
    assert!(utilization > 0.8, "{utilization}");
    assert!(loss < 0.01, "{loss}");
}

#[test]
fn marks_on_a_short_path_keep_the_queue_short() {
    let mut path = Path::droptail(960, 1, 50);
    path.mark_above = Some(20);
    let mut bench = Bench::of("bbr3", &Value::Null, path.clone());
    bench.run_until(after(2), |_| ());
    let mut mean = 0.0;
    let mut n = 0u32;
    bench.run_until(after(4), |b| {
        mean += b.rtt.as_millis_f64();
        n += 1;
    });
    assert!(mean / f64::from(n) < 1.5, "{}", mean / f64::from(n));
    assert!(bench.utilization_for(Dur::from_secs(1)) > 0.8);
}

#[test]
fn a_timeout_costs_the_window_and_recovery_restores_it() {
    let mut bench = Bench::of("bbr3", &Value::Null, Path::droptail(24, 40, 10));
    bench.run_until(after(3), |_| ());
    bench.path.lose_every = Some(1);
    while bench.episodes.2 == 0 {
        bench.step();
    }
    assert!(bench.cwnd() <= 4);
    bench.path.lose_every = None;
    bench.run_until(bench.now + Dur::from_secs(6), |_| ());
    assert!(bench.utilization_for(Dur::from_secs(4)) > 0.9);
}

#[test]
fn the_lost_packet_that_crossed_the_threshold_sets_the_bound() {
    let start = Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 0 };
    let bbr = Bbr3::new(&start, Params { loss_thresh: 0.02, ..Params::default() });
    // 5/256 of 512 packets are 10 packets, so the eleventh loss exceeds the threshold
    let sample = |lost| Sample { lost, tx_in_flight: 512, ..Sample::default() };
    assert!(!bbr.is_inflight_too_high(&sample(10)));
    assert!(bbr.is_inflight_too_high(&sample(11)));
}

#[test]
fn parameters_have_units_and_ranges() {
    let start = Start { mss: MSS, initial_cwnd: MSS, oracle_rtprop: None, first_packet: 0, seed: 0 };
    for (params, word) in [
        (json!({"probe_wait": 2}), "expected a string"),
        (json!({"beta": 1.0}), "beta"),
        (json!({"min_rtt_window": "1s"}), "probe_rtt_interval"),
        (json!({"probe_max_rounds": 0}), "probe_max_rounds"),
        (json!({"bet": 3}), "bet"),
    ] {
        let error = (ALGORITHM.build)(&params, &start).expect_err("refused").to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_flow_that_starts_late_does_not_begin_by_probing_rtt() {
    let fills_in = |start: Time| {
        let mut bench = Bench::of("bbr3", &Value::Null, Path::droptail(24, 40, 10));
        bench.now = start;
        bench.run_until(start + Dur::from_millis(400), |_| ());
        bench.cwnd()
    };
    assert_eq!(fills_in(after(60)), fills_in(Time::ZERO));
}
