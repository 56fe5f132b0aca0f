use super::*;
use crate::watch::Unwatched;
use fairweir_path::link::ConstantConfig;
use fairweir_path::queue::{CodelConfig, DroptailConfig, Dualpi2Config};
use fairweir_path::{ElementConfig, HopConfig, LinkConfig, PrivateLinkConfig, QueueConfig, jitter};
use fairweir_scenario::{Host, LinkSpec, Mechanism, Transport};
use fairweir_units::{Bytes, Rate};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use serde_json::{Value, json};
use std::ops::ControlFlow;

/// Returns a time that is not a whole number of microseconds.
fn odd(us: u64, salt: u64) -> Dur {
    Dur::from_nanos(us * 1000 + salt * 37 % 991)
}

fn elements() -> impl Strategy<Value = Vec<ElementConfig>> {
    let delay = (0..20_000u64, any::<u16>()).prop_map(|(us, salt)| {
        ElementConfig::Delay(jitter::DelayConfig { by: odd(us, salt.into()), from: Time::ZERO })
    });
    let uniform = (1..5_000u64).prop_map(|us| ElementConfig::Uniform(jitter::UniformConfig { max: odd(us, us) }));
    let link = (5_000_000..40_000_000u64, 2..50u64).prop_map(|(rate, limit)| {
        ElementConfig::Link(PrivateLinkConfig {
            link: LinkConfig::Constant(ConstantConfig { rate: Rate::from_bytes_per_sec(rate) }),
            limit: None,
            limit_packets: Some(limit),
        })
    });
    proptest::collection::vec(prop_oneof![delay, uniform, link], 0..3)
}

fn transport() -> impl Strategy<Value = Transport> {
    proptest::sample::subsequence(Mechanism::ALL.to_vec(), 0..=Mechanism::ALL.len())
        .prop_map(|mechanisms| mechanisms.into_iter().collect())
}

fn flow() -> impl Strategy<Value = FlowSpec> {
    let hops = (proptest::collection::vec(0..3usize, 1..3), proptest::collection::vec(0..3usize, 0..3));
    let cca = prop_oneof![Just(("reno", false)), Just(("bbr", false)), Just(("cubic", true)), Just(("prague", true))];
    let own = (elements(), elements(), elements(), elements());
    let host = (1..3u64, prop_oneof![Just(0), 0..300_000u64], transport());
    (hops, own, cca, 0..30_000u64, 0..30_000u64, host).prop_map(
        |((path, ack_path), (ingress, egress, reverse, last), (cca, ecn), forward, back, host)| {
            let (ack_every, processing, transport) = host;
            let mut flow: FlowSpec = serde_json::from_value(json!({
                "id": "f", "cca": cca, "path": path, "forward_delay": 0, "reverse_delay": 0, "rtprop": 1,
                "ack_path": ack_path, "receiver": {"ack_every": ack_every}, "ecn": ecn, "processing": processing,
                "transport": transport,
            }))
            .expect("a flow");
            (flow.forward_delay, flow.reverse_delay) = (odd(forward, forward), odd(back, 7 * back));
            (flow.ingress, flow.egress, flow.reverse) = (ingress, egress, reverse);
            flow.reverse_egress = if flow.ack_path.is_empty() { Vec::new() } else { last };
            flow
        },
    )
}

fn link() -> impl Strategy<Value = LinkSpec> {
    let queue = prop_oneof![
        3 => (5..200u64).prop_map(|n| {
            QueueConfig::Droptail(DroptailConfig { limit: None, limit_packets: Some(n) })
        }),
        1 => Just(QueueConfig::Codel(CodelConfig { limit_packets: Some(300), ..CodelConfig::default() })),
        1 => Just(QueueConfig::Dualpi2(Dualpi2Config { limit_packets: Some(300), ..Dualpi2Config::default() })),
    ];
    (250_000..3_000_000u64, queue, 0..5_000u64).prop_map(|(rate, queue, delay)| LinkSpec {
        name: String::new(),
        hop: HopConfig { link: LinkConfig::Constant(ConstantConfig { rate: Rate::from_bytes_per_sec(rate) }), queue },
        delay: odd(delay, delay),
    })
}

/// Returns the outcome as text, because the series contains NaNs.
fn outcome(config: &Config, timings: &[Option<Timing>], first_packet: u64) -> String {
    let factory = |flow: &FlowSpec, start: &Start| fairweir_native::registry::build(&flow.cca, &flow.params, start);
    let engine = Engine::with_timings(config, &factory, timings, first_packet, Unwatched).expect("a valid scenario");
    let mut outcome = engine.run(&mut |_| ControlFlow::Continue(())).expect("a run");
    outcome.summary.events = 0;
    format!("{outcome:?}")
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn batches_change_nothing_but_the_number_of_events(
        links in proptest::collection::vec(link(), 3..=3),
        mut flows in proptest::collection::vec(flow(), 1..4),
        seed: u64,
    ) {
        for (i, flow) in flows.iter_mut().enumerate() {
            flow.start = Time::ZERO + odd(1_000 * i as u64, 3 * i as u64);
        }
        let config = Config {
            duration: Dur::from_secs(3), warmup: Dur::from_secs(1), seed, packet: Bytes(1500), ack: Bytes(52),
            links, flows, interval: Some(Dur::from_millis(130)), host: Host::default(),
        };
        let timings = hop_timings(&config);
        let batched = outcome(&config, &timings, 0);
        let one_by_one = outcome(&config, &vec![None; timings.len()], 0);
        prop_assert_eq!(batched, one_by_one);
    }
}

/// Two flows with the same controller, queue overflow, random loss, ECN marks and delayed ACKs.
fn impaired(cca: &'static str) -> impl Strategy<Value = Config> {
    let queue = prop_oneof![
        (8..60u64).prop_map(|n| json!({"kind": "droptail", "limit_packets": n})),
        (8..60u64).prop_map(|n| json!({"kind": "ecn-threshold", "mark_above_packets": n / 2, "limit_packets": n})),
        Just(json!({"kind": "codel", "limit_packets": 300, "ecn": true})),
        Just(json!({"kind": "dualpi2", "limit_packets": 300})),
    ];
    let source = prop_oneof![
        4 => Just(json!({"kind": "bulk"})),
        1 => (200_000..2_000_000u64).prop_map(|bytes| json!({"kind": "finite", "bytes": bytes})),
        1 => (100_000..1_000_000u64).prop_map(|rate| json!({"kind": "rate", "rate": rate})),
        1 => Just(json!({"kind": "on-off", "on": 300_000_000, "off": 100_000_000})),
    ];
    let receiver = (1..4u64, any::<bool>());
    let losses = (0..20_000_000u64, 0..200_000_000u64);
    (queue, source, receiver, losses, any::<[bool; 2]>(), (any::<u64>(), transport())).prop_map(
        move |(queue, source, (ack_every, sack), (lost, acks_lost), [ecn, jitter], (seed, transport))| {
            let loss = |per_billion: u64| json!([{"kind": "iid-loss", "per_billion": per_billion}]);
            let flow = |start: u64, source: &Value| {
                json!({
                    "id": "f", "cca": cca, "path": [0], "start": start, "rtprop": 20_000_000, "oracle_rtprop": 20_000_000,
                    "forward_delay": 10_000_000, "reverse_delay": 10_000_000, "source": source, "ecn": ecn,
                    "receiver": {"ack_every": ack_every, "sack": sack}, "min_rto": 50_000_000,
                    "transport": transport,
                    "ingress": if lost > 10_000_000 { loss(lost) } else { json!([]) },
                    "egress": if jitter { json!([{"kind": "uniform", "max": 3_000_000}]) } else { json!([]) },
                    "reverse": if acks_lost > 100_000_000 { loss(acks_lost) } else { json!([]) },
                })
            };
            serde_json::from_value(json!({
                "duration": 2_500_000_000u64, "warmup": 700_000_000, "interval": 100_000_000, "seed": seed,
                "links": [{"name": "b", "hop": {"link": {"kind": "constant", "rate": 1_500_000}, "queue": queue}}],
                "flows": [flow(0, &source), flow(400_000_001, &json!({"kind": "bulk"}))],
            }))
            .expect("a scenario")
        },
    )
}

/// Runs `config` with packets numbered from `first_packet`.
fn numbered_from(first_packet: u64, config: &Config) -> String {
    outcome(config, &hop_timings(config), first_packet)
}

/// Number of a first packet that is far from 0 (BBR uses the amount delivered since the start) and from 2^32.
const PLAIN: u64 = 1 << 20;

#[test]
fn results_do_not_depend_on_packet_numbers() {
    // A run with 2^32 packets takes minutes. If the numbers start just below 2^32, the run reaches 2^32 at once.
    for cca in fairweir_native::registry::algorithms().map(|algorithm| algorithm.name) {
        let mut runner = TestRunner::new(ProptestConfig { cases: 16, failure_persistence: None, ..Default::default() });
        let cases = (impaired(cca), 1..400u64);
        let result = runner.run(&cases, |(config, packets_before)| {
            let expected = numbered_from(PLAIN, &config);
            for limit in [1 << 32, 1 << 48] {
                prop_assert_eq!(&expected, &numbered_from(limit - packets_before, &config), "{} {}", cca, limit);
            }
            Ok(())
        });
        result.unwrap_or_else(|e| panic!("{cca}: {e}"));
    }
}
