//! A receiver's policies on simulated senders.

use crate::error;
use crate::run::play_observed;
use fairweir_guard::Trees;
use fairweir_guard::policy::{Classify, Config as PolicyConfig, Policies};
use fairweir_rehearse::{FairShare, Receiver};
use fairweir_scenario::Config;
use fairweir_units::Rate;
use pyo3::prelude::*;
use std::net::Ipv4Addr;

/// Name of the classifier that knows the link's rate and the number of flows.
const FAIR_SHARE: &str = "fair-share";

/// Runs a configuration (JSON) with a receiver that applies `policies` (TOML); `senders` has the source IPv4 address of
/// each flow's data, or none for a flow whose receiver has no guard. `fair_share` in bytes per second is the link rate
/// for the classifier of that name; any other model is `forest` (JSON). Returns the summary as JSON.
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
    let policies = policies_of(py, policies, fair_share, forest)?;
    let mut receiver = Receiver::new(&config, &senders, policies);
    let summary = play_observed(py, &config, &mut receiver)?.summary;
    serde_json::to_string(&summary).map_err(|e| error::from_json(py, &e))
}

/// Returns the policies of a file, with the flow policy's classifier.
pub(crate) fn policies_of(
    py: Python<'_>,
    toml: &str,
    fair_share: Option<u64>,
    forest: Option<&str>,
) -> PyResult<Policies> {
    let config = PolicyConfig::from_toml(toml).map_err(|e| error::from_policy(py, &e))?;
    let model = config.flow.as_ref().map(|flow| flow.model.as_str());
    let classifier: Option<Box<dyn Classify>> = match (model, fair_share, forest) {
        (Some(FAIR_SHARE), Some(rate), _) => Some(Box::new(FairShare { rate: Rate::from_bytes_per_sec(rate) })),
        (Some(model), _, Some(forest)) => {
            Some(Box::new(Trees::from_json(forest).map_err(|e| error::from_forest(py, &e, model))?))
        }
        _ => None,
    };
    Policies::new(&config, classifier).map_err(|e| error::from_policy(py, &e))
}
