//! State of a guard, for display and programs.

use crate::tap::KernelCounts;
use fairweir_guard::FlowKey;
use serde::{Deserialize, Serialize};

/// A guard at one moment.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The device.
    pub interface: String,
    /// Whether windows are not modified.
    pub dry_run: bool,
    /// Time of this status, s since 1970.
    pub unix_s: f64,
    /// Time since its start, s.
    pub uptime_s: f64,
    /// Numbers of decisions.
    pub decisions: Decisions,
    /// Whether programs and windows are removed when the process ends, even by `kill -9`.
    pub ends_with_process: bool,
    /// Services with their flows, the busiest first.
    pub services: Vec<ServiceStatus>,
    /// Counters of the kernel side.
    pub kernel: KernelCounts,
    /// Counters of the flow table.
    pub table: TableCounts,
    /// Processor time of the daemon so far.
    pub cpu_s: f64,
    /// Memory of the daemon, resident.
    pub resident_kib: u64,
}

/// Decisions are periodic; a period missed completely is skipped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decisions {
    /// Decisions made.
    pub made: u64,
    /// Decisions skipped.
    pub missed: u64,
}

/// Flows in the table, and those rejected.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize)]
pub struct TableCounts {
    /// Flows that are measured.
    pub open: usize,
    /// Unverified peers.
    pub unverified: usize,
    /// Unverified peers removed in favor of others.
    pub unverified_evicted: u64,
    /// Open flows removed in favor of others.
    pub idle_evicted: u64,
    /// Packets of flows not tracked because the table was full.
    pub refused: u64,
    /// Payload of these packets: not limited by any window.
    #[serde(default)]
    pub refused_bytes: u64,
    /// Flows that are idle or over; a reduced window stays in effect.
    #[serde(default)]
    pub resting: usize,
}

/// Flows that share one allowance.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ServiceStatus {
    /// Name used by policies.
    pub name: String,
    /// Payload over the last second.
    pub mbps: f64,
    /// Joint target of its flows, Mbit/s; absent if no flow is limited.
    pub target_mbps: Option<f64>,
    /// The busiest first.
    pub flows: Vec<FlowStatus>,
}

/// One flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowStatus {
    /// The sender.
    pub remote: String,
    /// The managed host's end.
    pub local: String,
    /// VLAN, 0 if there is none.
    pub vlan: u32,
    /// Name of the sender, from --hosts or --dns.
    pub name: Option<String>,
    /// Name of the receiving process, if it is on this host and found.
    pub process: Option<String>,
    /// Process id.
    pub pid: Option<u32>,
    /// Its control group (version 2).
    pub cgroup: Option<String>,
    /// Payload over the last second.
    pub mbps: f64,
    /// Latest RTT by timestamps.
    pub rtt_ms: Option<f64>,
    /// Minimum RTT.
    pub min_rtt_ms: Option<f64>,
    /// Segments declared lost so far.
    pub lost: u64,
    /// Target rate, Mbit/s.
    pub target_mbps: Option<f64>,
    /// Maximum bytes in flight; absent: the host's own window.
    pub window_bytes: Option<u64>,
    /// Whether that is the minimum, two segments. Then its rate may exceed the target.
    #[serde(default)]
    pub is_minimum: bool,
    /// The reason.
    pub why: String,
}

/// Reasons for a flow's treatment, with history.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Explanation {
    /// The flow now.
    pub flow: FlowStatus,
    /// Its service.
    pub service: String,
    /// Changes of the decision, the latest last.
    pub history: Vec<Change>,
}

/// A decision that differed from the one before.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Change {
    /// Age of the change, s.
    pub age_s: f64,
    /// Maximum bytes in flight; absent: the host's own window.
    pub window_bytes: Option<u64>,
    /// Target rate, Mbit/s.
    pub target_mbps: Option<f64>,
    /// The reason.
    pub why: String,
}

/// `REMOTE > LOCAL`, as flows are named everywhere.
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
