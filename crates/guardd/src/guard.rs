//! The daemon without its loop: it measures packets, decides about flows, and sets windows.

use crate::error::GuardError;
use crate::history::{Course, Outcome};
use crate::live;
use crate::machine;
use crate::metadata::FlowMetadata;
use crate::settings::Rules;
use crate::status::{Change, Decisions, Explanation, FlowStatus, ServiceStatus, Status, TableCounts};
use crate::tap::Tap;
use crate::waits::Waits;
use fairweir_guard::policy::{Decision, Group, History, Policies, Why};
use fairweir_guard::{Flow, FlowId, FlowKey, Limits, Table, WindowTarget};
use fairweir_units::{Dur, Time, mbps};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// Minimum time over which a rate is computed.
const RATE_SPAN: Dur = Dur::from_millis(1000);

/// The guard of one device.
#[derive(Debug)]
pub struct Guard {
    tap: Tap,
    table: Table,
    policies: Policies,
    group: Group,
    known: FlowMetadata,
    interface: String,
    dry_run: bool,
    started: Time,
    held: HashMap<FlowKey, Held>,
    notes: HashMap<FlowId, Notes>,
    over: Vec<Outcome>,
    rates_at: Time,
    waits: Waits,
}

/// A flow's target as stored in the kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Held {
    /// The flow's connection: a new connection between the same endpoints has a new window scale, and the kernel has
    /// dropped the previous connection's state.
    id: FlowId,
    target: WindowTarget,
    wscale: Option<u8>,
}

/// A flow's data for the status.
#[derive(Debug, Default)]
struct Notes {
    flow: Option<FlowKey>,
    payload_before: u64,
    mbps: f64,
    history: History,
    course: Course,
}

/// A decision about a flow that differs in kind from the previous decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// The flow.
    pub flow: FlowKey,
    /// The new decision.
    pub decision: Decision,
}

impl Guard {
    /// Creates a guard that processes the packets of `tap` by `rules`; `known` provides names and processes of flows.
    ///
    /// # Errors
    /// If the rules are inconsistent.
    pub fn new(
        tap: Tap,
        known: FlowMetadata,
        interface: &str,
        rules: &Rules,
        dry_run: bool,
    ) -> Result<Guard, GuardError> {
        let policies = rules.policies()?;
        let secret = RandomState::new();
        let key = (u128::from(secret.hash_one(0)) << 64 | u128::from(secret.hash_one(1))).to_ne_bytes();
        Ok(Guard {
            table: Table::new(Limits::default(), key, policies.plan()),
            group: rules.config.group(),
            known,
            tap,
            policies,
            interface: interface.to_owned(),
            dry_run,
            started: machine::now(),
            held: HashMap::new(),
            notes: HashMap::new(),
            over: Vec::new(),
            rates_at: machine::now(),
            waits: Waits::default(),
        })
    }

    /// Applies new rules. Flows keep their measurements, and keep their windows until the next decision.
    ///
    /// # Errors
    /// If the rules are inconsistent (then nothing changes), or if the kernel's maps cannot be written.
    pub fn reload(&mut self, rules: Rules) -> Result<(), GuardError> {
        self.policies = rules.policies()?;
        self.group = rules.config.group();
        self.known.rename(rules.names);
        self.table.replan(self.policies.plan());
        // The new rules may cover other flows. Flows that are resting (idle or over) are judged when data arrive again.
        let measured: HashSet<FlowKey> = self.table.iter().map(|(_, flow)| *flow.key()).collect();
        let resting: Vec<FlowKey> = self.held.keys().filter(|flow| !measured.contains(*flow)).copied().collect();
        resting.into_iter().try_for_each(|flow| self.apply(flow, None))
    }

    /// Returns the source of packets.
    pub fn tap(&self) -> &Tap {
        &self.tap
    }

    /// Processes the packets since the last call.
    ///
    /// # Errors
    /// If the ring cannot be read.
    pub fn observe(&mut self) -> Result<(), GuardError> {
        self.known.listen()?;
        let table = &mut self.table;
        self.tap.programs_mut().drain(|packet| {
            table.observe(packet);
        })
    }

    /// Sends the last ACK again to senders for which a larger window is due.
    ///
    /// # Errors
    /// If the kernel's maps cannot be read.
    pub fn renew(&mut self) -> Result<(), GuardError> {
        let waiting = self.tap.programs().waiting()?;
        self.waits.extend(waiting);
        let programs = self.tap.programs();
        self.waits.due(machine::now()).iter().try_for_each(|flow| programs.renew(flow))
    }

    /// Returns the time of the next renewal of an ACK.
    pub fn renews_at(&mut self) -> Option<Time> {
        self.waits.first()
    }

    /// Decides about every flow and updates the kernel. Returns the decisions that differ in kind from the previous
    /// ones: a flow is now held or released, or for another reason.
    ///
    /// # Errors
    /// If the kernel's maps cannot be written.
    pub fn decide(&mut self) -> Result<Vec<Turn>, GuardError> {
        self.known.look(&self.table);
        let known = &self.known;
        let decisions = self.policies.decide(&self.table, |flow| known.labels(flow));
        let now = self.table.now();
        let (mut turns, mut seen) = (Vec::new(), HashSet::new());
        for (id, decision) in decisions {
            let Some(flow) = self.table.get(id) else { continue };
            let (key, wscale) = (*flow.key(), flow.wscale());
            seen.insert(id);
            let notes = self.notes.entry(id).or_default();
            notes.flow = Some(key);
            notes.course.note(&decision, flow.monitor());
            let is_turn = notes.history.remember(now, &decision);
            let wanted = decision.window.map(|target| Held { id, target, wscale });
            // A flow that is too young to judge keeps its window: that of the previous connection, or that from before
            // its rest.
            if wanted.is_some() || decision.why != Why::TooYoung {
                self.apply(key, wanted)?;
            }
            if is_turn {
                turns.push(Turn { flow: key, decision });
            }
        }
        // Resting flows stay held: only the host ends a connection.
        let gone: Vec<FlowKey> = self.held.keys().filter(|flow| !self.table.remembers(flow)).copied().collect();
        gone.into_iter().try_for_each(|flow| self.apply(flow, None))?;
        let over = self.notes.extract_if(|id, _| !seen.contains(id));
        self.over.extend(over.filter_map(|(_, notes)| notes.course.outcome(notes.flow?)));
        self.tap.programs().clamp()?;
        Ok(turns)
    }

    /// Returns the outcomes of the held flows that have ended since the last call.
    pub fn take_over(&mut self) -> Vec<Outcome> {
        std::mem::take(&mut self.over)
    }

    /// Returns the outcomes of the measured flows that were held, and the number of all measured flows.
    pub fn present(&self) -> (Vec<Outcome>, usize) {
        let outcomes = self.notes.values().filter_map(|notes| notes.course.outcome(notes.flow?));
        (outcomes.collect(), self.notes.len())
    }

    /// Releases every flow, so that the host's window applies again.
    ///
    /// # Errors
    /// If the kernel's maps cannot be written.
    pub fn release_all(&mut self) -> Result<(), GuardError> {
        let held: Vec<FlowKey> = self.held.keys().copied().collect();
        held.into_iter().try_for_each(|flow| self.apply(flow, None))?;
        self.tap.programs().clamp()
    }

    fn apply(&mut self, flow: FlowKey, wanted: Option<Held>) -> Result<(), GuardError> {
        let before = self.held.get(&flow).copied();
        if wanted == before || self.dry_run {
            return Ok(());
        }
        match (wanted, before) {
            (Some(held), _) => {
                self.tap.programs().hold(&flow, held.target, held.wscale)?;
                self.held.insert(flow, held);
            }
            (None, Some(_)) => {
                self.tap.programs().release(&flow)?;
                self.held.remove(&flow);
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// Removes ended flows and computes rates; to be called about once per second.
    pub fn tidy(&mut self) {
        let now = machine::now();
        self.table.expire(now);
        let span = now.since(self.rates_at);
        if span < RATE_SPAN {
            return;
        }
        self.rates_at = now;
        for (id, flow) in self.table.iter() {
            let notes = self.notes.entry(id).or_default();
            let payload = flow.monitor().payload();
            notes.mbps = mbps(payload.saturating_sub(notes.payload_before), span);
            notes.payload_before = payload;
        }
    }

    /// Returns the guard's state, for display and for programs.
    pub fn status(&self) -> Status {
        let mut services: BTreeMap<String, ServiceStatus> = BTreeMap::new();
        for (id, flow) in self.table.iter() {
            let name = self.service_of(flow.key());
            let service = services.entry(name.clone()).or_insert_with(|| ServiceStatus {
                name,
                mbps: 0.0,
                target_mbps: None,
                flows: Vec::new(),
            });
            let flow = self.flow_status(id, flow);
            service.mbps += flow.mbps;
            if let Some(target) = flow.target_mbps {
                *service.target_mbps.get_or_insert(0.0) += target;
            }
            service.flows.push(flow);
        }
        let mut services: Vec<ServiceStatus> = services.into_values().collect();
        live::busiest_first(&mut services);
        let counts = self.table.counts();
        Status {
            interface: self.interface.clone(),
            dry_run: self.dry_run,
            unix_s: machine::unix_seconds(),
            decisions: Decisions::default(),
            uptime_s: machine::now().since(self.started).as_secs_f64(),
            ends_with_process: self.tap.is_linked(),
            services,
            kernel: self.tap.programs().counts(),
            table: TableCounts {
                open: self.table.iter().count(),
                unverified: self.table.unverified(),
                unverified_evicted: counts.unverified_evicted,
                idle_evicted: counts.idle_evicted,
                refused: counts.refused,
                refused_bytes: counts.refused_bytes,
                resting: self.table.resting(),
            },
            cpu_s: machine::cpu_time().as_secs_f64(),
            resident_kib: machine::resident_kib(),
        }
    }

    /// Returns the reasons for the treatment of each flow whose `REMOTE > LOCAL` contains `part`.
    pub fn explain(&self, part: &str) -> Vec<Explanation> {
        let now = self.table.now();
        let explain = |(id, flow): (FlowId, &Flow)| {
            let status = self.flow_status(id, flow);
            let is_meant = format!("{} > {}", status.remote, status.local).contains(part);
            is_meant.then(|| Explanation {
                service: self.service_of(flow.key()),
                history: self.notes.get(&id).map_or_else(Vec::new, |notes| changes(&notes.history, now)),
                flow: status,
            })
        };
        self.table.iter().filter_map(explain).collect()
    }

    fn service_of(&self, flow: &FlowKey) -> String {
        self.group.service(flow, &self.known.labels(flow)).to_string()
    }

    fn flow_status(&self, id: FlowId, flow: &Flow) -> FlowStatus {
        let notes = self.notes.get(&id);
        let latest = notes.and_then(|notes| notes.history.latest());
        let rtt = flow.monitor().rtt();
        let owner = self.known.owner(flow.key());
        FlowStatus {
            remote: flow.key().remote().to_string(),
            local: flow.key().local().to_string(),
            vlan: flow.key().scope(),
            name: self.known.name(flow.key()).map(|name| name.to_string()),
            process: owner.map(|owner| owner.process.to_string()),
            pid: owner.map(|owner| owner.pid),
            cgroup: owner.map(|owner| owner.cgroup.to_string()),
            mbps: notes.map_or(0.0, |notes| notes.mbps),
            rtt_ms: rtt.latest().map(Dur::as_millis_f64),
            min_rtt_ms: rtt.min().map(Dur::as_millis_f64),
            lost: flow.monitor().lost(),
            target_mbps: latest.and_then(|decision| decision.rate_mbps),
            window_bytes: latest.and_then(|decision| Some(decision.window?.room())),
            is_minimum: latest
                .and_then(|decision| decision.window)
                .is_some_and(|window| window.pace().is_none() && window.bytes() <= window.least()),
            why: latest.map_or_else(|| "not judged yet".to_owned(), |decision| decision.why.to_string()),
        }
    }
}

fn changes(history: &History, now: Time) -> Vec<Change> {
    let change = |(since, decision): (Time, &Decision)| Change {
        age_s: now.since(since).as_secs_f64(),
        window_bytes: decision.window.map(WindowTarget::room),
        target_mbps: decision.rate_mbps,
        why: decision.why.to_string(),
    };
    history.iter().map(change).collect()
}
