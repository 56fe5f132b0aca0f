use super::*;
use crate::algorithm::typed;
use crate::testing::{Bench, MSS, Path, refusal};
use fairweir_units::Time;
use serde_json::Value;
use serde_json::json;

fn contract(pkts: u64, params: &Value) -> Contract {
    let start = Start { mss: MSS, initial_cwnd: MSS * pkts, oracle_rtprop: None, first_packet: 0, seed: 0 };
    Contract::new(&start, typed(NAME, params).expect("parameters"))
}

/// Minimum and maximum queueing delay over 10 s, after `bench` has settled, in transmission times of a packet.
fn settled(bench: &mut Bench) -> (f64, f64) {
    bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
    let packet = (MSS / bench.path.rate).as_secs_f64();
    let base = bench.path.rtprop.as_secs_f64() + packet;
    let (mut least, mut most) = (f64::INFINITY, 0.0f64);
    bench.run_until(bench.now + Dur::from_secs(10), |b| {
        let queued = (b.rtt.as_secs_f64() - base) / packet;
        (least, most) = (least.min(queued), most.max(queued));
    });
    (least, most)
}

#[test]
fn every_contract_is_kept_to_the_packet_on_every_link() {
    for function in ["power", "exponential", "logarithmic", "linear"] {
        for mbps in [12, 48, 96] {
            let params = json!({"function": function, "c0": "100Mbps", "s0": "20ms"});
            let curve = Curve::new(
                serde_json::from_value(json!(function)).expect("a function"),
                1.0,
                Rate::from_mbps(100),
                Dur::from_millis(20),
            );
            let wanted = curve.delay(mbps as f64 * 125e3) / (MSS / Rate::from_mbps(mbps)).as_secs_f64();
            let (least, most) = settled(&mut Bench::of(NAME, &params, Path::droptail(mbps, 40, 20)));
            assert!(
                least > wanted - 1.5 && most < wanted + 1.5,
                "{function} at {mbps} Mbps: {least} to {most}, {wanted}"
            );
        }
    }
}

#[test]
fn powers_are_stored_too() {
    for (p, s0) in [(0.5, "10us"), (2.0, "5ms"), (3.0, "8ms")] {
        let params = json!({"c0": "100Mbps", "s0": s0, "exponent": p});
        let s0: Dur = s0.parse().expect("a time");
        let wanted = Curve::new(Function::Power, p, Rate::from_mbps(100), s0).delay(24.0 * 125e3);
        let wanted = wanted / (MSS / Rate::from_mbps(24)).as_secs_f64();
        let (least, most) = settled(&mut Bench::of(NAME, &params, Path::droptail(24, 40, 20)));
        assert!(least > wanted - 1.5 && most < wanted + 1.5, "p {p}: {least} to {most}, {wanted}");
    }
}

#[test]
fn by_the_ratio_of_rtts_one_update_reaches_the_fixed_point() {
    // 24 Mbps, R = 40 ms: the BDP is 80 packets; with p = 1 and c0 s0 = 12.5 kB, the queue is always 8.33 packets
    for pkts in [100u64, 200, 1000] {
        let cc = contract(pkts, &json!({"largest_step": 1000.0}));
        let s = pkts as f64 * 0.0005 - 0.040;
        assert!((cc.next(0.040, s) - (80.0 + 12_500.0 / 1500.0)).abs() < 1e-9, "{pkts}: {}", cc.next(0.040, s));
    }
}

#[test]
fn the_other_ratios_are_those_of_the_contract() {
    // 200 packets in 100 ms are 24 Mbps. The contract 1/s^2 has a rate of 100/144 Mbps at 60 ms, and a delay of 10 ms
    // at 25 Mbps.
    let params =
        json!({"c0": "25Mbps", "s0": "10ms", "exponent": 2.0, "largest_step": 1000.0, "dynamics": "rate_ratio"});
    let rate = contract(200, &params).next(0.040, 0.060) / 200.0;
    assert!((rate - 25.0 / 36.0 / 24.0).abs() < 1e-9, "{rate}");
    let params =
        json!({"c0": "24Mbps", "s0": "10ms", "exponent": 2.0, "largest_step": 1000.0, "dynamics": "delay_ratio"});
    let delay = contract(200, &params).next(0.040, 0.060) / 200.0;
    assert!((delay - 10.0 / 60.0).abs() < 1e-9, "{delay}");
}

#[test]
fn a_step_is_damped_and_bounded() {
    let params = json!({"dynamics": "rate_ratio", "largest_step": 2.0, "gain": 0.25});
    assert!((contract(100, &params).next(0.040, 0.0) - 125.0).abs() < 1e-9);
    let linear = json!({"dynamics": "rate_ratio", "function": "linear", "largest_step": 2.0});
    assert!((contract(100, &linear).next(0.040, 0.5) - 50.0).abs() < 1e-9);
}

#[test]
fn statistics_are_of_the_samples_since_the_last_update() {
    let mut samples = Samples::NONE;
    assert_eq!(samples.statistic(Statistic::Min), None);
    for delay in [0.003, 0.001, 0.005, 0.002] {
        samples.add(delay);
    }
    for (which, wanted) in
        [(Statistic::Min, 0.001), (Statistic::Mean, 0.00275), (Statistic::Max, 0.005), (Statistic::Latest, 0.002)]
    {
        let got = samples.statistic(which).expect("samples");
        assert!((got - wanted).abs() < 1e-15, "{which:?}: {got}");
    }
}

#[test]
fn bad_parameters_are_named() {
    for (params, word) in [
        (json!({"function": "cubic"}), "cubic"),
        (json!({"c0": "0Mbps"}), "c0"),
        (json!({"s0": "0ms"}), "s0"),
        (json!({"exponent": 0.0}), "exponent"),
        (json!({"statistic": "median"}), "median"),
        (json!({"dynamics": "aimd"}), "aimd"),
        (json!({"update_rounds": 0}), "update_rounds"),
        (json!({"gain": 0.0}), "gain"),
        (json!({"largest_step": 1.0}), "largest_step"),
        (json!({"alpha": 1}), "alpha"),
    ] {
        assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
    }
}
