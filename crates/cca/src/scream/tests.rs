use super::*;
use crate::Sender;
use crate::testing::{Bench, MSS, Path, ack, refusal};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::json;

const START: Start = Start { mss: MSS, initial_cwnd: Bytes(30_000), oracle_rtprop: None, first_packet: 0, seed: 1 };

/// Acknowledges one packet at `ms` with an RTT of `rtt_ms` over a path of 40 ms; `inflight` packets remain.
fn acknowledge(scream: &mut Scream, ms: u64, rtt_ms: u64, inflight: u64) {
    let ms_of = Dur::from_millis;
    let sender =
        Sender { snd_una: 1000, snd_nxt: 1000 + inflight, srtt: ms_of(rtt_ms), min_rtt: ms_of(40), ..Sender::new(MSS) };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut cx = Context { now: Time::ZERO + ms_of(ms), rng: &mut rng };
    scream.on_ack(&ack(&sender, ms_of(rtt_ms)), &mut cx);
}

fn lose(scream: &mut Scream, ms: u64, cause: Cause) {
    let sender = Sender { srtt: Dur::from_millis(40), ..Sender::new(MSS) };
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut cx = Context { now: Time::ZERO + Dur::from_millis(ms), rng: &mut rng };
    scream.on_loss(&Loss { cause, prior_inflight: 20, is_repeated: false, sender: &sender }, &mut cx);
}

fn scream() -> Scream {
    Scream::new(&START, &Params::default())
}

#[test]
fn fast_increase_adds_what_is_acknowledged_if_the_window_is_used() {
    let mut s = scream();
    acknowledge(&mut s, 1, 40, 19);
    assert_eq!(s.cwnd, 31_500.0);
    // 12 packets: 1.5 18000 + 1500 < 31500
    acknowledge(&mut s, 2, 40, 12);
    assert_eq!(s.cwnd, 31_500.0);
}

#[test]
fn outside_fast_increase_the_window_follows_the_distance_to_the_target() {
    let mut s = scream();
    s.in_fast_increase = false;
    // q = 20 ms: (100 - 20) / 100 1500 1500 / 30000 = 60 bytes
    acknowledge(&mut s, 1, 60, 19);
    assert!((s.cwnd - 30_060.0).abs() < 1e-6, "{}", s.cwnd);
    // q = 150 ms: -0.5 1500 1500 / 30060
    acknowledge(&mut s, 2, 190, 19);
    assert!((s.cwnd - 30_060.0 + 0.5 * 2_250_000.0 / 30_060.0).abs() < 1e-6, "{}", s.cwnd);
    // unused: no growth, and at most 1.1 times the largest inflight, 20 packets
    let before = s.cwnd;
    acknowledge(&mut s, 3, 60, 5);
    assert_eq!(s.cwnd, before);
    s.cwnd = 40_000.0;
    acknowledge(&mut s, 4, 60, 5);
    assert!((s.cwnd - 33_000.0).abs() < 1e-6, "{}", s.cwnd);
}

#[test]
fn losses_and_marks_scale_the_window_and_end_fast_increase() {
    for (cause, cwnd) in [(Cause::Dupack, 24_000.0), (Cause::Ecn, 27_000.0), (Cause::Timeout, 3_000.0)] {
        let mut s = scream();
        lose(&mut s, 7, cause);
        assert_eq!((s.cwnd, s.in_fast_increase), (cwnd, false));
        // cwnd / srtt, at least 50 kbps
        assert_eq!(s.pacing_rate(), Some(Rate::from_bytes_per_sec((cwnd / 0.04) as u64)));
    }
}

#[test]
fn a_rising_delay_ends_fast_increase_and_five_calm_seconds_resume_it() {
    let mut s = scream();
    // the delay rises by 5 ms per sample
    let left = (1..40).find(|&i| {
        acknowledge(&mut s, 50 * i, 40 + 5 * i, 19);
        !s.in_fast_increase
    });
    let left = left.expect("it ends");
    assert!((5..20).contains(&left), "after {left} samples");
    // without a queue the trend falls; 5 s after it was last at its threshold, fast increase resumes
    let resumed = (left + 1..400).find(|&i| {
        acknowledge(&mut s, 50 * i, 40, 19);
        s.in_fast_increase
    });
    let waited_ms = 50 * (resumed.expect("it resumes") - left);
    assert!((5_000..6_500).contains(&waited_ms), "{waited_ms} ms");
}

#[test]
fn a_packet_more_may_be_in_flight_below_the_target() {
    let mut s = scream();
    s.in_fast_increase = false;
    acknowledge(&mut s, 1, 140, 19);
    assert_eq!(s.cwnd(), Bytes(31_500));
    acknowledge(&mut s, 2, 141, 19);
    assert_eq!(s.cwnd(), Bytes(s.cwnd as u64));
}

#[test]
fn one_flow_keeps_its_target() {
    let params = json!({"compensates": false, "target_low": "50ms", "resume_after": "1h"});
    let mut bench = Bench::of(NAME, &params, Path::droptail(24, 40, 20));
    bench.run_until(Time::from_nanos(60_000_000_000), |_| ());
    let base = (bench.path.rtprop + MSS / bench.path.rate).as_secs_f64();
    let (mut q, mut n) = (0.0, 0.0);
    bench.run_until(bench.now + Dur::from_secs(20), |b| {
        q += b.rtt.as_secs_f64() - base;
        n += 1.0;
    });
    assert!((q / n - 0.05).abs() < 0.005, "{} s", q / n);
}

#[test]
fn bad_parameters_are_named() {
    for (params, word) in [
        (json!({"target_low": "0ms"}), "target_low"),
        (json!({"target_high": "50ms"}), "target_high"),
        (json!({"gain": 0.0}), "gain"),
        (json!({"beta_loss": 1.0}), "beta_loss"),
        (json!({"beta_ecn": 0.0}), "beta_ecn"),
        (json!({"resume_after": "0s"}), "resume_after"),
        (json!({"alpha": 1}), "alpha"),
    ] {
        assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
    }
}
