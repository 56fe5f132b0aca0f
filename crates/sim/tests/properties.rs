//! Properties of all runs, tested with random scenarios and controllers.

use crate::common::{PACKET, droptail, dumbbell, flow, infinite, link, max_min_ratio, run, throughputs};
use fairweir_cca::{Ack, AckedPacket, Context, Controller, Interests, Loss, Recovery, Sent};
use fairweir_path::link::{ConstantConfig, TraceConfig};
use fairweir_path::loss::IidLossConfig;
use fairweir_path::{ConfigError, ElementConfig, LinkConfig};
use fairweir_scenario::{Config, MAX_FLOWS, Receiver, Source};
use fairweir_sim::{SimError, run_with};
use fairweir_units::{Bytes, Dur, Rate, Time};
use proptest::prelude::*;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// A controller that draws a new window at each ACK, and counts packets sent in excess of the window.
#[derive(Debug)]
struct Erratic {
    cwnd: u64,
    pacing: Option<Rate>,
    own_recovery: bool,
    sack: bool,
    recovery: Recovery,
    acked_since_ack: u64,
    violations: Arc<AtomicU64>,
}

impl Controller for Erratic {
    fn on_packet_acked(&mut self, acked: &AckedPacket, cx: &mut Context<'_>) {
        assert!(acked.sent < cx.now);
        self.acked_since_ack += 1;
    }
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        // Each packet is reported once, before the ACK that counts it.
        assert!(!self.sack || self.acked_since_ack == ack.acked);
        self.acked_since_ack = 0;
        let known = ack.sender.snd_una + ack.sender.sacked_out;
        assert!(ack.sender.delivered == known || !self.sack && ack.sender.delivered > known);
        // Probes are in flight in addition to the packets that they retransmit.
        let probes = if self.recovery == Recovery::Quic { ack.sender.retrans_out } else { 0 };
        assert!(ack.sender.inflight() <= ack.sender.packets_out() + probes);
        self.cwnd = 1 + u64::from(rand::Rng::next_u32(cx.rng)) % 120;
    }
    fn on_loss(&mut self, _: &Loss<'_>, _: &mut Context<'_>) {}
    fn on_send(&mut self, sent: &Sent<'_>, _: &mut Context<'_>) {
        // Rate reduction has its own window. Without it, a sent packet must fit in the window; one packet is always
        // permitted.
        if self.own_recovery && self.recovery == Recovery::Tcp && sent.sender.inflight() > self.cwnd.max(1) {
            self.violations.fetch_add(1, Relaxed);
        }
    }
    fn cwnd(&self) -> Bytes {
        PACKET * self.cwnd
    }
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing
    }
    fn interests(&self) -> Interests {
        Interests {
            sent: true,
            acked: true,
            rate_sample: true,
            own_recovery: self.own_recovery,
            recovery: self.recovery,
            ..Interests::default()
        }
    }
}

#[derive(Clone, Debug)]
struct Shape {
    buffer: u64,
    loss_per_billion: u32,
    ack_loss_per_billion: u32,
    ack_every: u64,
    sack: bool,
    pacing_mbps: Option<u64>,
    own_recovery: bool,
    quic: bool,
    gso: u64,
    seed: u64,
    packets: u64,
    hops: usize,
}

fn shape() -> impl Strategy<Value = Shape> {
    (
        (1..60u64, prop_oneof![Just(0u32), 0..200_000_000u32], prop_oneof![Just(0u32), 0..200_000_000u32], 1..5u64),
        (any::<bool>(), proptest::option::of(1..40u64), any::<bool>(), 1..9u64, any::<bool>()),
        (any::<u64>(), 1..400u64, 1..4usize),
    )
        .prop_map(|(a, b, c)| Shape {
            buffer: a.0,
            loss_per_billion: a.1,
            ack_loss_per_billion: a.2,
            ack_every: a.3,
            sack: b.0,
            pacing_mbps: b.1,
            own_recovery: b.2,
            gso: b.3,
            quic: b.4,
            seed: c.0,
            packets: c.1,
            hops: c.2,
        })
}

fn scenario(shape: &Shape) -> Config {
    let mut flows = vec![flow("erratic", 20), flow("erratic", 31)];
    for f in &mut flows {
        f.source = Source::Finite { bytes: PACKET * shape.packets };
        f.receiver = Receiver { ack_every: shape.ack_every, sack: shape.sack, ..Receiver::default() };
        f.ingress = vec![ElementConfig::IidLoss(IidLossConfig { per_billion: shape.loss_per_billion })];
        f.reverse = vec![ElementConfig::IidLoss(IidLossConfig { per_billion: shape.ack_loss_per_billion })];
        f.gso = shape.gso;
        f.path = (0..shape.hops).collect();
    }
    let mut config = dumbbell(24, droptail(shape.buffer), flows, 4000, 0, shape.seed);
    for hop in 1..shape.hops {
        config.links.push(link(&format!("hop{hop}"), 20, droptail(shape.buffer)));
    }
    config
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// For every sequence of windows and every lossy path, transfers complete, every packet arrives, no packet is lost
    /// that was not sent, and the sender obeys the window.
    #[test]
    fn transfers_complete_and_packets_are_conserved(shape in shape()) {
        let config = scenario(&shape);
        let violations = Arc::new(AtomicU64::new(0));
        let outcome = run_with(
            &config,
            &|_, _| Ok(Box::new(Erratic {
                cwnd: 10,
                pacing: shape.pacing_mbps.map(Rate::from_mbps),
                own_recovery: shape.own_recovery,
                sack: shape.sack,
                recovery: if shape.quic { Recovery::Quic } else { Recovery::Tcp },
                acked_since_ack: 0,
                violations: violations.clone(),
            })),
            &mut |_| ControlFlow::Continue(()),
        ).unwrap();
        let drops: u64 = outcome.summary.links.iter().map(|l| l.drops).sum();
        let mut sent = 0;
        for f in &outcome.summary.flows {
            prop_assert!(f.completion_s.is_some(), "flow {} delivered {} of {}", f.id, f.delivered_pkts, shape.packets);
            prop_assert_eq!(f.delivered_pkts, shape.packets);
            prop_assert_eq!(f.sent_pkts, shape.packets + f.retransmits);
            // A probe retransmits a packet that has not been declared lost.
            let probes = if shape.quic { 2 * f.timeouts } else { 0 };
            prop_assert!(f.lost_pkts + probes >= f.retransmits, "{} lost, {} sent again", f.lost_pkts, f.retransmits);
            prop_assert_eq!(f.loss_rate, f.lost_pkts as f64 / (f.lost_pkts + f.delivered_pkts) as f64);
            sent += f.sent_pkts;
        }
        prop_assert!(sent >= drops + 2 * shape.packets);
        prop_assert_eq!(violations.load(Relaxed), 0);
    }
}

#[test]
fn a_busy_link_is_exact_over_a_million_packets() {
    // At 7 Mbps, a packet takes 1714285.714... ns. One flow with a fixed window keeps the link busy.
    let config = dumbbell(7, infinite(), vec![flow("fixed", 10)], 1800, 1, 1);
    let outcome =
        run_with(&config, &|_, _| Ok(Box::new(Fixed { cwnd: 50 })), &mut |_| ControlFlow::Continue(())).unwrap();
    let expected = 7e6 * 1799.0 / 12_000.0;
    let delivered = outcome.summary.flows[0].delivered_pkts as f64;
    assert!(delivered > 1e6 && (delivered - expected).abs() <= 1.0, "{delivered} for {expected}");
}

/// A controller with a constant window.
#[derive(Debug)]
struct Fixed {
    cwnd: u64,
}

impl Controller for Fixed {
    fn on_ack(&mut self, _: &Ack<'_>, _: &mut Context<'_>) {}
    fn on_loss(&mut self, _: &Loss<'_>, _: &mut Context<'_>) {}
    fn cwnd(&self) -> Bytes {
        PACKET * self.cwnd
    }
}

#[test]
fn the_same_scenario_gives_the_same_bytes_and_another_seed_does_not() {
    let config = |seed| {
        let mut flows: Vec<_> = (0..4).map(|_| flow("reno", 20)).collect();
        flows[0].ingress = vec![ElementConfig::IidLoss(IidLossConfig { per_billion: 1_000_000 })];
        let mut config = dumbbell(48, droptail(80), flows, 10, 1, seed);
        config.interval = Some(Dur::from_millis(100));
        config
    };
    let print = |seed| format!("{:?}", run(&config(seed)).unwrap());
    let first = print(1);
    let others: Vec<String> =
        std::thread::scope(|s| (0..4).map(|_| s.spawn(|| print(1))).map(|t| t.join().unwrap()).collect());
    assert!(others.iter().all(|other| *other == first));
    assert_ne!(print(2), first);
}

#[test]
fn a_series_does_not_know_when_the_warm_up_ended() {
    let mut config = dumbbell(12, droptail(20), vec![flow("reno", 20), flow("cubic", 30)], 4, 0, 1);
    config.interval = Some(Dur::from_millis(250));
    // As text, because the values before the first sample are NaN.
    let mut series = |warmup_ms| {
        config.warmup = Dur::from_millis(warmup_ms);
        format!("{:?}", run(&config).unwrap().series)
    };
    let whole = series(0);
    // the warm-up ends at the end of an interval, and within an interval
    assert_eq!(series(1_000), whole);
    assert_eq!(series(1_130), whole);
}

#[test]
fn ties_between_identical_flows_favour_no_flow_over_seeds() {
    // Four identical flows start at once, in phase: each must have the highest throughput about equally often.
    let seeds = 40;
    let mut sums = [0.0; 4];
    for seed in 0..seeds {
        let flows: Vec<_> = (0..4).map(|_| flow("reno", 20)).collect();
        let outcome = run(&dumbbell(48, droptail(80), flows, 30, 5, seed)).unwrap();
        for (sum, rate) in sums.iter_mut().zip(throughputs(&outcome)) {
            *sum += rate / f64::from(seeds as u32);
        }
    }
    let mean = sums.iter().sum::<f64>() / 4.0;
    assert!(sums.iter().all(|s| (s / mean - 1.0).abs() < 0.05), "{sums:?}");
}

#[test]
fn a_run_can_be_interrupted() {
    let config = dumbbell(1000, droptail(1000), vec![flow("reno", 20)], 1000, 0, 1);
    let result = run_with(&config, &|f, s| fairweir_native::registry::build(&f.cca, &f.params, s), &mut |at| {
        if at > Time::ZERO + Dur::from_secs(1) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    assert!(matches!(result, Err(SimError::Interrupted { .. })));
}

#[test]
fn a_window_that_nothing_bounds_is_stopped() {
    let config = dumbbell(1, infinite(), vec![flow("greedy", 20)], 10, 0, 1);
    let result =
        run_with(
            &config,
            &|_, _| Ok(Box::new(Fixed { cwnd: u64::MAX / PACKET.0 })),
            &mut |_| ControlFlow::Continue(()),
        );
    match result {
        Err(SimError::Controller { reason, .. }) => assert!(reason.contains("cwnd"), "{reason}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_application_limited_flow_gets_what_it_asks_for() {
    let mut config = dumbbell(48, droptail(200), vec![flow("reno", 20)], 20, 2, 1);
    config.flows[0].source = Source::Rate { rate: Rate::from_mbps(6) };
    let outcome = run(&config).unwrap();
    assert!((outcome.summary.flows[0].throughput_mbps - 6.0).abs() < 0.01, "{:?}", outcome.summary);
    assert!(outcome.summary.flows[0].rtt_ms.max < 20.5);
}

#[test]
fn reno_shares_evenly_over_seeds() {
    let ratios: Vec<f64> = (0..5)
        .map(|seed| {
            let flows = vec![flow("reno", 40), flow("reno", 40)];
            max_min_ratio(&run(&dumbbell(24, droptail(80), flows, 200, 20, seed)).unwrap())
        })
        .collect();
    assert!(ratios.iter().all(|r| *r < 1.5), "{ratios:?}");
}

#[test]
fn elements_after_a_hop_that_is_not_there_are_rejected() {
    let mut config = dumbbell(48, droptail(200), vec![flow("reno", 20)], 20, 2, 1);
    config.flows[0].reverse_egress = vec![ElementConfig::IidLoss(IidLossConfig { per_billion: 1 })];
    match run(&config) {
        Err(SimError::BadConfig(error)) => assert_eq!(error.key, "flows.0.reverse_egress"),
        other => panic!("{other:?}"),
    }
}

/// A key, and a change that sets it to an invalid value.
type Excess = (&'static str, fn(&mut Config));

#[test]
fn numbers_that_a_run_cannot_represent_are_rejected_with_key_value_and_hint() {
    const DAY: Dur = Dur::from_secs(86_400);
    let cases: [Excess; 19] = [
        ("packet", |c| c.packet = Bytes(65_536)),
        ("ack", |c| c.ack = Bytes(1 << 40)),
        ("duration", |c| c.duration = Dur::MAX),
        ("warmup", |c| c.warmup = c.duration),
        ("flows", |c| c.flows = vec![c.flows[0].clone(); MAX_FLOWS + 1]),
        // 80 Tbps for 30 days: 26 EB.
        ("links.0.hop.link.rate", |c| {
            c.links[0].hop.link = LinkConfig::Constant(ConstantConfig { rate: Rate::from_mbps(80_000_000) });
            c.duration = DAY * 30;
        }),
        // A tebibyte per nanosecond.
        ("links.0.hop.link.bytes", |c| {
            c.links[0].hop.link =
                LinkConfig::Trace(TraceConfig { opportunities: vec![Time::from_nanos(1)], bytes: Bytes(1 << 40) });
        }),
        ("links.0.delay", |c| c.links[0].delay = Dur::MAX),
        ("flows.0.initial_cwnd", |c| c.flows[0].initial_cwnd = u64::MAX),
        ("flows.0.gso", |c| c.flows[0].gso = 0),
        ("flows.0.rwnd", |c| c.flows[0].rwnd = Some(0)),
        ("flows.0.min_rto", |c| c.flows[0].min_rto = Dur::MAX),
        ("flows.0.source.rate", |c| c.flows[0].source = Source::Rate { rate: Rate::MAX }),
        ("flows.0.source.on", |c| c.flows[0].source = Source::OnOff { on: Dur::MAX, off: DAY }),
        // The 256th element of a flow would have the same random stream as the first element of the next flow.
        ("flows.0.egress", |c| c.flows[0].egress = vec![ElementConfig::IidLoss(IidLossConfig { per_billion: 1 }); 256]),
        ("interval", |c| c.interval = Some(Dur::from_nanos(1))),
        ("flows.0.path", |c| c.flows[0].path = vec![7]),
        ("flows.0.start", |c| c.flows[0].start = Time::NEVER),
        ("flows.0.stop", |c| c.flows[0].stop = Some(Time::ZERO)),
    ];
    for (expected, change) in cases {
        let mut config = dumbbell(48, droptail(200), vec![flow("reno", 20)], 20, 2, 1);
        change(&mut config);
        match run(&config) {
            Err(SimError::BadConfig(ConfigError { key, reason, hint })) => {
                assert_eq!(key, expected, "{reason}");
                assert!(reason.contains('`') && !hint.is_empty(), "{key}: {reason}, hint: {hint}");
            }
            other => panic!("{expected}: {other:?}"),
        }
    }
}
