//! No resources remain after a run, however the run ends.

mod common;

use common::{alone, end, flow, is_unprivileged, scenario, start};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::process::{Child, Command};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// A controller with a unique name, so that its remains can be identified.
const SOURCE: &str = r#"
#include "tcp.h"
SEC("struct_ops/leftover_ssthresh")
u32 BPF_PROG(leftover_ssthresh, struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd >> 1U, 2U); }
SEC("struct_ops/leftover_undo_cwnd")
u32 BPF_PROG(leftover_undo_cwnd, struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
SEC("struct_ops/leftover_cong_avoid")
void BPF_PROG(leftover_cong_avoid, struct sock *sk, u32 ack, u32 acked) { tcp_slow_start(tcp_sk(sk), acked); }
SEC(".struct_ops")
struct tcp_congestion_ops leftover = {
	.ssthresh = (void *)leftover_ssthresh,
	.undo_cwnd = (void *)leftover_undo_cwnd,
	.cong_avoid = (void *)leftover_cong_avoid,
	.name = "leftover",
};
char _license[] SEC("license") = "GPL";
"#;

/// Returns a scenario with two flows of the controller in `directory`.
fn leftover_scenario(directory: &Path) -> Value {
    let source = directory.join("leftover.bpf.c");
    fs::write(&source, SOURCE).expect("a temporary directory");
    let cca = source.to_str().expect("UTF-8");
    scenario(20, 20, &[flow("a", cca), flow("b", cca)])
}

fn is_registered() -> bool {
    let names = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").expect("procfs");
    names.split_whitespace().any(|name| name.starts_with("leftover"))
}

/// Returns whether an object of the controller is in the kernel, either registered or held by a socket.
fn is_in_kernel() -> bool {
    let listed = Command::new("timeout").args(["-s", "KILL", "10", "bpftool", "struct_ops", "list"]).output();
    let is_listed = listed.is_ok_and(|out| String::from_utf8_lossy(&out.stdout).contains("leftover"));
    is_listed || is_registered()
}

fn wait_until(what: &str, is_so: impl Fn() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        sleep(Duration::from_millis(20));
    }
}

/// Returns the helper's process, which is the child of `timeout`.
fn helper_of(child: &Child) -> Pid {
    let path = format!("/proc/{0}/task/{0}/children", child.id());
    let children = fs::read_to_string(path).expect("procfs");
    Pid::from_raw(children.split_whitespace().next().and_then(|pid| pid.parse().ok()).expect("it runs the helper"))
}

/// Returns whether process `pid` exists.
fn is_alive(pid: Pid) -> bool {
    Path::new(&format!("/proc/{pid}")).exists()
}

#[test]
fn killed_at_any_moment_nothing_is_left() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = leftover_scenario(directory.path());
    // From the middle of compilation to the middle of the traffic.
    for after_ms in [30, 150, 400, 700, 1_100, 1_500, 1_900, 2_400, 3_000, 3_700] {
        let child = start(&config, &[]);
        sleep(Duration::from_millis(after_ms));
        let helper = helper_of(&child);
        kill(helper, Signal::SIGKILL).expect("it runs");
        let (code, _) = end(child);
        assert_ne!(code, Some(0), "it was to run for longer");
        wait_until("the process is gone", || !is_alive(helper));
        wait_until(&format!("the controller is gone ({after_ms} ms)"), || !is_in_kernel());
    }
}

#[test]
fn an_interrupted_run_prints_nothing_unless_its_part_is_wanted() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let directory = tempfile::tempdir().expect("a temporary directory");
    let config = leftover_scenario(directory.path());
    for (options, is_wanted) in [(&[][..], false), (&["--keep-partial"][..], true)] {
        let child = start(&config, options);
        wait_until("the controller is there", is_registered);
        sleep(Duration::from_millis(6_000 * u64::from(is_wanted) + 200));
        kill(helper_of(&child), Signal::SIGINT).expect("it runs");
        let (code, result) = end(child);
        assert_eq!(code, Some(130), "{result}");
        assert_eq!(result["interrupted"] == json!(true), is_wanted, "{result}");
        if is_wanted {
            // One flow may fill the queue before the other's first packet arrives.
            let flows = result["flows"].as_array().expect("flows");
            let delivered: u64 = flows.iter().filter_map(|flow| flow["delivered_pkts"].as_u64()).sum();
            assert!(delivered > 100, "{result}");
        }
        wait_until("the controller is gone", || !is_in_kernel());
    }
}
