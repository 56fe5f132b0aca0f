//! A simulated capture is ordered, complete and consistent with the path.

use fairweir_capture::{Reader, Writer};
use fairweir_scenario::{Config, FlowSpec};
use fairweir_segments::{EPOCH, Wire};
use fairweir_sim::{Outcome, run_observed};
use fairweir_tcp::{Ecn, Flags, Segment, Side};
use fairweir_units::Dur;
use proptest::prelude::*;
use serde_json::{Value, json};
use std::ops::ControlFlow;

const MS: u64 = 1_000_000;

fn flow(cca: &str, more: Value) -> Value {
    let mut flow = json!({
        "id": cca, "cca": cca, "path": [0], "forward_delay": 20 * MS, "reverse_delay": 20 * MS, "rtprop": 40 * MS,
    });
    if let (Some(flow), Some(more)) = (flow.as_object_mut(), more.as_object()) {
        flow.extend(more.clone());
    }
    flow
}

/// 12 Mbit/s: a packet of 1500 bytes takes 1 ms.
fn scenario(flows: &[Value], buffer_packets: u64, seconds: u64) -> Config {
    let link = |name: &str| {
        json!({"name": name, "delay": 0, "hop": {
            "link": {"kind": "constant", "rate": 1_500_000},
            "queue": {"kind": "droptail", "limit": buffer_packets * 1500},
        }})
    };
    let config = json!({
        "duration": seconds * 1000 * MS, "seed": 1, "links": [link("a"), link("b")], "flows": flows,
    });
    serde_json::from_value(config).expect("a scenario")
}

fn watch(config: &Config, observer: &mut dyn fairweir_scenario::Observer) -> Outcome {
    let factory =
        |flow: &FlowSpec, start: &fairweir_cca::Start| fairweir_native::registry::build(&flow.cca, &flow.params, start);
    run_observed(config, &factory, &mut |_| ControlFlow::Continue(()), observer).expect("a run")
}

fn capture(config: &Config, side: Side) -> (Outcome, Vec<Segment>) {
    let mut segments = Vec::new();
    let mut wire = Wire::new(config, side, |segment: &Segment| {
        segments.push(*segment);
        ControlFlow::Continue(())
    });
    let outcome = watch(config, &mut wire);
    let _ = wire.finish();
    (outcome, segments)
}

fn is_data(segment: &Segment) -> bool {
    segment.payload > 0
}

#[test]
fn a_handshake_then_data_then_acks() {
    let (_, segments) = capture(&scenario(&[flow("reno", json!({}))], 100, 2), Side::Sender);
    let since = |segment: &Segment| segment.time.as_nanos() as i64 - EPOCH.as_nanos() as i64;
    let [syn, syn_ack, ack, first, ..] = segments[..] else { panic!("too few") };
    assert!(syn.flags == Flags::SYN && syn_ack.flags == Flags::SYN.and(Flags::ACK));
    assert_eq!((since(&syn), since(&syn_ack), since(&ack), since(&first)), (-40 * MS as i64, 0, 0, 0));
    assert_eq!(syn.options.mss, Some(1460));
    assert_eq!((ack.payload, first.seq, first.payload, first.ip_bytes), (0, 1, 1448, 1500));
    let echo = segments.iter().find(|s| s.dst == first.src && !s.flags.has(Flags::SYN)).expect("an ACK");
    assert_eq!((since(echo), echo.ack, echo.ip_bytes), (41 * MS as i64, 1449, 52));
    assert_eq!(echo.options.timestamps.map(|t| t.tsecr), first.options.timestamps.map(|t| t.tsval));
    let next = segments.iter().find(|s| is_data(s) && s.time >= echo.time).expect("data");
    assert_eq!(next.options.timestamps.map(|t| t.tsecr), echo.options.timestamps.map(|t| t.tsval));
}

#[test]
fn a_simulated_handshake_is_captured_on_its_path() {
    let config = scenario(&[flow("reno", json!({"transport": ["handshake"], "ecn": true}))], 100, 2);
    let [at_sender, at_receiver] = [Side::Sender, Side::Receiver].map(|side| capture(&config, side).1);
    let since = |segment: &Segment| segment.time.since(EPOCH).as_nanos() / 1000;
    // 60 bytes take 40 us at 12 Mbit/s; the SYN-ACK returns on a path without links.
    let times: Vec<u64> = at_sender.iter().take(4).map(since).collect();
    assert_eq!(times, [0, 40_040, 40_040, 40_040]);
    let times: Vec<u64> = at_receiver.iter().take(4).map(since).collect();
    assert_eq!(times, [20_040, 20_040, 60_040, 61_040]);
    for segments in [&at_sender, &at_receiver] {
        let [syn, syn_ack, ack, first] = segments[..4] else { panic!("too few") };
        assert_eq!(syn.flags, Flags::SYN.and(Flags::ECE).and(Flags::CWR));
        assert_eq!(syn_ack.flags, Flags::SYN.and(Flags::ACK).and(Flags::ECE));
        assert_eq!((ack.payload, first.payload, first.seq), (0, 1448, 1));
        let [echo, answer] = [syn_ack, ack].map(|s| s.options.timestamps.expect("an option").tsecr);
        assert_eq!(echo, syn.options.timestamps.expect("an option").tsval);
        assert_eq!(answer, syn_ack.options.timestamps.expect("an option").tsval);
        assert_eq!((syn_ack.window, first.ecn), (u16::MAX, Ecn::Ect0));
    }
}

#[test]
fn a_lost_syn_is_sent_again_without_ecn() {
    let lossy = json!({
        "transport": ["handshake"], "ecn": true, "egress": [{"kind": "iid-loss", "per_billion": 500_000_000}],
    });
    let runs = (1..20).map(|seed| {
        let config = Config { seed, ..scenario(&[flow("reno", lossy.clone())], 100, 3) };
        capture(&config, Side::Sender).1
    });
    let is_syn = |s: &&Segment| s.flags.has(Flags::SYN) && !s.flags.has(Flags::ACK);
    let again = runs.filter(|run| run.iter().filter(is_syn).count() == 2).collect::<Vec<_>>();
    assert!(!again.is_empty());
    for run in again {
        let syns: Vec<&Segment> = run.iter().filter(is_syn).collect();
        assert_eq!(syns[1].time.since(syns[0].time), Dur::from_secs(1));
        assert!(syns[0].flags.has(Flags::ECE) && syns[1].flags == Flags::SYN);
        assert!(run.iter().all(|s| s.ecn == Ecn::NotEct));
        assert!(run.iter().skip_while(|s| s.payload == 0).all(|s| s.time >= syns[1].time));
    }
}

#[test]
fn the_receiver_sees_arrivals_and_gaps() {
    let config = scenario(&[flow("reno", json!({}))], 20, 5);
    let (outcome, at_sender) = capture(&config, Side::Sender);
    let (_, at_receiver) = capture(&config, Side::Receiver);
    let drops = outcome.summary.links[0].drops;
    let [sent, came] = [&at_sender, &at_receiver].map(|all| all.iter().filter(|s| is_data(s)).count() as u64);
    assert_eq!(sent, outcome.summary.flows[0].sent_pkts);
    // at most a window is in transit at the end
    assert!(drops > 0 && (sent - drops - 80..=sent - drops).contains(&came), "{sent} {came} {drops}");
    let sacks: Vec<&Segment> = at_sender.iter().filter(|s| !s.options.sack.is_empty()).collect();
    assert!(!sacks.is_empty());
    for ack in sacks {
        for (from, to) in ack.options.sack.iter() {
            assert!(from > ack.ack && to > from && (to - from).is_multiple_of(1448));
        }
    }
}

#[test]
fn windows_that_are_small_are_shown() {
    let (_, segments) = capture(&scenario(&[flow("reno", json!({"rwnd": 100}))], 100, 1), Side::Sender);
    let scale = segments[1].options.window_scale.expect("a SYN-ACK");
    let ack = segments.iter().rfind(|s| s.dst == segments[0].src).expect("an ACK");
    assert_eq!(u32::from(ack.window) << scale, (100 * 1448u32).div_ceil(1 << scale) << scale);
    assert!(scale > 0);
}

#[test]
fn a_capture_is_read_back_whole() {
    let mut writer = Writer::new(Vec::new()).expect("a vector takes all");
    let config = scenario(&[flow("reno", json!({}))], 30, 20);
    for segment in capture(&config, Side::Sender).1 {
        writer.segment(&segment).expect("a vector takes all");
    }
    let bytes = writer.finish().expect("a vector takes all");
    let mut reader = Reader::new(bytes.as_slice()).expect("a capture");
    while reader.next_segment().expect("a segment").is_some() {}
    let counts = reader.counts();
    assert_eq!((counts.backward, counts.frames), (0, counts.segments));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn captures_are_in_order_and_complete(
        rtprops in proptest::collection::vec(2..80u64, 1..4), buffer in 5..60u64, ack_every in 1..3u64, sack: bool,
        ack_path: bool, two: bool, at_receiver: bool, loss in prop_oneof![Just(0u32), Just(20_000_000)],
    ) {
        let flows: Vec<Value> = rtprops.iter().map(|rtprop| {
            flow("reno", json!({
                "forward_delay": rtprop * MS / 2, "reverse_delay": rtprop * MS / 2, "rtprop": rtprop * MS,
                "path": if two { vec![0, 1] } else { vec![0] }, "ack_path": if ack_path { vec![1] } else { vec![] },
                "receiver": {"ack_every": ack_every, "sack": sack},
                "egress": [{"kind": "iid-loss", "per_billion": loss}],
                "reverse": [{"kind": "iid-loss", "per_billion": loss}],
            }))
        }).collect();
        let side = if at_receiver { Side::Receiver } else { Side::Sender };
        let (outcome, segments) = capture(&scenario(&flows, buffer, 3), side);
        prop_assert!(segments.is_sorted_by_key(|s| s.time));
        prop_assert!(segments.iter().enumerate().all(|(i, s)| s.frame == i as u64 + 1));
        if side == Side::Sender {
            let sent: u64 = outcome.summary.flows.iter().map(|flow| flow.sent_pkts).sum();
            prop_assert_eq!(segments.iter().filter(|s| is_data(s)).count() as u64, sent);
        }
        for segment in segments.iter().filter(|s| !is_data(s)) {
            for (from, to) in segment.options.sack.iter() {
                prop_assert!(sack && from > segment.ack && to > from);
            }
        }
    }
}
