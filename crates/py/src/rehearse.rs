//! Runs policies of a receiver on simulated senders.

use crate::error;
use crate::run::play_observed;
use fairweir_guard::policy::{Config as PolicyConfig, Policies};
use fairweir_rehearse::{Receiver, classifier};
use fairweir_scenario::Config;
use fairweir_units::Rate;
use pyo3::prelude::*;
use std::net::Ipv4Addr;

/// Runs a configuration (JSON) with a receiver that applies `policies` (TOML). `senders` has the IPv4 source address of
/// each flow's data, or none for a flow whose receiver has no guard. `fair_share` is the link rate in bytes per second
/// for the classifier of that name; for any other model, `forest` (JSON) is the classifier. Returns the summary as
/// JSON.
#[pyfunction]
#[pyo3(signature = (config, policies, senders, fair_share=None, forest=None))]
pub fn run_guarded(
    py: Python<'_>,
    config: &str,
    policies: &str,
    senders: Vec<Option<String>>,
    fair_share: Option<u64>,
    forest: Option<&str>,
) -> PyResult<String> {
    let config: Config = serde_json::from_str(config).map_err(|e| error::from_json(py, &e))?;
    let senders = senders
        .iter()
        .map(|sender| {
            let parse = |text: &String| text.parse::<Ipv4Addr>().map_err(|_| error::from_address(py, "sender", text));
            sender.as_ref().map(parse).transpose()
        })
        .collect::<PyResult<Vec<_>>>()?;
    if senders.len() != config.flows.len() {
        return Err(error::from_senders(py, senders.len(), config.flows.len()));
    }
    let policies = PolicyConfig::from_toml(policies).map_err(|e| error::from_policy(py, &e))?;
    let policies = policies_of(py, &policies, fair_share.map(Rate::from_bytes_per_sec), forest)?;
    let mut receiver = Receiver::new(&config, &senders, policies);
    let summary = play_observed(py, &config, &mut receiver)?.summary;
    serde_json::to_string(&summary).map_err(|e| error::from_json(py, &e))
}

/// Returns the policies of `config` with the flow policy's classifier.
pub(crate) fn policies_of(
    py: Python<'_>,
    config: &PolicyConfig,
    rate: Option<Rate>,
    forest: Option<&str>,
) -> PyResult<Policies> {
    let classifier = classifier(config, rate, forest).map_err(|e| error::from_forest(py, &e, config))?;
    Policies::new(config, classifier).map_err(|e| error::from_policy(py, &e))
}
