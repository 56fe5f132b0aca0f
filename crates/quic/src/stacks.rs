//! The stacks by name: `quinn/cubic` is quinn with its controller `cubic`.

use crate::endpoint::Ends;
use crate::quinn;
use fairweir_program::Refusal;
use fairweir_scenario::Config;

/// Returns the names of all stacks with their controllers.
pub fn names() -> Vec<String> {
    quinn::CONTROLLERS.iter().map(|name| format!("quinn/{name}")).collect()
}

/// Returns stacks and their versions.
pub fn versions() -> Vec<(&'static str, &'static str)> {
    vec![("quinn", quinn::VERSION)]
}

/// Returns both ends of each flow of `config`, which [`crate::check`] has accepted.
///
/// # Errors
/// If a flow's `cca` names no stack, or has parameters that the stack does not know.
pub fn ends(config: &Config) -> Result<Vec<Ends>, Refusal> {
    (0..config.flows.len()).map(|flow| ends_of(config, flow)).collect()
}

fn ends_of(config: &Config, flow: usize) -> Result<Ends, Refusal> {
    let spec = &config.flows[flow];
    let (stack, name) = spec.cca.split_once('/').unwrap_or(("", &spec.cca));
    let found = match stack {
        "quinn" => quinn::ends(config, flow, name)?,
        _ => None,
    };
    let Some(ends) = found else {
        return Err(Refusal::new(format!("no QUIC stack has this controller: `{}`", spec.cca))
            .at(format!("flows.{flow}.cca"))
            .hint(format!("one of {}", names().join(", "))));
    };
    if spec.params.as_object().is_some_and(|params| !params.is_empty()) {
        return Err(Refusal::new(format!("`{}` has no parameters", spec.cca))
            .at(format!("flows.{flow}.params"))
            .hint("leave them out"));
    }
    Ok(ends)
}
