//! The retransmission timer (RFC 6298) and the reordering timer (RFC 8985).

use crate::common::{PACKET, droptail, dumbbell, flow, run};
use fairweir_path::ElementConfig;
use fairweir_path::loss::PeriodicLossConfig;
use fairweir_scenario::{FlowSpec, Mechanism, Source};

#[test]
fn the_first_rtt_sample_shortens_the_timeout_of_the_first_second() {
    // 20 packets, of which the last is lost: sent after one RTT of 40 ms, lost at 80 ms.
    let loss = PeriodicLossConfig { every: 1000, first: Some(20) };
    let one = FlowSpec {
        source: Source::Finite { bytes: PACKET * 20 },
        ingress: vec![ElementConfig::PeriodicLoss(loss)],
        ..flow("reno", 40)
    };
    let summary = run(&dumbbell(48, droptail(100), vec![one], 10, 0, 1)).expect("a run").summary;
    let (timeouts, completion) = (summary.flows[0].timeouts, summary.flows[0].completion_s.expect("complete"));
    // The timeout is srtt + 200 ms, not the initial second: 80 + 240 + 40 ms.
    assert_eq!(timeouts, 1);
    assert!((0.30..0.45).contains(&completion), "{completion} s");
}

/// Returns the completion of ten packets of which the ninth is lost, ms.
fn completion_ms(mechanisms: &[Mechanism]) -> f64 {
    let one = FlowSpec {
        source: Source::Finite { bytes: PACKET * 10 },
        ingress: vec![ElementConfig::PeriodicLoss(PeriodicLossConfig { every: 1000, first: Some(9) })],
        transport: mechanisms.iter().copied().collect(),
        ..flow("reno", 40)
    };
    let summary = run(&dumbbell(48, droptail(100), vec![one], 10, 0, 1)).expect("a run").summary;
    assert_eq!(summary.flows[0].timeouts, 0);
    summary.flows[0].completion_s.expect("complete") * 1e3
}

#[test]
fn the_kernels_reordering_timer_takes_two_milliseconds_more_and_expires_at_a_jiffy() {
    // The tenth packet is SACKed, and the ninth is lost a quarter of the minimum RTT later.
    let ideal = completion_ms(&[]);
    assert!((90.0..93.0).contains(&ideal), "{ideal}");
    let kernel = completion_ms(&[Mechanism::LossRecovery]) - ideal;
    assert!((1.9..2.1).contains(&kernel), "{kernel}");
    let with_jiffies = completion_ms(&[Mechanism::LossRecovery, Mechanism::Jiffies]) - ideal;
    assert!((2.0..10.1).contains(&with_jiffies), "{with_jiffies}");
}
