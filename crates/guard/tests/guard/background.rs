//! rLEDBAT and weights, through a configuration.

use crate::peer::{Peer, Senders, key};
use fairweir_guard::policy::{Config, Decision, Labels, Policies, Why};
use fairweir_guard::{Limits, Table};

/// Decisions for hosts 1 and 2 after a second at `mbps`, with RTTs of 20 ms and then of `rtt_us`.
fn decisions(toml: &str, mbps: [f64; 2], rtt_us: u64) -> Vec<Decision> {
    let mut policies = Policies::new(&Config::from_toml(toml).unwrap(), None).unwrap();
    let mut table = Table::new(Limits::default(), [1; 16], policies.plan());
    let peers = [1, 2].into_iter().zip(mbps).map(|(host, mbps)| (Peer::new(key(host), 20_000), mbps)).collect();
    let mut senders = Senders::new(peers, None);
    let mut last = Vec::new();
    for step in 10..40 {
        if step == 20 {
            senders.peers.iter_mut().for_each(|(peer, _)| peer.rtt_us = rtt_us);
        }
        senders.send(&mut table, step * 100_000, (step + 1) * 100_000);
        last = policies.decide(&table, |_| Labels::default());
    }
    last.sort_by_key(|(id, _)| *table.get(*id).unwrap().key());
    last.into_iter().map(|(_, decision)| decision).collect()
}

#[test]
fn background_flows_yield_to_a_queue_and_others_do_not() {
    let toml = "[[rledbat]]\nservice = '0.0.0.2'";
    let (calm, queued) = (decisions(toml, [5.0, 5.0], 20_000), decisions(toml, [5.0, 5.0], 150_000));
    for rows in [&calm, &queued] {
        assert_eq!((rows[0].window, &rows[0].why), (None, &Why::Unmanaged));
    }
    let window = |rows: &[Decision]| rows[1].window.unwrap().bytes();
    assert!(window(&calm) > 20 * 1460, "{}", window(&calm));
    assert_eq!(window(&queued), 2 * 1460, "130 ms of queue");
    let Why::Background { qdelay, .. } = queued[1].why.clone() else { panic!("{}", queued[1].why) };
    assert!((qdelay.as_millis_f64() - 130.0).abs() < 2.0, "{qdelay}");
}

#[test]
fn a_capacity_is_divided_by_weight_and_what_is_left_goes_to_others() {
    let toml = "[weights]\ncapacity = '30Mbps'\nweights = { '0.0.0.2' = 2.0 }";
    let both = decisions(toml, [10.0, 20.0], 20_000);
    let rates = |rows: &[Decision]| [0, 1].map(|i| rows[i].rate_mbps.unwrap());
    assert_eq!(rates(&both), [10.0, 20.0]);
    let idle = decisions(toml, [1.0, 28.0], 20_000);
    let [_, second] = rates(&idle);
    assert!((second - 27.9).abs() < 0.3, "the first may double its 1 Mbit/s: {second}");
}
