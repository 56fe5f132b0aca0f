//! The belief-based CCAs on whole paths: the proved properties (thesis 4.2.3) and the published measurements (4.2.4,
//! B.6).
//!
//! Each test compares its numbers with its table in `laws/`; `INSTA_UPDATE=always` records them again.

use crate::common::{droptail, dumbbell, flow, link, run, throughputs};
use fairweir_path::LinkConfig;
use fairweir_path::link::{RateStep, StepsConfig};
use fairweir_scenario::{Config, FlowSpec};
use fairweir_sim::Outcome;
use fairweir_units::{Dur, Rate, Time};
use serde_json::{Value, json};

/// Returns the packets of a bandwidth-delay product.
fn bdp(mbps: u64, rtprop_ms: u64) -> u64 {
    mbps * rtprop_ms * 125 / 1500
}

/// One of the thesis's links (B.6); with jitter, random ACK aggregation has D = R.
#[derive(Clone, Copy, Debug)]
struct Link {
    mbps: u64,
    rtprop_ms: u64,
    buffer_bdp: f64,
    has_jitter: bool,
}

impl Link {
    fn flow(self, cca: &str, params: &Value) -> FlowSpec {
        let mut flow = flow(cca, self.rtprop_ms);
        flow.params = params.clone();
        if self.has_jitter {
            let (max, rate) = (self.rtprop_ms * 1_000_000, self.mbps * 125_000);
            let element = json!({"kind": "random-aggregation", "max": max, "rate": rate});
            flow.egress = vec![serde_json::from_value(element).expect("an element")];
        }
        flow
    }

    fn packets(self) -> u64 {
        (bdp(self.mbps, self.rtprop_ms) as f64 * self.buffer_bdp) as u64
    }

    /// Runs `cca` for 60 s and measures the last 40 s.
    fn play(self, cca: &str, params: &Value) -> Steady {
        let flows = vec![self.flow(cca, params)];
        let mut config = dumbbell(self.mbps, droptail(self.packets()), flows, 60, 20, 1);
        config.interval = Some(Dur::from_millis(self.rtprop_ms));
        Steady::of(&run(&config).expect("a run that ends well"), self.rtprop_ms)
    }
}

/// Returns all links of the thesis's Figure B.3 with these buffers.
fn links(buffers_bdp: &'static [f64], has_jitter: bool) -> impl Iterator<Item = Link> {
    [24, 48, 96].into_iter().flat_map(move |mbps| {
        [20, 40, 80].into_iter().flat_map(move |rtprop_ms| {
            buffers_bdp.iter().map(move |&buffer_bdp| Link { mbps, rtprop_ms, buffer_bdp, has_jitter })
        })
    })
}

/// End of the warm-up: the flow has then reached a steady state.
const WARMUP_NS: u64 = 20_000_000_000;

#[derive(Debug)]
struct Steady {
    utilization: f64,
    /// Maximum RTT divided by R + D.
    max_rtt: f64,
    /// Mean number of packets lost in an interval of length R.
    mean_lost: f64,
    /// Maximum number of packets lost in an interval of length R.
    max_lost: u64,
}

impl Steady {
    fn of(outcome: &Outcome, rtprop_ms: u64) -> Steady {
        let flow = &outcome.summary.flows[0];
        let series = &outcome.series.as_ref().expect("an interval was asked for").flows;
        let lost = series.t_ns.iter().zip(&series.lost_pkts).filter(|(t, _)| **t > WARMUP_NS).map(|(_, lost)| *lost);
        Steady {
            utilization: outcome.summary.links[0].utilization,
            max_rtt: flow.rtt_ms.max / (2 * rtprop_ms) as f64,
            mean_lost: flow.lost_pkts as f64 * rtprop_ms as f64 / 40_000.0,
            max_lost: lost.max().expect("a row"),
        }
    }
}

/// Returns the worst case over many links: minimum utilization, maximum RTT and loss.
fn worst(runs: impl Iterator<Item = Steady>) -> Steady {
    let start = Steady { utilization: f64::INFINITY, max_rtt: 0.0, mean_lost: 0.0, max_lost: 0 };
    runs.fold(start, |worst, run| Steady {
        utilization: worst.utilization.min(run.utilization),
        max_rtt: worst.max_rtt.max(run.max_rtt),
        mean_lost: worst.mean_lost.max(run.mean_lost),
        max_lost: worst.max_lost.max(run.max_lost),
    })
}

#[test]
fn cc_qdel_keeps_its_proved_bounds_on_deep_buffers() {
    // Lemma B.4.7, for buffers of at least 3 C (R + D) = 6 BDP: a utilization of at least 89 %, an RTT of at most 4.4
    // (R + D), at most 3 packets lost in R.
    for has_jitter in [false, true] {
        let steady = worst(links(&[6.0, 8.0, 16.0], has_jitter).map(|link| link.play("cc_qdel", &Value::Null)));
        row!("cc_qdel, at least 6 BDP, jitter {has_jitter}: {steady:.3?}");
        assert!(steady.utilization > 0.89);
        assert!(steady.max_rtt < 4.4);
        assert_eq!(steady.max_lost, 0);
    }
    assert_table!();
}

#[test]
fn cc_qdel_fills_shallow_links_and_loses_in_proportion() {
    // Figure 4.6: high utilization, and losses of about a BDP (C R) in each R.
    for (mbps, rtprop_ms) in [(24, 20), (96, 80)] {
        let steady = Link { mbps, rtprop_ms, buffer_bdp: 0.25, has_jitter: true }.play("cc_qdel", &Value::Null);
        row!("cc_qdel, 1/4 BDP, {mbps} Mbps, {rtprop_ms} ms: {steady:.3?}");
        let by_bdp = steady.mean_lost / bdp(mbps, rtprop_ms) as f64;
        assert!(steady.utilization > 0.89);
        assert!((0.3..1.5).contains(&by_bdp), "{by_bdp} BDP lost in each R");
    }
    assert_table!();
}

#[test]
fn cc_probe_slow_loses_a_constant_whatever_the_link() {
    // Proved: at least 30 % utilization, an RTT of at most 1.5 (R + D), at most 2 alpha = 10 packets lost in R; without
    // timeouts, a utilization of T* / (T* + D) = 50 %.
    for has_jitter in [false, true] {
        let runs = links(&[0.125, 0.25, 0.5, 1.0, 2.0], has_jitter).map(|link| {
            let steady = link.play("cc_probe_slow", &Value::Null);
            row!("cc_probe_slow {link:?}: {steady:.3?}");
            steady
        });
        let steady = worst(runs);
        row!("cc_probe_slow, 1/8 to 2 BDP, jitter {has_jitter}: {steady:.3?}");
        assert!(steady.utilization > 0.30);
        assert!(steady.max_rtt < 1.5);
        assert!(steady.max_lost <= 10);
    }
    assert_table!();
}

#[test]
fn longer_probes_use_more_of_a_shallow_link() {
    // The fastest link consistent with the observations has (T* + D) / T* times the sending rate (table 4.2).
    let link = Link { mbps: 24, rtprop_ms: 20, buffer_bdp: 0.0625, has_jitter: false };
    for k in [1.0, 2.0, 4.0] {
        let steady = link.play("cc_probe_slow", &json!({"k": k}));
        row!("cc_probe_slow, k = {k}, 1/16 BDP: {steady:.3?}, in theory {:.3}", k / (k + 1.0));
        assert!((steady.utilization - k / (k + 1.0)).abs() < 0.1);
    }
    assert_table!();
}

#[test]
fn a_deep_buffer_leaves_cc_probe_slow_in_its_start() {
    // 4.2.4: until a large loss occurs, the CCA behaves as cc_qdel.
    let link = Link { mbps: 48, rtprop_ms: 40, buffer_bdp: 8.0, has_jitter: true };
    let (slow, qdel) = (link.play("cc_probe_slow", &Value::Null), link.play("cc_qdel", &Value::Null));
    row!("8 BDP: cc_probe_slow {slow:.3?}, cc_qdel {qdel:.3?}");
    assert_eq!(format!("{slow:?}"), format!("{qdel:?}"));
    assert_table!();
}

/// Figures B.6 and B.7: R = 80 ms, a buffer of 640 packets; the rate changes every 20 s.
fn changing_link(cca: &str, params: Value, mbps: [u64; 3]) -> Config {
    let mut flow = flow(cca, 80);
    flow.params = params;
    let mut config = dumbbell(96, droptail(640), vec![flow], 60, 0, 1);
    let step = |(&mbps, at)| RateStep { at: Time::ZERO + Dur::from_secs(at), rate: Rate::from_mbps(mbps) };
    let mut hop = link("bottleneck", 96, droptail(640));
    hop.hop.link = LinkConfig::Steps(StepsConfig { steps: mbps.iter().zip([0, 20, 40]).map(step).collect() });
    config.links = vec![hop];
    config
}

/// Returns the mean throughput between two times, Mbps.
fn mean_rate(config: &Config, from_s: u64, to_s: u64) -> f64 {
    let config = Config { duration: Dur::from_secs(to_s), warmup: Dur::from_secs(from_s), ..config.clone() };
    throughputs(&run(&config).expect("a run that ends well"))[0]
}

#[test]
fn cc_probe_slow_follows_a_rising_rate_linearly_and_a_falling_one_exponentially() {
    // Each probe increases C_Ll by alpha / (T* + D); a probe and its drains take at least T* + 2 R.
    for (k, least, most) in [(1.0, 0.6, 1.0), (4.0, 0.6, 1.0)] {
        let up = changing_link("cc_probe_slow", json!({"k": k}), [24, 48, 96]);
        let slope = (mean_rate(&up, 54, 58) - mean_rate(&up, 44, 48)) / 10.0;
        let theory = 5.0 * 0.012 / (0.08 * (k + 1.0)) / (0.08 * (k + 2.0));
        row!("cc_probe_slow, k = {k}, rising: {slope:.2} Mbps per second, at most {theory:.2}");
        assert!((least..=most).contains(&(slope / theory)), "{slope} {theory}");
    }
    let down = changing_link("cc_probe_slow", Value::Null, [96, 48, 24]);
    for at in [20, 40] {
        let config = Config { duration: Dur::from_secs(at + 20), warmup: Dur::from_secs(at + 4), ..down.clone() };
        let flow = &run(&config).expect("a run that ends well").summary.flows[0];
        row!("cc_probe_slow, 4 s after the rate halves at {at} s: {} packets lost", flow.lost_pkts);
        assert!(flow.lost_pkts <= 10 * 16_000 / 240, "no more than 2 alpha a cycle");
        assert!(flow.throughput_mbps > 0.5 * 96.0 / (1 << (at / 20)) as f64);
    }
    assert_table!();
}

#[test]
fn losses_in_proportion_buy_exponential_convergence() {
    // With f(C) = C / 10 (4.2.2), each cycle increases C_Ll by a twentieth plus alpha / 2 R, and loses up to 2 f(C).
    let [constant, share] = [0.0, 0.1].map(|share| {
        let up = changing_link("cc_probe_slow", json!({"loss_share": share}), [24, 48, 96]);
        mean_rate(&up, 46, 50)
    });
    row!("cc_probe_slow, 6 to 10 s after 48 to 96 Mbps: {constant:.1} Mbps; {share:.1} with a share of 0.1");
    assert!(constant < 70.0 && share > 85.0);
    let mut max_lost = 0;
    for mbps in [24, 96, 192] {
        let link = Link { mbps, rtprop_ms: 40, buffer_bdp: 0.25, has_jitter: false };
        let steady = link.play("cc_probe_slow", &json!({"loss_share": 0.1}));
        row!("{mbps} Mbps, a share of 0.1: {steady:.3?}");
        assert!(steady.max_lost <= 10 + bdp(mbps, 40) / 5);
        max_lost = max_lost.max(steady.max_lost);
    }
    assert!(max_lost > 10, "no more than 2 alpha: {max_lost}");
    assert_table!();
}

#[test]
fn cc_qdel_follows_changes_within_seconds() {
    for mbps in [[24, 48, 96], [96, 48, 24]] {
        let config = changing_link("cc_qdel", Value::Null, mbps);
        for (step, at) in [(1, 20), (2, 40)] {
            let used = mean_rate(&config, at + 3, at + 20) / mbps[step] as f64;
            row!("cc_qdel, 3 s after {} to {} Mbps: {used:.2} of the link", mbps[step - 1], mbps[step]);
            assert!(used > 0.89);
        }
    }
    assert_table!();
}

fn jain(rates: &[f64]) -> f64 {
    let sum: f64 = rates.iter().sum();
    sum * sum / (rates.len() as f64 * rates.iter().map(|r| r * r).sum::<f64>())
}

/// Figure B.5: four flows that start 30 s apart. Returns Jain's index of their rates between 100 and 110 s.
fn fairness(cca: &str, link: Link) -> f64 {
    let flows = (0..4).map(|i| {
        let mut flow = link.flow(cca, &Value::Null);
        flow.start = Time::ZERO + Dur::from_secs(30 * i);
        flow
    });
    let config = dumbbell(link.mbps, droptail(link.packets()), flows.collect(), 110, 100, 1);
    jain(&throughputs(&run(&config).expect("a run that ends well")))
}

#[test]
fn several_flows_share_as_their_authors_saw() {
    // There is no proof for several flows. Published means of Jain's index for buffers up to 2 BDP: cc_probe_slow 0.94
    // +- 0.06 (with jitter 0.86 +- 0.11), cc_qdel 0.58 +- 0.24 (with jitter 0.43 +- 0.18).
    for has_jitter in [false, true] {
        for buffer_bdp in [0.5, 1.0] {
            let index = fairness("cc_probe_slow", Link { mbps: 96, rtprop_ms: 80, buffer_bdp, has_jitter });
            row!("cc_probe_slow, four flows, {buffer_bdp} BDP, jitter {has_jitter}: Jain's index {index:.2}");
            assert!(index > 0.75);
        }
        let index = fairness("cc_qdel", Link { mbps: 96, rtprop_ms: 80, buffer_bdp: 8.0, has_jitter });
        row!("cc_qdel, four flows, 8 BDP, jitter {has_jitter}: Jain's index {index:.2}");
        assert!(index < 0.82, "{index}: MIMD does not converge");
    }
    assert_table!();
}
