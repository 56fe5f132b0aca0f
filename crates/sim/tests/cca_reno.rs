//! Reno on whole paths: the square-root law, its sawtooth, its queue, and the effect of delayed ACKs.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{PACKET, droptail, dumbbell, flow, infinite, max_min_ratio, run, throughputs};
use fairweir_path::loss::IidLossConfig;
use fairweir_path::{ElementConfig, QueueConfig};
use fairweir_scenario::{FlowSpec, FlowSummary};
use fairweir_units::{Dur, Time};

/// Returns the mean window, packets, by Little's law.
fn mean_cwnd(flow: &FlowSummary) -> f64 {
    flow.throughput_mbps * 1e6 / 8.0 * flow.rtt_ms.mean / 1e3 / PACKET.0 as f64
}

fn under_loss(per_million: u32, ack_every: u64, seed: u64) -> FlowSummary {
    let mut one = flow("reno", 40);
    one.receiver.ack_every = ack_every;
    one.ingress.push(ElementConfig::IidLoss(IidLossConfig { per_billion: per_million * 1000 }));
    run(&dumbbell(10_000, infinite(), vec![one], 400, 20, seed)).expect("a run").summary.flows.remove(0)
}

#[test]
fn random_loss_gives_the_square_root_law() {
    // Mathis: 1.22/sqrt(p). The window grows by packets, not by ACKs (RFC 3465), so delayed ACKs change nothing.
    for per_million in [100, 300, 1000] {
        for ack_every in [1, 2] {
            let law = (1.5e6 / f64::from(per_million)).sqrt();
            let cwnds: Vec<f64> = (1..=3).map(|seed| mean_cwnd(&under_loss(per_million, ack_every, seed))).collect();
            let mean = cwnds.iter().sum::<f64>() / 3.0;
            row!("reno p={per_million}e-6 ack every {ack_every}: {cwnds:.1?}, law {law:.1}");
            assert!((mean / law - 1.0).abs() < 0.15, "{per_million} {ack_every}: {mean} {law}");
        }
    }
    assert_table!();
}

#[test]
fn the_buffer_decides_utilization() {
    // The BDP is 400 packets. Utilization is full with a buffer of one BDP, and 75 % with the minimum buffer (two
    // packets, because packets are sent in pairs).
    for (buffer, least, most) in [(400, 0.995, 1.0), (2, 0.70, 0.80)] {
        let outcome = run(&dumbbell(120, droptail(buffer), vec![flow("reno", 40)], 600, 200, 1)).expect("a run");
        let utilization = outcome.summary.links[0].utilization;
        row!("reno, buffer {buffer} packets: utilization {utilization:.4}");
        assert!((least..=most).contains(&utilization), "{buffer}: {utilization}");
    }
    assert_table!();
}

#[test]
fn a_lone_flow_loses_one_packet_per_overflow() {
    // 24 Mbit/s and one BDP (80 packets): cwnd rises from 80 to 160 packets in about 10 s. The kernel's Reno loses 6
    // packets in 30 s (docs/measured/transport.md).
    let lost: Vec<u64> = (1..=3)
        .map(|seed| {
            let config = dumbbell(24, droptail(80), vec![flow("reno", 40)], 40, 10, seed);
            run(&config).expect("a run").summary.flows[0].lost_pkts
        })
        .collect();
    row!("reno, 24 Mbit/s, 40 ms, 30 s: {lost:?} packets lost");
    assert!(lost.iter().all(|n| (5..=7).contains(n)), "{lost:?}");
    assert_table!();
}

#[test]
fn loss_grows_with_the_square_of_the_flow_count() {
    // p = 1.5/cwnd^2 with cwnd = (C R + queue)/n: twice as many flows have four times the loss. Flows start 700 ms
    // apart.
    let loss = |n: u64| {
        let (mut lost, mut sent) = (0, 0);
        for seed in 1..=3 {
            let starts = (0..n).map(|i| Time::from_nanos(i * 700_000_000));
            let flows = starts.map(|start| FlowSpec { start, ..flow("reno", 40) }).collect();
            let outcome = run(&dumbbell(120, droptail(400), flows, 200, 40, seed)).expect("a run");
            lost += outcome.summary.flows.iter().map(|f| f.lost_pkts).sum::<u64>();
            sent += outcome.summary.flows.iter().map(|f| f.lost_pkts + f.delivered_pkts).sum::<u64>();
        }
        lost as f64 / sent as f64
    };
    let losses = [2, 4, 8].map(loss);
    let ratios: Vec<f64> = losses.windows(2).map(|pair| pair[1] / pair[0]).collect();
    row!("reno, loss of 2, 4 and 8 flows: {losses:.5?}, ratios {ratios:.2?}");
    assert!(ratios.iter().all(|ratio| (3.0..=5.0).contains(ratio)), "{losses:?}");
    assert_table!();
}

#[test]
fn three_bdps_of_buffer_are_four_rtprops_of_delay() {
    let outcome = run(&dumbbell(96, droptail(3 * 320), vec![flow("reno", 40); 4], 200, 60, 1)).expect("a run");
    let p95 = outcome.summary.flows[0].rtt_ms.p95;
    row!("reno, 4 flows, 3 BDP: p95 of RTT {p95:.1} ms");
    assert!((150.0..=161.0).contains(&p95), "{p95}");
    assert_table!();
}

#[test]
fn the_window_halves_once_per_episode() {
    // slow start overshoots by hundreds of packets: with SACK there is one reduction and no timeout
    let mut config = dumbbell(96, droptail(320), vec![flow("reno", 40)], 20, 0, 1);
    config.interval = Some(Dur::from_millis(10));
    let outcome = run(&config).expect("a run");
    let series = outcome.series.expect("recorded").flows;
    let cuts = series.cwnd_bytes.windows(2).filter(|w| w[1] * 10 < w[0] * 8).count();
    let loss_events = series.lost_pkts.windows(2).filter(|w| w[0] == 0 && w[1] > 0).count();
    row!("reno, {cuts} cuts, {loss_events} losses, timeouts {}", outcome.summary.flows[0].timeouts);
    assert_eq!(outcome.summary.flows[0].timeouts, 0);
    assert!(cuts >= 1 && cuts <= loss_events.max(1), "{cuts} {loss_events}");
    assert_table!();
}

#[test]
fn delayed_acks_on_one_flow_cost_it_a_bounded_part() {
    // 6 Mbps, 120 ms, 60 packets; one flow receives one ACK for four packets. Starvation paper §5.4: ratios of 2.7 and
    // 3.2 in ns-3, whose receiver waits 200 ms. With Linux's 40 ms, the burst after a loss and the ratio are smaller.
    for (cca, published) in [("reno", 2.7), ("cubic", 3.2)] {
        let (mut slow, mut fast) = (0.0, 0.0);
        for seed in 1..=8 {
            let (mut delayed, prompt) = (flow(cca, 120), flow(cca, 120));
            delayed.receiver.ack_every = 4;
            delayed.receiver.ack_timer = Dur::from_millis(200);
            let outcome = run(&dumbbell(6, droptail(60), vec![delayed, prompt], 200, 20, seed)).expect("a run");
            assert!(max_min_ratio(&outcome) < 12.0, "{cca}, seed {seed}: {:?}", throughputs(&outcome));
            slow += throughputs(&outcome)[0] / 8.0;
            fast += throughputs(&outcome)[1] / 8.0;
        }
        row!("{cca}, ACKs of four packets against one: {slow:.2} and {fast:.2} Mbps, ratio {:.2}", fast / slow);
        assert!((fast / slow / published - 1.0).abs() < 0.3, "{cca}: {}", fast / slow);
    }
    assert_table!();
}

/// Random early detection: a loss affects one packet of one flow, not all flows at once.
fn red() -> QueueConfig {
    serde_json::from_value(serde_json::json!({
        "kind": "red",
        "min_threshold": 20 * PACKET.0,
        "max_threshold": 400 * PACKET.0,
        "max_per_billion": 10_000_000,
        "gentle": true,
    }))
    .expect("a RED queue")
}

#[test]
fn two_hops_cost_the_square_root_of_two_and_the_longer_way() {
    // Parking lot: the long flow's p is the sum over both hops, so r_short / r_long = sqrt(2) RTT_long / RTT_short. A
    // full droptail queue reduces all flows at once; the long flow is then reduced twice as often, and the ratio is
    // larger.
    let ratio = |queue: QueueConfig, seed: u64| {
        let mut config = dumbbell(96, queue.clone(), vec![flow("reno", 40); 12], 160, 40, seed);
        config.links.push(crate::common::link("second", 96, queue));
        for (i, f) in config.flows.iter_mut().enumerate() {
            f.path = [vec![0, 1], vec![0], vec![1]][i % 3].clone();
        }
        let flows = run(&config).expect("a run").summary.flows;
        let mean = |long: bool, of: &dyn Fn(&FlowSummary) -> f64| {
            let values: Vec<f64> =
                flows.iter().enumerate().filter(|(i, _)| (i % 3 == 0) == long).map(|(_, f)| of(f)).collect();
            values.iter().sum::<f64>() / values.len() as f64
        };
        let law = 2f64.sqrt() * mean(true, &|f| f.rtt_ms.mean) / mean(false, &|f| f.rtt_ms.mean);
        mean(false, &|f| f.throughput_mbps) / mean(true, &|f| f.throughput_mbps) / law
    };
    let (random, full): (Vec<f64>, Vec<f64>) =
        (1..=3).map(|seed| (ratio(red(), seed), ratio(droptail(320), seed))).unzip();
    row!("reno, parking lot, ratio by the law: RED {random:.2?}, droptail {full:.2?}");
    assert!(random.iter().all(|r| (r - 1.0).abs() < 0.15), "{random:?}");
    assert!(full.iter().all(|r| (1.2..=3.0).contains(r)), "{full:?}");
    assert_table!();
}
