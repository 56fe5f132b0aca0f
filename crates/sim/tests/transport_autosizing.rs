//! Autosizing: BBR's bursts, with and without.

use crate::common::{droptail, dumbbell, flow, run};
use fairweir_scenario::{FlowSummary, Mechanism};

/// Runs BBR alone at 20 Mbit/s and 40 ms with a queue of 16 packets, in bursts of at most `gso`.
fn alone(cca: &str, gso: u64, mechanisms: &[Mechanism]) -> FlowSummary {
    let mut one = flow(cca, 40);
    one.gso = gso;
    one.transport = mechanisms.iter().copied().collect();
    run(&dumbbell(20, droptail(16), vec![one], 12, 2, 1)).expect("a run").summary.flows.remove(0)
}

#[test]
fn bursts_of_a_millisecond_queue_as_on_the_kernel() {
    // the kernel: loss 1.5 %, mean RTT 42.3 to 42.5 ms (docs/measured/transport.md)
    let (with, without) = (alone("bbr", 16, &[Mechanism::Autosizing]), alone("bbr", 16, &[]));
    assert!((41.5..42.8).contains(&with.rtt_ms.mean), "{}", with.rtt_ms.mean);
    assert!((0.008..0.018).contains(&with.loss_rate), "{}", with.loss_rate);
    assert!(without.rtt_ms.mean > with.rtt_ms.mean + 2.0, "{}", without.rtt_ms.mean);
    assert!(without.loss_rate > 2.0 * with.loss_rate, "{}", without.loss_rate);
}

#[test]
fn nothing_changes_without_offload_or_without_pacing_or_in_quic() {
    for (cca, gso) in [("bbr", 1), ("reno", 16), ("quinn/bbr", 16)] {
        let [with, without] = [&[Mechanism::Autosizing][..], &[]].map(|set| format!("{:?}", alone(cca, gso, set)));
        assert_eq!(with, without, "{cca}");
    }
}
