use super::*;
use crate::Sender;
use crate::testing::{Bench, MSS, Path};
use serde_json::Value;
use serde_json::json;

fn after(s: u64) -> Time {
    Time::from_nanos(s * 1_000_000_000)
}

#[test]
fn cube_roots_are_exact_to_the_last_digits() {
    for i in 1..2000u32 {
        let r = f64::from(i) * 0.37;
        assert!((cbrt(r * r * r) / r - 1.0).abs() < 4.0 * f64::EPSILON, "{r}");
    }
    assert_eq!(cbrt(0.0), 0.0);
    assert!((cbrt(1e-30) / 1e-10 - 1.0).abs() < 1e-15);
    assert!((cbrt(1e30) / 1e10 - 1.0).abs() < 1e-15);
}

#[test]
fn the_window_is_back_at_w_max_after_k_seconds() {
    // On a long, fast path CUBIC is in the cubic region: C = 0.4 and W_max = 4000 packets give K = cbrt(4000 * 0.3 /
    // 0.4) = 14.4 s.
    let path = Path::droptail(10_000, 40, 10);
    let mut bench = Bench::of("cubic", &json!({"friendliness": false}), path);
    while bench.cwnd() < 4000 {
        bench.step();
    }
    let before = bench.cwnd();
    bench.path.lose_every = Some(bench.sender.snd_nxt + 1);
    while bench.episodes.0 == 0 {
        bench.step();
    }
    bench.path.lose_every = None;
    let cut = bench.cwnd() as f64;
    let k_expected = cbrt((cut / 0.7 * 0.3) / 0.4);
    // the epoch starts with the first ACK after the recovery
    while bench.sender.is_reducing() {
        bench.step();
    }
    bench.step();
    bench.run_until(bench.now + Dur::from_millis(100), |_| ());
    assert!(before as f64 * 0.7 <= cut + 1.0);
    let k = bench.telemetry("k_s");
    assert!((k / k_expected - 1.0).abs() < 1e-3, "{k} {k_expected}");
    bench.run_until(bench.now + Dur::from_secs_f64(k - 0.1), |_| ());
    let (plateau, w_max) = (bench.cwnd() as f64, bench.telemetry("w_max_pkts"));
    assert!((plateau - w_max).abs() <= 2.0, "{plateau} {w_max}");
    // Beyond the plateau the curve is convex: C (t - K)^3 at t = K + 5 s is 50 packets.
    bench.run_until(bench.now + Dur::from_secs(5), |_| ());
    let beyond = bench.cwnd() as f64 - w_max;
    assert!((beyond / 50.0 - 1.0).abs() < 0.1, "{beyond}");
}

#[test]
fn periodic_loss_gives_the_response_function() {
    // RFC 9438 §5.1: avg W = (C (3 + beta) / (4 (1 - beta)))^(1/4) (RTT / p)^(3/4)
    let (rtt, period) = (0.1f64, 50_000.0f64);
    let mut path = Path::droptail(10_000, 100, 10);
    path.lose_every = Some(period as u64);
    let mut bench = Bench::of("cubic", &json!({"friendliness": false}), path);
    bench.run_until(after(150), |_| ());
    let (start, delivered) = (bench.now, bench.sender.delivered);
    bench.run_until(after(400), |_| ());
    let rate = (bench.sender.delivered - delivered) as f64 / bench.now.since(start).as_secs_f64();
    let mean = rate * rtt;
    let law = 1.054 * (rtt * period).powf(0.75);
    assert!((mean / law - 1.0).abs() < 0.1, "mean {mean}, law {law}");
}

#[test]
fn with_frequent_loss_it_is_aimd() {
    // below the crossover the window follows AIMD: sqrt(alpha (1 + beta) / (2 (1 - beta) p)) = 1.22/sqrt(p), RFC 9438
    // §4.3
    let (rtt, period) = (0.02f64, 1000.0f64);
    let mut path = Path::droptail(10_000, 20, 10);
    path.lose_every = Some(period as u64);
    let mut bench = Bench::of("cubic", &Value::Null, path);
    bench.run_until(after(20), |_| ());
    let (start, delivered) = (bench.now, bench.sender.delivered);
    bench.run_until(after(80), |_| ());
    let rate = (bench.sender.delivered - delivered) as f64 / bench.now.since(start).as_secs_f64();
    let (mean, law) = (rate * rtt, 1.2247 * period.sqrt());
    assert!((mean / law - 1.0).abs() < 0.1, "mean {mean}, law {law}");
}

#[test]
fn a_full_buffer_keeps_the_link_busy() {
    let mut bench = Bench::of("cubic", &Value::Null, Path::droptail(96, 40, 1));
    bench.run_until(after(20), |_| ());
    let utilization = bench.utilization_for(Dur::from_secs(60));
    assert!(utilization > 0.999, "{utilization}");
    assert_eq!(bench.episodes.2, 0);
}

#[test]
fn a_window_that_is_not_used_does_not_grow_and_its_time_does_not_count() {
    let start = Start { mss: MSS, initial_cwnd: MSS * 100, oracle_rtprop: None, first_packet: 0, seed: 0 };
    let mut cubic = Cubic::new(&start, &Params { friendliness: false, ..Params::default() });
    let mut rng = rand::SeedableRng::seed_from_u64(0);
    let mut sender = Sender::new(MSS);
    (sender.srtt, sender.is_cwnd_limited, sender.snd_nxt) = (Dur::from_millis(10), true, 1000);
    let mut now = Time::ZERO;
    cubic.on_loss(
        &Loss { cause: Cause::Dupack, prior_inflight: 100, is_repeated: false, sender: &sender },
        &mut Context { now, rng: &mut rng },
    );
    let mut acks = |cubic: &mut Cubic, is_limited: bool, n: u64, rng: &mut rand_chacha::ChaCha8Rng| {
        sender.is_cwnd_limited = is_limited;
        for _ in 0..n {
            now += Dur::from_millis(1);
            let ack = Ack {
                acked: 10,
                cum_acked: 10,
                lost: 0,
                marked: 0,
                prior_inflight: 100,
                rtt: Some(sender.srtt),
                newest: Some(0),
                newest_sent: now,
                rate: crate::RateSample::default(),
                sender: &sender,
            };
            cubic.on_ack(&ack, &mut Context { now, rng });
        }
    };
    acks(&mut cubic, true, 1000, &mut rng);
    let after_a_second = cubic.cwnd;
    acks(&mut cubic, false, 100_000, &mut rng);
    assert_eq!(cubic.cwnd, after_a_second);
    acks(&mut cubic, true, 2, &mut rng);
    assert!(cubic.cwnd - after_a_second < 0.2, "{} {after_a_second}", cubic.cwnd);
}

#[test]
fn after_an_idle_period_slow_start_leads_back_to_the_curve() {
    let mut bench = Bench::of("cubic", &Value::Null, Path::droptail(96, 40, 1));
    bench.run_until(after(20), |_| ());
    let (w_max, k, window) = (bench.telemetry("w_max_pkts"), bench.telemetry("k_s"), bench.cwnd());
    let restart = Restart { cwnd: MSS * 10, sender: &bench.sender };
    let mut rng = rand::SeedableRng::seed_from_u64(0);
    bench.controller.on_restart(&restart, &mut Context { now: bench.now, rng: &mut rng });
    assert_eq!(bench.cwnd(), 10);
    let ssthresh = bench.telemetry("ssthresh_pkts");
    assert!(ssthresh >= (window * 3 / 4) as f64 - 1.0, "{ssthresh} {window}");
    while (bench.cwnd() as f64) < ssthresh {
        bench.step();
    }
    bench.step();
    assert_eq!((bench.telemetry("w_max_pkts"), bench.telemetry("k_s")), (w_max, k), "the curve of before");
}

#[test]
fn fast_convergence_gives_way() {
    let mut cubic = Cubic::new(
        &Start { mss: MSS, initial_cwnd: MSS * 100, oracle_rtprop: None, first_packet: 0, seed: 0 },
        &Params::default(),
    );
    let sender = Sender::new(MSS);
    let mut rng = rand::SeedableRng::seed_from_u64(0);
    let mut lose = |c: &mut Cubic| {
        let loss = Loss { cause: Cause::Dupack, prior_inflight: 100, is_repeated: false, sender: &sender };
        c.on_loss(&loss, &mut Context { now: Time::ZERO, rng: &mut rng });
    };
    lose(&mut cubic);
    assert_eq!((cubic.w_max, cubic.cwnd), (100.0, 70.0));
    lose(&mut cubic);
    assert_eq!((cubic.w_max, cubic.cwnd), (70.0 * 0.85, 49.0));
}

#[test]
fn hystart_leaves_slow_start_before_the_buffer_is_full() {
    let path = Path::droptail(96, 100, 16);
    let mut plain = Bench::of("cubic", &Value::Null, path.clone());
    plain.run_until(after(5), |_| ());
    assert!(plain.sender.lost > 100);
    for kind in ["rfc9406", "linux"] {
        let mut gentle = Bench::of("cubic", &json!({ "hystart": kind }), path.clone());
        gentle.run_until(after(5), |_| ());
        assert_eq!(gentle.sender.lost, 0, "{kind}");
        assert!(gentle.utilization_for(Dur::from_secs(1)) > 0.99, "{kind}");
    }
}

#[test]
fn linux_grows_by_five_percent_a_round_trip_until_the_first_loss() {
    let mut bench = Bench::of("cubic", &json!({ "hystart": "linux" }), Path::droptail(96, 100, 16));
    bench.run_until(after(3), |_| ());
    let (before, rtt) = (bench.controller.cwnd().0, bench.sender.srtt);
    bench.run_until(after(3) + rtt * 2, |_| ());
    let growth = bench.controller.cwnd().0 as f64 / before as f64;
    assert!((1.08..1.12).contains(&growth), "{growth} in two round trips");
}

#[test]
fn bad_parameters_are_named() {
    let start = Start { mss: MSS, initial_cwnd: MSS, oracle_rtprop: None, first_packet: 0, seed: 0 };
    for (params, word) in [
        (json!({"beta": 1.0}), "beta"),
        (json!({"c": 0.0}), "c must"),
        (json!({"c": "x"}), "x"),
        (json!({"betta": 0.7}), "betta"),
    ] {
        let error = (ALGORITHM.build)(&params, &start).expect_err("refused").to_string();
        assert!(error.contains(word), "{error}");
    }
}
