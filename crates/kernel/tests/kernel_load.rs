//! Controllers are loaded and unloaded without leaving resources, parameters reach the flow, and costs are reported.

mod common;

use common::{flow, in_namespace, is_unprivileged, narrow_loopback, registered, transfer};
use fairweir_kernel::{Cca, KernelError, Probe, ProbeFilter, Source, cost, doctor};
use fairweir_native::ALGORITHMS;
use fairweir_units::Hint;
use nix::sys::socket::sockopt::TcpCongestion;
use nix::sys::socket::{getsockopt, setsockopt};
use serde_json::{Value, json};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn loaded(name: &str, defaults: &Value) -> Cca {
    let compiled = Source::named(name).expect("it is in bpf/").compile(false).expect("clang takes it");
    Cca::load(&compiled, defaults).unwrap_or_else(|e| panic!("{e}"))
}

#[test]
fn every_algorithm_of_bpf_carries_a_transfer() {
    if is_unprivileged() {
        return;
    }
    for algorithm in ALGORITHMS {
        let cca = Arc::new(loaded(algorithm.name, &Value::Null));
        let name = cca.name().to_owned();
        let used = cca.clone();
        let received = in_namespace(move || {
            let start = |_: usize, to| {
                let flow = flow(used.name(), to, |_| ());
                let chosen = getsockopt(&flow, TcpCongestion).expect("a TCP socket");
                assert_eq!(chosen.to_string_lossy().trim_end_matches('\0'), used.name());
                flow
            };
            transfer(1, Duration::from_millis(500), start, || ())
        });
        assert!(received > 100_000, "{name}: {received} bytes");
        assert_eq!(registered(&name), [name.as_str()]);
        drop(cca);
        assert_eq!(registered(&name), Vec::<String>::new(), "a dropped controller is unregistered");
    }
}

#[test]
fn two_of_the_same_do_not_meet() {
    if is_unprivileged() {
        return;
    }
    let (one, two) = (loaded("wcc_ai", &Value::Null), loaded("wcc_ai", &json!({"weight": 2})));
    assert_ne!(one.name(), two.name());
    drop(one);
    assert_eq!(registered(two.name()).len(), 1);
}

/// Returns the bytes that a flow sends without own parameters and with parameters; `params` are the defaults and the
/// flow's parameters. The controller paces from the start at the rate that its parameters set.
fn paced_bytes(params: [Value; 2]) -> [u64; 2] {
    let [defaults, own] = params;
    [Value::Null, own].map(|own| {
        let cca = Arc::new(loaded("expo", &defaults));
        in_namespace(move || {
            let start = |_: usize, to| {
                flow(cca.name(), to, |fd| {
                    if !own.is_null() {
                        cca.set_params(fd, &own).expect("valid parameters");
                    }
                })
            };
            transfer(1, Duration::from_secs(1), start, || ())
        })
    })
}

#[test]
fn parameters_are_the_sockets_own_or_the_defaults() {
    if is_unprivileged() {
        return;
    }
    // With d much larger than rmax, the rate hardly depends on the delay and stays near mu_minus.
    let slow = json!({"mu_minus": "8Mbps", "d": "10s"});
    let fast = json!({"mu_minus": "80Mbps", "d": "10s"});
    let [by_default, by_socket] = paced_bytes([slow, fast]).map(|bytes| bytes as f64 * 8e-6);
    println!("{by_default} Mbps by default, {by_socket} Mbps by the socket's own parameters");
    assert!(by_default < 12.0 && by_socket > 4.0 * by_default, "{by_default} and {by_socket} Mbps");
}

#[test]
fn parameters_and_names_that_cannot_be_are_rejected() {
    if is_unprivileged() {
        return;
    }
    let compiled = Source::named("wcc_ai").expect("it is in bpf/").compile(false).expect("clang takes it");
    let refused = |name: &str| Cca::load_as(&compiled, name, &Value::Null).unwrap_err().to_string();
    assert_eq!(refused("has space"), "`has space`: not a valid name for the kernel");
    assert_eq!(refused("sixteen_letters_"), "`sixteen_letters_`: not a valid name for the kernel");
    assert_eq!(refused("cubic"), "`cubic`: a congestion controller of this name is already registered");
    let wrong = Cca::load(&compiled, &json!({"wait": 2})).unwrap_err();
    assert!(matches!(wrong, KernelError::Params { .. }), "{wrong}");
    let cca = Cca::load(&compiled, &Value::Null).expect("it loads");
    let file = tempfile::tempfile().expect("a file");
    assert!(cca.set_params(std::os::fd::AsFd::as_fd(&file), &json!({"weight": 2})).is_err(), "a file is not a socket");
}

#[test]
fn a_rejection_by_the_verifier_includes_its_message() {
    if is_unprivileged() {
        return;
    }
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("rude.bpf.c");
    let text = r#"
#include "tcp.h"
SEC("struct_ops/rude_avoid") void BPF_PROG(rude_avoid, struct sock *sk, u32 ack, u32 acked) { tcp_sk(sk)->srtt_us = 1; }
SEC("struct_ops/rude_ssthresh") u32 BPF_PROG(rude_ssthresh, struct sock *sk) { return 2; }
SEC("struct_ops/rude_undo") u32 BPF_PROG(rude_undo, struct sock *sk) { return 2; }
SEC(".struct_ops") struct tcp_congestion_ops rude = {
	.cong_avoid = (void *)rude_avoid, .ssthresh = (void *)rude_ssthresh, .undo_cwnd = (void *)rude_undo, .name = "rude",
};
CC_LICENSE("GPL");
"#;
    std::fs::write(&path, text).expect("a file");
    let compiled = Source::file(&path).expect("a source").compile(false).expect("clang takes it");
    let error = Cca::load(&compiled, &Value::Null).unwrap_err();
    println!("{error}");
    assert!(error.to_string().contains("no write support to tcp_sock at off"), "{error}");
    assert!(error.hint().expect("a hint").contains("snd_cwnd"));
    let polite = text.replace("srtt_us", "snd_cwnd");
    std::fs::write(&path, polite).expect("a file");
    let compiled = Source::file(&path).expect("a source").compile(true).expect("clang takes it");
    assert!(Cca::load(&compiled, &Value::Null).expect("it loads").name().starts_with("rude_"));
}

#[test]
fn costs_and_telemetry_of_a_flow() {
    if is_unprivileged() {
        return;
    }
    let cca = Arc::new(loaded("frcc", &Value::Null));
    let measuring = cost::measure().expect("root");
    let samples = Arc::new(Mutex::new(Vec::new()));
    let (taken, used) = (samples.clone(), cca.clone());
    let received = in_namespace(move || {
        let netns = std::fs::metadata("/proc/thread-self/ns/net").expect("proc").ino() as u32;
        let filter = ProbeFilter { netns, ..ProbeFilter::default() };
        let probe = Probe::start(filter, move |sample| taken.lock().expect("no panic").push(sample)).expect("it loads");
        let start = |_: usize, to| flow(used.name(), to, |_| ());
        let received = transfer(1, Duration::from_secs(1), start, || probe.drain().expect("a ring"));
        probe.drain().expect("a ring");
        assert_eq!(probe.lost_samples(), 0);
        received
    });
    drop(measuring);
    let cost = cca.cost().expect("root");
    println!("{received} bytes, {cost:?}");
    let per_ack = cost["cong_control"];
    assert!(per_ack.calls > 100 && per_ack.ns > per_ack.calls, "{cost:?}");
    assert_eq!(cost["init"].calls, 1);
    let samples = samples.lock().expect("no panic");
    let acks = samples.iter().filter(|s| s.local.port() != 0 && s.delivered_pkts > 0).count();
    assert!(acks > 100, "{acks} samples of ACKs");
    assert!(samples.windows(2).all(|pair| pair[0].t_ns <= pair[1].t_ns || pair[0].local != pair[1].local));
    assert!(samples.iter().all(|s| s.local.ip().is_loopback() && s.mss > 0));
}

/// Returns the cost of an ACK in all hooks, ns.
fn ns_per_ack(source: &Source) -> f64 {
    let cca = Arc::new(Cca::load(&source.compile(false).expect("clang takes it"), &Value::Null).expect("it loads"));
    let measuring = cost::measure().expect("root");
    let used = cca.clone();
    in_namespace(move || {
        narrow_loopback("200mbit", "200000");
        transfer(1, Duration::from_secs(1), |_: usize, to| flow(used.name(), to, |_| ()), || ())
    });
    drop(measuring);
    let cost = cca.cost().expect("root");
    let per_ack: Vec<_> = ["pkts_acked", "cong_avoid", "cong_control"].iter().filter_map(|h| cost.get(*h)).collect();
    let acks = per_ack.iter().map(|c| c.calls).max().expect("a hook for each ACK");
    assert!(acks > 100, "{cost:?}");
    per_ack.iter().map(|c| c.ns).sum::<u64>() as f64 / acks as f64
}

#[test]
fn the_kernels_own_controllers_are_measured_like_ours() {
    if is_unprivileged() {
        return;
    }
    let ours = ns_per_ack(&Source::named("frcc").expect("it is in bpf/"));
    let cubic = ns_per_ack(&Source::of_kernel("cubic").expect("it is called from bpf/"));
    let bbr = ns_per_ack(&Source::of_kernel("bbr").expect("it is called from bpf/"));
    println!("an ACK costs {ours:.0} ns in frcc, {cubic:.0} ns in cubic, {bbr:.0} ns in bbr");
    assert!(Source::of_kernel("vegas").is_err());
}

/// A source in the style of the kernel's BPF self-tests: their headers and kfuncs, a helper without a socket, a
/// bit-field, HZ.
const KERNEL_STYLE: &str = r#"
#include "vmlinux.h"
#include "bpf_tracing_net.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
char _license[] SEC("license") = "GPL";
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;
extern unsigned long CONFIG_HZ __kconfig;
SEC("struct_ops") void BPF_PROG(k_init, struct sock *sk) { *(__u32 *)inet_csk_ca(sk) = tcp_jiffies32 / CONFIG_HZ; }
SEC("struct_ops") void BPF_PROG(k_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	if (tcp_in_slow_start(tp)) {
		acked = tcp_slow_start(tp, acked);
		if (!acked)
			return;
	}
	if (BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state) == TCP_CA_Open && bpf_ktime_get_ns())
		tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
}
SEC("struct_ops") __u32 BPF_PROG(k_ssthresh, struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd / 2, 2U); }
SEC("struct_ops") __u32 BPF_PROG(k_undo, struct sock *sk) { return max(tcp_sk(sk)->snd_cwnd, tcp_sk(sk)->prior_cwnd); }
SEC(".struct_ops.link") struct tcp_congestion_ops kernelish = {
	.init = (void *)k_init, .cong_avoid = (void *)k_avoid, .ssthresh = (void *)k_ssthresh,
	.undo_cwnd = (void *)k_undo, .name = "bpf_kernelish",
};
"#;

fn kernelish() -> (tempfile::TempDir, Source) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("kernelish.bpf.c");
    std::fs::write(&path, KERNEL_STYLE).expect("a file");
    let source = Source::file(&path).expect("a source");
    (directory, source)
}

#[test]
fn a_users_source_against_the_kernels_headers_loads_as_it_is() {
    if is_unprivileged() {
        return;
    }
    let (_directory, source) = kernelish();
    let compiled = source.compile(false).unwrap_or_else(|e| panic!("{e}"));
    let cca = Cca::load(&compiled, &Value::Null).unwrap_or_else(|e| panic!("{e}"));
    let received = in_namespace(move || {
        transfer(1, Duration::from_millis(300), |_: usize, to| flow(cca.name(), to, |_| ()), || ())
    });
    assert!(received > 100_000, "{received} bytes");
}

#[test]
fn clangs_own_message_is_in_the_error() {
    if is_unprivileged() {
        return;
    }
    let (_directory, source) = kernelish();
    let refused = source.compile(true).unwrap_err().to_string();
    assert!(refused.contains("hooks are recorded of sources that include tcp.h"), "{refused}");
}

#[test]
fn a_running_flow_keeps_its_controller_when_that_is_gone() {
    if is_unprivileged() {
        return;
    }
    let cca = Arc::new(Mutex::new(Some(loaded("copa", &Value::Null))));
    let name = cca.lock().expect("no panic").as_ref().expect("loaded").name().to_owned();
    let received = in_namespace(move || {
        let start = |_: usize, to| flow(&name, to, |_| ());
        transfer(1, Duration::from_millis(500), start, || drop(cca.lock().expect("no panic").take()))
    });
    assert!(received > 100_000, "{received} bytes");
}

#[test]
fn the_doctor_finds_what_these_tests_need() {
    if is_unprivileged() {
        return;
    }
    let checks = doctor::checks();
    assert!(checks.iter().all(|check| check.ok), "{checks:?}");
    assert_eq!(checks.len(), 5);
}

#[test]
fn no_socket_accepts_an_unknown_name() {
    if is_unprivileged() {
        return;
    }
    let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback");
    assert!(setsockopt(&socket, TcpCongestion, &OsString::from("frcc_nobody")).is_err());
}
