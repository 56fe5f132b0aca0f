//! State of a guard, for display and for other programs.

use crate::tap::KernelCounts;
use fairweir_guard::FlowKey;
use serde::{Deserialize, Serialize};

/// State of a guard at one time.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The device.
    pub interface: String,
    /// Whether this is a dry run, in which windows are not modified.
    pub dry_run: bool,
    /// Time of this status, s since 1970.
    pub unix_s: f64,
    /// Time since the guard's start, s.
    pub uptime_s: f64,
    /// Numbers of decisions made and skipped.
    pub decisions: Decisions,
    /// Whether the end of the process undoes all changes, even after `kill -9`.
    pub ends_with_process: bool,
    /// Services with their flows, by descending rate.
    pub services: Vec<ServiceStatus>,
    /// Counters of the BPF programs.
    pub kernel: KernelCounts,
    /// Counters of the flow table.
    pub table: TableCounts,
    /// Processor time that the daemon has used, s.
    pub cpu_s: f64,
    /// Resident memory of the daemon, KiB.
    pub resident_kib: u64,
}

/// Numbers of decisions. Decisions are periodic; a period that is missed completely is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// Decisions made.
    pub made: u64,
    /// Decisions skipped.
    pub missed: u64,
}

/// Numbers of flows in the table and of rejected flows.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct TableCounts {
    /// Flows that are measured.
    pub open: usize,
    /// Flows whose peers are not verified yet.
    pub unverified: usize,
    /// Unverified flows removed to make room for others.
    pub unverified_evicted: u64,
    /// Open flows removed to make room for others.
    pub idle_evicted: u64,
    /// Packets of flows not tracked because the table was full.
    pub refused: u64,
    /// Payload of these packets, bytes; no window limits it.
    #[serde(default)]
    pub refused_bytes: u64,
    /// Flows that are idle or over; their reduced windows stay in effect.
    #[serde(default)]
    pub resting: usize,
}

/// Flows that share one allocation.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServiceStatus {
    /// Name that the policies use.
    pub name: String,
    /// Payload rate over the last second, Mbps.
    pub mbps: f64,
    /// Target rate of all its flows together, Mbps; absent if no flow is limited.
    pub target_mbps: Option<f64>,
    /// Its flows, by descending rate.
    pub flows: Vec<FlowStatus>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowStatus {
    /// Address and port of the sender.
    pub remote: String,
    /// Address and port of the receiver.
    pub local: String,
    /// VLAN number; 0 if there is none.
    pub vlan: u32,
    /// Name of the sender, from --hosts or --dns.
    pub name: Option<String>,
    /// Name of the receiving process, if it is on this host and found.
    pub process: Option<String>,
    /// Process id.
    pub pid: Option<u32>,
    /// Control group (version 2) of the process.
    pub cgroup: Option<String>,
    /// Payload rate over the last second, Mbps.
    pub mbps: f64,
    /// Latest RTT, measured by timestamps, ms.
    pub rtt_ms: Option<f64>,
    /// Minimum RTT, ms.
    pub min_rtt_ms: Option<f64>,
    /// Segments declared lost so far.
    pub lost: u64,
    /// Target rate, Mbps; absent if the flow is not limited.
    pub target_mbps: Option<f64>,
    /// Maximum bytes in flight; absent if the host's own window applies.
    pub window_bytes: Option<u64>,
    /// Whether `window_bytes` is the minimum of two segments, with which the rate may exceed the target.
    #[serde(default)]
    pub is_minimum: bool,
    /// Reason for the latest decision.
    pub why: String,
}

/// Reasons for a flow's treatment, with its history.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The flow's current state.
    pub flow: FlowStatus,
    /// Name of the flow's service.
    pub service: String,
    /// Changes of the decision, from the earliest to the latest.
    pub history: Vec<Change>,
}

/// A decision that differed from the previous one.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Time since the change, s.
    pub age_s: f64,
    /// Maximum bytes in flight; absent if the host's own window applies.
    pub window_bytes: Option<u64>,
    /// Target rate, Mbps; absent if the flow is not limited.
    pub target_mbps: Option<f64>,
    /// Reason for the decision.
    pub why: String,
}

/// Formats a flow's name, `REMOTE > LOCAL`.
pub(crate) fn flow_name(flow: &FlowKey) -> String {
    format!("{} > {}", flow.remote(), flow.local())
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// One service with a flow that is held and one that is not.
    pub(crate) fn a_status() -> Status {
        let held = FlowStatus {
            remote: "192.0.2.1:443".to_owned(),
            local: "10.0.0.1:5001".to_owned(),
            vlan: 0,
            name: Some("files.example".to_owned()),
            process: Some("curl".to_owned()),
            pid: Some(4711),
            cgroup: Some("/user.slice".to_owned()),
            mbps: 2.0,
            rtt_ms: Some(20.25),
            min_rtt_ms: Some(20.0),
            lost: 3,
            target_mbps: Some(3.0),
            window_bytes: Some(7500),
            is_minimum: false,
            why: "capped".to_owned(),
        };
        let free = FlowStatus {
            remote: "192.0.2.1:444".to_owned(),
            process: None,
            pid: None,
            cgroup: None,
            mbps: 0.5,
            window_bytes: None,
            target_mbps: None,
            ..held.clone()
        };
        Status {
            interface: "eth0".to_owned(),
            dry_run: false,
            unix_s: 1_700_000_000.5,
            uptime_s: 12.0,
            decisions: Decisions { made: 118, missed: 2 },
            ends_with_process: true,
            services: vec![ServiceStatus {
                name: "a \"quoted\" name".to_owned(),
                mbps: 2.5,
                target_mbps: Some(3.0),
                flows: vec![held, free],
            }],
            kernel: KernelCounts { summarised: 7, rewritten: 2, ..KernelCounts::default() },
            table: TableCounts { open: 2, ..TableCounts::default() },
            cpu_s: 0.5,
            resident_kib: 10,
        }
    }

    #[test]
    fn one_process_reads_the_file_of_another() {
        let text = serde_json::to_string(&a_status()).unwrap();
        let read: Status = serde_json::from_str(&text).unwrap();
        assert_eq!(read.services[0].flows, a_status().services[0].flows);
        assert_eq!(read.kernel, a_status().kernel);
    }
}
