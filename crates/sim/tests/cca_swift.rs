//! Swift on whole paths: its fixed point, the fixed point's growth with the number of flows, and a parking lot.
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{crowd, max_min_ratio, parking_lot, queued, run, throughputs};
use serde_json::json;

/// Default parameters of flow scaling: a in s sqrt(packets), b in s.
const FS_MAX: f64 = 100_000.0;

/// Returns the queue, in packets without the packet in transmission, whose delay equals the target delay of `n` flows.
fn fixed_point(mbps: u64, rtprop_ms: u64, n: u64) -> f64 {
    let rate = mbps as f64 * 1e6 / 12_000.0;
    let a = 0.1 / (10f64.sqrt() - 1.0 / FS_MAX.sqrt());
    let (mut low, mut high) = (0.0, 1e6);
    for _ in 0..100 {
        let queued = (low + high) / 2.0;
        let cwnd = (rate * rtprop_ms as f64 / 1e3 + 1.0 + queued) / n as f64;
        let target = (a / cwnd.sqrt() - a / FS_MAX.sqrt()) * rate;
        if target > queued { low = queued } else { high = queued }
    }
    low
}

#[test]
fn the_queue_is_the_fixed_points_and_grows_as_the_root_of_the_flows() {
    for mbps in [24, 200] {
        let mut alone = 0.0;
        for n in [1u64, 4, 16] {
            let outcome = run(&crowd("swift", &json!({}), mbps, 40, n, 200)).expect("a run");
            let (measured, law) = (queued(&outcome, mbps), fixed_point(mbps, 40, n));
            row!("{mbps} Mbps, {n} flows: {measured:.1} packets queue, fixed point {law:.1}");
            // AIMD oscillates by up to one packet per flow
            assert!((measured - law).abs() < n as f64 / 4.0 + 1.0, "{n} flows: {measured}, not {law}");
            assert!(max_min_ratio(&outcome) < 1.15, "{:?}", throughputs(&outcome));
            alone = if n == 1 { law } else { alone };
            // the law is sqrt(n), reduced because windows grow with a longer queue, and increased by the effect of b on
            // the target
            assert!((0.75..1.1).contains(&(law / alone / (n as f64).sqrt())), "{law} of {alone}");
        }
    }
    assert_table!();
}

/// Returns the rate of a one-hop flow divided by the rate of the flow over all `hops`. Each hop has one one-hop flow.
fn parking_lot_share(mbps: u64, rtprop_ms: u64, hops: u64) -> f64 {
    let rate = mbps as f64 * 1e6 / 12_000.0;
    let a = 0.1 / (10f64.sqrt() - 1.0 / FS_MAX.sqrt());
    // Rates of both flows if each hop's queue has a delay of `delay` seconds: the windows at which target equals delay.
    let rates = |delay: f64| {
        [1, hops].map(|hops| {
            let seen = delay * hops as f64;
            let cwnd = (a / (seen + a / FS_MAX.sqrt())).powi(2);
            cwnd / (rtprop_ms as f64 / 1e3 + hops as f64 / rate + seen)
        })
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let delay = (low + high) / 2.0;
        if rates(delay).iter().sum::<f64>() > rate { low = delay } else { high = delay }
    }
    let [short, long] = rates(low);
    short / long
}

#[test]
fn a_flow_over_k_hops_gets_its_fixed_points_share_which_is_less_than_one_in_k_squared() {
    for hops in [2u64, 3] {
        let law = parking_lot_share(48, 20, hops);
        // 1/q^2 alone gives a ratio of k^2 for the windows; the longer RTT increases it
        assert!(law > (hops * hops) as f64, "{law}");
        let rates = throughputs(&run(&parking_lot("swift", &json!({}), 48, 20, hops, 300)).expect("a run"));
        let ratio = rates[1..].iter().sum::<f64>() / hops as f64 / rates[0];
        row!("{hops} hops: {rates:.2?} Mbps, ratio {ratio:.2}, fixed point {law:.2}");
        assert!((ratio / law - 1.0).abs() < 0.1 && ratio > (hops * hops) as f64, "{hops} hops: {ratio}, not {law}");
    }
    assert_table!();
}
