//! Controllers of fairweir in quinn's transport.

use crate::common::{dumbbell, number, run, table};
use fairweir_scenario::Config;
use fairweir_units::Dur;
use serde_json::{Value, json};
use std::process::Command;
use tempfile::TempDir;

#[test]
fn golden_runs_of_our_controllers_in_quinn() {
    // BBR ends DRAIN when pacing has emptied the queue. quinn paces by cwnd, so that BBR stays there, with STARTUP's cwnd.
    let ccas: &[&[&str]] = &[&["reno"], &["cubic"], &["bbr"], &["bbr3"], &["copa"], &["swift"], &["fast"]];
    insta::assert_snapshot!(table(ccas, Dur::from_secs(8)));
}

#[test]
fn stacks_and_our_controllers_share_a_link() {
    let ccas: &[&[&str]] = &[&["cubic", "quinn/cubic"], &["quinn/cubic", "cubic", "quinn/bbr"]];
    insta::assert_snapshot!(table(ccas, Dur::from_secs(8)));
}

/// Compiles the skeleton of `fairweir new plugin` with this window.
fn plug_in(cwnd: &str) -> (TempDir, String) {
    let folder = tempfile::tempdir().unwrap();
    let [source, library] = ["mine.c", "mine.so"].map(|name| folder.path().join(name));
    let text = include_str!("../../../../python/fairweir/ccas/skeletons/plugin.c.in");
    assert!(text.contains("decision->cwnd = flow->cwnd"));
    let text = text.replace("decision->cwnd = flow->cwnd", &format!("decision->cwnd = {cwnd}"));
    std::fs::write(&source, text).unwrap();
    let include = concat!(env!("CARGO_MANIFEST_DIR"), "/../../include");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-I", include, "-o"]).arg(&library).arg(&source).status();
    assert!(built.unwrap().success());
    (folder, library.to_str().unwrap().to_owned())
}

#[test]
fn a_plug_in_runs_in_quinn() {
    let (_folder, library) = plug_in("flow->cwnd");
    let config = dumbbell(&[&library], Dur::from_secs(4));
    let record = run(&config).unwrap();
    assert_eq!(run(&config).unwrap(), record);
    let mbps = number(&record, 0, "throughput_mbps");
    assert!((40.0..48.1).contains(&mbps), "{mbps}");
}

#[test]
fn the_window_is_full_to_the_last_packet() {
    let (_folder, library) = plug_in("4 * 1472");
    let record = run(&dumbbell(&[&library], Dur::from_secs(4))).unwrap();
    // 4 packets of 1500 bytes per 40 ms and a bit are 1.2 Mbps; 3 packets would be 0.9 Mbps.
    let mbps = number(&record, 0, "throughput_mbps");
    assert!((1.1..1.2).contains(&mbps), "{mbps}");
}

#[test]
fn a_controller_that_fails_ends_the_run() {
    let (_folder, library) = plug_in("flow->cwnd > 40000 ? 0 : flow->cwnd");
    let error = run(&dumbbell(&[&library], Dur::from_secs(4))).unwrap_err().to_string();
    assert!(error.ends_with("the sender has a controller that failed: cwnd is 0"), "{error}");
}

#[test]
fn what_the_stack_cannot_report_is_refused() {
    let refused = |cca: &str, change: &dyn Fn(&mut Config)| {
        let mut config = dumbbell(&[cca], Dur::from_secs(1));
        change(&mut config);
        let refusal = run(&config).unwrap_err();
        (refusal.key.unwrap_or_default(), refusal.message)
    };
    let with_ecn: &dyn Fn(&mut Config) = &|config| config.flows[0].ecn = true;
    let (key, message) = refused("dctcp", with_ecn);
    assert_eq!((key.as_str(), message.contains("the number of marks")), ("flows.0.cca", true), "{message}");
    let params = |params: Value| move |config: &mut Config| config.flows[0].params = params.clone();
    let (key, message) = refused("cubic", &params(json!({ "gamma": 2 })));
    assert_eq!((key.as_str(), message.contains("unknown field `gamma`")), ("flows.0.params", true), "{message}");
    let (key, message) = refused("s2n-quic/bbr", &|_| {});
    assert_eq!((key.as_str(), message.as_str()), ("flows.0.cca", "no QUIC stack has this controller: `s2n-quic/bbr`"));
}
