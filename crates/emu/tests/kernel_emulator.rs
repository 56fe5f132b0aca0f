//! The emulator with real traffic; these tests require root.

mod bulk;
mod common;

use bulk::{Bulk, config, play};
use common::{alone, is_unprivileged};
use fairweir_emu::{Emulator, EmulatorOptions, Namespace, Network, PacketMode, address};
use fairweir_units::{Dur, Time};
use nix::sys::stat::fstat;
use serde_json::json;
use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddrV4, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

const MTU: PacketMode = PacketMode::Mtu { burst: 1 };
const TSO: PacketMode = PacketMode::Tso { segments: 44 };

#[test]
fn a_transfer_fills_the_link_and_the_numbers_agree() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    for (mode, mbps) in [(MTU, 20), (TSO, 200)] {
        let config = config(mbps, 4, json!({}), 2);
        let record = play(&config, mode, "cubic", Bulk::UntilTheEnd);
        let (link, flows) = (&record.links[0], &record.flows);
        assert_eq!(record.end, Time::ZERO + config.duration);
        assert!(link.utilization > 0.9, "{mode:?}: {link:?}");
        let seconds = 3.0;
        let throughput: f64 = flows.iter().map(|flow| flow.delivered_bytes as f64 * 8e-6 / seconds).sum();
        assert!((throughput / mbps as f64 - 0.96).abs() < 0.06, "{mode:?}: {throughput} Mbps");
        for flow in flows {
            // RTTs lie between the path's minimum and the minimum plus the full buffer, with a few ms of tolerance for
            // a busy machine.
            assert!(flow.rtt_ms.min >= 20.0 && flow.rtt_ms.p95 < 20.0 + 50.0 + 10.0, "{mode:?}: {flow:?}");
            assert!((flow.rtt_ms.mean - flow.qdelay_ms.mean - 20.0).abs() < 0.01, "{mode:?}: {flow:?}");
        }
        // With one flow and a full buffer, the lost packets are exactly those that the link drops.
        let dropped: u64 = flows.iter().map(|flow| flow.dropped_pkts).sum();
        assert_eq!(link.drops, dropped, "{mode:?}");
        let arrived: u64 = flows.iter().map(|flow| flow.sent_pkts).sum();
        // Apart from data, the link carries packets that open and close connections, which are not counted as arrivals.
        assert_eq!(link.arrivals, arrived, "{mode:?}");
        assert!(link.queue_ms.max <= 50.0 + 1.0, "{mode:?}: {link:?}");
        assert_eq!(record.accuracy.mode, mode.name());
    }
}

#[test]
fn lost_packets_are_counted_once_and_the_transfer_completes() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let mut config = config(50, 4, json!({"ingress": [{"kind": "iid-loss", "per_billion": 10_000_000}]}), 1);
    config.warmup = Dur::ZERO;
    config.links[0].hop.queue = serde_json::from_value(json!({"kind": "droptail"})).expect("a queue");
    let bytes = 2_000_000;
    let record = play(&config, MTU, "reno", Bulk::Bytes(bytes));
    let flow = &record.flows[0];
    assert_eq!(flow.delivered_pkts, (bytes as u64).div_ceil(1448), "{flow:?}");
    assert_eq!(flow.delivered_bytes, bytes as u64 + 52 * flow.delivered_pkts);
    assert!(flow.dropped_pkts > 0 && flow.retransmits >= flow.dropped_pkts - 2, "{flow:?}");
    assert_eq!(record.links[0].drops, 0);
    assert_eq!(flow.dropped_acks, 0);
}

#[test]
fn a_marking_queue_marks_ecn_flows_and_drops_nothing() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let mut config = config(50, 3, json!({"ecn": true}), 2);
    config.links[0].hop.queue =
        serde_json::from_value(json!({"kind": "ecn-threshold", "mark_above": 30_000})).expect("a queue");
    let record = play(&config, MTU, "reno", Bulk::UntilTheEnd);
    let marked: u64 = record.flows.iter().map(|flow| flow.marked_pkts).sum();
    assert!(record.links[0].marks > 0 && record.links[0].drops == 0, "{:?}", record.links);
    // The link sets a mark, and the receiver counts it a queueing delay plus 10 ms later.
    assert!(marked.abs_diff(record.links[0].marks) <= 70, "{marked} of {}", record.links[0].marks);
    assert!(record.flows.iter().all(|flow| flow.retransmits == 0), "{:?}", record.flows);
}

#[test]
fn the_series_adds_up_to_the_record() {
    if is_unprivileged() {
        return;
    }
    let _turn = alone();
    let mut config = config(20, 2, json!({}), 2);
    (config.warmup, config.interval) = (Dur::ZERO, Some(Dur::from_millis(100)));
    let record = play(&config, MTU, "cubic", Bulk::UntilTheEnd);
    let series = record.series.expect("there is an interval");
    assert_eq!((series.t_ns.len(), series.links.t_ns.len()), (2 * 20, 20));
    for (index, flow) in record.flows.iter().enumerate() {
        let of_flow = (0..40).filter(|&row| series.flow[row] == index as u32);
        let bytes: f64 = of_flow.map(|row| series.throughput_mbps[row] * 0.1 / 8e-6).sum();
        assert!((bytes - flow.delivered_bytes as f64).abs() < 1.0, "{bytes} of {}", flow.delivered_bytes);
    }
    assert_eq!(series.links.drops.iter().sum::<u64>(), record.links[0].drops);
}

#[test]
fn a_configuration_that_cannot_run_is_rejected_with_its_key() {
    if is_unprivileged() {
        return;
    }
    let mut mixed = config(20, 1, json!({}), 2);
    mixed.flows[1].receiver.sack = false;
    let refusal = Network::new(&mixed, MTU).expect_err("SACK differs").to_string();
    assert!(refusal.starts_with("flows.1.receiver.sack: "), "{refusal}");
    let mut lazy = config(20, 1, json!({}), 1);
    lazy.flows[0].receiver.ack_every = 8;
    let refusal = Network::new(&lazy, MTU).expect_err("ACKs are too few").to_string();
    assert!(refusal.starts_with("flows.0.receiver.ack_every: "), "{refusal}");
}

#[test]
fn a_route_carries_the_flows_settings() {
    if is_unprivileged() {
        return;
    }
    let flow = json!({"initial_cwnd": 32, "min_rto": 50_000_000, "ecn": true, "rwnd": 40});
    let config = config(20, 1, flow, 1);
    let network = Network::new(&config, MTU).expect("root may");
    let routes = |namespace: &Namespace| {
        let show = || Command::new("ip").args(["route", "show"]).output().expect("iproute2 is there");
        String::from_utf8(namespace.enter(show).expect("root may").stdout).expect("text")
    };
    let (senders, receivers) = (routes(network.senders()), routes(network.receivers()));
    for setting in ["10.78.0.1 dev path", "src 10.77.0.1", "initcwnd 32", "rto_min lock 50ms", "features ecn"] {
        assert!(senders.contains(setting), "no `{setting}` in {senders}");
    }
    for setting in ["10.77.0.1 dev path", "src 10.78.0.1", "quickack 1", "features ecn", "window 57920", "initrwnd 40"]
    {
        assert!(receivers.contains(setting), "no `{setting}` in {receivers}");
    }
}

/// Environment variable that marks the next test's child process, which runs an emulator for a minute.
const CHILD: &str = "FAIRWEIR_TEST_RUNS_EMULATOR";

#[test]
fn a_killed_emulator_leaves_nothing() {
    if is_unprivileged() {
        return;
    }
    if std::env::var_os(CHILD).is_some() {
        return run_until_killed();
    }
    let _turn = alone();
    let mut child = Command::new(std::env::current_exe().expect("a test has a file"))
        .args(["--exact", "a_killed_emulator_leaves_nothing", "--nocapture"])
        .env(CHILD, "1")
        .stdout(Stdio::piped())
        .spawn()
        .expect("a test can be run again");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let namespaces: Vec<String> = lines
        .by_ref()
        .map(|line| line.expect("text"))
        .filter_map(|line| line.strip_prefix("namespace ").map(|inode| format!("net:[{inode}]")))
        .take(2)
        .collect();
    assert_eq!(namespaces.len(), 2, "the child ended early");
    assert!(namespaces.iter().all(|namespace| is_held(namespace)), "{namespaces:?}");
    child.kill().expect("it lives");
    child.wait().expect("it is ours");
    // Threads that were in a system call need some time to exit.
    let is_gone = || !namespaces.iter().any(|namespace| is_held(namespace));
    let waited = (0..100).any(|_| {
        is_gone() || {
            thread::sleep(Duration::from_millis(20));
            false
        }
    });
    assert!(waited, "{namespaces:?} are still held");
    let named = Command::new("ip").args(["netns", "list"]).output().expect("iproute2 is there");
    assert!(named.stdout.is_empty(), "{named:?}");
}

fn run_until_killed() {
    let config = config(20, 60, json!({}), 1);
    let network = Network::new(&config, MTU).expect("root may");
    let running = Emulator::start(&config, &network, EmulatorOptions::default()).expect("root may");
    let at = SocketAddrV4::new(address::sender(0), address::PORT);
    let socket = network.senders().enter(|| UdpSocket::bind(at)).expect("root may").expect("the address is there");
    running.go();
    for namespace in [network.senders(), network.receivers()] {
        println!("\nnamespace {}", fstat(namespace).expect("a file").st_ino);
    }
    thread::sleep(Duration::from_secs(60));
    drop((socket, running));
}

/// Returns whether a thread is in `namespace`, or a process has opened it.
fn is_held(namespace: &str) -> bool {
    let links = |directory: &Path| -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).collect()
    };
    let processes = links(Path::new("/proc")).into_iter().filter(|path| path.join("fd").exists());
    processes
        .flat_map(|process| {
            let threads = links(&process.join("task")).into_iter().map(|thread| thread.join("ns/net"));
            threads.chain(links(&process.join("fd"))).collect::<Vec<_>>()
        })
        .any(|link| fs::read_link(link).is_ok_and(|target| target == Path::new(namespace)))
}
