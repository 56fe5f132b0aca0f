//! Replays a capture: the guard's flow table and policies make decisions, which have no effect.

use fairweir_guard::policy::{Config, DECIDE_EVERY, Decision, Group, History, Labels, Policies};
use fairweir_guard::{Flow, FlowId, FlowKey, Limits, Packet, Table, WindowTarget};
use fairweir_tcp::Segment;
use fairweir_units::{Dur, Time, mbps};
use serde::Serialize;
use std::collections::HashMap;
use std::net::IpAddr;

/// Payload of a full segment on Ethernet with timestamps; a super-packet counts as several segments.
const MSS: u32 = 1448;

/// Processes a capture as the guard of the `managed` hosts would.
#[derive(Debug)]
pub struct Replay {
    table: Table,
    policies: Policies,
    group: Group,
    managed: Vec<IpAddr>,
    start: Option<Time>,
    decided: Time,
    notes: HashMap<FlowId, Notes>,
    ended: Vec<FlowReport>,
}

/// State of an active flow.
#[derive(Debug)]
struct Notes {
    key: FlowKey,
    history: History,
    held: Dur,
    min_window: Option<u64>,
    seen: Seen,
}

/// The last values of a flow's monitor.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    at: Time,
    age: Dur,
    payload: u64,
    lost: u64,
    rtt: Option<Dur>,
    min_rtt: Option<Dur>,
}

impl Seen {
    fn of(flow: &Flow) -> Seen {
        let (monitor, rtt) = (flow.monitor(), flow.monitor().rtt());
        Seen {
            at: monitor.latest_at(),
            age: monitor.age(),
            payload: monitor.payload(),
            lost: monitor.lost(),
            rtt: rtt.latest(),
            min_rtt: rtt.min(),
        }
    }
}

/// A decision that differs from the previous one.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Seconds since the capture's first packet.
    pub t_s: f64,
    /// Maximum bytes that the sender may have in flight; `None` if the host's own window is not modified.
    pub window_bytes: Option<u64>,
    /// Rate for which the window is chosen, Mbit/s.
    pub target_mbps: Option<f64>,
    /// The reason, one line.
    pub why: String,
}

/// The decisions for one flow.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FlowReport {
    /// The service to which the flow belongs.
    pub service: String,
    /// Source of the data.
    pub remote: String,
    /// Managed end of the flow.
    pub local: String,
    /// Time of its first data, seconds since the capture's first packet.
    pub first_s: f64,
    /// Time of its last data, seconds since the capture's first packet.
    pub last_s: f64,
    /// Payload, bytes.
    pub bytes: u64,
    /// Payload divided by its duration, Mbit/s.
    pub mbps: f64,
    /// Lost segments.
    pub lost_pkts: u64,
    /// Latest RTT sample.
    pub rtt_ms: Option<f64>,
    /// Minimum RTT.
    pub min_rtt_ms: Option<f64>,
    /// Time during which the guard would have set its window, s.
    pub held_s: f64,
    /// Minimum window that the guard would have set.
    pub min_window_bytes: Option<u64>,
    /// Changes of the decision; each has the time from which the decision was in force, and its latest values.
    pub history: Vec<Change>,
}

impl Replay {
    /// Creates a replay with the policies of `config` (built by the caller) for the `managed` hosts.
    pub fn new(config: &Config, policies: Policies, managed: Vec<IpAddr>) -> Replay {
        let limits = Limits { needs_proof: false, per_source: usize::MAX, ..Limits::default() };
        Replay {
            table: Table::new(limits, [0; 16], policies.plan()),
            policies,
            group: config.group(),
            managed,
            start: None,
            decided: Time::ZERO,
            notes: HashMap::new(),
            ended: Vec::new(),
        }
    }

    /// Processes a packet.
    pub fn take(&mut self, segment: &Segment) {
        let managed = &self.managed;
        let Some(packet) = Packet::of_segment(segment, |address| managed.contains(&address), MSS) else { return };
        if self.start.is_none() {
            (self.start, self.decided) = (Some(packet.at), packet.at);
        }
        self.table.observe(&packet);
        if self.table.now().since(self.decided) >= DECIDE_EVERY {
            self.decide();
        }
    }

    fn decide(&mut self) {
        let now = self.table.now();
        let span = now.since(self.decided);
        self.decided = now;
        for (id, decision) in self.policies.decide(&self.table, |_| Labels::default()) {
            if let Some(flow) = self.table.get(id) {
                let notes = self.notes.entry(id).or_insert_with(|| Notes::new(*flow.key()));
                notes.take(now, span, flow, &decision);
            }
        }
        self.table.expire(now);
        let gone: Vec<FlowId> = self.notes.keys().filter(|id| self.table.get(**id).is_none()).copied().collect();
        for id in gone {
            self.end(id);
        }
    }

    fn end(&mut self, id: FlowId) {
        // A flow that sent no data cannot be limited.
        if let Some(notes) = self.notes.remove(&id).filter(|notes| notes.seen.payload > 0) {
            let service = self.group.service(&notes.key, &Labels::default()).to_string();
            self.ended.push(notes.report(service, self.start.unwrap_or_default()));
        }
    }

    /// Ends the capture; returns its flows in the order in which their data began.
    pub fn finish(mut self) -> Vec<FlowReport> {
        self.decide();
        let left: Vec<FlowId> = self.notes.keys().copied().collect();
        for id in left {
            self.end(id);
        }
        self.ended.sort_by(|one, other| {
            let name = |flow: &FlowReport| (flow.remote.clone(), flow.local.clone());
            one.first_s.total_cmp(&other.first_s).then_with(|| name(one).cmp(&name(other)))
        });
        self.ended
    }
}

impl Notes {
    fn new(key: FlowKey) -> Notes {
        Notes { key, history: History::default(), held: Dur::ZERO, min_window: None, seen: Seen::default() }
    }

    fn take(&mut self, now: Time, span: Dur, flow: &Flow, decision: &Decision) {
        let was_held = self.history.latest().is_some_and(|decision| decision.window.is_some());
        self.held += if was_held { span } else { Dur::ZERO };
        self.history.remember(now, decision);
        self.min_window = self.min_window.into_iter().chain(decision.window.map(WindowTarget::bytes)).min();
        self.seen = Seen::of(flow);
    }

    fn report(self, service: String, start: Time) -> FlowReport {
        let since_start = |at: Time| at.since(start).as_secs_f64();
        let age_s = self.seen.age.as_secs_f64();
        let change = |(since, decision): (Time, &Decision)| Change {
            t_s: since_start(since),
            window_bytes: decision.window.map(WindowTarget::bytes),
            target_mbps: decision.rate_mbps,
            why: decision.why.to_string(),
        };
        FlowReport {
            service,
            remote: self.key.remote().to_string(),
            local: self.key.local().to_string(),
            first_s: since_start(self.seen.at) - age_s,
            last_s: since_start(self.seen.at),
            bytes: self.seen.payload,
            mbps: mbps(self.seen.payload, self.seen.age),
            lost_pkts: self.seen.lost,
            rtt_ms: self.seen.rtt.map(Dur::as_millis_f64),
            min_rtt_ms: self.seen.min_rtt.map(Dur::as_millis_f64),
            held_s: self.held.as_secs_f64(),
            min_window_bytes: self.min_window,
            history: self.history.iter().map(change).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_tcp::{Endpoint, Flags, Options, Timestamps};

    const HOST: [u8; 4] = [10, 0, 0, 1];

    fn segment(ms: u64, seq: u32, payload: u32, flags: Flags) -> Segment {
        Segment {
            frame: 1,
            time: Time::ZERO + Dur::from_millis(ms),
            src: Endpoint { address: [192, 0, 2, 1].into(), port: 443 },
            dst: Endpoint { address: HOST.into(), port: 5001 },
            seq,
            ack: 1,
            flags: flags.and(Flags::ACK),
            window: 300,
            payload,
            ip_bytes: payload + 52,
            ecn: Default::default(),
            options: Options { timestamps: Some(Timestamps { tsval: ms as u32, tsecr: 0 }), ..Options::default() },
        }
    }

    /// Returns the host's response to `segment`.
    fn answer(segment: &Segment, seq: u32, flags: Flags) -> Segment {
        let ends = segment.flags.sequence_numbers();
        Segment {
            src: segment.dst,
            dst: segment.src,
            seq,
            ack: segment.seq.wrapping_add(segment.payload + ends),
            flags: flags.and(Flags::ACK),
            payload: 0,
            ip_bytes: 52,
            ..*segment
        }
    }

    #[test]
    fn segments_after_the_end_of_a_flow_are_no_other_flow() {
        let config = Config::from_toml("[[cap]]\nrate = '1Mbps'").unwrap();
        let policies = Policies::new(&config, None).unwrap();
        let mut replay = Replay::new(&config, policies, vec![HOST.into()]);
        let none = Flags::default();
        let (syn, fin) = (Flags::SYN, Flags::FIN);
        let mut exchange = |segment: Segment, seq: u32, flags: Flags| {
            replay.take(&segment);
            replay.take(&answer(&segment, seq, flags));
        };
        for i in 0..10 {
            exchange(segment(20 * u64::from(i), 1001 + 1000 * i, 1000, none), 1, none);
        }
        exchange(segment(200, 11_001, 0, fin), 1, fin);
        // Then the flow's last segments are retransmitted repeatedly.
        for ms in [400, 1500, 3000, 4500] {
            exchange(segment(ms, 10_001, 1000, none), 2, none);
            exchange(segment(ms + 100, 11_001, 0, fin), 2, none);
        }
        // Then a new connection begins between the same endpoints.
        exchange(segment(6000, 500_000, 0, syn), 70_000, syn);
        exchange(segment(6020, 500_001, 500, none), 70_001, none);
        exchange(segment(6200, 500_501, 500, none), 70_001, none);
        let flows = replay.finish();
        let starts: Vec<u64> = flows.iter().map(|flow| flow.first_s as u64).collect();
        assert_eq!(starts, [0, 6], "two connections, two flows: {flows:?}");
    }
}
