//! ServicePolicy: many flows as one; capacity left by one goes to the others.

use crate::peer::{PAYLOAD, Peer, Senders, key, key_from};
use fairweir_guard::policy::{Config, Decision, Labels, Policies, Sharing, Why};
use fairweir_guard::{FlowKey, Limits, Model, Table};

const RTT_US: u64 = 20_000;
const MATHIS: &str = "[service]\nmodel = 'mathis'";
const SECOND: u64 = 1_000_000;

fn policies(toml: &str) -> (Policies, Table) {
    let policies = Policies::new(&Config::from_toml(toml).unwrap(), None).unwrap();
    let table = Table::new(Limits::default(), [1; 16], policies.plan());
    (policies, table)
}

fn decide(policies: &mut Policies, table: &Table) -> Vec<(FlowKey, Decision)> {
    let decisions = policies.decide(table, |_| Labels::default());
    decisions.into_iter().map(|(id, decision)| (*table.get(id).unwrap().key(), decision)).collect()
}

/// Decides every 100 ms for `seconds` in which `peers` send with periodic losses.
fn play(toml: &str, peers: Vec<(Peer, f64)>, seconds: u64, lose_every: Option<u64>) -> Vec<(FlowKey, Decision)> {
    let (mut policies, mut table) = policies(toml);
    let mut senders = Senders::new(peers, lose_every);
    let mut last = Vec::new();
    for step in 0..seconds * 10 {
        senders.send(&mut table, SECOND + step * SECOND / 10, SECOND + (step + 1) * SECOND / 10);
        last = decide(&mut policies, &table);
    }
    last
}

fn flows(host: u32, count: u16, mbps: f64) -> Vec<(Peer, f64)> {
    (0..count).map(|i| (Peer::new(key_from(host, 5000 + i), RTT_US), mbps)).collect()
}

fn total_mbps(decisions: &[(FlowKey, Decision)]) -> f64 {
    decisions.iter().map(|(_, decision)| decision.rate_mbps.unwrap()).sum()
}

#[test]
fn nine_flows_get_what_one_gets_that_loses_as_often() {
    let one = play(MATHIS, flows(1, 1, 45.0), 10, Some(1000));
    let nine = play(MATHIS, flows(1, 9, 5.0), 10, Some(1000));
    let reno = Model::Mathis.mbps(PAYLOAD, Some(20_000.0), 1e-3).unwrap();
    for decisions in [&one, &nine] {
        assert!((total_mbps(decisions) / reno - 0.95).abs() < 0.06, "{} of {reno}", total_mbps(decisions));
    }
    assert_eq!(nine.len(), 9);
    let Why::Share { loss_event_rate, flows, .. } = nine[0].1.why.clone() else { panic!("{}", nine[0].1.why) };
    assert!((loss_event_rate * 1000.0 - 1.0).abs() < 0.1, "{loss_event_rate}");
    assert_eq!(flows, Sharing { active: 9, idle: 0 });
}

#[test]
fn a_service_grows_by_a_segment_an_rtt_and_halves_at_a_loss_as_one_reno_flow() {
    let (mut policies, mut table) = policies("[service]");
    let mut senders = Senders::new(flows(1, 4, 5.0), None);
    let mut windows = Vec::new();
    for step in 0..60 {
        let at = SECOND + step * SECOND / 10;
        if step % 20 == 5 {
            senders.peers.iter_mut().for_each(|(peer, _)| peer.lose(1));
        }
        senders.send(&mut table, at, at + SECOND / 10);
        let why = decide(&mut policies, &table)[0].1.why.clone();
        let Why::Share { service_mbps, .. } = why else {
            assert!(step < 5, "{why}");
            continue;
        };
        windows.push(service_mbps * 21.5e3 / 8.0 / f64::from(PAYLOAD));
    }
    // Arrivals within an RTT: 20 Mbit/s at 21 to 22 ms are 37 segments.
    assert!((windows[0] / 37.0 - 1.0).abs() < 0.1, "{}", windows[0]);
    // W dW = arrivals, here 172 segments in 100 ms for any window.
    for (n, window) in windows[..20].iter().enumerate() {
        let expected = (windows[0].powi(2) + 2.0 * 172.6 * n as f64).sqrt();
        assert!((window / expected - 1.0).abs() < 0.15, "{n}: {window}, {expected}");
    }
    let (before, after) = (windows[19], windows[20]);
    assert!((after / before - 0.5).abs() < 0.05, "{before} {after}");
}

#[test]
fn losses_before_a_window_can_have_its_effect_halve_nothing() {
    let (mut policies, mut table) = policies("[service]");
    let mut senders = Senders::new(flows(1, 4, 5.0), None);
    let mut rates = Vec::new();
    for step in 0..12 {
        // Three losses, 30 ms apart: more than an RTT of 22 ms, less than an RTT and a decision's time.
        for part in 0..10 {
            if step == 8 && part % 3 == 1 {
                senders.peers[part as usize / 3].0.lose(1);
            }
            let at = SECOND + step * SECOND / 10 + part * SECOND / 100;
            senders.send(&mut table, at, at + SECOND / 100);
        }
        if step == 4 {
            senders.peers[3].0.lose(1);
        }
        let why = decide(&mut policies, &table)[0].1.why.clone();
        rates.push(if let Why::Share { service_mbps, .. } = why { service_mbps } else { 0.0 });
    }
    let (before, after) = (rates[7], rates[8]);
    assert!(before > 0.0 && (0.45..0.75).contains(&(after / before)), "{rates:?}");
}

#[test]
fn a_service_that_loses_nothing_is_left_alone() {
    let decisions = play("[service]", flows(1, 3, 5.0), 3, None);
    assert!(decisions.iter().all(|(_, decision)| decision.window.is_none()), "{decisions:?}");
    assert_eq!(decisions[0].1.why.to_string(), "no loss of 0.0.0.1 seen yet");
}

#[test]
fn losses_of_several_flows_within_an_rtt_are_one_event() {
    let (mut policies, mut table) = policies("[service]");
    let mut senders = Senders::new(flows(1, 4, 5.0), None);
    for step in 0..100 {
        let at = SECOND + step * SECOND / 10;
        if step % 10 == 5 {
            senders.peers.iter_mut().for_each(|(peer, _)| peer.lose(1));
        }
        senders.send(&mut table, at, at + SECOND / 10);
        decide(&mut policies, &table);
    }
    let Why::Share { loss_event_rate, .. } = decide(&mut policies, &table)[0].1.why.clone() else { panic!() };
    // One event a second among 20 Mbit/s of segments.
    let segments = 20e6 / 8.0 / f64::from(PAYLOAD);
    assert!((loss_event_rate * segments - 1.0).abs() < 0.1, "{loss_event_rate} of 1/{segments}");
}

#[test]
fn capacity_unused_by_an_application_limited_flow_goes_to_the_others() {
    let mut peers = flows(1, 2, 20.0);
    peers[0].1 = 0.5;
    let decisions = play(MATHIS, peers, 20, Some(1000));
    let reno = Model::Mathis.mbps(PAYLOAD, Some(20_000.0), 1e-3).unwrap();
    // The first may use 1 Mbit/s, twice what it has: the second gets what that leaves, and the first may come back to
    // half.
    let [limited, greedy] = [5000, 5001].map(|port| {
        let of_port = decisions.iter().find(|(flow, _)| flow.remote().port() == port);
        of_port.unwrap().1.rate_mbps.unwrap()
    });
    assert!((0.8 * reno..reno - 1.0).contains(&greedy), "{greedy} of {reno}");
    assert!((limited / (greedy + 1.0) - 0.5).abs() < 0.05, "{limited} against {greedy}");
}

#[test]
fn weights_count_as_flows_and_services_are_reported_apart() {
    let toml = "[service]\nmodel = 'mathis'\nweights = { '0.0.0.2' = 3.0 }";
    let mut peers = flows(1, 1, 5.0);
    peers.extend(flows(2, 1, 5.0));
    let decisions = play(toml, peers, 20, Some(501));
    let of = |host: u32| {
        let found = decisions.iter().find(|(flow, _)| flow.remote().ip() == key(host).remote().ip());
        found.unwrap().1.rate_mbps.unwrap()
    };
    assert!((of(2) / of(1) - 3.0).abs() < 0.4, "{} and {}", of(2), of(1));
}

#[test]
fn a_window_is_never_below_two_segments() {
    let decisions = play("[service]\nmodel = 'padhye'", flows(1, 9, 1.0), 5, Some(4));
    for (_, decision) in &decisions {
        assert!(decision.rate_mbps.unwrap() < 0.5, "{decision:?}");
        assert_eq!(decision.window.unwrap().bytes(), 2 * 1460);
    }
}
