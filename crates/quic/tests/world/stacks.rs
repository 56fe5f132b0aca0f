//! Short runs of the stacks: their numbers, determinism, what the scenario language asks of them.

use crate::common::{RTPROP, dumbbell, number, run, table};
use fairweir_scenario::{Config, Crypto, Source};
use fairweir_units::{Bytes, Dur, Rate, Time};
use serde_json::Value;

#[test]
fn golden_runs_of_quinn() {
    let ccas: &[&[&str]] = &[
        &["quinn/newreno"],
        &["quinn/cubic"],
        &["quinn/bbr"],
        &["quinn/cubic", "quinn/newreno"],
        &["quinn/cubic", "quinn/bbr"],
    ];
    insta::assert_snapshot!(table(ccas, Dur::from_secs(8)));
}

#[test]
fn golden_runs_of_noq() {
    let ccas: &[&[&str]] = &[
        &["noq/newreno"],
        &["noq/cubic"],
        &["noq/bbr3"],
        &["noq/cubic", "noq/newreno"],
        &["noq/cubic", "quinn/cubic"],
        &["noq/bbr3", "quinn/cubic"],
    ];
    insta::assert_snapshot!(table(ccas, Dur::from_secs(8)));
}

#[test]
fn the_same_scenario_sends_the_same_datagrams_and_another_seed_others() {
    let mut config = dumbbell(&["quinn/cubic", "quinn/newreno"], Dur::from_secs(3));
    config.flows[0].ingress =
        vec![serde_json::from_value(serde_json::json!({"kind": "iid-loss", "per_billion": 1_000_000})).unwrap()];
    let first = run(&config).unwrap();
    assert_eq!(run(&config).unwrap(), first);
    config.seed += 1;
    assert_ne!(run(&config).unwrap()["quic"]["digest"], first["quic"]["digest"]);
}

/// One flow of each stack's CUBIC.
const CUBICS: [&str; 2] = ["quinn/cubic", "noq/cubic"];

fn alone(cca: &str, source: Source) -> Config {
    let mut config = dumbbell(&[cca], Dur::from_secs(4));
    config.warmup = Dur::ZERO;
    config.flows[0].source = source;
    config
}

#[test]
fn a_transfer_of_known_length_ends() {
    for cca in CUBICS {
        let record = run(&alone(cca, Source::Finite { bytes: Bytes(3_000_000) })).unwrap();
        // 0.5 s at the link's rate, and the slow start.
        let completion = number(&record, 0, "completion_s");
        assert!((0.5..1.2).contains(&completion), "{completion}");
        let packets = number(&record, 0, "delivered_pkts");
        assert!((1_980.0..2_020.0).contains(&packets), "{packets}");
    }
}

#[test]
fn an_application_of_a_rate_gets_it_and_does_not_queue() {
    for cca in CUBICS {
        let record = run(&alone(cca, Source::Rate { rate: Rate::from_mbps(12) })).unwrap();
        let [mbps, queueing] = ["throughput_mbps", "qdelay_ms.p95"].map(|key| number(&record, 0, key));
        assert!((mbps - 12.0).abs() < 0.3, "{mbps}");
        assert!(queueing < 30.0, "{queueing}");
    }
}

#[test]
fn nothing_is_sent_while_the_application_is_off_or_has_stopped() {
    for cca in CUBICS {
        let quarter = Dur::from_millis(250);
        let mut config = alone(cca, Source::OnOff { on: quarter, off: Dur::from_millis(750) });
        config.interval = Some(quarter);
        let record = run(&config).unwrap();
        let sent = number(&record, 0, "delivered_pkts");
        // A quarter of 4 s at 48 Mbps has 4,000 packets; every pause is followed by what is in flight and, at first, a slow start.
        assert!((1_500.0..4_600.0).contains(&sent), "{sent}");

        let mut config = alone(cca, Source::Bulk);
        config.flows[0].stop = Some(Time::ZERO + Dur::from_secs(1));
        let stopped = number(&run(&config).unwrap(), 0, "delivered_pkts");
        assert!((2_000.0..4_400.0).contains(&stopped), "{stopped}");
    }
}

#[test]
fn a_receive_window_limits_the_rate() {
    for cca in CUBICS {
        let mut config = alone(cca, Source::Bulk);
        config.flows[0].rwnd = Some(40);
        let record = run(&config).unwrap();
        // 40 packets per 40 ms.
        let mbps = number(&record, 0, "throughput_mbps");
        assert!((9.0..12.5).contains(&mbps), "{mbps}");
    }
}

#[test]
fn marks_reach_the_stack_where_the_scenario_has_ecn() {
    for cca in CUBICS {
        let mut config = dumbbell(&[cca], Dur::from_secs(4));
        let queue = serde_json::json!({"kind": "ecn-threshold", "mark_above": 60_000, "limit": 480_000});
        config.links[0].hop.queue = serde_json::from_value(queue).unwrap();
        assert_eq!(number(&run(&config).unwrap(), 0, "mark_rate"), 0.0);
        config.flows[0].ecn = true;
        let record = run(&config).unwrap();
        assert!(number(&record, 0, "mark_rate") > 0.0 && number(&record, 0, "lost_pkts") == 0.0, "{record}");
    }
}

#[test]
fn fewer_acks_are_sent_where_the_scenario_asks_for_it() {
    for cca in CUBICS {
        let datagrams = |ack_every: u64| {
            let mut config = dumbbell(&[cca], Dur::from_secs(3));
            config.flows[0].receiver.ack_every = ack_every;
            config.flows[0].receiver.ack_timer = Dur::from_millis(20);
            let record = run(&config).unwrap();
            record["quic"]["datagrams"].as_f64().unwrap() / record["packets"].as_f64().unwrap()
        };
        let [default, every_tenth] = [1, 10].map(datagrams);
        assert!(default > 1.45 && every_tenth < 1.2, "{default} {every_tenth}");
    }
}

#[test]
fn series_have_a_row_per_interval_and_flow() {
    let mut config = dumbbell(&["quinn/cubic", "quinn/newreno"], Dur::from_secs(2));
    config.interval = Some(Dur::from_millis(500));
    let record = run(&config).unwrap();
    let lengths = |table: &str| -> Vec<usize> {
        let columns = record["series"][table].as_object().unwrap().values();
        columns.map(|text: &Value| text.as_str().unwrap().len()).collect()
    };
    // 8 rows of 8 bytes as base64; `flow` has 4 bytes a row.
    assert!(lengths("flows").iter().all(|&length| length == 88 || length == 44), "{:?}", lengths("flows"));
    assert_eq!(record["links"][0]["name"], "bottleneck");
}

#[test]
fn what_quic_does_not_have_is_refused_with_key_and_hint() {
    let refused = |change: &dyn Fn(&mut Config)| {
        let mut config = dumbbell(&["quinn/cubic"], Dur::from_secs(1));
        change(&mut config);
        let refusal = run(&config).unwrap_err();
        assert!(refusal.hint.is_some(), "{refusal}");
        refusal.key.unwrap()
    };
    assert_eq!(refused(&|c| c.flows[0].receiver.sack = false), "flows.0.receiver.sack");
    assert_eq!(refused(&|c| c.flows[0].oracle_rtprop = Some(RTPROP)), "flows.0.oracle_rtprop");
    assert_eq!(refused(&|c| c.flows[0].min_rto = RTPROP), "flows.0.min_rto");
    assert_eq!(refused(&|c| c.flows[0].cca = "quinn/copa".into()), "flows.0.cca");
    assert_eq!(refused(&|c| c.flows[0].params = serde_json::json!({"beta": 0.5})), "flows.0.params");
    assert_eq!(refused(&|c| c.packet = Bytes(1_000)), "packet");
    assert_eq!(refused(&|c| c.warmup = c.duration), "warmup");
}

#[test]
fn tls_changes_the_handshake_and_nothing_else() {
    for cca in ["quinn/cubic", "noq/cubic"] {
        let mut config = dumbbell(&[cca], Dur::from_secs(5));
        let null = run(&config).unwrap();
        config.host.crypto = Crypto::Tls;
        let tls = run(&config).unwrap();
        assert_eq!(tls, run(&config).unwrap(), "{cca}: keys are random, times and sizes are not");
        assert_ne!(tls, null, "{cca}");
        let rates = [&null, &tls].map(|record| number(record, 0, "throughput_mbps"));
        assert!((rates[0] - rates[1]).abs() < 0.01 * rates[0], "{cca}: {rates:?}");
    }
}

#[test]
fn a_host_that_wakes_at_intervals_adds_them_to_the_rtt() {
    let mut config = alone("quinn/cubic", Source::Rate { rate: Rate::from_mbps(2) });
    let rtt = |config: &Config| number(&run(config).unwrap(), 0, "rtt_ms.mean");
    let at_once = rtt(&config);
    config.host.wake = Dur::from_millis(4);
    let added = rtt(&config) - at_once;
    // The receiver reads and answers up to 4 ms later; samples end where the network does.
    assert!((0.5..4.5).contains(&added), "{added}");
    assert_eq!(run(&config).unwrap(), run(&config).unwrap());
    config.host.wake = Dur::from_secs(2);
    assert_eq!(run(&config).unwrap_err().key.as_deref(), Some("host.wake"));
}
