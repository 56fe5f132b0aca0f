//! A dumbbell: 48 Mbps, 40 ms, a buffer of a BDP.

use fairweir_path::QueueConfig;
use fairweir_path::queue::DroptailConfig;
use fairweir_program::Refusal;
use fairweir_quic::{Ending, Ends, check, play, stacks};
use fairweir_scenario::{Config, FlowSpec};
use fairweir_units::{Bytes, Dur, Rate, Time};
use serde_json::Value;
use std::fmt::Write;
use std::ops::ControlFlow;

pub const RTPROP: Dur = Dur::from_millis(40);

/// Flows of `ccas`, each 100 ms after the one before, for `duration`.
pub fn dumbbell(ccas: &[&str], duration: Dur) -> Config {
    let rate = Rate::from_mbps(48);
    let queue = QueueConfig::Droptail(DroptailConfig { limit: Some(rate * RTPROP), ..DroptailConfig::default() });
    let mut flows: Vec<FlowSpec> = ccas.iter().map(|cca| FlowSpec::bulk(cca, RTPROP)).collect();
    for (index, flow) in flows.iter_mut().enumerate() {
        flow.start = Time::from_nanos(index as u64 * 100_000_000);
    }
    Config { warmup: duration / 4, packet: Bytes(1500), ..Config::dumbbell(rate, queue, flows, duration) }
}

/// Runs `ends` over `config`.
pub fn played(config: &Config, ends: Vec<Ends>) -> Result<Value, Refusal> {
    match play(config, ends, &mut |_| ControlFlow::Continue(()))? {
        Ending::Complete(document) => Ok(document),
        Ending::Interrupted => Err(Refusal::new("interrupted")),
    }
}

/// Runs the stacks that `config` names.
pub fn run(config: &Config) -> Result<Value, Refusal> {
    check(config)?;
    played(config, stacks::ends(config)?)
}

/// The number `key` of the flow `flow` of a record.
pub fn number(record: &Value, flow: usize, key: &str) -> f64 {
    key.split('.').fold(&record["flows"][flow], |value, part| &value[part]).as_f64().unwrap_or(f64::NAN)
}

/// One line per flow.
pub fn table(ccas: &[&[&str]], duration: Dur) -> String {
    let mut text = String::new();
    for ccas in ccas {
        let record = run(&dumbbell(ccas, duration)).unwrap();
        for (flow, cca) in ccas.iter().enumerate() {
            let [mbps, loss, qdelay, sent] =
                ["throughput_mbps", "loss_rate", "qdelay_ms.mean", "sent_pkts"].map(|key| number(&record, flow, key));
            let loss = 100.0 * loss;
            writeln!(text, "{cca:14} {mbps:6.2} Mbps  {loss:6.3} % lost  {qdelay:5.1} ms queueing  {sent:6} sent")
                .unwrap();
        }
        writeln!(text, "  digest {}", record["quic"]["digest"].as_str().unwrap()).unwrap();
    }
    text
}
