//! Information about flows that their packets do not contain: names of senders, from a file or from DNS answers, and
//! the processes on this host that own the flows.

use crate::dns_cache::DnsCache;
use crate::dns_tap::DnsTap;
use crate::error::GuardError;
use crate::machine;
use crate::names::Names;
use crate::owners::{Owner, Owners};
use fairweir_guard::policy::Labels;
use fairweir_guard::{FlowId, FlowKey, Table};
use fairweir_units::{Dur, Time};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Minimum interval between scans of the open files of all processes.
const LOOK_EVERY: Dur = Dur::from_millis(1000);
/// Scans may use at most 1/SCAN_CPU_DIVISOR of one processor.
const SCAN_CPU_DIVISOR: u64 = 100;
/// Maximum wait between two searches for the owner of one flow; the waits are 1 s, 2 s, 4 s, ... Most flows without an
/// owner are forwarded, but a connection may also have none because its process has not yet accepted it.
const LONGEST_WAIT: Dur = Dur::from_millis(64_000);

/// Names and owners of flows.
#[derive(Debug)]
pub struct FlowMetadata {
    names: Names,
    answers: Option<DnsTap>,
    learned: DnsCache,
    owners: Option<Owners>,
    search: Search,
}

impl FlowMetadata {
    /// Creates the metadata. Without `owners` no flow has an owner; without `answers` only `names` are known.
    pub fn new(names: Names, answers: Option<DnsTap>, owners: Option<Owners>) -> FlowMetadata {
        FlowMetadata { names, answers, learned: DnsCache::default(), owners, search: Search::default() }
    }

    /// Processes the DNS answers captured since the last call.
    ///
    /// # Errors
    /// If the answers cannot be read.
    pub(crate) fn listen(&mut self) -> Result<(), GuardError> {
        let messages = self.answers.as_mut().map(DnsTap::drain).transpose()?.unwrap_or_default();
        messages.iter().for_each(|message| self.learned.learn(message, machine::now()));
        Ok(())
    }

    /// Replaces the names of senders.
    pub(crate) fn rename(&mut self, names: Names) {
        self.names = names;
    }

    /// Registers new flows of `table`, and searches for owners if a flow is due for a search.
    pub(crate) fn look(&mut self, table: &Table) {
        let now = machine::now();
        let name = |flow: &FlowKey| self.learned.name(flow.remote().ip(), now);
        self.search.meet(table.iter().map(|(id, flow)| (id, *flow.key())), now, name);
        let Some(owners) = &self.owners else { return };
        let read = || {
            let begin = machine::now();
            owners.read().map(|found| (found, machine::now().since(begin)))
        };
        self.search.look(now, read);
    }

    /// Returns the labels by which policies group flows.
    pub(crate) fn labels(&self, flow: &FlowKey) -> Labels {
        let owner = self.owner(flow);
        Labels {
            name: self.name(flow),
            cgroup: owner.map(|owner| owner.cgroup.clone()),
            process: owner.map(|owner| owner.process.clone()),
        }
    }

    /// Returns the name of the flow's sender; a name from the file takes precedence over a DNS answer.
    pub(crate) fn name(&self, flow: &FlowKey) -> Option<Arc<str>> {
        self.names.of(flow).or_else(|| self.search.flows.get(flow)?.name.clone())
    }

    /// Returns the process on this host that owns the flow, if found.
    pub(crate) fn owner(&self, flow: &FlowKey) -> Option<&Owner> {
        self.search.owner(flow)
    }
}

/// Results of the searches for owners so far, by flow.
#[derive(Debug, Default)]
struct Search {
    flows: HashMap<FlowKey, Sought>,
    not_before: Time,
}

#[derive(Debug)]
struct Sought {
    /// Distinguishes the flow from a later one with the same key.
    id: FlowId,
    /// Name of the sender when the flow began; later DNS answers concern later flows.
    name: Option<Arc<str>>,
    state: State,
}

#[derive(Debug)]
enum State {
    Owned(Owner),
    Unowned { look_at: Time, wait: Dur },
}

impl Sought {
    fn is_due(&self, now: Time) -> bool {
        matches!(self.state, State::Unowned { look_at, .. } if look_at <= now)
    }
}

impl Search {
    /// Adds new flows and removes those that are no longer present.
    fn meet(
        &mut self,
        flows: impl Iterator<Item = (FlowId, FlowKey)>,
        now: Time,
        name: impl Fn(&FlowKey) -> Option<Arc<str>>,
    ) {
        let mut there = HashSet::new();
        for (id, key) in flows {
            there.insert(key);
            let is_known = self.flows.get(&key).is_some_and(|sought| sought.id == id);
            if !is_known {
                let state = State::Unowned { look_at: now, wait: LOOK_EVERY };
                self.flows.insert(key, Sought { id, name: name(&key), state });
            }
        }
        self.flows.retain(|key, _| there.contains(key));
    }

    /// Calls `read` if a flow is due for a search and the interval has passed. `read` returns the owners and the time
    /// that it took.
    fn look(&mut self, now: Time, read: impl FnOnce() -> Result<(HashMap<FlowKey, Owner>, Dur), GuardError>) {
        if now < self.not_before || !self.flows.values().any(|sought| sought.is_due(now)) {
            return;
        }
        // A failed read may succeed next time; until then the flows have no owner.
        let (found, took) = read().unwrap_or_default();
        self.not_before = now + LOOK_EVERY.max(Dur::from_nanos(took.as_nanos().saturating_mul(SCAN_CPU_DIVISOR)));
        for (key, sought) in &mut self.flows {
            let State::Unowned { look_at, wait } = &mut sought.state else { continue };
            // Sockets have no VLAN, so the lookup uses VLAN 0.
            if let Some(owner) = found.get(&FlowKey::new(key.local(), key.remote(), 0)) {
                sought.state = State::Owned(owner.clone());
            } else if *look_at <= now {
                *look_at = now + *wait;
                *wait = (*wait + *wait).min(LONGEST_WAIT);
            }
        }
    }

    fn owner(&self, flow: &FlowKey) -> Option<&Owner> {
        match &self.flows.get(flow)?.state {
            State::Owned(owner) => Some(owner),
            State::Unowned { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_guard::policy::Policies;
    use fairweir_guard::{Limits, Packet};
    use fairweir_tcp::{Direction, Flags};

    fn key(port: u16, vlan: u32) -> FlowKey {
        FlowKey::new(([10, 0, 0, 1], port).into(), ([192, 0, 2, 7], 443).into(), vlan)
    }

    /// A table that has measured these flows.
    fn table_of(flows: &[FlowKey]) -> Table {
        let limits = Limits { needs_proof: false, ..Limits::default() };
        let mut table = Table::new(limits, [0; 16], Policies::new(&Default::default(), None).unwrap().plan());
        for flow in flows {
            table.observe(&Packet {
                at: Time::ZERO,
                flow: *flow,
                direction: Direction::Incoming,
                flags: Flags::ACK,
                seq: 1,
                ack: 1,
                window: 100,
                timestamps: None,
                payload: 100,
                wire: 154,
                segs: 1,
                wscale: None,
            });
        }
        table
    }

    fn owner(pid: u32) -> Owner {
        Owner { pid, process: "a".into(), cgroup: "/".into() }
    }

    fn meet(search: &mut Search, table: &Table, now: Time) {
        search.meet(table.iter().map(|(id, flow)| (id, *flow.key())), now, |_| None);
    }

    /// Looks for owners every 100 ms for `seconds`; returns the times of the reads, ms.
    fn looks(search: &mut Search, table: &Table, seconds: u64, found: &[(FlowKey, Owner)], took: Dur) -> Vec<u64> {
        let mut read_at = Vec::new();
        for step in 0..seconds * 10 {
            let now = Time::ZERO + Dur::from_millis(100 * step);
            meet(search, table, now);
            search.look(now, || {
                read_at.push(100 * step);
                Ok((found.iter().cloned().collect(), took))
            });
        }
        read_at
    }

    #[test]
    fn found_owners_are_searched_once_and_missing_ones_ever_less_often() {
        let (mut search, table) = (Search::default(), table_of(&[key(1, 0), key(2, 5)]));
        let found = [(key(1, 0), owner(7)), (key(2, 0), owner(8))];
        assert_eq!(looks(&mut search, &table, 100, &found, Dur::ZERO), [0]);
        assert_eq!(search.owner(&key(1, 0)), Some(&owner(7)));
        assert_eq!(search.owner(&key(2, 5)), Some(&owner(8)), "in a VLAN");

        let (mut search, table) = (Search::default(), table_of(&[key(3, 0)]));
        let read_at = looks(&mut search, &table, 200, &found, Dur::ZERO);
        assert_eq!(read_at, [0, 1, 3, 7, 15, 31, 63, 127, 191].map(|s| 1000 * s));
        assert_eq!(search.owner(&key(3, 0)), None);
    }

    #[test]
    fn looks_that_take_long_are_seldom_and_failures_are_no_end() {
        let (mut search, table) = (Search::default(), table_of(&[key(3, 0)]));
        assert_eq!(looks(&mut search, &table, 12, &[], Dur::from_millis(50)), [0, 5000, 10_000]);
        let mut search = Search::default();
        meet(&mut search, &table, Time::ZERO);
        search.look(Time::ZERO, || Err(GuardError::refused("no", "")));
        search.look(Time::ZERO + LOOK_EVERY, || Ok(([(key(3, 0), owner(9))].into(), Dur::ZERO)));
        assert_eq!(search.owner(&key(3, 0)), Some(&owner(9)));
    }

    #[test]
    fn a_later_flow_between_the_same_ends_is_another() {
        let mut table = table_of(&[key(1, 0)]);
        let mut search = Search::default();
        let mut look = |table: &Table, at: Dur, pid: u32| {
            meet(&mut search, table, Time::ZERO + at);
            search.look(Time::ZERO + at, || Ok(([(key(1, 0), owner(pid))].into(), Dur::ZERO)));
            search.owner(&key(1, 0)).map(|owner| owner.pid)
        };
        assert_eq!(look(&table, Dur::ZERO, 7), Some(7));
        assert_eq!(look(&table, Dur::from_secs(2), 8), Some(7));
        table.expire(Time::ZERO + Dur::from_secs(100));
        let other = table_of(&[key(9, 0), key(1, 0)]);
        assert_eq!(look(&other, Dur::from_secs(101), 8), Some(8));
        assert_eq!(look(&table, Dur::from_secs(102), 8), None, "gone");
    }

    #[test]
    fn a_flow_keeps_the_name_that_it_came_with() {
        let (mut search, table) = (Search::default(), table_of(&[key(1, 0)]));
        let flows = |table: &Table| table.iter().map(|(id, flow)| (id, *flow.key())).collect::<Vec<_>>();
        let named = |name: &str| Some(Arc::from(name));
        search.meet(flows(&table).into_iter(), Time::ZERO, |_| named("video.example"));
        let both = table_of(&[key(1, 0), key(2, 0)]);
        search.meet(flows(&both).into_iter(), Time::ZERO, |_| named("other.example"));
        let name = |port: u16| search.flows[&key(port, 0)].name.clone();
        assert_eq!((name(1), name(2)), (named("video.example"), named("other.example")));
    }
}
