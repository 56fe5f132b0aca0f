//! Runs of the helper binary.

#![allow(dead_code)] // each test file uses only some of these functions

use nix::unistd::geteuid;
use serde_json::{Value, json};
use std::io::Write;
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Returns whether the test lacks root privileges, and reports it.
pub fn is_unprivileged() -> bool {
    let is_unprivileged = !geteuid().is_root();
    if is_unprivileged {
        println!("not run: needs root");
    }
    is_unprivileged
}

/// Runs take real time, so only one test runs at a time; concurrent tests would distort each other's measurements.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns a flow over the only link, with an rtprop of 20 ms.
pub fn flow(id: &str, cca: &str) -> Value {
    json!({
        "id": id, "cca": cca, "path": [0], "forward_delay": 10_000_000, "reverse_delay": 10_000_000,
        "rtprop": 20_000_000,
    })
}

/// Returns a scenario of `flows` over a link of `mbps` with a buffer of 2 BDP; the warm-up takes a fifth of `seconds`.
pub fn scenario(mbps: u64, seconds: u64, flows: &[Value]) -> Value {
    let rate = mbps * 125_000;
    json!({
        "duration": seconds * 1_000_000_000, "warmup": seconds * 200_000_000, "seed": 1,
        "links": [{"name": "link", "hop": {
            "link": {"kind": "constant", "rate": rate}, "queue": {"kind": "droptail", "limit": rate / 25}}}],
        "flows": flows,
    })
}

/// Starts the helper with `config`; the helper is killed if it does not end by itself.
pub fn start(config: &Value, options: &[&str]) -> Child {
    let mut child = Command::new("timeout")
        .args(["--foreground", "-s", "KILL", "60", env!("CARGO_BIN_EXE_fairweir-kernel"), "run"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("coreutils' timeout");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(config.to_string().as_bytes()).expect("it reads its configuration");
    child
}

/// Waits for the helper; returns its exit code and its result or error.
pub fn end(child: Child) -> (Option<i32>, Value) {
    let Output { status, stdout, stderr } = child.wait_with_output().expect("it was started");
    let stderr = String::from_utf8_lossy(&stderr);
    let last = stderr.lines().last().unwrap_or_default();
    let text = if stdout.is_empty() { last.to_owned() } else { String::from_utf8_lossy(&stdout).into_owned() };
    (status.code(), serde_json::from_str(&text).unwrap_or(Value::String(stderr.into_owned())))
}

/// Returns the result of a run that must succeed.
pub fn play(config: &Value, options: &[&str]) -> Value {
    let (code, result) = end(start(config, options));
    assert_eq!(code, Some(0), "{result}");
    result
}

/// Returns a number reported for a flow or the emulator.
pub fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("no number at {pointer}: {value}"))
}
