//! The behavior of each controller in a fixed scenario, in ten lines each; a change of behavior changes these tables.
//!
//! After an intended change, `INSTA_UPDATE=always cargo test -p fairweir-sim golden` regenerates the tables.

use crate::common::{PACKET, droptail, dumbbell, flow, run};
use fairweir_native::registry;
use fairweir_scenario::Config;
use fairweir_units::{Dur, Time};
use std::fmt::Write;

/// A controller file, that is, a tree over beliefs.
const BULK: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../controllers/bulk.json");

/// Returns a scenario with one flow on 24 Mbps, 40 ms and 1.5 BDPs; after 12 s a second flow is active for 4 s.
fn scenario(cca: &str) -> Config {
    let mut late = flow(cca, 40);
    late.start = Time::from_nanos(12_000_000_000);
    late.stop = Some(Time::from_nanos(16_000_000_000));
    let mut config = dumbbell(24, droptail(120), vec![flow(cca, 40), late], 20, 0, 1);
    config.interval = Some(Dur::from_millis(100));
    config
}

/// Returns the state of the first flow at ten times.
fn table(cca: &str) -> String {
    let series = run(&scenario(cca)).expect("a run").series.expect("recorded").flows;
    let mut text = String::from("    t/s  cwnd/pkts  inflight/pkts  pacing/Mbps  rate/Mbps  rtt/ms  lost/pkts\n");
    for tenths in [2u64, 4, 8, 16, 32, 64, 110, 130, 150, 190] {
        let t_ns = tenths * 100_000_000;
        let row = (0..series.t_ns.len()).find(|&i| series.t_ns[i] == t_ns && series.flow[i] == 0).expect("a row");
        // losses in the preceding second
        let lost: u64 = (0..series.t_ns.len())
            .filter(|&i| series.flow[i] == 0 && series.t_ns[i] <= t_ns && series.t_ns[i] + 1_000_000_000 > t_ns)
            .map(|i| series.lost_pkts[i])
            .sum();
        writeln!(
            text,
            "{:>7.1} {:>10.1} {:>14} {:>12.3} {:>10.3} {:>7.2} {:>10}",
            t_ns as f64 / 1e9,
            series.cwnd_bytes[row] as f64 / PACKET.0 as f64,
            series.inflight_bytes[row] / PACKET.0,
            series.pacing_rate_mbps[row],
            series.throughput_mbps[row],
            series.rtt_ms[row],
            lost,
        )
        .expect("writing to a string");
    }
    text
}

#[test]
fn behaviour_is_as_recorded() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("golden");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    let _guard = settings.bind_to_scope();
    for algorithm in registry::algorithms() {
        insta::assert_snapshot!(algorithm.name.replace('/', "-"), table(algorithm.name));
    }
    insta::assert_snapshot!("controllers-bulk", table(BULK));
}

#[test]
fn two_plays_are_equal_and_another_seed_is_not() {
    // The seed affects controllers that draw random numbers; it affects the others only through ties between flows.
    for cca in ["bbr", "bbr3", "s2n-quic/bbr", "noq/bbr3"] {
        assert_eq!(table(cca), table(cca));
        let mut other = scenario(cca);
        other.seed = 2;
        assert_ne!(run(&other).expect("a run").series, run(&scenario(cca)).expect("a run").series, "{cca}");
    }
}
