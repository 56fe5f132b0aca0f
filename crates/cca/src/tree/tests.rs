use super::*;
use crate::testing::{Bench, Path as Route};
use serde_json::json;

/// Returns the JSON of a controller, changed by `edit`. The controller probes while the maximum queue is at most what
/// the minimum capacity serves in half a step, plus two packets; otherwise it drains the queue.
fn file(kind: &str, edit: impl Fn(&mut Value)) -> String {
    let mut document = json!({
        "format": "fairweir-tree-1", "name": "small", "kind": kind, "query": "by hand", "query_sha256": "00",
        "version": "0.1.0", "step": "50ms", "points": 6, "model": {"c": [1, 4000], "b": [1, 4000]},
        "nodes": [
            {"feature": {"q": 1.0, "packet": -2.0}, "at_most": 0.5, "then": 1, "else": 2},
            {"leaf": {"name": "probe", "rate": {"M": 1.25, "packet": 1}}},
            {"leaf": {"name": "drain", "rate": {"M": 1, "Q": -1}}},
        ],
        "shield": [{"cap": "rate", "at": {"R0": 1, "M": 0.25, "packet": 1}}],
    });
    edit(&mut document);
    document.to_string()
}

const START: Start =
    Start { mss: Bytes(1500), initial_cwnd: Bytes(15_000), oracle_rtprop: None, first_packet: 0, seed: 1 };

fn bench(path: Route) -> Bench {
    let controller =
        build("small.json", &file("rate", |_| ()), &Value::Null, &START).expect("a controller that builds");
    Bench::new(controller, path)
}

fn secs(s: u64) -> Time {
    Time::from_nanos(s * NANOS_PER_SEC)
}

#[test]
fn links_of_all_rates_are_filled_with_a_bounded_queue() {
    for (mbps, rtprop_ms, buffer_bdp) in [(2, 40, 4), (10, 50, 1), (24, 10, 8), (100, 50, 1), (100, 100, 8)] {
        let mut bench = bench(Route::droptail(mbps, rtprop_ms, buffer_bdp));
        bench.run_until(secs(20), |_| ());
        let mut longest = Dur::ZERO;
        let (start, delivered) = (bench.now, bench.sender.delivered);
        bench.run_until(secs(40), |b| longest = longest.max(b.rtt));
        let could = bench.path.rate * bench.now.since(start);
        let used = (bench.sender.mss * (bench.sender.delivered - delivered)).0 as f64 / could.0 as f64;
        assert!(used > 0.8, "{mbps} Mbps: {used}");
        assert!(longest < Dur::from_millis(4 * rtprop_ms), "{mbps} Mbps: {longest}");
        assert_eq!(bench.episodes.2, 0, "timeouts at {mbps} Mbps");
    }
}

#[test]
fn the_true_capacity_is_in_the_belief_set() {
    let mut bench = bench(Route::droptail(24, 50, 2));
    bench.run_until(secs(10), |_| ());
    bench.run_until(secs(12), |b| {
        let (min_c, max_q) = (b.telemetry("min_c_pkts"), b.telemetry("max_q_pkts"));
        // 24 Mbps carry 101 packets in the minimum RTT, which is the rtprop and the transmission time of a packet.
        assert!((80.0..=101.5).contains(&min_c) && max_q >= 0.0, "{min_c}, {max_q}");
    });
}

#[test]
fn a_change_of_the_rate_is_followed() {
    let mut bench = bench(Route::droptail(24, 40, 4));
    bench.run_until(secs(10), |_| ());
    bench.path.rate = Rate::from_mbps(6);
    bench.run_until(secs(20), |_| ());
    let mut longest = Dur::ZERO;
    bench.run_until(secs(25), |b| longest = longest.max(b.rtt));
    assert!(longest < Dur::from_millis(160), "{longest}");
    bench.path.rate = Rate::from_mbps(48);
    bench.run_until(secs(35), |_| ());
    assert!(bench.utilization_for(Dur::from_secs(10)) > 0.8);
}

#[test]
fn silence_stops_it_and_it_comes_back() {
    let mut bench = bench(Route::droptail(24, 40, 4));
    bench.run_until(secs(5), |_| ());
    bench.path.lose_every = Some(1);
    let sent = bench.sender.snd_nxt;
    bench.run_until(secs(10), |_| ());
    assert!(bench.episodes.2 > 3);
    assert!(bench.sender.snd_nxt - sent < 1000, "{}", bench.sender.snd_nxt - sent);
    bench.path.lose_every = None;
    bench.run_until(secs(20), |_| ());
    assert!(bench.utilization_for(Dur::from_secs(10)) > 0.8);
}

#[test]
fn a_controller_without_a_rate_is_rejected() {
    let refusal = |text: &str, params: &Value| build("x.json", text, params, &START).expect_err("refused");
    let video = file("video", |_| ());
    let error = refusal(&video, &Value::Null);
    assert!(error.to_string().contains("video frames"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("fairweir video run")));
    let broken = file("rate", |document| document["nodes"][0]["at_most"] = json!("much"));
    assert!(refusal(&broken, &Value::Null).to_string().contains("nodes"));
    let good = file("rate", |_| ());
    for (params, word) in [(json!({"min_step": "0ms"}), "min_step"), (json!({"theta": 1}), "theta")] {
        let text = refusal(&good, &params).to_string();
        assert!(text.contains(word) && text.contains("x.json"), "{text}");
    }
}
