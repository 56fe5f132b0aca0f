//! A scenario that the input composes and perturbs. Either it is rejected with a key, or it runs without a panic; then
//! packets are conserved and a second run is identical.

use crate::parts;
use arbitrary::{Result, Unstructured};
use fairweir_scenario::{Config, Summary};
use fairweir_sim::{SimError, run_with};
use serde_json::{Value, json};
use std::ops::ControlFlow;

const MS: u64 = 1_000_000;

/// Number of progress callbacks after which a run is abandoned; there are 32,768 events between two callbacks.
const MAX_CALLBACKS: u32 = 2;

/// Maximum initial window, packets: the whole window is sent in one event, which cannot be interrupted.
const MAX_INITIAL_CWND: u64 = 1_000;

/// Boundary values.
const EDGES: [u64; 14] =
    [0, 1, 2, 63, 64, 1500, 65_536, 1_000_000, 1_000_000_000, 1 << 31, 1 << 32, 1 << 53, u64::MAX / 2, u64::MAX];

/// Runs the scenario described by `bytes`.
///
/// # Panics
/// If the simulator panics, or if its result is impossible.
pub fn scenario(bytes: &[u8]) {
    if let Ok(document) = document(&mut Unstructured::new(bytes)) {
        play_text(&document.to_string());
    }
}

fn play_text(text: &str) {
    let _told = ToldIfItPanics(text);
    let Ok(mut config) = serde_json::from_str::<Config>(text) else { return };
    for flow in &mut config.flows {
        flow.initial_cwnd = flow.initial_cwnd.min(MAX_INITIAL_CWND);
    }
    match play(&config) {
        Ok(summary) => {
            check(&config, &summary);
            assert_eq!(play(&config).ok().as_ref(), Some(&summary), "a second run differs");
        }
        Err(e) => assert!(!e.to_string().is_empty()),
    }
}

/// Prints the scenario if the test panics, in the format of `fairweir_scenario::Config`.
struct ToldIfItPanics<'a>(&'a str);

impl Drop for ToldIfItPanics<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("scenario: {}", self.0);
        }
    }
}

/// Returns the summary, or the reason why the run did not complete.
fn play(config: &Config) -> std::result::Result<Summary, SimError> {
    let mut looks = 0;
    let build = |flow: &fairweir_scenario::FlowSpec, start: &fairweir_cca::Start| {
        fairweir_native::registry::build(&flow.cca, &flow.params, start)
    };
    let outcome = run_with(config, &build, &mut |_| {
        looks += 1;
        if looks < MAX_CALLBACKS { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    });
    match outcome {
        Ok(outcome) => Ok(outcome.summary),
        Err(SimError::Controller { flow, at, reason }) => panic!("flow {flow} at {at}: {reason}"),
        Err(e) => Err(e),
    }
}

/// Checks properties that hold for every run.
fn check(config: &Config, summary: &Summary) {
    for (flow, spec) in summary.flows.iter().zip(&config.flows) {
        let numbers = [flow.throughput_mbps, flow.goodput_mbps, flow.rtt_ms.mean, flow.qdelay_ms.mean];
        assert!(numbers.iter().all(|x| x.is_finite() && *x >= 0.0), "{flow:?}");
        assert!((0.0..=1.0).contains(&flow.loss_rate) && (0.0..=1.0).contains(&flow.mark_rate), "{flow:?}");
        let propagation = spec.forward_delay + spec.reverse_delay;
        assert!(flow.rtt_ms.max == 0.0 || flow.rtt_ms.min >= propagation.as_millis_f64() * (1.0 - 1e-9), "{flow:?}");
    }
    // The counters start at the end of the warm-up, so packets may have been sent before it.
    if config.warmup == fairweir_units::Dur::ZERO {
        for flow in &summary.flows {
            // Packets that a timeout declared lost may still be delivered.
            assert!(flow.delivered_pkts <= flow.sent_pkts && flow.lost_pkts <= flow.sent_pkts, "{flow:?}");
        }
        let delivered: u64 = summary.flows.iter().map(|flow| flow.delivered_pkts).sum();
        assert_eq!(summary.packets, delivered);
        let has_acks_in_queues = config.flows.iter().any(|flow| !flow.ack_path.is_empty());
        for (index, link) in summary.links.iter().enumerate() {
            let visits = |path: &[usize]| path.iter().filter(|&&hop| hop == index).count() as u64;
            let sent: u64 = summary.flows.iter().zip(&config.flows).map(|(f, s)| f.sent_pkts * visits(&s.path)).sum();
            assert!(has_acks_in_queues || link.arrivals <= sent, "{link:?} for {sent}");
        }
    }
    for link in &summary.links {
        assert!((0.0..=1.0).contains(&link.utilization) && link.drops <= link.arrivals, "{link:?}");
    }
}

/// Composes a scenario from parts, and changes some of its numbers.
fn document(u: &mut Unstructured<'_>) -> Result<Value> {
    let (links, queues, names) = (parts::links(), parts::queues(), names());
    let hops = u.int_in_range(1..=3usize)?;
    let mut link_tables = Vec::new();
    for i in 0..hops {
        let hop = json!({"link": u.choose(&links)?, "queue": u.choose(&queues)?});
        link_tables.push(json!({"name": format!("l{i}"), "hop": hop, "delay": i as u64 * MS}));
    }
    let mut flow_tables = Vec::new();
    for i in 0..u.int_in_range(1..=3u64)? {
        let mut flow = json!({
            "id": format!("f{i}"), "cca": u.choose(&names)?, "source": u.choose(&parts::sources())?,
            "path": (0..u.int_in_range(1..=hops)?).collect::<Vec<_>>(),
            "forward_delay": 10 * MS, "reverse_delay": 10 * MS, "rtprop": 20 * MS, "start": i * MS,
            "initial_cwnd": 10, "ecn": u.arbitrary::<bool>()?, "gso": u.int_in_range(1..=8u64)?, "min_rto": 200 * MS,
            "receiver": {"ack_every": u.int_in_range(1..=4u64)?, "ack_timer": 40 * MS, "sack": u.arbitrary::<bool>()?},
        });
        for side in ["ingress", "egress", "reverse"] {
            flow[side] = elements(u)?.into();
        }
        if u.ratio(1, 4)? {
            flow["ack_path"] = json!([u.int_in_range(0..=hops - 1)?]);
            flow["reverse_egress"] = elements(u)?.into();
        }
        if u.ratio(1, 4)? {
            flow["rwnd"] = json!(20);
            flow["oracle_rtprop"] = json!(20 * MS);
            flow["stop"] = json!(300 * MS);
        }
        flow_tables.push(flow);
    }
    let duration = 500 * MS;
    let mut whole = json!({
        "duration": duration, "warmup": if u.arbitrary()? { 100 * MS } else { 0 }, "seed": u.arbitrary::<u64>()?,
        "packet": 1500, "ack": 52, "links": link_tables, "flows": flow_tables,
    });
    for _ in 0..u.int_in_range(0..=6)? {
        bend(&mut whole, u)?;
    }
    // A series with more intervals than events would dominate the run time, and cannot be interrupted.
    if u.ratio(1, 4)? {
        let duration = whole["duration"].as_u64().unwrap_or(duration);
        whole["interval"] = json!((duration / u.int_in_range(1..=100u64)?).max(1));
    }
    Ok(whole)
}

fn names() -> Vec<&'static str> {
    fairweir_native::registry::algorithms().map(|algorithm| algorithm.name).collect()
}

fn elements(u: &mut Unstructured<'_>) -> Result<Vec<Value>> {
    let all = parts::elements();
    (0..u.int_in_range(0..=2)?).map(|_| u.choose(&all).cloned()).collect()
}

/// Changes a number in `value` or, rarely, its container.
fn bend(value: &mut Value, u: &mut Unstructured<'_>) -> Result<()> {
    match value {
        Value::Array(items) if !items.is_empty() => {
            let index = u.choose_index(items.len())?;
            if u.ratio(1, 32)? {
                let item = items[index].clone();
                items.push(item);
                return Ok(());
            }
            bend(&mut items[index], u)
        }
        Value::Object(table) if !table.is_empty() => {
            let keys: Vec<String> = table.keys().cloned().collect();
            let key = u.choose(&keys)?;
            if u.ratio(1, 64)? {
                table.remove(key);
                return Ok(());
            }
            bend(table.get_mut(key).unwrap_or(&mut Value::Null), u)
        }
        Value::Number(number) => {
            let old = number.as_u64().unwrap_or(0);
            *value = json!(match u.int_in_range(0..=4)? {
                0 => *u.choose(&EDGES)?,
                1 => old.saturating_mul(u.int_in_range(2..=64)?),
                2 => old / u.int_in_range(2..=64)?,
                3 => u.int_in_range(0..=old.saturating_mul(4).max(16))?,
                _ => u.arbitrary()?,
            });
            Ok(())
        }
        other => {
            if u.ratio(1, 32)? {
                *other = Value::Null;
            }
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_units::Hint as _;
    use proptest::prelude::*;
    use proptest::test_runner::{RngAlgorithm, RngSeed, TestRng};
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, rng_seed: RngSeed::Fixed(1), ..ProptestConfig::default() })]

        #[test]
        fn any_bytes_are_a_scenario_that_runs_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 64..512)) {
            scenario(&bytes);
        }
    }

    /// Regressions: `found` contains scenarios that a fuzzing target printed.
    #[test]
    fn found_scenarios_run() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/found");
        let mut played = 0;
        for entry in std::fs::read_dir(folder).expect("a folder") {
            let text = std::fs::read_to_string(entry.expect("a file").path()).expect("text");
            serde_json::from_str::<Config>(&text).expect("a configuration");
            play_text(&text);
            played += 1;
        }
        assert!(played > 0);
    }

    /// Returns the end of a run: `ran`, `interrupted` after the maximum number of callbacks, or the rejected key
    /// without indices.
    fn end_of(document: Value) -> String {
        let config = match serde_json::from_value::<Config>(document) {
            Ok(config) => config,
            Err(e) => return format!("not a configuration: {}", kind_of(&e.to_string())),
        };
        match play(&config) {
            Ok(_) => "ran".to_owned(),
            Err(SimError::Interrupted { .. }) => "interrupted".to_owned(),
            Err(e) => format!("refused: {}", kind_of(e.key().unwrap_or("without a key"))),
        }
    }

    /// Returns the text without its numbers.
    fn kind_of(text: &str) -> String {
        let mut kind = String::new();
        for letter in text.chars() {
            match letter {
                '0'..='9' if kind.ends_with('#') => {}
                '0'..='9' => kind.push('#'),
                other => kind.push(other),
            }
        }
        kind
    }

    /// If the examples of a part no longer parse, or if a bound rejects valid values, the counts change.
    #[test]
    fn ends_of_generated_scenarios() {
        let mut rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[1; 32]);
        let mut counts: BTreeMap<String, u32> = BTreeMap::new();
        for _ in 0..200 {
            let mut bytes = [0; 400];
            rng.fill_bytes(&mut bytes);
            let document = document(&mut Unstructured::new(&bytes)).expect("bytes enough");
            *counts.entry(end_of(document)).or_default() += 1;
        }
        let lines: Vec<String> = counts.iter().map(|(end, count)| format!("{count:>3} {end}")).collect();
        insta::assert_snapshot!(lines.join("\n"));
    }
}
