//! Caps, and several policies at once.

use crate::peer::{Peer, Senders, key, key_from, packet};
use fairweir_guard::policy::{Config, Labels, ModelError, Policies, Why};
use fairweir_guard::{Limits, Packet, Table};
use fairweir_tcp::Direction;

fn windows(toml: &str) -> Vec<(String, Option<u64>, Why)> {
    let mut policies = Policies::new(&Config::from_toml(toml).unwrap(), None).unwrap();
    let mut table = Table::new(Limits::default(), [1; 16], policies.plan());
    let peers: Vec<(Peer, f64)> =
        [key_from(1, 80), key_from(1, 81), key(2)].map(|key| (Peer::new(key, 20_000), 10.0)).into_iter().collect();
    Senders::new(peers, None).send(&mut table, 1_000_000, 2_000_000);
    let decisions = policies.decide(&table, |_| Labels::default());
    let row = |(id, decision): (_, fairweir_guard::policy::Decision)| {
        let flow = table.get(id).unwrap().key().remote().to_string();
        (flow, decision.window.map(|window| window.bytes()), decision.why)
    };
    let mut rows: Vec<_> = decisions.into_iter().map(row).collect();
    rows.sort_by(|a, b| a.0.cmp(&b.0));
    rows
}

/// `mbps` at 20 ms, whose measurement is longer by the time from one packet to the next.
fn assert_holds(window: Option<u64>, mbps: f64) {
    let expected = mbps * 1e6 / 8.0 * 0.020;
    assert!((window.unwrap() as f64 / expected - 1.0).abs() < 0.07, "{window:?}, {expected}");
}

#[test]
fn a_rate_is_shared_by_the_flows_of_its_service_and_others_are_left_alone() {
    let rows = windows("[[cap]]\nservice = '0.0.0.1'\nrate = '8Mbps'");
    assert_holds(rows[0].1, 4.0);
    assert_holds(rows[1].1, 4.0);
    assert_eq!((rows[2].1, &rows[2].2), (None, &Why::Unmanaged));
    assert_eq!(rows[0].2.to_string(), "share of 0.0.0.1: capped at 8.00 Mbit/s, 2 flow(s)");
}

#[test]
fn the_least_window_counts() {
    let rows = windows("[[cap]]\ngroup = 'all'\nrate = '18Mbps'\n[[cap]]\nservice = '0.0.0.1'\nrate = '8Mbps'");
    for (row, mbps) in rows.iter().zip([4.0, 4.0, 6.0]) {
        assert_holds(row.1, mbps);
    }
}

#[test]
fn no_policy_manages_nothing() {
    assert!(windows("").into_iter().all(|row| row.1.is_none() && row.2 == Why::Unmanaged));
}

/// Rates in Mbit/s and reasons, by port, of decisions every 100 ms over `seconds` in which `senders` send.
struct Course {
    policies: Policies,
    table: Table,
    at_us: u64,
}

impl Course {
    fn of(toml: &str) -> Course {
        let policies = Policies::new(&Config::from_toml(toml).unwrap(), None).unwrap();
        let table = Table::new(Limits { needs_proof: false, ..Limits::default() }, [1; 16], policies.plan());
        Course { policies, table, at_us: 1_000_000 }
    }

    fn play(&mut self, senders: &mut Senders, decisions: u64) -> Vec<Vec<(u16, Option<f64>, String)>> {
        let mut all = Vec::new();
        for _ in 0..decisions {
            senders.send(&mut self.table, self.at_us, self.at_us + 100_000);
            self.at_us += 100_000;
            // The clock advances while nothing arrives.
            self.table.observe(&packet(self.at_us, key_from(9, 9), Direction::Outgoing));
            let decided = self.policies.decide(&self.table, |_| Labels::default());
            let row = |(id, decision): (_, fairweir_guard::policy::Decision)| {
                let port = self.table.get(id).unwrap().key().remote().port();
                (port, decision.rate_mbps, decision.why.to_string())
            };
            let mut rows: Vec<_> = decided.into_iter().map(row).collect();
            rows.sort_by_key(|row| row.0);
            all.push(rows);
        }
        all
    }
}

fn sender(port: u16, mbps: f64) -> (Peer, f64) {
    (Peer::new(key_from(1, port), 20_000), mbps)
}

#[test]
fn a_control_connection_takes_no_share_from_the_transfer() {
    // Like iperf3: some small messages on one connection, then all data on another.
    for toml in ["[[cap]]\nrate = '40Mbps'", "[weights]\ncapacity = '40Mbps'"] {
        let mut course = Course::of(toml);
        course.play(&mut Senders::new(vec![sender(80, 0.5)], None), 3);
        let data = course.play(&mut Senders::new(vec![sender(81, 60.0)], None), 20);
        let (last, why) = (&data[19], &data[19][1].2);
        assert_eq!((last[0].1, last[1].1), (Some(20.0), Some(40.0)), "{toml}: {last:?}");
        assert!(why.ends_with("capped at 40.00 Mbit/s, 1 flow(s), 1 idle"), "{why}");
        // Nor while it still counts: 0.5 Mbit/s and twice that, not a half.
        assert!(data.iter().skip(1).all(|rows| rows[1].1.is_some_and(|mbps| mbps >= 38.0)), "{data:?}");
    }
}

#[test]
fn a_flow_that_wakes_up_counts_from_the_next_decision_on() {
    let mut course = Course::of("[[cap]]\nrate = '40Mbps'");
    let mut senders = Senders::new(vec![sender(80, 30.0)], None);
    course.play(&mut senders, 5);
    let [first, other] = [senders.peers.remove(0), sender(81, 60.0)];
    senders.peers.push(other);
    let alone = course.play(&mut senders, 15);
    assert_eq!(alone[14][1].1, Some(40.0), "{alone:?}");
    // The first may have half at once, and takes it.
    senders.peers[0].1 = 40.0;
    senders.peers.push((first.0, 20.0));
    for rows in course.play(&mut senders, 4) {
        assert_eq!((rows[0].1, rows[1].1), (Some(20.0), Some(20.0)), "{rows:?}");
        assert!(rows[1].2.ends_with("2 flow(s)"), "{rows:?}");
    }
}

#[test]
fn a_flow_that_sends_nothing_has_no_share() {
    let mut course = Course::of("[[cap]]\nrate = '40Mbps'");
    // As many connections as a browser keeps open.
    for port in 100..120 {
        let ack = Packet { payload: 1, ..packet(900_000, key_from(1, port), Direction::Incoming) };
        course.table.observe(&ack);
    }
    let last = course.play(&mut Senders::new(vec![sender(80, 60.0)], None), 20).pop().unwrap();
    let [rate] = last.iter().filter(|row| row.0 == 80).map(|row| row.1).collect::<Vec<_>>()[..] else { panic!() };
    assert_eq!(rate, Some(40.0), "{last:?}");
}

#[test]
fn a_model_and_a_policy_that_do_not_belong_together_are_rejected() {
    let config = Config::from_toml("[flow]\nmodel = 'forest.json'").unwrap();
    assert_eq!(Policies::new(&config, None).unwrap_err(), ModelError::Missing("forest.json".to_owned()));
    let trees = fairweir_guard::Trees::from_json(r#"{"features": [], "baseline": [0, 0, 1], "trees": []}"#).unwrap();
    assert_eq!(Policies::new(&Config::default(), Some(Box::new(trees))).unwrap_err(), ModelError::Unused);
}
