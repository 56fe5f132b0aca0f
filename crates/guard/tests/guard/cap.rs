//! Caps, and several policies at once.

use crate::peer::{Peer, Senders, key, key_from};
use fairweir_guard::policy::{Config, Labels, Policies, Why};
use fairweir_guard::{Limits, Table};

fn windows(toml: &str) -> Vec<(String, Option<u64>, Why)> {
    let mut policies = Policies::new(&Config::from_toml(toml).unwrap());
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
