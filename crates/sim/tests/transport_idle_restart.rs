//! Restart after idle (`transport`, RFC 2861).

use crate::common::{droptail, dumbbell, flow, run};
use fairweir_scenario::{Config, FlowSummary, Mechanism, Source};
use fairweir_units::Dur;

/// A second of data, then `off_ms` without, over 20 Mbit/s, 40 ms (67 packets) and a queue of `queue` packets.
fn on_off(cca: &str, off_ms: u64, queue: u64, mechanisms: &[Mechanism]) -> Config {
    let mut one = flow(cca, 40);
    one.source = Source::OnOff { on: Dur::from_secs(1), off: Dur::from_millis(off_ms) };
    one.transport = mechanisms.iter().copied().collect();
    dumbbell(20, droptail(queue), vec![one], 10, 0, 1)
}

fn summary(config: &Config) -> FlowSummary {
    run(config).expect("a run").summary.flows.remove(0)
}

#[test]
fn a_window_that_was_idle_does_not_overflow_the_queue_at_once() {
    for cca in ["reno", "cubic", "vegas"] {
        let [with, without] =
            [&[Mechanism::IdleRestart][..], &[]].map(|set| summary(&on_off(cca, 2_000, 20, set)).lost_pkts);
        // Only slow start from the restart window overflows the queue, if anything.
        assert!(with * 2 < without, "{cca}: {with} and {without} lost");
    }
}

#[test]
fn cwnd_is_halved_once_per_rto_to_the_initial_window_at_the_lowest() {
    // The RTO is 240 to 320 ms, and all is delivered after 120 ms at the latest.
    for (off_ms, halvings) in [(180, 0), (450, 1), (2_000, 7)] {
        let mut config = on_off("reno", off_ms, 100, &[Mechanism::IdleRestart]);
        (config.duration, config.interval) = (Dur::from_millis(1_000 + off_ms + 10), Some(Dur::from_millis(1)));
        let windows = run(&config).expect("a run").series.expect("recorded").flows.cwnd_bytes;
        let (last, before) = (windows[windows.len() - 1] / 1500, windows[windows.len() - 20] / 1500);
        assert!(before > 60, "{before}");
        assert_eq!(last, (before >> halvings).max(10), "{off_ms} ms off, {before} packets before");
    }
}

#[test]
fn algorithms_that_control_recovery_and_quic_keep_their_window() {
    for cca in ["bbr", "copa", "quinn/cubic"] {
        let [with, without] =
            [&[Mechanism::IdleRestart][..], &[]].map(|set| format!("{:?}", summary(&on_off(cca, 2_000, 20, set))));
        assert_eq!(with, without, "{cca}");
    }
}
