//! The receiver's view of simulated flows.

use fairweir_guard::policy::{Class, Classify, Config as Policy, FlowConfig, Policies};
use fairweir_guard::{Feature, Limits, Plan, Row, Table};
use fairweir_rehearse::{Examples, HeldExamples, Receiver, Rows, Sampling};
use fairweir_scenario::{Config, FlowSpec, Observer};
use fairweir_segments::{SegmentSink, Wire, receiver_address};
use fairweir_sim::run_observed;
use fairweir_tcp::{Segment, Side};
use fairweir_units::{Dur, Time};
use serde_json::{Value, json};
use std::net::Ipv4Addr;
use std::ops::ControlFlow;

const MS: u64 = 1_000_000;

/// 12 Mbit/s (a packet of 1500 bytes takes 1 ms) and a path of 40 ms.
fn scenario(ccas: &[&str], buffer_packets: u64, seconds: u64) -> Config {
    let flow = |cca: &&str| {
        json!({
            "id": cca, "cca": cca, "path": [0], "forward_delay": 20 * MS, "reverse_delay": 20 * MS, "rtprop": 40 * MS,
        })
    };
    let config = json!({
        "duration": seconds * 1000 * MS, "seed": 1, "flows": ccas.iter().map(flow).collect::<Vec<Value>>(),
        "links": [{"name": "bottleneck", "hop": {
            "link": {"kind": "constant", "rate": 1_500_000},
            "queue": {"kind": "droptail", "limit": buffer_packets * 1500},
        }}],
    });
    serde_json::from_value(config).expect("a scenario")
}

fn watch(config: &Config, observer: &mut dyn Observer) {
    let factory =
        |flow: &FlowSpec, start: &fairweir_cca::Start| fairweir_native::registry::build(&flow.cca, &flow.params, start);
    run_observed(config, &factory, &mut |_| ControlFlow::Continue(()), observer).expect("a run");
}

#[test]
fn a_guard_measures_simulated_flows() {
    let config = scenario(&["cubic"], 40, 10);
    let plan = Plan::new(["min_rtt_us", "loss_rate.window32"].map(|name| name.parse().expect("a feature")));
    let mut row = Row::for_plan(&plan);
    let mut table = Table::new(Limits::default(), [1; 16], plan);
    let mut seen = None;
    let mut wire = Wire::new(&config, Side::Receiver, |segment: &Segment| {
        let packet = fairweir_guard::Packet::of_segment(segment, |address| address == receiver_address(), 1448)
            .expect("managed");
        seen = table.observe(&packet).or(seen);
        ControlFlow::Continue(())
    });
    watch(&config, &mut wire);
    let _ = wire.finish();
    let id = seen.expect("the handshake opens the flow");
    table.fill(id, &mut row);
    let monitor = table.get(id).expect("it lives").monitor();
    // The receiver measures an RTT from an ACK to the data that the ACK permits. It has a resolution of 1 ms, and is at
    // least the path's RTT.
    let min = monitor.rtt().min().expect("an RTT");
    assert!((Dur::from_millis(40)..Dur::from_millis(43)).contains(&min), "{min:?}");
    assert!(row.get(1).is_some_and(|loss| loss < 0.2) && monitor.lost() > 0);
}

fn examples(config: &Config) -> Rows {
    let sampling = Sampling { from: Time::from_nanos(12_000 * MS), one_in: 10, seed: 3 };
    let mut wire = Examples::watch(config, sampling);
    watch(config, &mut wire);
    wire.finish().rows()
}

/// Mean throughput in a flow's examples.
fn mean_mbps(rows: &Rows, flow: u32) -> f64 {
    let mbps: Vec<f64> = (0..rows.flow.len()).filter(|&i| rows.flow[i] == flow).map(|i| rows.mbps[i]).collect();
    assert!(mbps.len() > 3, "{mbps:?}");
    mbps.iter().sum::<f64>() / mbps.len() as f64
}

#[test]
fn lessons_of_held_flows_show_that_the_link_is_idle() {
    #[derive(Debug)]
    struct AlwaysAbove;
    impl Classify for AlwaysAbove {
        fn features(&self) -> Vec<Feature> {
            Vec::new()
        }
        fn classify(&self, rows: &[&[Option<f64>]]) -> Vec<Class> {
            vec![Class::Above; rows.len()]
        }
    }
    let config = scenario(&["cubic"], 100, 20);
    let flow = FlowConfig { idle: 1.0, ..FlowConfig::with_model("none") };
    let wanted = Policy { flow: Some(flow), ..Policy::default() };
    let policies = Policies::new(&wanted, Some(Box::new(AlwaysAbove))).expect("a model");
    let sampling = Sampling { from: Time::from_nanos(12_000 * MS), one_in: 1, seed: 3 };
    let receiver = Receiver::new(&config, &[Some(Ipv4Addr::LOCALHOST)], policies);
    let mut held = HeldExamples { receiver, examples: Examples::watch(&config, sampling) };
    watch(&config, &mut held);
    let rows = held.examples.finish().rows();
    // Two segments, plus rounding to the window's unit, per RTT of 40 ms.
    assert!(mean_mbps(&rows, 0) < 1.0, "{}", mean_mbps(&rows, 0));
}

#[test]
fn a_capture_teaches_what_its_run_does() {
    let config = scenario(&["cubic"], 100, 20);
    let mut segments = Vec::new();
    let mut wire = Wire::new(&config, Side::Receiver, |segment: &Segment| {
        segments.push(*segment);
        ControlFlow::Continue(())
    });
    watch(&config, &mut wire);
    let _ = wire.finish();
    let sampling = Sampling { from: Time::from_nanos(12_000 * MS), one_in: 10, seed: 3 };
    let mut read = Examples::of_capture(vec![receiver_address()], 1448, sampling);
    for segment in &segments {
        let _ = read.take(segment);
    }
    let (read, watched) = (read.rows(), examples(&config));
    // The capture begins with the handshake, before the start of the run.
    assert!(watched.flow.len() > 100 && read.flow.len().abs_diff(watched.flow.len()) < watched.flow.len() / 10);
    assert!((mean_mbps(&read, 0) - mean_mbps(&watched, 0)).abs() < 0.1);
    assert!(read.t_ns.iter().all(|&t| t >= 12_000 * MS) && read.t_ns.is_sorted());
}

#[test]
fn lessons_know_the_truth() {
    // Cubic fills a buffer in which Vegas holds only a few packets.
    let unlike = examples(&scenario(&["cubic", "vegas"], 100, 20));
    assert!(mean_mbps(&unlike, 0) > 9.0 && mean_mbps(&unlike, 1) < 3.0);
    assert!(unlike.active.iter().all(|&flows| (1..=2).contains(&flows)) && unlike.active.contains(&2));
    assert_eq!(unlike.values.len(), unlike.flow.len() * 209);
    assert!(unlike.t_ns.iter().all(|&t| t >= 12_000 * MS) && unlike.t_ns.is_sorted());
    let rows = unlike.flow.len();
    assert!((600..1000).contains(&rows), "a tenth of 8 s at 1000 packets/s: {rows}");
    let alone = examples(&scenario(&["cubic"], 100, 20));
    assert!(alone.active.iter().all(|&flows| flows == 1));
    assert!(alone.mbps.iter().all(|mbps| (11.0..12.4).contains(mbps)), "the link is full: 12 Mbit/s");
    assert_eq!(examples(&scenario(&["cubic"], 100, 20)).flow, alone.flow);
}
