//! Constructors of scenarios for tests, and tables of the numbers that tests measure.

use fairweir_cca::{BuildError, Controller, Start};
use fairweir_path::LinkConfig;
use fairweir_path::QueueConfig;
use fairweir_path::link::{RateStep, StepsConfig};
use fairweir_path::queue::DroptailConfig;
use fairweir_scenario::{Config, FlowSpec, LinkSpec};
use fairweir_sim::{Outcome, SimError, run_with};
use fairweir_units::{Bytes, Dur, Rate, Time};
use serde_json::Value;
use std::cell::RefCell;
use std::ops::ControlFlow;

thread_local! {
    /// Rows of the test that runs in the current thread.
    static ROWS: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Appends a line to the test's table.
pub fn add_row(row: std::fmt::Arguments<'_>) {
    ROWS.with_borrow_mut(|rows| *rows += &format!("{row}\n"));
}

/// Returns the test's table, which must not be empty.
pub fn take_rows() -> String {
    let rows = ROWS.take();
    assert!(!rows.is_empty(), "the test recorded no numbers");
    rows
}

/// Appends a formatted line to the test's table.
macro_rules! row {
    ($($format:tt)*) => { $crate::common::add_row(format_args!($($format)*)) };
}

/// Compares the test's table with the recorded table in `laws/`, in the folder of the test's file. The assertions test
/// the law; this comparison detects every change of a number.
macro_rules! assert_table {
    () => {{
        let mut settings = insta::Settings::clone_current();
        let file = module_path!().rsplit("::").next().expect("a module has a name");
        settings.set_snapshot_path(format!(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/laws/{}"), file));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!($crate::common::take_rows()));
    }};
}

/// Builds a flow's controller by name, from those in Rust, in C and in files.
pub fn by_name(flow: &FlowSpec, start: &Start) -> Result<Box<dyn Controller>, BuildError> {
    fairweir_native::registry::build(&flow.cca, &flow.params, start)
}

/// Runs `config` with the controllers that `by_name` builds.
pub fn run(config: &Config) -> Result<Outcome, SimError> {
    run_with(config, &by_name, &mut |_| ControlFlow::Continue(()))
}

/// Data packet size of every test scenario.
pub const PACKET: Bytes = Bytes(1500);

/// Seeds of tests about shares. The seed orders ties between flows; these must not determine the result.
pub const SEEDS: [u64; 3] = [1, 2, 3];

/// Returns a droptail queue of `packets`.
pub fn droptail(packets: u64) -> QueueConfig {
    serde_json::from_value(serde_json::json!({"kind": "droptail", "limit": packets * PACKET.0})).unwrap()
}

/// Returns an unlimited droptail queue.
pub fn infinite() -> QueueConfig {
    QueueConfig::Droptail(DroptailConfig::default())
}

/// Returns a link of constant rate `mbps` with `queue`.
pub fn link(name: &str, mbps: u64, queue: QueueConfig) -> LinkSpec {
    LinkSpec::constant(name, Rate::from_mbps(mbps), queue)
}

/// Returns a bulk flow of `cca` over link 0.
pub fn flow(cca: &str, rtprop_ms: u64) -> FlowSpec {
    FlowSpec::bulk(cca, Dur::from_millis(rtprop_ms))
}

/// Returns a flow with an oracle for its rtprop, including a packet's transmission time on each of its `hops` links of
/// `mbps`.
pub fn informed(cca: &str, params: Value, mbps: u64, rtprop_ms: u64, hops: u64) -> FlowSpec {
    let transmission = Dur::from_nanos(PACKET.0 * 8_000 / mbps);
    let oracle_rtprop = Some(Dur::from_millis(rtprop_ms) + transmission * hops);
    FlowSpec { params, oracle_rtprop, path: (0..hops as usize).collect(), ..flow(cca, rtprop_ms) }
}

/// Returns `hops` links of `mbps` with unlimited queues; one flow with an oracle crosses all links, and one each link.
pub fn parking_lot(cca: &str, params: &Value, mbps: u64, rtprop_ms: u64, hops: u64, seconds: u64) -> Config {
    let mut flows = vec![informed(cca, params.clone(), mbps, rtprop_ms, hops)];
    for hop in 0..hops as usize {
        flows.push(FlowSpec { path: vec![hop], ..informed(cca, params.clone(), mbps, rtprop_ms, 1) });
    }
    let mut config = dumbbell(mbps, infinite(), flows, seconds, seconds / 2, 1);
    config.links = (0..hops).map(|i| link(&format!("hop{i}"), mbps, infinite())).collect();
    config
}

/// Returns `n` flows with an oracle over one link with an unlimited queue, started 700 ms apart. The second half of
/// `seconds` is measured.
pub fn crowd(cca: &str, params: &Value, mbps: u64, rtprop_ms: u64, n: u64, seconds: u64) -> Config {
    let one = informed(cca, params.clone(), mbps, rtprop_ms, 1);
    let flows = (0..n).map(|i| FlowSpec { start: Time::from_nanos(i * 700_000_000), ..one.clone() }).collect();
    dumbbell(mbps, infinite(), flows, seconds, seconds / 2, 1)
}

/// Returns the mean waiting time of a packet at the first link, in transmission times of a packet.
pub fn queued(outcome: &Outcome, mbps: u64) -> f64 {
    outcome.summary.links[0].queue_ms.mean * mbps as f64 / 12.0
}

/// Makes the first link of `config` a cellular one: its rate changes each second, by turns 6, 3, 8, 2, 5, 9, 1, 4 and 7 Mbps
/// (mean 5 Mbps).
pub fn make_cellular(config: &mut Config) {
    let seconds = config.duration.as_nanos() / 1_000_000_000;
    let steps = (0..seconds)
        .zip([6, 3, 8, 2, 5, 9, 1, 4, 7].iter().cycle())
        .map(|(s, &mbps)| RateStep { at: Time::from_nanos(s * 1_000_000_000), rate: Rate::from_mbps(mbps) })
        .collect();
    config.links[0].hop.link = LinkConfig::Steps(StepsConfig { steps });
}

/// Returns a scenario with one bottleneck that `flows` share.
pub fn dumbbell(mbps: u64, queue: QueueConfig, flows: Vec<FlowSpec>, seconds: u64, warmup: u64, seed: u64) -> Config {
    let run = Config::dumbbell(Rate::from_mbps(mbps), queue, flows, Dur::from_secs(seconds));
    Config { warmup: Dur::from_secs(warmup), seed, ..run }
}

/// Returns the throughput of each flow, Mbps.
pub fn throughputs(outcome: &Outcome) -> Vec<f64> {
    outcome.summary.flows.iter().map(|f| f.throughput_mbps).collect()
}

/// Returns the maximum throughput divided by the minimum.
pub fn max_min_ratio(outcome: &Outcome) -> f64 {
    let rates = throughputs(outcome);
    rates.iter().copied().fold(0.0, f64::max) / rates.iter().copied().fold(f64::INFINITY, f64::min)
}
