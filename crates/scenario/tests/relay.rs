//! Compares the relay with a composition of the same elements in the test.

use fairweir_cca::Start;
use fairweir_path::{Chain, Direction, Ecn, Hop, Verdict};
use fairweir_scenario::relay::{Frame, Item, Relay, packet};
use fairweir_scenario::{Config, FlowSpec, PacketEvent, element_stream, hop_stream};
use fairweir_units::{Dur, Time};
use proptest::prelude::*;
use serde_json::{Value, json};
use std::ops::ControlFlow;

const SEED: u64 = 7;
const FLOWS: usize = 3;

/// Returns a configuration of `FLOWS` flows over `links`, with `flow` merged into the defaults.
fn config(links: &[Value], path: &[usize], ack_path: &[usize], flow: &Value) -> Config {
    let hops: Vec<Value> = links.iter().map(|hop| json!({"name": "hop", "hop": hop, "delay": 700_000})).collect();
    let flows: Vec<Value> = (0..FLOWS)
        .map(|id| {
            let mut spec = json!({
                "id": id.to_string(), "cca": "reno", "path": path, "ack_path": ack_path,
                "forward_delay": 8_000_000, "reverse_delay": 16_000_000, "rtprop": 24_000_000,
            });
            spec.as_object_mut().unwrap().extend(flow.as_object().unwrap().clone());
            spec
        })
        .collect();
    let config = json!({"duration": 1_000_000_000u64, "seed": SEED, "links": hops, "flows": flows});
    let config = serde_json::from_value(config).unwrap();
    fairweir_scenario::check(&config).unwrap();
    config
}

fn link(mbps: u64, queue: Value) -> Value {
    json!({"link": {"kind": "constant", "rate": mbps * 125_000}, "queue": queue})
}

fn droptail() -> Value {
    json!({"kind": "droptail", "limit": 20_000})
}

/// The codepoint of a flow's data.
const ECN: [Ecn; FLOWS] = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1];

/// Returns data packets as (time, flow). The times of flow `f` equal `f` modulo 8, so no two times are equal.
fn arrivals(gaps: &[(u64, usize)]) -> Vec<(Time, usize)> {
    let mut ns = 0;
    gaps.iter()
        .map(|&(gap, flow)| {
            ns += (gap / 8 + 1) * 8;
            (Time::from_nanos(ns + flow as u64), flow)
        })
        .collect()
}

/// Returns departures as (time, flow, frame). The clock advances whenever a packet arrives, and at the times `looks`.
fn relayed(
    config: &Config,
    direction: Direction,
    arrivals: &[(Time, usize)],
    looks: &[u64],
) -> Vec<(Time, usize, Frame)> {
    let mut relay = Relay::new(config);
    let mut events: Vec<(Time, Option<(usize, Frame)>)> =
        arrivals.iter().enumerate().map(|(frame, &(at, flow))| (at, Some((flow, frame as Frame)))).collect();
    events.extend(looks.iter().map(|&ns| (Time::from_nanos(ns), None)));
    events.sort();
    let mut left = Vec::new();
    let mut take = |relay: &mut Relay, now| {
        while let Some(release) = relay.next_release(now, now) {
            left.push((release.at, release.item.flow, release.frame));
        }
    };
    for (now, arrival) in events {
        take(&mut relay, now);
        if let Some((flow, frame)) = arrival {
            let item = Item::new(flow, direction, packet(u64::from(frame), 1500, now, ECN[flow]), 1);
            relay.arrive(now, frame, item);
        }
    }
    take(&mut relay, Time::from_nanos(u64::MAX - 1));
    assert_eq!(relay.next_event(), Time::NEVER);
    let lost = std::iter::from_fn(|| relay.next_lost()).count();
    let dropped: u64 = (0..FLOWS).flat_map(|flow| relay.dropped(flow)).sum();
    assert_eq!((left.len() + lost, lost as u64), (arrivals.len(), dropped));
    left
}

fn deliver(verdict: Verdict) -> Option<Time> {
    match verdict {
        Verdict::Deliver(at) | Verdict::Mark(at) => Some(at),
        Verdict::Drop => None,
    }
}

/// A data packet in the test's composition.
struct Carried {
    at: Time,
    flow: usize,
    frame: Frame,
    sent: Time,
}

/// Returns the departures of the composition: ingress, the hops in series, egress.
fn composed(config: &Config, arrivals: &[(Time, usize)]) -> Vec<(Time, usize, Frame)> {
    let mut chains: Vec<[Chain; 2]> = config
        .flows
        .iter()
        .enumerate()
        .map(|(flow, spec)| {
            let mut element = 0;
            let mut stream = || {
                element += 1;
                element_stream(SEED, flow, element)
            };
            [
                Chain::new(Dur::ZERO, &spec.ingress, &mut stream),
                Chain::new(spec.forward_delay, &spec.egress, &mut stream),
            ]
        })
        .collect();
    let packet_of = |p: &Carried| packet(u64::from(p.frame), 1500, p.sent, ECN[p.flow]);
    let mut packets: Vec<Carried> = arrivals
        .iter()
        .enumerate()
        .filter_map(|(frame, &(at, flow))| {
            let carried = Carried { at, flow, frame: frame as Frame, sent: at };
            Some(Carried { at: deliver(chains[flow][0].arrive(at, &packet_of(&carried)))?, ..carried })
        })
        .collect();
    for &index in &config.flows[0].path {
        packets.sort_by_key(|p| p.at);
        packets = through_hop(&mut Hop::new(&config.links[index].hop, hop_stream(SEED, index)), packets);
        let is_last = Some(&index) == config.flows[0].path.last();
        packets.iter_mut().filter(|_| !is_last).for_each(|p| p.at += config.links[index].delay);
    }
    let mut left: Vec<(Time, usize, Frame)> = packets
        .into_iter()
        .filter_map(|p| Some((deliver(chains[p.flow][1].arrive(p.at, &packet_of(&p)))?, p.flow, p.frame)))
        .collect();
    left.sort();
    left
}

fn through_hop(hop: &mut Hop, packets: Vec<Carried>) -> Vec<Carried> {
    let mut left = Vec::new();
    let mut inside = std::collections::BTreeMap::new();
    let mut serve = |hop: &mut Hop, inside: &mut std::collections::BTreeMap<Frame, Carried>, until: Time| {
        while hop.service_at() <= until && hop.service_at().is_set() {
            let departure = hop.service(hop.service_at()).unwrap();
            let carried = inside.remove(&departure.tag).unwrap();
            left.extend(deliver(departure.verdict).map(|at| Carried { at, ..carried }));
        }
    };
    if hop.decides_on_leave() {
        for p in packets {
            serve(hop, &mut inside, p.at);
            if hop.wait(p.at, &packet(0, 1500, p.sent, ECN[p.flow]), p.frame) {
                inside.insert(p.frame, p);
            }
        }
        serve(hop, &mut inside, Time::from_nanos(u64::MAX - 1));
        return left;
    }
    packets
        .into_iter()
        .filter_map(|p| Some(Carried { at: deliver(hop.arrive(p.at, &packet(0, 1500, p.sent, ECN[p.flow])))?, ..p }))
        .collect()
}

fn any_gaps() -> impl Strategy<Value = Vec<(u64, usize)>> {
    proptest::collection::vec((0..250_000u64, 0..FLOWS), 1..120)
}

fn any_queue() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(droptail()),
        Just(json!({"kind": "codel", "target": 1_000_000, "interval": 5_000_000, "limit": 60_000})),
        Just(json!({"kind": "dualpi2", "target": 1_000_000, "update": 1_000_000, "limit": 60_000})),
    ]
}

proptest! {
    #[test]
    fn packets_leave_as_from_the_elements_by_themselves(
        gaps in any_gaps(),
        looks in proptest::collection::vec(0..60_000_000u64, 0..40),
        queue in any_queue(),
    ) {
        let flow = json!({
            "ingress": [{"kind": "iid-loss", "per_billion": 100_000_000}],
            "egress": [{"kind": "uniform", "max": 3_000_000}, {"kind": "iid-loss", "per_billion": 50_000_000}],
        });
        let config = config(&[link(90, queue), link(70, droptail())], &[0, 1], &[], &flow);
        let arrivals = arrivals(&gaps);
        let mut left = relayed(&config, Direction::Data, &arrivals, &looks);
        left.sort();
        prop_assert_eq!(left, composed(&config, &arrivals));
    }

    #[test]
    fn a_flow_is_never_reordered(
        gaps in any_gaps(),
        looks in proptest::collection::vec(0..60_000_000u64, 0..40),
        queue in any_queue(),
    ) {
        let jitter = json!([{"kind": "uniform", "max": 3_000_000}]);
        let flow = json!({"ingress": jitter, "egress": jitter, "reverse": jitter, "reverse_egress": jitter});
        let config = config(&[link(90, queue)], &[0], &[0], &flow);
        for direction in [Direction::Data, Direction::Ack] {
            let left = relayed(&config, direction, &arrivals(&gaps), &looks);
            for flow in 0..FLOWS {
                let frames: Vec<Frame> = left.iter().filter(|left| left.1 == flow).map(|left| left.2).collect();
                prop_assert!(frames.is_sorted(), "flow {}: {:?}", flow, frames);
            }
        }
    }
}

#[test]
fn an_ack_is_delayed_by_the_reverse_path_and_echoes_the_last_data() {
    let config = config(&[link(12, droptail())], &[0], &[], &json!({}));
    let mut relay = Relay::new(&config);
    let at = Time::from_nanos;
    relay.arrive(at(1_000_000), 0, Item::new(1, Direction::Data, packet(0, 1500, at(1_000_000), Ecn::NotEct), 1));
    // 1 ms of transmission, 8 ms of propagation.
    assert_eq!(relay.next_event(), at(10_000_000));
    assert!(relay.next_release(at(9_999_999), at(9_999_999)).is_none());
    assert!(relay.next_release(at(9_999_999), at(10_000_000)).is_some_and(|release| release.at == at(10_000_000)));
    relay.arrive(at(10_100_000), 0, Item::new(1, Direction::Ack, packet(1, 52, at(10_100_000), Ecn::NotEct), 1));
    let release = relay.next_release(at(40_000_000), at(40_000_000)).unwrap();
    assert_eq!((release.at, release.item.packet.sent), (at(26_100_000), at(1_000_000)));
}

#[test]
fn a_marked_packet_is_reported() {
    let queue = json!({"kind": "ecn-threshold", "mark_above": 3_000, "limit": 60_000});
    let config = config(&[link(12, queue)], &[0], &[], &json!({"ecn": true}));
    let mut relay = Relay::new(&config);
    for frame in 0..4 {
        relay.arrive(Time::ZERO, frame, Item::new(0, Direction::Data, packet(0, 1500, Time::ZERO, Ecn::Ect0), 1));
    }
    let marks: Vec<bool> =
        std::iter::from_fn(|| relay.next_release(Time::NEVER, Time::NEVER)).map(|left| left.item.is_marked).collect();
    assert_eq!(marks.iter().filter(|marked| **marked).count() as u64, relay.hops[0].counts.marks);
    assert!(!marks[0] && marks[3], "{marks:?}");
}

/// Packets and ACKs as reported to an observer of the simulator.
#[derive(Default)]
struct Seen {
    /// Time, flow, number and direction of the packets sent, in the simulator's order.
    sent: Vec<(Time, u32, u64, Direction)>,
    arrived: Vec<(Time, u32, u64, Direction)>,
}

impl fairweir_scenario::Observer for Seen {
    fn on_packet(&mut self, event: PacketEvent) {
        match event {
            PacketEvent::Sent { flow, number, at, .. } => self.sent.push((at, flow, number, Direction::Data)),
            PacketEvent::AckSent { flow, number, at, .. } => self.sent.push((at, flow, number, Direction::Ack)),
            PacketEvent::Arrived { flow, number, at, .. } => self.arrived.push((at, flow, number, Direction::Data)),
            PacketEvent::AckArrived { flow, number, at } => self.arrived.push((at, flow, number, Direction::Ack)),
            PacketEvent::Dropped { .. }
            | PacketEvent::AckDropped { .. }
            | PacketEvent::SynSent { .. }
            | PacketEvent::SynArrived { .. }
            | PacketEvent::SynAckArrived { .. } => {}
        }
    }
}

#[test]
fn simultaneous_packets_pass_in_the_same_order_as_in_the_simulator() {
    // All flows start at once and pass elements before the hops, so that their packets reach hops at the same
    // nanosecond.
    let delay = json!([{"kind": "delay", "by": 1_000_000}, {"kind": "iid-loss", "per_billion": 10_000_000}]);
    for queue in [droptail(), json!({"kind": "codel", "target": 1_000_000, "interval": 5_000_000, "limit": 60_000})] {
        for seed in 0..8 {
            let processing = seed % 2 * 200_000;
            let flow = json!({"ingress": delay, "receiver": {"ack_every": 2}, "processing": processing});
            let mut config = config(&[link(24, queue.clone()), link(12, droptail())], &[0, 1], &[1], &flow);
            (config.seed, config.duration) = (seed, Dur::from_millis(1_500));
            let mut seen = Seen::default();
            let build = |flow: &FlowSpec, start: &Start| fairweir_cca::registry::build(&flow.cca, &flow.params, start);
            fairweir_sim::run_observed(&config, &build, &mut |_| ControlFlow::Continue(()), &mut seen).unwrap();
            assert!(seen.sent.len() > 1_500, "{}", seen.sent.len());
            assert_eq!(relayed_as_seen(&config, &mut seen.sent), until(Time::from_nanos(1_400_000_000), seen.arrived));
        }
    }
}

/// Returns the arrivals before `end`, sorted.
fn until(end: Time, mut arrived: Vec<(Time, u32, u64, Direction)>) -> Vec<(Time, u32, u64, bool)> {
    arrived.retain(|&(at, ..)| at < end);
    let mut arrived: Vec<_> =
        arrived.into_iter().map(|(at, flow, number, way)| (at, flow, number, way == Direction::Ack)).collect();
    arrived.sort();
    arrived
}

/// Returns the relay's deliveries, in the first 1.4 s, of the packets `sent`.
fn relayed_as_seen(config: &Config, sent: &mut [(Time, u32, u64, Direction)]) -> Vec<(Time, u32, u64, bool)> {
    let mut relay = Relay::new(config);
    // The sort is stable: packets sent at the same time remain in the order in which they were sent.
    sent.sort_by_key(|&(at, ..)| at);
    let mut arrived = Vec::new();
    for (frame, &(now, flow, number, direction)) in sent.iter().enumerate() {
        let bytes = if direction == Direction::Data { config.packet.0 } else { config.ack.0 };
        relay.arrive(
            now,
            frame as Frame,
            Item::new(flow as usize, direction, packet(number, bytes, now, Ecn::NotEct), 1),
        );
    }
    while let Some(release) = relay.next_release(Time::NEVER, Time::NEVER) {
        let item = release.item;
        arrived.push((release.at, item.flow as u32, item.packet.seq, item.direction));
    }
    until(Time::from_nanos(1_400_000_000), arrived)
}
