//! A receiver whose policies set the windows that its ACKs carry.

use crate::host_window::HostWindow;
use crate::tap::{Tap, WSCALE};
use fairweir_guard::policy::{Decision, Labels, Policies};
use fairweir_guard::{Direction, FlowId, Limits, Promise, Table, WindowTarget};
use fairweir_sim::{Observer, PacketEvent};
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;
use std::net::Ipv4Addr;

/// CMU-CS-24-129 §3.3.2.
const DECISION: Dur = Dur::from_millis(100);

/// Watches a run and governs the windows of its flows.
#[derive(Debug)]
pub struct Receiver {
    tap: Tap,
    table: Table,
    policies: Policies,
    flows: Vec<Flow>,
    now: Time,
    decided: Time,
    decisions: u64,
}

#[derive(Debug)]
struct Flow {
    host: HostWindow,
    promise: Promise,
    target: Option<WindowTarget>,
    rtt: Option<Dur>,
    /// Cumulative ACKs under way, and up to which packet they allow to send.
    edges: VecDeque<(u64, u64)>,
    id: Option<FlowId>,
}

impl Receiver {
    /// For packets of `packet_bytes`; `senders` has each flow's sender.
    pub fn new(packet_bytes: u64, senders: &[Ipv4Addr], policies: Policies) -> Receiver {
        let flow = || Flow {
            host: HostWindow::new(),
            promise: Promise::new(WSCALE),
            target: None,
            rtt: None,
            edges: VecDeque::new(),
            id: None,
        };
        let limits = Limits { needs_proof: false, ..Limits::default() };
        Receiver {
            tap: Tap::new(packet_bytes, senders),
            table: Table::new(limits, [0; 16], policies.plan()),
            policies,
            flows: senders.iter().map(|_| flow()).collect(),
            now: Time::ZERO,
            decided: Time::ZERO,
            decisions: 0,
        }
    }

    /// Decisions so far, one a flow and 100 ms.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    fn decide(&mut self) {
        self.decided = self.now;
        self.table.expire(self.now);
        for (id, Decision { window, .. }) in self.policies.decide(&self.table, |_| Labels::default()) {
            self.decisions += 1;
            if let Some(flow) = self.flows.iter_mut().find(|flow| flow.id == Some(id)) {
                flow.target = window;
                flow.rtt = self.table.get(id).and_then(|flow| flow.monitor().rtt().latest());
            }
        }
    }

    /// The window of an ACK that leaves.
    fn advertise(&mut self, flow: u32, cum: u64) {
        let (mss, ack) = (self.tap.payload(), self.tap.edge_of(cum));
        let flow = &mut self.flows[flow as usize];
        let host = flow.host.advertise(self.now, cum * u64::from(mss), flow.rtt, mss);
        let window = flow.promise.advertise(ack, (host >> WSCALE) as u16, flow.target);
        let packets = (u64::from(window) << WSCALE) / u64::from(mss);
        flow.edges.push_back((cum, cum + packets));
    }
}

impl Observer for Receiver {
    fn on_packet(&mut self, event: PacketEvent) {
        let Some(mut packet) = self.tap.packet(&event) else { return };
        // A delayed ACK is told after later data; the interface's clock does not go back.
        self.now = self.now.max(packet.at);
        packet.at = self.now;
        if self.now.since(self.decided) >= DECISION {
            self.decide();
        }
        let id = self.table.observe(&packet);
        match (event, packet.direction) {
            (PacketEvent::AckSent { flow, cum, .. }, Direction::Outgoing) => self.advertise(flow, cum),
            (PacketEvent::Arrived { flow, .. }, _) if id.is_some() => self.flows[flow as usize].id = id,
            _ => {}
        }
    }

    fn edge(&mut self, flow: u32, cum: u64) -> Option<u64> {
        let edges = &mut self.flows[flow as usize].edges;
        let mut reached = None;
        while let Some((_, edge)) = edges.pop_front_if(|(acked, _)| *acked <= cum) {
            reached = reached.max(Some(edge));
        }
        reached
    }
}
