//! The retransmission timer (RFC 6298).

mod common;

use common::{PACKET, droptail, dumbbell, flow, run};
use fairweir_path::ElementConfig;
use fairweir_path::loss::PeriodicLossConfig;
use fairweir_scenario::{FlowSpec, Source};

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
