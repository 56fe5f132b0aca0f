//! Permanent controllers: loaded for every program on this machine until they are unloaded.
//!
//! Their links are pinned in a BPF file system: the one at `/sys/fs/bpf` if that is mounted, otherwise one mounted for
//! this purpose. A state file records the changes, so that [`unload`] and [`clean`] can undo them. Nothing survives a
//! reboot.

mod namespaces;
mod place;
mod state;

pub use place::Place;

use crate::cca::is_available;
use crate::error::KernelError;
use crate::{Cca, Source};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use serde::Serialize;
use serde_json::Value;
use state::{Content, Entry, State};
use std::path::Path;
use std::time::Duration;

/// File with the default controller of new connections in this network namespace.
const DEFAULT_CCA: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

/// A permanently loaded controller.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Permanent {
    /// Name for `TCP_CONGESTION`.
    pub name: String,
    /// Name of the algorithm.
    pub cca: String,
    /// Location of its source.
    pub source: String,
    /// Default parameters of flows.
    pub params: Value,
    /// Whether the controller is registered. If it is not, only the state file lists it.
    pub is_loaded: bool,
    /// Network namespaces whose default controller this is, each with a process in it.
    pub default_of: Vec<String>,
    /// Default controller of this network namespace before `load --default`.
    pub previous_default: Option<String>,
}

/// Result of [`unload`] and [`clean`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Undone {
    /// Controllers that were unloaded. Connections that use them continue to do so until they close.
    pub unloaded: Vec<String>,
    /// The controller that was restored as default of this network namespace.
    pub default_restored: Option<String>,
    /// Network namespaces whose default was unloaded; new connections there use Reno.
    pub left_without_default: Vec<String>,
}

/// Loads `source` as `name` (default: the algorithm's name). `params` (an object, or null) applies to flows for which
/// no parameters are set. With `as_default`, the controller becomes the default of new connections in this network
/// namespace.
///
/// # Errors
/// If the source does not compile, or the kernel rejects it or its name. After an error nothing remains loaded.
pub fn load(
    place: &Place,
    source: &Source,
    name: Option<&str>,
    params: &Value,
    as_default: bool,
) -> Result<Permanent, KernelError> {
    let name = name.unwrap_or(source.cca());
    let compiled = source.compile(false)?;
    let mut state = State::lock(place)?;
    let cca = Cca::load_as(&compiled, name, params)?;
    let pins = state.pins(place)?;
    let mut entry = Entry::new(&compiled, params);
    entry.previous_default = default_here().filter(|_| as_default);
    let shown = describe(name, &entry);
    // Record the change before it is made, so that the change can be undone if the process is killed.
    state.file.ccas.insert(name.to_owned(), entry);
    state.write()?;
    let pinned = cca.pin(&pins.join(name));
    if let Err(e) = pinned.and_then(|()| if as_default { make_default(name) } else { Ok(()) }) {
        forget(&mut state, place, name)?;
        return Err(e);
    }
    Ok(Permanent { is_loaded: true, default_of: namespaces::with_default(name), ..shown })
}

/// Unloads `name`. If [`load`] made this controller the default, the previous default is restored.
///
/// # Errors
/// If [`load`] did not load the controller, or, unless `force` is set, if the controller was made a default by other
/// means.
pub fn unload(place: &Place, name: &str, force: bool) -> Result<Undone, KernelError> {
    not_empty(place, name)?;
    let mut state = State::lock(place)?;
    let entry = state.file.ccas.get(name).cloned().ok_or_else(|| unknown(name))?;
    let mut undone = Undone::default();
    if let Some(previous) = entry.previous_default.filter(|_| default_here().as_deref() == Some(name)) {
        make_default(&previous)?;
        undone.default_restored = Some(previous);
    }
    undone.left_without_default = namespaces::with_default(name);
    if !undone.left_without_default.is_empty() && !force {
        if undone.default_restored.is_some() {
            make_default(name)?;
        }
        return Err(KernelError::Conflict {
            name: name.to_owned(),
            reason: format!("it is the default of {}", undone.left_without_default.join(", ")),
            hint: "first set net.ipv4.tcp_congestion_control to another controller there, or use --force",
        });
    }
    forget(&mut state, place, name)?;
    undone.unloaded.push(name.to_owned());
    Ok(undone)
}

/// Removes the pins of `name` and its entries in the state file.
fn forget(state: &mut State, place: &Place, name: &str) -> Result<(), KernelError> {
    remove_pins(&state.pins(place)?.join(name))?;
    await_gone(name);
    state.file.ccas.remove(name);
    state.release_if_empty()?;
    state.write()
}

/// Lists the controllers that [`load`] has loaded. No privilege is required, but without privileges the defaults of
/// other network namespaces cannot be read.
///
/// # Errors
/// If the state cannot be read.
pub fn list(place: &Place) -> Result<Vec<Permanent>, KernelError> {
    let content = Content::read(place)?;
    Ok(content.ccas.iter().map(|(name, entry)| describe(name, entry)).collect())
}

/// Changes the default parameters of `name` to `new` (an object, or null for no change) and returns them. Running
/// connections use the new values if the algorithm reads its parameters after the start.
///
/// # Errors
/// If [`load`] did not load the controller, or the algorithm rejects `new`.
pub fn params(place: &Place, name: &str, new: &Value) -> Result<Value, KernelError> {
    not_empty(place, name)?;
    let mut state = State::lock(place)?;
    let pins = state.pins(place)?;
    let entry = state.file.ccas.get_mut(name).ok_or_else(|| unknown(name))?;
    if let Value::Object(changes) = new {
        let source = Source::find(&entry.source)?;
        let mut merged = entry.params.as_object().cloned().unwrap_or_default();
        merged.extend(changes.clone());
        let merged = Value::Object(merged);
        let words = source.param_words(&merged)?;
        let what = || format!("parameters of `{name}`");
        let map = MapHandle::from_pinned_path(pins.join(name).join("defaults")).map_err(KernelError::bpf(what()))?;
        let mut data = map.lookup(&[0; 4], MapFlags::ANY).map_err(KernelError::bpf(what()))?.unwrap_or_default();
        for (word, place) in words.iter().zip(data.get_mut(entry.defaults_at..).unwrap_or_default().chunks_exact_mut(8))
        {
            place.copy_from_slice(&word.to_ne_bytes());
        }
        map.update(&[0; 4], &data, MapFlags::ANY).map_err(KernelError::bpf(what()))?;
        entry.params = merged;
    }
    let shown = describe(name, entry).params;
    state.write()?;
    Ok(shown)
}

/// Unloads all controllers that [`load`] has loaded, and restores the default.
///
/// # Errors
/// At the first step that fails; a repeated call continues with that step.
pub fn clean(place: &Place) -> Result<Undone, KernelError> {
    let mut undone = Undone::default();
    if place.is_untouched() {
        return Ok(undone);
    }
    for name in Content::read(place)?.ccas.into_keys() {
        let one = unload(place, &name, true)?;
        undone.unloaded.extend(one.unloaded);
        undone.default_restored = undone.default_restored.or(one.default_restored);
        undone.left_without_default.extend(one.left_without_default);
    }
    let mut state = State::lock(place)?;
    state.release_if_empty()?;
    Ok(undone)
}

/// Returns an error unless a permanent controller exists. This check comes first so that a query creates no lock file.
fn not_empty(place: &Place, name: &str) -> Result<(), KernelError> {
    if place.is_untouched() { Err(unknown(name)) } else { Ok(()) }
}

fn unknown(name: &str) -> KernelError {
    KernelError::Conflict {
        name: name.to_owned(),
        reason: "it was not loaded by `fairweir kernel load`".to_owned(),
        hint: "`fairweir kernel list` shows what was",
    }
}

fn describe(name: &str, entry: &Entry) -> Permanent {
    let mut params = Source::find(&entry.source).map_or(Value::Null, |source| source.defaults());
    if let (Value::Object(all), Value::Object(given)) = (&mut params, &entry.params) {
        all.extend(given.clone());
    }
    Permanent {
        name: name.to_owned(),
        cca: entry.cca.clone(),
        source: entry.source.clone(),
        params,
        is_loaded: is_available(name),
        default_of: namespaces::with_default(name),
        previous_default: entry.previous_default.clone(),
    }
}

fn default_here() -> Option<String> {
    std::fs::read_to_string(DEFAULT_CCA).ok().map(|name| name.trim().to_owned())
}

/// Makes `name` the default of this network namespace.
fn make_default(name: &str) -> Result<(), KernelError> {
    std::fs::write(DEFAULT_CCA, name).map_err(KernelError::io(format!("{DEFAULT_CCA} = {name}")))
}

/// Waits until `name` is unregistered, which the kernel does shortly after the pin is removed.
fn await_gone(name: &str) {
    for _ in 0..200 {
        if !is_available(name) {
            return;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn remove_pins(pins: &Path) -> Result<(), KernelError> {
    let what = || format!("{}", pins.display());
    match std::fs::read_dir(pins) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(KernelError::io(what())(e)),
        Ok(entries) => {
            for pin in entries {
                std::fs::remove_file(pin.map_err(KernelError::io(what()))?.path()).map_err(KernelError::io(what()))?;
            }
        }
    }
    std::fs::remove_dir(pins).map_err(KernelError::io(what()))
}
