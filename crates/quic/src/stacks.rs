//! The stacks by name: `quinn/cubic` is quinn with its controller `cubic`; `cubic` is quinn with fairweir's.

#[cfg(feature = "quiche")]
use crate::ambient;
use crate::endpoint::Ends;
use crate::noq;
use crate::plugin;
#[cfg(feature = "quiche")]
use crate::quiche;
use crate::quinn;
use fairweir_native::registry;
use fairweir_program::Refusal;
use fairweir_scenario::Config;

/// A stack of this program.
struct Stack {
    name: &'static str,
    version: &'static str,
    /// Names of its controllers.
    controllers: &'static [&'static str],
    /// Returns both ends of a flow with the controller of that name; `None` if there is none of that name.
    ends: fn(&Config, usize, &str) -> Result<Option<Ends>, Refusal>,
}

fn all() -> Vec<Stack> {
    #[allow(unused_mut, reason = "features add stacks")]
    let mut all = vec![
        Stack { name: "quinn", version: quinn::VERSION, controllers: &quinn::CONTROLLERS, ends: quinn::ends },
        Stack { name: "noq", version: noq::VERSION, controllers: &noq::CONTROLLERS, ends: noq::ends },
    ];
    // quiche reads the clock of the C library, which is the virtual one in one program only.
    #[cfg(feature = "quiche")]
    if ambient::is_interposed() {
        all.push(Stack {
            name: "quiche",
            version: quiche::VERSION,
            controllers: &quiche::CONTROLLERS,
            ends: quiche::ends,
        });
    }
    all
}

/// Returns the names of all stacks with their controllers.
pub fn names() -> Vec<String> {
    let named = |stack: Stack| stack.controllers.iter().map(move |name| format!("{}/{name}", stack.name));
    all().into_iter().flat_map(named).collect()
}

/// Returns stacks and their versions.
pub fn versions() -> Vec<(&'static str, &'static str)> {
    all().into_iter().map(|stack| (stack.name, stack.version)).collect()
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
    let found = match spec.cca.split_once('/') {
        Some((stack, name)) if let Some(stack) = all().into_iter().find(|known| known.name == stack) => {
            (stack.ends)(config, flow, name)?
        }
        Some(("quiche", _)) => {
            return Err(Refusal::new(format!("this program has no quiche: `{}`", spec.cca))
                .at(format!("flows.{flow}.cca"))
                .hint("fairweir-quiche has it: make quiche"));
        }
        _ if plugin::is_endpoint(&spec.cca) => Some(plugin::ends(config, flow)?),
        _ if registry::algorithms().any(|row| row.name == spec.cca && row.version.is_some()) => None,
        _ => return hosting(config, flow),
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

/// Returns both ends of a flow with a controller of fairweir, or in a file.
fn hosting(config: &Config, flow: usize) -> Result<Ends, Refusal> {
    let cca = &config.flows[flow].cca;
    quinn::hosting(config, flow)?.ok_or_else(|| {
        Refusal::new(format!("no congestion controller `{cca}`"))
            .at(format!("flows.{flow}.cca"))
            .hint(format!("one of {}, or a controller of fairweir", names().join(", ")))
    })
}
