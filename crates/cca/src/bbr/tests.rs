use super::*;
use crate::testing::{Bench, MSS, Path};
use serde_json::Value;
use serde_json::json;

fn after(s: u64) -> Time {
    Time::from_nanos(s * 1_000_000_000)
}

/// Fraction of ten seconds that the flow spends at RTTs above `limit`.
fn part_above(bench: &mut Bench, limit: Dur) -> f64 {
    let (mut above, mut all) = (0u64, 0u64);
    bench.run_until(bench.now + Dur::from_secs(10), |b| {
        above += u64::from(b.rtt > limit);
        all += 1;
    });
    above as f64 / all as f64
}

#[test]
fn one_flow_fills_the_link_and_keeps_rtt_below_five_quarters() {
    let mut bench = Bench::of("bbr", &Value::Null, Path::droptail(96, 40, 10));
    bench.run_until(after(5), |_| ());
    // Probing ends when inflight is 5/4 BDP plus the quanta: 3 packets, 1 to make cwnd even, 2 while probing.
    let limit = bench.path.rtprop * 5 / 4 + MSS / bench.path.rate * 8;
    assert_eq!(part_above(&mut bench, limit), 0.0);
    let cruising = bench.path.rtprop * 21 / 20;
    assert!(part_above(&mut bench, cruising) < 0.3);
    let utilization = bench.utilization_for(Dur::from_secs(10));
    assert!(utilization > 0.95, "{utilization}");
    assert_eq!(bench.sender.lost, 0);
    let bw = bench.telemetry("bw_pkts_per_s");
    assert!((bw / 8000.0 - 1.0).abs() < 0.02, "{bw}");
}

#[test]
fn send_quanta_are_a_millisecond_of_pacing() {
    // 1/1024 s at 1, 12, 96 and 9600 Mbps is 0.08, 0.98, 7.8 and 781 packets; at most 64 KiB
    for (mbps, quantum) in [(1, 1), (12, 2), (96, 7), (9600, 43)] {
        let cwnd = |send_quanta| {
            let params = json!({"quanta_pkts": 0, "send_quanta": send_quanta, "round_to_even": false,
                "ack_aggregation": false, "first_phase": 2});
            let mut bench = Bench::of("bbr", &params, Path::droptail(mbps, 40, 10));
            // The flow is cruising: the first phase of the gain cycle, with two packets more, begins after 6 rtprops.
            let mut cwnd = 0;
            bench.run_until(after(5), |b| {
                if b.telemetry("pacing_gain") == 1.0 {
                    cwnd = b.cwnd();
                }
            });
            cwnd
        };
        assert!(cwnd(true).abs_diff(cwnd(false) + 3 * quantum) <= 1, "{mbps} Mbps: {} {}", cwnd(true), cwnd(false));
    }
}

#[test]
fn probing_ends_when_the_next_quantum_reaches_the_target() {
    // alpha of 30 packets is three quanta: probing to 5/4 BDP + alpha ends with a quantum less in flight.
    let mut bench = Bench::of("bbr", &json!({"quanta_pkts": 30}), Path::droptail(96, 20, 10));
    bench.run_until(after(5), |_| ());
    let packets = |n| bench.path.rtprop * 5 / 4 + MSS / bench.path.rate * n;
    // 1 to make cwnd even, 2 while probing
    let [reached, target] = [packets(20 - 2), packets(20 + 3)];
    assert!(part_above(&mut bench, target) < 0.01);
    assert!(part_above(&mut bench, reached) > 0.01);
}

#[test]
fn probe_rtt_remembers_the_larger_cwnd_of_before() {
    let start = Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 0 };
    let mut rng = rand::SeedableRng::seed_from_u64(7);
    let mut bbr = Bbr { prior_cwnd: 100, min_rtt: Dur::from_millis(40), ..Bbr::new(&start, Params::default()) };
    let sender = Sender { snd_nxt: 10, ..Sender::new(MSS) };
    let ack = Ack {
        acked: 1,
        cum_acked: 1,
        lost: 0,
        marked: 0,
        prior_inflight: 10,
        rtt: None,
        newest: None,
        newest_sent: Time::ZERO,
        rate: crate::RateSample::default(),
        sender: &sender,
    };
    bbr.update_min_rtt(&ack, &mut Context { now: after(11), rng: &mut rng });
    assert!(matches!(bbr.mode, Mode::ProbeRtt(_)));
    assert_eq!(bbr.prior_cwnd, 100);
}

#[test]
fn startup_drains_its_queue_and_ends() {
    let mut bench = Bench::of("bbr", &Value::Null, Path::droptail(96, 40, 10));
    let mut modes = vec![];
    bench.run_until(after(2), |b| {
        let mode = b.telemetry("mode");
        if modes.last() != Some(&mode) {
            modes.push(mode);
        }
    });
    assert_eq!(modes, [0.0, 1.0, 2.0]);
}

#[test]
fn probe_rtt_comes_after_ten_seconds_and_finds_the_propagation_delay() {
    // rtprop rises by 20 ms, so no later sample is below the old minimum
    let mut bench = Bench::of("bbr", &Value::Null, Path::droptail(24, 40, 10));
    bench.run_until(after(3), |_| ());
    bench.path.rtprop = Dur::from_millis(60);
    let mut smallest_cwnd = u64::MAX;
    bench.run_until(after(20), |b| smallest_cwnd = smallest_cwnd.min(b.cwnd()));
    assert_eq!(smallest_cwnd, MIN_CWND);
    let min_rtt = bench.telemetry("min_rtt_ms");
    assert!((60.0..61.0).contains(&min_rtt), "{min_rtt}");
    assert!(bench.utilization_for(Dur::from_secs(3)) > 0.95);
}

#[test]
fn random_loss_does_not_slow_it() {
    let mut path = Path::droptail(96, 40, 10);
    path.lose_every = Some(200);
    let mut bench = Bench::of("bbr", &Value::Null, path);
    bench.run_until(after(5), |_| ());
    assert!(bench.utilization_for(Dur::from_secs(4)) > 0.95);
}

#[test]
fn a_timeout_costs_the_window_and_recovery_restores_it() {
    let mut bench = Bench::of("bbr", &Value::Null, Path::droptail(24, 40, 10));
    bench.run_until(after(3), |_| ());
    let before = bench.cwnd();
    bench.path.lose_every = Some(1);
    while bench.episodes.2 == 0 {
        bench.step();
    }
    assert!(bench.cwnd() <= 4);
    bench.path.lose_every = None;
    bench.run_until(bench.now + Dur::from_secs(1), |_| ());
    assert!(bench.cwnd() + 4 >= before, "{} {before}", bench.cwnd());
}

#[test]
fn the_first_phase_is_never_the_one_that_drains() {
    let start = Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 0 };
    let mut rng = rand::SeedableRng::seed_from_u64(7);
    let mut seen = [0u32; 8];
    let mut bbr = Bbr::new(&start, Params::default());
    for _ in 0..2000 {
        bbr.enter_probe_bw(&mut Context { now: Time::ZERO, rng: &mut rng });
        let Mode::ProbeBw { phase, .. } = bbr.mode else { unreachable!("just entered") };
        seen[phase as usize] += 1;
    }
    assert_eq!(seen[1], 0);
    assert!(seen.iter().enumerate().all(|(i, n)| i == 1 || *n > 200), "{seen:?}");
}

#[test]
fn a_policer_is_found_and_its_rate_used() {
    // At half the load, a buffer of one packet acts like a token bucket: with a gain of 1.25, BBR loses many packets.
    let mut path = Path::droptail(96, 20, 1);
    path.buffer = 2;
    path.lose_every = Some(4);
    let mut bench = Bench::of("bbr", &Value::Null, path.clone());
    bench.run_until(after(10), |_| ());
    let mut policed = 0u32;
    bench.run_until(after(20), |b| policed += u32::from(b.telemetry("is_policed") == 1.0));
    assert!(policed > 0);
    let mut blind = Bench::of("bbr", &json!({"policer_detection": false}), path);
    blind.run_until(after(20), |b| assert_eq!(b.telemetry("is_policed"), 0.0));
}

#[test]
fn parameters_have_units_and_ranges() {
    let start = Start { mss: MSS, initial_cwnd: MSS, oracle_rtprop: None, first_packet: 0, seed: 0 };
    assert_eq!((ALGORITHM.defaults)()["min_rtt_window"], json!("10s"));
    assert!((ALGORITHM.build)(&json!({"min_rtt_window": "30s", "first_phase": 2}), &start).is_ok());
    for (params, word) in [
        (json!({"min_rtt_window": 10}), "expected a string"),
        (json!({"min_rtt_window": "10"}), "no unit"),
        (json!({"startup_gain": 0.5}), "startup_gain"),
        (json!({"first_phase": 8}), "first_phase"),
        (json!({"bw_window_rounds": 0}), "bw_window_rounds"),
        (json!({"cwnd_gain": null}), "invalid type"),
        (json!({"quanta": 3}), "quanta"),
    ] {
        let error = (ALGORITHM.build)(&params, &start).expect_err("refused").to_string();
        assert!(error.contains(word), "{error}");
    }
}

#[test]
fn a_flow_that_starts_late_does_not_begin_by_probing_rtt() {
    let fills_in = |start: Time| {
        let mut bench = Bench::of("bbr", &Value::Null, Path::droptail(24, 40, 10));
        bench.now = start;
        bench.run_until(start + Dur::from_millis(400), |_| ());
        bench.cwnd()
    };
    assert_eq!(fills_in(after(60)), fills_in(Time::ZERO));
}
