//! The flows' congestion controllers in the kernel.
//!
//! If a scenario names an algorithm of `bpf/` or the path of a `.bpf.c` source, the source is compiled and loaded under
//! a unique name for the duration of the run. All other names refer to the kernel's own controllers.

use fairweir_kernel::{Cca, KernelError, Source};
use fairweir_native as native;
use fairweir_program::Refusal;
use fairweir_scenario::{Config, FlowSpec};
use serde_json::Value;
use socket2::SockRef;
use std::collections::BTreeSet;
use std::os::fd::BorrowedFd;
use std::{fs, io};

/// File that lists the congestion controllers that can currently be selected in any network namespace.
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";
/// The kernel's built-in controllers that use pacing. The kernel also computes a pacing rate for other controllers, but
/// does not use it.
const PACED: [&str; 2] = ["bbr", "bbr3"];
/// Field that a controller's source writes to enable pacing.
const PACING_SWITCH: &str = "sk_pacing_status";
/// Flag in the source of a controller that negotiates ECN and whose receiver reports every mark (RFC 8257).
const ECN_FLAG: &str = "TCP_CONG_NEEDS_ECN";

/// The controllers of a scenario's flows, loaded into the kernel. Dropping the value unloads them.
#[derive(Debug)]
pub struct Choice {
    flows: Vec<Chosen>,
    loaded: Vec<Loaded>,
}

#[derive(Debug)]
enum Chosen {
    /// One of the kernel's own controllers, by name.
    Stock(String),
    /// The BPF controller at this index of `loaded`, with the flow's parameters.
    Bpf(usize, Value),
}

#[derive(Debug)]
struct Loaded {
    /// Name in the scenario.
    name: String,
    cca: Cca,
    is_paced: bool,
    /// Whether the receiver must use the controller, too.
    has_receiver: bool,
}

fn skipped_reason(name: &str, calls: u64) -> String {
    format!("the kernel skipped `ssthresh` of `{name}` (found at {calls} ACKs), so that cwnd was undefined")
}

impl Choice {
    /// Finds the controller of each flow and loads the BPF controllers. With `is_recorded`, the loaded programs record
    /// the calls of their hooks.
    ///
    /// # Errors
    /// If a name is unknown, parameters are invalid, or the kernel rejects the controller.
    pub fn of(config: &Config, is_recorded: bool) -> Result<Choice, Refusal> {
        let mut choice = Choice { flows: Vec::new(), loaded: Vec::new() };
        for (index, flow) in config.flows.iter().enumerate() {
            let chosen = if is_bpf(&flow.cca) {
                let rejected = |e: KernelError| refusal(&e, index, flow);
                let place = match choice.loaded.iter().position(|loaded| loaded.name == flow.cca) {
                    Some(place) => place,
                    None => choice.load(&flow.cca, is_recorded).map_err(rejected)?,
                };
                check_params(choice.loaded[place].cca.source(), index, flow)?;
                if choice.loaded[place].has_receiver && !flow.ecn {
                    return Err(Refusal::new(format!("flow `{}`: `{}` negotiates ECN", flow.id, flow.cca))
                        .at(format!("flows.{index}.ecn"))
                        .hint("add `ecn = true` to the flow, or run it in the simulator"));
                }
                Chosen::Bpf(place, flow.params.clone())
            } else {
                stock(index, flow)?
            };
            choice.flows.push(chosen);
        }
        Ok(choice)
    }

    /// Loads controller `name` and returns its index in `loaded`.
    fn load(&mut self, name: &str, is_recorded: bool) -> Result<usize, KernelError> {
        let compiled = Source::find(name)?.compile(is_recorded)?;
        let cca = Cca::load(&compiled, &Value::Null)?;
        let (is_paced, has_receiver) = (declares(name, PACING_SWITCH), declares(name, ECN_FLAG));
        self.loaded.push(Loaded { name: name.to_owned(), cca, is_paced, has_receiver });
        Ok(self.loaded.len() - 1)
    }

    /// Returns why the run cannot be judged: the kernel skipped calls of a controller. Empty if it skipped none.
    pub fn skipped(&self) -> String {
        let skipped = self.loaded.iter().map(|loaded| (&loaded.name, loaded.cca.skipped_calls()));
        skipped
            .filter(|&(_, calls)| calls > 0)
            .map(|(name, calls)| skipped_reason(name, calls))
            .collect::<Vec<_>>()
            .join("; ")
    }

    /// Returns the `TCP_CONGESTION` name of flow `flow`'s controller.
    pub fn name(&self, flow: usize) -> &str {
        match &self.flows[flow] {
            Chosen::Stock(name) => name,
            Chosen::Bpf(place, _) => self.loaded[*place].cca.name(),
        }
    }

    /// Selects flow `flow`'s controller on its new socket.
    ///
    /// # Errors
    /// If the kernel rejects the controller or its parameters.
    pub fn apply(&self, flow: usize, socket: BorrowedFd<'_>) -> io::Result<()> {
        if let Chosen::Bpf(place, params) = &self.flows[flow] {
            // Set the parameters first: the controller's init hook reads them.
            self.loaded[*place].cca.set_params(socket, params).map_err(io::Error::other)?;
        }
        SockRef::from(&socket).set_tcp_congestion(self.name(flow).as_bytes())
    }

    /// Selects flow `flow`'s controller on its receiver's listening socket, if the controller has a part for receivers.
    ///
    /// # Errors
    /// If the kernel rejects the controller.
    pub fn apply_to_receiver(&self, flow: usize, socket: BorrowedFd<'_>) -> io::Result<()> {
        if !self.has_receiver(flow) {
            return Ok(());
        }
        SockRef::from(&socket).set_tcp_congestion(self.name(flow).as_bytes())
    }

    /// Rejects controllers that iperf3 cannot use.
    ///
    /// # Errors
    /// If a controller has a part for receivers.
    pub(crate) fn check_iperf3(&self, config: &Config) -> Result<(), Refusal> {
        match (0..self.flows.len()).find(|&flow| self.has_receiver(flow)) {
            None => Ok(()),
            Some(flow) => {
                let reason = format!("flow `{}`: iperf3's servers choose no controller", config.flows[flow].id);
                Err(Refusal::new(reason).at(format!("flows.{flow}.cca")).hint("leave out `--traffic iperf3`"))
            }
        }
    }

    /// Returns whether flow `flow`'s controller has a part for receivers.
    pub fn has_receiver(&self, flow: usize) -> bool {
        matches!(&self.flows[flow], Chosen::Bpf(place, _) if self.loaded[*place].has_receiver)
    }

    /// Returns whether flow `flow`'s controller uses pacing.
    pub fn is_paced(&self, flow: usize) -> bool {
        match &self.flows[flow] {
            Chosen::Stock(name) => PACED.contains(&name.as_str()),
            Chosen::Bpf(place, _) => self.loaded[*place].is_paced,
        }
    }

    /// Returns the loaded controllers with their names in the scenario.
    pub(crate) fn loaded(&self) -> impl Iterator<Item = (&str, &Cca)> + Clone {
        self.loaded.iter().map(|loaded| (loaded.name.as_str(), &loaded.cca))
    }
}

/// Returns the names that `TCP_CONGESTION` accepts.
pub(crate) fn available() -> BTreeSet<String> {
    fs::read_to_string(AVAILABLE).unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

/// Returns whether `name` is a BPF controller. A source in `bpf/` takes precedence over a kernel module of the same
/// name, because the simulator runs that source.
fn is_bpf(name: &str) -> bool {
    name.ends_with(native::SUFFIX) || native::source(name).is_some()
}

/// Returns whether the source of `name` contains `word`.
fn declares(name: &str, word: &str) -> bool {
    match native::source(name) {
        Some((_, text)) => text.contains(word),
        None => fs::read_to_string(name).is_ok_and(|text| text.contains(word)),
    }
}

/// Rejects parameters that the controller would reject when the flow starts.
fn check_params(source: &Source, index: usize, flow: &FlowSpec) -> Result<(), Refusal> {
    let refused =
        |reason: String| Err(Refusal::new(format!("flow `{}`: {reason}", flow.id)).at(format!("flows.{index}.params")));
    match source.native() {
        Some(native) => native.param_words(&flow.params).map_or_else(|e| refused(e.to_string()), |_| Ok(())),
        None if has_params(flow) => refused("only a source that also builds for this host takes parameters".into()),
        None => Ok(()),
    }
}

/// Selects one of the kernel's own controllers.
fn stock(index: usize, flow: &FlowSpec) -> Result<Chosen, Refusal> {
    let available = available();
    if !available.contains(&flow.cca) {
        let mut known: Vec<&str> = available.iter().map(String::as_str).collect();
        known.extend(native::ALGORITHMS.iter().map(|algorithm| algorithm.name));
        known.sort_unstable();
        return Err(Refusal::new(format!("flow `{}`: this kernel has no congestion control `{}`", flow.id, flow.cca))
            .at(format!("flows.{index}.cca"))
            .hint(format!("there are {}, or the path of a .bpf.c; the simulator has more", known.join(", "))));
    }
    if has_params(flow) {
        return Err(Refusal::new(format!("flow `{}`: the kernel's own `{}` takes no parameters", flow.id, flow.cca))
            .at(format!("flows.{index}.params"))
            .hint("leave them out, or run it in the simulator"));
    }
    Ok(Chosen::Stock(flow.cca.clone()))
}

fn has_params(flow: &FlowSpec) -> bool {
    !flow.params.is_null() && flow.params.as_object().is_none_or(|params| !params.is_empty())
}

/// Converts an error. Errors of a controller name the flow's key; errors of the machine do not.
fn refusal(error: &KernelError, index: usize, flow: &FlowSpec) -> Refusal {
    let refusal = Refusal::of(error);
    match error {
        KernelError::Missing { .. } | KernelError::System(_) => refusal,
        _ => Refusal { message: format!("flow `{}`: {}", flow.id, refusal.message), ..refusal }
            .at(format!("flows.{index}.cca")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(cca: &str, params: Value) -> Config {
        serde_json::from_value(json!({
            "duration": 1_000_000_000, "seed": 1,
            "links": [{"name": "l", "hop": {
                "link": {"kind": "constant", "rate": 1_000_000}, "queue": {"kind": "droptail", "limit": 100_000}}}],
            "flows": [{"id": "f", "cca": cca, "params": params, "path": [0], "forward_delay": 1_000_000,
                "reverse_delay": 1_000_000, "rtprop": 2_000_000}],
        }))
        .unwrap()
    }

    fn refused(cca: &str, params: Value) -> Refusal {
        Choice::of(&config(cca, params), false).unwrap_err()
    }

    #[test]
    fn an_unknown_name_is_reported_with_the_known_ones() {
        let refusal = refused("no_such_cca", Value::Null);
        assert_eq!(refusal.key.as_deref(), Some("flows.0.cca"));
        let hint = refusal.hint.unwrap();
        assert!(hint.contains("cubic") && hint.contains("frcc"), "{hint}");
    }

    #[test]
    fn the_kernels_own_take_no_parameters() {
        let refusal = refused("cubic", json!({"beta": 0.5}));
        assert_eq!(refusal.key.as_deref(), Some("flows.0.params"));
        assert!(Choice::of(&config("cubic", json!({})), false).is_ok());
    }

    #[test]
    fn a_missing_source_is_reported_with_its_path() {
        let refusal = refused("/nowhere/mine.bpf.c", Value::Null);
        assert_eq!(refusal.key.as_deref(), Some("flows.0.cca"));
        assert!(refusal.message.contains("/nowhere/mine.bpf.c"), "{refusal}");
    }

    #[test]
    fn sources_declare_whether_they_pace() {
        assert!(declares("copa", PACING_SWITCH) && declares("frcc", PACING_SWITCH));
        assert!(!declares("multcp", PACING_SWITCH));
    }
}
