//! Tests of the meter's packets in the record of a run.

use super::*;
use crate::wire::View;
use crate::wire::tests::{ack_packet, data_packet, syn_packet};
use fairweir_path::{Direction, Ecn};
use fairweir_scenario::Config;
use fairweir_scenario::recorder::{Recorded, Recorder};
use fairweir_scenario::relay::{Item, Relay, packet};
use fairweir_units::Time;
use serde_json::json;

/// Runs one flow over a link of 12 Mbps with a delay of 10 ms. The flow sends a packet every 2 ms until `until_ms`, and
/// each is acknowledged at once over a path of 10 ms. Returns the record.
fn played(config: &Config, until_ms: u64) -> Recorded {
    let mut relay = Relay::new(config);
    let mut recorder = Recorder::new(config, meters(config));
    recorder.meters[0].on_send(Time::ZERO, &View::new(&syn_packet(0, 0), 0).unwrap());
    let catch_up = |now: Time, relay: &mut Relay, recorder: &mut Recorder<FlowMeter>| {
        while recorder.due() <= now {
            let due = recorder.due();
            relay.advance(due);
            recorder.close(due, relay);
        }
    };
    let mut sent = 0;
    for ms in 0..until_ms {
        let now = Time::from_nanos(ms * 1_000_000);
        catch_up(now, &mut relay, &mut recorder);
        while let Some(release) = relay.next_release(now, now) {
            let number = release.item.packet.seq;
            if release.item.direction == Direction::Data {
                let ack = Item::new(0, Direction::Ack, packet(number + 1, 40, now, Ecn::NotEct), 1);
                relay.arrive(now, release.frame, ack);
            } else {
                let ack = ack_packet(0, 1 + 1448 * number as u32, &[]);
                recorder.meters[0].on_ack(now, &View::new(&ack, 0).unwrap());
            }
        }
        if ms % 2 == 0 {
            let data = data_packet(0, 1 + 1448 * sent, 1448, 0);
            let number = recorder.meters[0].on_send(now, &View::new(&data, 0).unwrap());
            assert_eq!(number, u64::from(sent));
            relay.arrive(now, sent, Item::new(0, Direction::Data, packet(number, 1500, now, Ecn::NotEct), 1));
            sent += 1;
        }
    }
    let end = Time::from_nanos(until_ms * 1_000_000);
    catch_up(end, &mut relay, &mut recorder);
    recorder.finish(end, &relay)
}

fn config() -> Config {
    serde_json::from_value(json!({
        "duration": 1_000_000_000u64, "warmup": 400_000_000u64, "interval": 100_000_000u64, "seed": 1,
        "links": [{"name": "link", "hop": {
            "link": {"kind": "constant", "rate": 1_500_000}, "queue": {"kind": "droptail"}}}],
        "flows": [{"id": "a", "cca": "reno", "path": [0], "forward_delay": 9_000_000,
                   "reverse_delay": 10_000_000, "rtprop": 19_000_000}],
    }))
    .unwrap()
}

#[test]
fn events_during_warm_up_or_after_the_end_do_not_count() {
    let recorded = played(&config(), 1_200);
    let (flow, link) = (&recorded.flows[0], &recorded.links[0]);
    assert_eq!(recorded.end.as_nanos(), 1_000_000_000);
    assert_eq!((flow.sent_pkts, flow.delivered_pkts, flow.delivered_bytes), (300, 300, 300 * (1448 + 40)));
    // 10 ms to the receiver, including transmission, and 10 ms back.
    assert_eq!((flow.rtt_ms.min, flow.rtt_ms.max, flow.qdelay_ms.max), (20.0, 20.0, 1.0));
    assert_eq!((link.arrivals, link.drops), (300, 0));
    assert!((link.utilization - 0.5).abs() < 1e-9, "{link:?}");
    let series = recorded.series.unwrap();
    assert_eq!(series.t_ns.len(), 10);
    // In the first interval of 100 ms, the ACKs of the first 20 ms are missing.
    assert!((series.throughput_mbps[0] - 40.0 * 1488.0 * 8e-5).abs() < 1e-9, "{series:?}");
    assert!(series.throughput_mbps[1..].iter().all(|mbps| (mbps - 50.0 * 1488.0 * 8e-5).abs() < 1e-9));
    assert!(series.rtt_ms.iter().all(|rtt| (rtt - 20.0).abs() < 1e-9));
}

#[test]
fn a_run_that_is_stopped_sooner_is_recorded_as_far_as_it_came() {
    let recorded = played(&config(), 500);
    assert_eq!((recorded.end.as_nanos(), recorded.flows[0].sent_pkts), (500_000_000, 50));
    assert_eq!(recorded.series.unwrap().t_ns.len(), 5);
}
