//! FlowPolicy: down and up by factors, within bounds.

use crate::peer::{Peer, Senders, key};
use fairweir_guard::policy::{Class, Classify, Config, Decision, FlowConfig, Labels, Policies, Why};
use fairweir_guard::{Feature, Limits, Table};

const RTT_US: u64 = 20_000;
const SECOND: u64 = 1_000_000;

/// Above its target from 12 Mbit/s, below it under 8.
#[derive(Debug)]
struct NearTen;

impl Classify for NearTen {
    fn features(&self) -> Vec<Feature> {
        vec!["throughput_mbps.window8".parse().unwrap()]
    }

    fn classify(&self, rows: &[&[Option<f64>]]) -> Vec<Class> {
        let class = |row: &&[Option<f64>]| match row[0] {
            Some(mbps) if mbps > 12.0 => Class::Above,
            Some(mbps) if mbps >= 8.0 => Class::Near,
            Some(_) => Class::Below,
            None => Class::Above,
        };
        rows.iter().map(class).collect()
    }
}

pub fn flow_policy(classifier: Box<dyn Classify>) -> (Policies, Table) {
    let config = FlowConfig { model: "none".to_owned(), decrease: 0.57, increase: 1.3, idle: 1.0 };
    with_config(config, classifier)
}

fn with_config(config: FlowConfig, classifier: Box<dyn Classify>) -> (Policies, Table) {
    let config = Config { flow: Some(config), ..Config::default() };
    let policies = Policies::new(&config, Some(classifier)).unwrap();
    let table = Table::new(Limits::default(), [1; 16], policies.plan());
    (policies, table)
}

pub fn decide(policies: &mut Policies, table: &Table) -> Decision {
    policies.decide(table, |_| Labels::default()).remove(0).1
}

/// One sender whose arrivals are limited by its window.
struct Obedient {
    senders: Senders,
    step: u64,
}

impl Obedient {
    fn new() -> Obedient {
        Obedient { senders: Senders::new(vec![(Peer::new(key(1), RTT_US), 0.0)], None), step: 0 }
    }

    /// 100 ms later.
    fn advance(&mut self, policies: &mut Policies, table: &mut Table, demand: f64, last: &Decision) -> Decision {
        let allowed = last.window.map_or(f64::INFINITY, |window| window.bytes() as f64 * 8.0 / RTT_US as f64);
        self.senders.peers[0].1 = demand.min(allowed);
        let from = SECOND + self.step * SECOND / 10;
        self.senders.send(table, from, from + SECOND / 10);
        self.step += 1;
        decide(policies, table)
    }
}

#[test]
fn a_greedy_flow_is_brought_near_its_target() {
    let (mut policies, mut table) = flow_policy(Box::new(NearTen));
    let (mut sender, mut decision) = (Obedient::new(), Decision::release(Why::TooYoung));
    let mut rates = Vec::new();
    for _ in 0..60 {
        decision = sender.advance(&mut policies, &mut table, 40.0, &decision);
        rates.push(decision.rate_mbps);
    }
    assert_eq!(rates[0], None);
    let first = rates.iter().flatten().next().unwrap();
    assert!((first / 40.0 - 0.57 * 1.045).abs() < 0.03, "{first}: 0.57 of 40 Mbit/s with headers");
    let last = rates[59].unwrap();
    assert!((7.0..12.0).contains(&last), "{rates:?}");
    assert_eq!(rates[40..60].iter().flatten().filter(|rate| **rate == last).count(), 20, "{rates:?}");
    assert_eq!(decision.why, Why::Class { class: Class::Near });
}

#[test]
fn on_an_idle_path_nobody_is_stepped_down() {
    let (mut policies, mut table) = with_config(FlowConfig::with_model("none"), Box::new(NearTen));
    let (mut sender, mut decision) = (Obedient::new(), Decision::release(Why::TooYoung));
    for _ in 0..20 {
        decision = sender.advance(&mut policies, &mut table, 40.0, &decision);
        assert_eq!(decision.window, None, "no loss, and an RTT as short as any");
    }
    assert_eq!(decision.why, Why::Class { class: Class::Below });
}

#[test]
fn a_modest_flow_is_never_held() {
    let (mut policies, mut table) = flow_policy(Box::new(NearTen));
    let (mut sender, mut decision) = (Obedient::new(), Decision::release(Why::TooYoung));
    for _ in 0..20 {
        decision = sender.advance(&mut policies, &mut table, 5.0, &decision);
        assert_eq!(decision.window, None);
    }
    assert_eq!(decision.why, Why::Class { class: Class::Below });
}

#[test]
fn an_application_limited_flow_is_let_go_and_its_target_does_not_run_away() {
    let (mut policies, mut table) = flow_policy(Box::new(NearTen));
    let (mut sender, mut decision) = (Obedient::new(), Decision::release(Why::TooYoung));
    for _ in 0..30 {
        decision = sender.advance(&mut policies, &mut table, 40.0, &decision);
    }
    let held = decision.rate_mbps.unwrap();
    let mut targets = Vec::new();
    while decision.why != Why::Unused {
        decision = sender.advance(&mut policies, &mut table, 1.0, &decision);
        targets.extend(decision.rate_mbps);
        assert!(targets.len() < 30, "{targets:?}");
    }
    assert!(targets.iter().all(|target| *target <= 1.3 * held), "{targets:?}");
    assert_eq!(decision.window, None);
}
