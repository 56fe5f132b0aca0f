//! A receiver whose policies set the windows in its ACKs.

use crate::host_window::{HostWindow, WSCALE};
use fairweir_guard::policy::{DECIDE_EVERY, Decision, Labels, Policies};
use fairweir_guard::{FlowId, Limits, Packet, Promise, Table, WindowTarget};
use fairweir_scenario::{Config, FlowSpec, Observer, PacketEvent};
use fairweir_segments::{EPOCH, TcpFlow, receiver_address};
use fairweir_tcp::{Endpoint, Side};
use fairweir_units::Time;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

/// Port of the first flow. Flows have different ports; the flows of one sender form one service.
const FIRST_PORT: u16 = 10_000;

/// Observes a run and sets the windows of its flows.
#[derive(Debug)]
pub struct Receiver {
    table: Table,
    policies: Policies,
    flows: Vec<Flow>,
    address: IpAddr,
    now: Time,
    decided: Time,
    decisions: u64,
}

#[derive(Debug)]
struct Flow {
    tcp: TcpFlow,
    host: HostWindow,
    /// Cumulative ACKs in transit, each with the packet number up to which it permits sending.
    edges: VecDeque<(u64, u64)>,
    guard: Option<Guarded>,
}

/// The guard's state for a flow.
#[derive(Debug)]
struct Guarded {
    promise: Promise,
    target: Option<WindowTarget>,
    id: Option<FlowId>,
}

impl Flow {
    fn new(config: &Config, spec: &FlowSpec, port: u16, sender: Option<Ipv4Addr>) -> Flow {
        let address = sender.unwrap_or(Ipv4Addr::UNSPECIFIED).into();
        Flow {
            tcp: TcpFlow::new(config, spec, Endpoint { address, port }, Side::Receiver),
            host: HostWindow::new(),
            edges: VecDeque::new(),
            guard: sender.map(|_| Guarded { promise: Promise::new(WSCALE), target: None, id: None }),
        }
    }

    /// Sets the window of an ACK that is sent.
    fn advertise(&mut self, now: Time, ack: u32, tsval: u32, cum: u64) {
        let mss = u64::from(self.tcp.payload());
        let units = (self.host.advertise(now, tsval, cum * mss, mss) >> WSCALE) as u16;
        let guard = self.guard.as_mut();
        let window = guard.map_or(units, |guard| guard.promise.advertise(ack, units, guard.target));
        self.edges.push_back((cum, cum + (u64::from(window) << WSCALE) / mss));
    }
}

impl Receiver {
    /// Creates the receiver for a run of `config`. `senders` has the sender of each flow, or `None` if the flow's receiver
    /// has no guard; the flow's host then determines the window.
    ///
    /// # Panics
    /// If there are not as many senders as flows.
    pub fn new(config: &Config, senders: &[Option<Ipv4Addr>], policies: Policies) -> Receiver {
        assert_eq!(senders.len(), config.flows.len(), "a sender a flow");
        let flows = config.flows.iter().zip(FIRST_PORT..).zip(senders);
        let limits = Limits { needs_proof: false, per_source: usize::MAX, ..Limits::default() };
        Receiver {
            table: Table::new(limits, [0; 16], policies.plan()),
            policies,
            flows: flows.map(|((spec, port), sender)| Flow::new(config, spec, port, *sender)).collect(),
            address: receiver_address(),
            now: EPOCH,
            decided: EPOCH,
            decisions: 0,
        }
    }

    /// Returns the number of decisions so far; there is one decision per flow in each 100 ms.
    pub fn decisions(&self) -> u64 {
        self.decisions
    }

    fn decide(&mut self) {
        self.decided = self.now;
        self.table.expire(self.now);
        let mut guarded: Vec<&mut Guarded> = self.flows.iter_mut().filter_map(|flow| flow.guard.as_mut()).collect();
        for (id, Decision { window, .. }) in self.policies.decide(&self.table, |_| Labels::default()) {
            self.decisions += 1;
            if let Some(flow) = guarded.iter_mut().find(|flow| flow.id == Some(id)) {
                flow.target = window;
            }
        }
    }
}

impl Observer for Receiver {
    fn on_packet(&mut self, event: PacketEvent) {
        let flow = &mut self.flows[event.flow() as usize];
        let mss = flow.tcp.payload();
        flow.tcp.shake_hands(event);
        let Some(segment) = flow.tcp.observe(event) else { return };
        let Some(timestamps) = segment.options.timestamps else { return };
        // A delayed ACK may be reported after data that arrived later; the interface's clock never runs backwards.
        self.now = self.now.max(segment.time);
        if let Some(guard) = &mut flow.guard {
            let packet = Packet::of_segment(segment, |address| address == self.address, mss);
            let id = packet.and_then(|packet| self.table.observe(&Packet { at: self.now, ..packet }));
            guard.id = id.or(guard.id);
        }
        match event {
            PacketEvent::AckSent { cum, .. } => {
                let ack = segment.ack;
                flow.advertise(self.now, ack, timestamps.tsval, cum);
            }
            _ => flow.host.on_data(self.now, timestamps.tsecr),
        }
        if self.now.since(self.decided) >= DECIDE_EVERY {
            self.decide();
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
