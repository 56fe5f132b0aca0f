//! Runs on Linux's hosts with all mechanisms of `transport`, and with delayed ACKs, bursts and processing times, so that
//! all of them take effect. The other recorded tables are of ideal hosts; without this table a change of a mechanism would
//! change no table, and pages of results would seem to be of today's simulator.

use crate::common::{PACKET, droptail, dumbbell, flow, run};
use fairweir_path::ElementConfig;
use fairweir_path::queue::EcnThresholdConfig;
use fairweir_path::{QueueConfig, jitter::UniformConfig};
use fairweir_scenario::{FlowSpec, FlowSummary, Mechanism, Source};
use fairweir_units::{Dur, Rate, Time};
use serde_json::{Value, json};

const CCAS: [&str; 7] = ["reno", "cubic", "bbr", "dctcp", "vegas", "copa", "frcc"];
const MBPS: u64 = 24;
const RTPROP_MS: u64 = 40;

/// A path or a source that the first two of three flows have.
struct Impairment {
    name: &'static str,
    apply: fn(&mut FlowSpec),
}

fn element(value: Value) -> ElementConfig {
    serde_json::from_value(value).expect("an element")
}

const IMPAIRMENTS: [Impairment; 7] = [
    Impairment { name: "none", apply: |_| {} },
    Impairment {
        name: "ACKs aggregated for 20 ms",
        apply: |flow| {
            let rate = Rate::from_mbps(MBPS).bytes_per_sec();
            flow.reverse = vec![element(json!({"kind": "ack-aggregation", "hold": 20_000_000, "rate": rate}))];
        },
    },
    Impairment {
        name: "2 % loss, jitter up to 10 ms",
        apply: |flow| {
            flow.ingress = vec![element(json!({"kind": "iid-loss", "per_billion": 20_000_000}))];
            flow.egress = vec![ElementConfig::Uniform(UniformConfig { max: Dur::from_millis(10) })];
        },
    },
    Impairment {
        name: "policer at 6 Mbit/s",
        apply: |flow| {
            let rate = Rate::from_mbps(6).bytes_per_sec();
            flow.ingress = vec![element(json!({"kind": "policer", "rate": rate, "burst": 20 * 1500}))];
        },
    },
    Impairment {
        name: "on for 1 s, off for 1 s",
        apply: |flow| flow.source = Source::OnOff { on: Dur::from_secs(1), off: Dur::from_secs(1) },
    },
    Impairment {
        name: "pauses of 600 ms every 5 s",
        apply: |flow| {
            let point = |ms: u64, delay: u64| json!({"at": ms * 1_000_000, "delay": delay * 1_000_000});
            let points = [point(0, 0), point(4_000, 600), point(4_600, 0)];
            flow.egress = vec![element(json!({"kind": "trajectory", "points": points, "repeat": 5_000_000_000_u64}))];
        },
    },
    Impairment {
        name: "unlimited receive window",
        apply: |flow| {
            let without = Mechanism::ALL.into_iter().filter(|&one| one != Mechanism::Autotuning);
            flow.transport = without.collect();
        },
    },
];

/// Returns flow `index` of three on Linux's hosts.
fn on_linux(cca: &str, index: u64) -> FlowSpec {
    FlowSpec {
        id: format!("{cca}-{index}"),
        start: Time::ZERO + Dur::from_millis(70 * index),
        transport: Mechanism::ALL.into_iter().collect(),
        processing: Dur::from_micros(500),
        gso: 44,
        ecn: cca == "dctcp",
        receiver: serde_json::from_value(json!({"ack_every": 2, "ack_timer": 40_000_000, "sack": true}))
            .expect("a receiver"),
        ..flow(cca, RTPROP_MS)
    }
}

/// Returns a flow's line of the table.
fn line(one: &FlowSummary) -> String {
    format!(
        "    {:>5} sent {:>5} delivered {:>5} lost {:>5} sent again {:>2} timeouts {:>9.3} ms",
        one.sent_pkts, one.delivered_pkts, one.lost_pkts, one.retransmits, one.timeouts, one.rtt_ms.mean,
    )
}

/// Returns the summaries of the three flows of `cca`, the first two with an impairment, on hosts without a mechanism.
fn play(cca: &str, impairment: &Impairment, without: Option<Mechanism>) -> Vec<FlowSummary> {
    let mut flows: Vec<FlowSpec> = (0..3).map(|index| on_linux(cca, index)).collect();
    flows.iter_mut().take(2).for_each(impairment.apply);
    for flow in &mut flows {
        let kept = Mechanism::ALL.into_iter().filter(|&one| flow.transport.has(one) && Some(one) != without);
        flow.transport = kept.collect();
    }
    let queue = match cca {
        "dctcp" => QueueConfig::EcnThreshold(EcnThresholdConfig {
            mark_above: Some(PACKET * 20),
            limit: Some(PACKET * 60),
            ..EcnThresholdConfig::default()
        }),
        _ => droptail(60),
    };
    run(&dumbbell(MBPS, queue, flows, 20, 2, 1)).expect("a run").summary.flows
}

#[test]
fn hosts_with_all_mechanisms_are_as_recorded() {
    for cca in CCAS {
        for impairment in &IMPAIRMENTS {
            row!("{cca}, {}", impairment.name);
            for one in play(cca, impairment, None) {
                row!("{}", line(&one));
                assert!(one.delivered_pkts > 100, "{cca}, {}: a flow starves", impairment.name);
            }
        }
    }
    assert_table!();
}

#[test]
fn each_mechanism_changes_the_table() {
    for mechanism in Mechanism::ALL {
        let changes = |cca| {
            let lines = |one: &Impairment, without| play(cca, one, without).iter().map(line).collect::<Vec<_>>();
            let is_changed = |one: &Impairment| lines(one, None) != lines(one, Some(mechanism));
            IMPAIRMENTS.iter().any(is_changed)
        };
        assert!(CCAS.into_iter().any(changes), "{mechanism:?}");
    }
}
