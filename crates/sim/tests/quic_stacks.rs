//! Controllers of QUIC stacks on whole paths: results with one flow, repeated runs, and difficult paths.

use crate::common::{dumbbell, flow, run};
use fairweir_path::ElementConfig;
use fairweir_path::QueueConfig;
use fairweir_path::jitter::RandomAggregationConfig;
use fairweir_path::loss::{BurstLossConfig, IidLossConfig};
use fairweir_path::queue::DroptailConfig;
use fairweir_quic_cc::ALGORITHMS;
use fairweir_scenario::{Config, FlowSpec};
use fairweir_units::{Bytes, Dur, Rate};

/// Returns a scenario with `flows` on 48 Mbps, 40 ms and a buffer of one BDP in bytes.
fn one_bdp(flows: Vec<FlowSpec>, seconds: u64, seed: u64) -> Config {
    let limit = Some((Rate::from_mbps(48) * Dur::from_millis(40)).max(Bytes(1)));
    let queue = QueueConfig::Droptail(DroptailConfig { limit, ..DroptailConfig::default() });
    dumbbell(48, queue, flows, seconds, 5, seed)
}

#[test]
fn each_alone_on_a_link() {
    for algorithm in ALGORITHMS {
        let outcome = run(&one_bdp(vec![flow(algorithm.name, 40)], 60, 1)).expect("a run");
        let one = &outcome.summary.flows[0];
        let (rate, loss, qdelay) = (one.throughput_mbps, one.loss_rate * 100.0, one.qdelay_ms.mean);
        row!(
            "{:16} {rate:6.2} Mbps, loss {loss:.4} %, queueing {qdelay:.1} ms, timeouts {}",
            algorithm.name,
            one.timeouts
        );
        assert!(rate > 39.0, "{} gets {rate} Mbps", algorithm.name);
    }
    // quinn's connection ignores the pacing rate of its BBR, so BBR fills the buffer.
    let paced = run(&one_bdp(vec![flow("quinn/bbr", 40)], 60, 1)).expect("a run");
    let own = run(&one_bdp(vec![flow("s2n-quic/bbr", 40)], 60, 1)).expect("a run");
    assert!(paced.summary.flows[0].loss_rate > 0.003 && own.summary.flows[0].loss_rate < 0.002);
    assert_table!();
}

#[test]
fn runs_are_repeatable() {
    for algorithm in ALGORITHMS {
        let flows = || {
            let mut flows = vec![flow(algorithm.name, 40), flow("cubic", 30)];
            flows[0].ingress.push(ElementConfig::IidLoss(IidLossConfig { per_billion: 1_000_000 }));
            flows
        };
        let text = |seed| format!("{:?}", run(&one_bdp(flows(), 20, seed)).expect("a run").summary);
        let first = text(1);
        let second = std::thread::scope(|s| s.spawn(|| text(1)).join().expect("no panic"));
        assert_eq!(first, second, "{}", algorithm.name);
        assert_ne!(first, text(2), "{}", algorithm.name);
    }
}

#[test]
fn difficult_paths_end_no_run() {
    let outages = ElementConfig::BurstLoss(BurstLossConfig {
        to_bad_per_billion: 3_000_000,
        to_good_per_billion: 250_000_000,
        in_good_per_billion: 10_000_000,
        in_bad_per_billion: 1_000_000_000,
    });
    let batches =
        RandomAggregationConfig { max: Dur::from_millis(8), rate: Rate::from_mbps(48), counts_as: Some(Bytes(1500)) };
    for algorithm in ALGORITHMS {
        for (ack_every, sack, seed) in [(1, true, 1), (2, true, 2), (16, true, 3), (2, false, 4)] {
            let mut one = flow(algorithm.name, 40);
            one.receiver.ack_every = ack_every;
            one.receiver.sack = sack;
            one.ingress.push(outages.clone());
            one.reverse.push(ElementConfig::RandomAggregation(batches.clone()));
            one.reverse.push(ElementConfig::IidLoss(IidLossConfig { per_billion: 50_000_000 }));
            let outcome = run(&one_bdp(vec![one], 30, seed)).unwrap_or_else(|e| panic!("{}: {e}", algorithm.name));
            let pkts = outcome.summary.flows[0].delivered_pkts;
            assert!(pkts > 100, "{} delivers {pkts} packets (an ACK for {ack_every}, SACK {sack})", algorithm.name);
        }
    }
}
