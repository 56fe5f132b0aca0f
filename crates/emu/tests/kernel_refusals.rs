//! The kernel world rejects unsupported scenarios at once, with a clear error.

mod common;

use common::{end, flow, is_unprivileged, scenario, start};
use serde_json::{Value, json};

/// Runs a scenario of two flows, modified by `edit`; returns the key and the text of the error.
fn refused(edit: impl FnOnce(&mut Value)) -> (String, String) {
    let mut config = scenario(20, 2, &[flow("a", "cubic"), flow("b", "reno")]);
    edit(&mut config);
    let (code, answer) = end(start(&config, &[]));
    assert_eq!(code, Some(2), "{answer}");
    let error = &answer["error"];
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
    (error["key"].as_str().unwrap_or_default().to_owned(), error.to_string())
}

#[test]
fn each_refusal_names_its_key() {
    if is_unprivileged() {
        return;
    }
    let cases: [(&str, Value); 9] = [
        ("flows/0/oracle_rtprop", json!(20_000_000)),
        ("flows/1/receiver/ack_every", json!(4)),
        ("flows/1/receiver/sack", json!(false)),
        ("flows/1/gso", json!(4)),
        ("flows/0/cca", json!("pcc_vivace")),
        ("flows/0/cca", json!("mine.py:Mine")),
        ("flows/0/params", json!({"beta": 0.5})),
        ("packet", json!(400)),
        ("duration", json!(7_200_000_000_000_u64)),
    ];
    for (path, value) in cases {
        let (key, text) = refused(|config| {
            let (parent, last) = path.rsplit_once('/').unwrap_or(("", path));
            let parent = if parent.is_empty() { config } else { place(config, parent) };
            parent[last] = value.clone();
        });
        assert_eq!(key, path.replace('/', "."), "{text}");
    }
}

/// Returns the value at `path`, which is created if absent.
fn place<'a>(config: &'a mut Value, path: &str) -> &'a mut Value {
    path.split('/').fold(config, |at, step| match step.parse::<usize>() {
        Ok(index) => &mut at[index],
        Err(_) => &mut at[step],
    })
}

#[test]
fn a_controller_that_negotiates_ecn_needs_a_flow_with_ecn() {
    if is_unprivileged() {
        return;
    }
    let (key, text) = refused(|config| config["flows"][1]["cca"] = json!("dctcp"));
    assert_eq!(key, "flows.1.ecn");
    assert!(text.contains("ecn = true"), "{text}");
}

#[test]
fn parameters_of_bpf_controllers_are_checked_before_anything_starts() {
    if is_unprivileged() {
        return;
    }
    let (key, text) = refused(|config| {
        config["flows"][1]["cca"] = json!("frcc");
        config["flows"][1]["params"] = json!({"thetta": "5ms"});
    });
    assert_eq!(key, "flows.1.params");
    assert!(text.contains("thetta") && text.contains("flow `b`"), "{text}");
}

#[test]
fn an_invalid_configuration_is_rejected() {
    let (code, answer) = end(start(&json!({"duration": 1}), &[]));
    assert_eq!(code, Some(2));
    assert!(answer["error"]["message"].as_str().is_some_and(|m| m.contains("missing field")), "{answer}");
}
