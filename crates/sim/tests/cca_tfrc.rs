//! TFRC on whole paths: the equation under random loss, smoothness compared with Reno, and shares.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{SEEDS, droptail, dumbbell, flow, infinite, max_min_ratio, run, throughputs};
use fairweir_path::{ElementConfig, QueueConfig, loss};
use fairweir_scenario::FlowSpec;
use fairweir_sim::Outcome;
use fairweir_units::{Dur, Time};

/// Runs one flow on 1 Gbps and 40 ms, with `per_million` packets per million lost at random.
fn lossy(cca: &str, per_million: u32, seed: u64) -> Outcome {
    let element = ElementConfig::IidLoss(loss::IidLossConfig { per_billion: per_million * 1000 });
    let flow = FlowSpec { egress: vec![element], ..flow(cca, 40) };
    let mut config = dumbbell(1000, infinite(), vec![flow], 320, 20, seed);
    config.interval = Some(Dur::from_secs(1));
    run(&config).expect("a run")
}

/// Returns the standard deviation divided by the mean of the throughput per second, after 20 s.
fn variation(outcome: &Outcome) -> f64 {
    let series = &outcome.series.as_ref().expect("recorded").flows;
    let rates: Vec<f64> = (0..series.t_ns.len())
        .filter(|&i| series.t_ns[i] > 20_000_000_000)
        .map(|i| series.throughput_mbps[i])
        .collect();
    let mean = rates.iter().sum::<f64>() / rates.len() as f64;
    (rates.iter().map(|r| (r - mean) * (r - mean)).sum::<f64>() / rates.len() as f64).sqrt() / mean
}

#[test]
fn random_loss_gives_the_equations_rate_and_a_smoother_one_than_renos() {
    for per_million in [200u32, 1000, 10_000] {
        let outcome = lossy("tfrc", per_million, 1);
        let (p, rtt) = (f64::from(per_million) / 1e6, 0.040_012);
        // RFC 5348 section 3.1
        let law = 1.0 / ((2.0 * p / 3.0).sqrt() + 12.0 * (3.0 * p / 8.0).sqrt() * p * (1.0 + 32.0 * p * p));
        let law_mbps = law * 12e3 / 1e6 / rtt;
        let rate = throughputs(&outcome)[0];
        let (ours, renos) = (variation(&outcome), variation(&lossy("reno", per_million, 1)));
        row!("p {p}: {rate:.1} Mbps, equation {law_mbps:.1}; variation {ours:.3}, reno {renos:.3}");
        // Losses within an RTT are one loss event, so the event rate is below the packet loss rate. In addition, 1/mean
        // differs from the mean of 1/p.
        assert!((0.85..1.25).contains(&(rate / law_mbps)), "{rate}, not {law_mbps}");
        assert!(ours < renos, "{ours}, reno {renos}");
    }
    assert_table!();
}

#[test]
fn it_shares_with_reno_where_loss_is_random_and_loses_where_the_buffer_overflows() {
    let red: QueueConfig = serde_json::from_value(serde_json::json!({
        "kind": "red", "min_threshold": 30_000, "max_threshold": 120_000, "limit": 240_000, "gentle": true
    }))
    .expect("a queue");
    let mut flows = vec![flow("tfrc", 40), flow("tfrc", 40), flow("reno", 40), flow("reno", 40)];
    for (i, f) in flows.iter_mut().enumerate() {
        f.start = Time::from_nanos(i as u64 * 330_000_000);
    }
    let ratio = |queue: &QueueConfig, name: &str, seed: u64| {
        let outcome = run(&dumbbell(24, queue.clone(), flows.clone(), 300, 50, seed)).expect("a run");
        let (rates, losses) = (throughputs(&outcome), outcome.summary.flows.iter().map(|f| f.loss_rate));
        row!("{name}, seed {seed}: two tfrc and two reno {rates:.1?} Mbps, loss {:.4?}", losses.collect::<Vec<_>>());
        (rates[0] + rates[1]) / (rates[2] + rates[3])
    };
    for seed in SEEDS {
        let (random, overflow) = (ratio(&red, "red", seed), ratio(&droptail(80), "droptail", seed));
        assert!((0.8..1.2).contains(&random), "{random}");
        // a paced packet is more likely to find a full buffer than a packet of a burst: the loss is ten times Reno's
        assert!((0.2..0.6).contains(&overflow), "{overflow}");
    }
    assert_table!();
}

#[test]
fn its_flows_share_a_droptail_queue() {
    let flows = vec![flow("tfrc", 40), FlowSpec { start: Time::from_nanos(330_000_000), ..flow("tfrc", 40) }];
    for seed in SEEDS {
        let outcome = run(&dumbbell(24, droptail(80), flows.clone(), 200, 50, seed)).expect("a run");
        row!("two tfrc, seed {seed}: {:.1?} Mbps", throughputs(&outcome));
        assert!(max_min_ratio(&outcome) < 1.3, "{:?}", throughputs(&outcome));
        assert!(outcome.summary.links[0].utilization > 0.99, "{}", outcome.summary.links[0].utilization);
    }
    assert_table!();
}
