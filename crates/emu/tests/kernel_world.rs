//! Scenarios on the real TCP stack, through the helper binary.

mod common;

use common::{alone, flow, is_unprivileged, number, play, scenario};
use serde_json::{Value, json};

#[test]
fn two_cubic_flows_fill_the_link_and_wait_at_least_rtprop() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let result = play(&scenario(20, 5, &[flow("a", "cubic"), flow("b", "cubic")]), &[]);
    let throughput: f64 = (0..2).map(|i| number(&result, &format!("/flows/{i}/throughput_mbps"))).sum();
    assert!((18.0..20.1).contains(&throughput), "{throughput} Mbps");
    for i in 0..2 {
        assert!(number(&result, &format!("/flows/{i}/rtt_ms/min")) >= 20.0, "{result}");
        assert!(number(&result, &format!("/flows/{i}/lost_pkts")) > 0.0, "a short buffer overflows: {result}");
    }
    assert!(number(&result, "/links/0/drops") > 0.0);
    assert!(number(&result, "/emulator/packets") > 5_000.0);
}

#[test]
fn a_finite_transfer_completes_and_an_application_keeps_its_rate() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let mut finite = flow("finite", "reno");
    finite["source"] = json!({"kind": "finite", "bytes": 150_000});
    finite["start"] = json!(1_000_000_000);
    let mut limited = flow("limited", "cubic");
    limited["source"] = json!({"kind": "rate", "rate": 250_000});
    let mut config = scenario(20, 4, &[finite, limited]);
    config["warmup"] = json!(0);
    let result = play(&config, &[]);
    assert_eq!(result["flows"][0]["delivered_pkts"], 100);
    // The rounds send 10, 20, 40 and 30 packets: at least four rounds of 20 ms. A timeout would add a second.
    let completion = number(&result, "/flows/0/completion_s");
    assert!((0.08..0.5).contains(&completion), "{completion} s");
    let rate = number(&result, "/flows/1/throughput_mbps");
    assert!((1.9..2.1).contains(&rate), "{rate} Mbps");
    assert_eq!(result["flows"][1]["completion_s"], Value::Null);
}

#[test]
fn on_and_off_and_stop_are_seen_in_the_series() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let mut pausing = flow("pausing", "reno");
    pausing["source"] = json!({"kind": "on-off", "on": 1_000_000_000, "off": 1_000_000_000});
    pausing["stop"] = json!(3_500_000_000_u64);
    let mut config = scenario(20, 4, &[pausing]);
    config["interval"] = json!(500_000_000);
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let result = play(&config, &["--series", file.path().to_str().expect("UTF-8")]);
    let bytes = std::fs::read(file.path()).expect("the series");
    let column = |name: &str| {
        let place = result.pointer(&format!("/series/flows/{name}")).expect("the column");
        let (offset, length) = (number(place, "/0") as usize, number(place, "/1") as usize);
        bytes[offset..offset + length].chunks_exact(8).map(|x| x.try_into().expect("8 bytes")).collect::<Vec<[u8; 8]>>()
    };
    let ends: Vec<u64> = column("t_ns").into_iter().map(u64::from_le_bytes).collect();
    assert_eq!(ends, (1..=8).map(|k| k * 500_000_000).collect::<Vec<u64>>());
    let throughput: Vec<f64> = column("throughput_mbps").into_iter().map(f64::from_le_bytes).collect();
    // On for a second, off for a second, then on until the stop. In the second half of each off period no leftover data
    // are sent.
    assert!(throughput[1] > 15.0 && throughput[5] > 15.0, "{throughput:?}");
    assert!(throughput[3] < 0.1 && throughput[7] < 2.0, "{throughput:?}");
}

#[test]
fn bpf_controllers_take_parameters_by_flow_and_decide_as_natively() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let with = |id: &str, weight: f64| {
        let mut flow = flow(id, "multcp");
        flow["params"] = json!({ "weight": weight });
        flow
    };
    let file = tempfile::NamedTempFile::new().expect("a temporary file");
    let path = file.path().to_str().expect("UTF-8");
    let config = scenario(20, 8, &[with("one", 1.0), with("four", 4.0), flow("frcc", "frcc")]);
    let result = play(&config, &["--record", path, "--cost"]);
    for cca in ["multcp", "frcc"] {
        let replay = &result["replay"][cca];
        assert_eq!(replay["first_difference"], Value::Null, "{replay}");
        assert!(number(replay, "/acks") > 1_000.0 && number(replay, "/skipped") == 0.0, "{replay}");
    }
    assert!(number(&result, "/cost/frcc/cong_control/calls") > 1_000.0, "{result}");
    assert!(number(&result, "/cost/frcc/cong_control/ns") > 0.0);
    let [one, four] = [0, 1].map(|i| number(&result, &format!("/flows/{i}/throughput_mbps")));
    assert!(four > 1.5 * one, "a weight of four against one: {four} and {one} Mbps");
}

#[test]
fn concurrent_runs_do_not_meet() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let config = scenario(8, 4, &[flow("a", "vegas"), flow("b", "reno")]);
    let runs: Vec<_> = (0..2).map(|_| common::start(&config, &[])).collect();
    for run in runs {
        let (code, result) = common::end(run);
        assert_eq!(code, Some(0), "{result}");
        let throughput: f64 = (0..2).map(|i| number(&result, &format!("/flows/{i}/throughput_mbps"))).sum();
        assert!((7.2..8.1).contains(&throughput), "each has a link of its own: {throughput} Mbps");
    }
}

#[test]
fn windows_and_marks_reach_the_stack() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let mut limited = flow("limited", "cubic");
    limited["rwnd"] = json!(10);
    let mut marked = flow("marked", "reno");
    marked["ecn"] = json!(true);
    let mut config = scenario(20, 5, &[limited, marked]);
    config["links"][0]["hop"]["queue"] = json!({"kind": "ecn-threshold", "mark_above": 20_000, "limit": 1_000_000});
    let result = play(&config, &[]);
    // Ten packets per round trip of at least 20 ms.
    let limited = number(&result, "/flows/0/throughput_mbps");
    assert!((3.0..6.1).contains(&limited), "{limited} Mbps");
    // One mark per round halves the window: the queue stays near the threshold (8 ms), without loss.
    assert!((0.001..0.5).contains(&number(&result, "/flows/1/mark_rate")), "{result}");
    assert_eq!(result["flows"][1]["lost_pkts"], 0);
    assert!(number(&result, "/flows/1/rtt_ms/p95") < 35.0, "{result}");
}

#[test]
fn dctcp_keeps_the_queue_at_the_threshold_because_the_receiver_reports_marks() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let mut dctcp = flow("dctcp", "dctcp");
    dctcp["ecn"] = json!(true);
    let mut config = scenario(48, 12, &[dctcp]);
    // 20 packets, 5 ms: above a seventh of the BDP of 80 packets, so that the link stays busy
    config["links"][0]["hop"]["queue"] = json!({"kind": "ecn-threshold", "mark_above": 30_000, "limit": 1_000_000});
    let result = play(&config, &[]);
    let value = |key: &str| number(&result, &format!("/flows/0/{key}"));
    let cwnd = value("throughput_mbps") * 1e3 / 8.0 * value("rtt_ms/mean") / 1500.0;
    // The law is cwnd = 2 / F^2; spikes of the queue, in which all packets are marked, make the product of means larger.
    println!("dctcp: cwnd F^2 = {:.2}", cwnd * value("mark_rate") * value("mark_rate"));
    assert_eq!(result["flows"][0]["lost_pkts"], 0);
    // If the receiver's socket has another controller, no ECN is negotiated, all packets are marked, and the queue has
    // 350 packets.
    assert!((2.0..8.0).contains(&value("qdelay_ms/p50")), "{result}");
    assert!((0.02..0.5).contains(&value("mark_rate")), "{result}");
    assert!(number(&result, "/links/0/utilization") > 0.85, "{result}");
}

#[test]
fn iperf3_in_the_place_of_our_senders_sees_the_same_link() {
    let has_iperf3 = std::process::Command::new("iperf3").arg("--version").output().is_ok();
    if is_unprivileged() || !has_iperf3 {
        println!("not run: needs root and iperf3");
        return;
    }
    let _turn = alone();
    let mut limited = flow("limited", "reno");
    limited["source"] = json!({"kind": "rate", "rate": 250_000});
    limited["stop"] = json!(4_000_000_000_u64);
    let result = play(&scenario(20, 5, &[flow("bulk", "cubic"), limited]), &["--traffic", "iperf3"]);
    let [bulk, limited] = [0, 1].map(|i| number(&result, &format!("/flows/{i}/throughput_mbps")));
    assert!((16.0..19.0).contains(&bulk) && (1.5..2.2).contains(&limited), "{bulk} and {limited} Mbps");
    assert!(number(&result, "/flows/0/lost_pkts") > 0.0, "the duplicated socket reports losses: {result}");
}
