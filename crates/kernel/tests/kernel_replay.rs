//! Every algorithm of `bpf/` makes the same decisions in the kernel and in its native build, for each ACK.

mod common;

use common::{flow, in_namespace, is_unprivileged, narrow_loopback, transfer};
use fairweir_kernel::{Cca, Source};
use fairweir_native::replay::Replay;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Runs two flows with different parameters over a link that loses packets, and replays their records.
fn replayed(name: &'static str, other_params: Value) {
    if is_unprivileged() {
        return;
    }
    let source = Source::named(name).expect("it is in bpf/");
    let compiled = source.compile(true).expect("clang takes it");
    let cca = Arc::new(Cca::load(&compiled, &Value::Null).unwrap_or_else(|e| panic!("{e}")));
    let replay = Arc::new(Mutex::new(Replay::new(source.native().expect("it is built in").clone())));
    let taken = replay.clone();
    let records = cca.records(move |record| taken.lock().expect("no panic").feed(record).expect("a record"));
    let records = records.expect("it was compiled to record");
    let loaded = cca.clone();
    let received = in_namespace(move || {
        narrow_loopback("100mbit", "60000");
        let params = [Value::Null, other_params];
        let start =
            |i: usize, to| flow(loaded.name(), to, |fd| loaded.set_params(fd, &params[i]).expect("valid parameters"));
        let received = transfer(2, Duration::from_secs(3), start, || records.drain().expect("a ring"));
        records.drain().expect("a ring");
        received
    });
    let replay = replay.lock().expect("no panic");
    println!("{name}: {received} bytes, {:?}", replay.tally());
    assert_eq!(replay.difference().map(ToString::to_string), None);
    let tally = replay.tally();
    assert_eq!((tally.lost, tally.skipped, cca.lost_records()), (0, 0, 0));
    assert_eq!(tally.flows, 2);
    assert!(tally.acks > 100 && received > 100_000, "{tally:?}, {received} bytes");
}

#[test]
fn frcc() {
    replayed("frcc", json!({"theta": "5ms", "clamp_flow_count": true, "probe_interval": "1s"}));
}

#[test]
fn copa() {
    replayed("copa", json!({"delta": 0.25}));
}

#[test]
fn vegas() {
    replayed("vegas", json!({"alpha": 4, "beta": 8}));
}

#[test]
fn expo() {
    replayed("expo", json!({"mu_minus": "8Mbps"}));
}

#[test]
fn dctcp() {
    replayed("dctcp", json!({"shift_g": 2, "initial_alpha": 0.5}));
}

#[test]
fn multcp() {
    replayed("multcp", json!({"weight": 2.5}));
}

#[test]
fn ewtcp() {
    replayed("ewtcp", json!({"weight": 2}));
}

#[test]
fn wcc_ai() {
    replayed("wcc_ai", json!({"weight": 4}));
}

#[test]
fn wcc_md() {
    replayed("wcc_md", json!({"weight": 2}));
}

#[test]
fn cc_qdel() {
    replayed("cc_qdel", Value::Null);
}

#[test]
fn cc_probe_slow() {
    replayed("cc_probe_slow", Value::Null);
}
