//! Loads a shared library into the process.
//!
//! All checks that do not run the library's code are first: file format, machine and symbol.

use super::controller::PluginController;
use super::table::{BUILD_HINT, Facts, Refusal, read, refuse};
use crate::params::{self, Unit};
use fairweir_cca::{BuildError, Controller, Start};
use fairweir_plugin::{abi, endpoint};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use object::{Architecture, Object, ObjectKind, ObjectSymbol};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Suffix of a plug-in's path.
pub const SUFFIX: &str = ".so";
/// Maximum size of a library, bytes. A library in Rust with debug information has some 10 MB.
const MAX_BYTES: u64 = 1 << 30;

/// A loaded plug-in. It is never unloaded, because the runtimes of some languages cannot be unloaded, and because
/// controllers contain pointers into it.
#[derive(Clone, Debug)]
pub struct Plugin(Arc<Facts>);

impl Plugin {
    /// Returns the name that the plug-in reports.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns the version that the plug-in reports.
    pub fn version(&self) -> &str {
        &self.0.version
    }

    /// Returns every parameter with its default, as JSON.
    pub fn defaults(&self) -> Value {
        params::defaults(&self.0.params)
    }

    /// Builds a controller with `params` (an object, or null).
    ///
    /// # Errors
    /// If a parameter is unknown, a value is out of range, or the plug-in does not create a flow.
    pub fn build(&self, params: &Value, start: &Start) -> Result<Box<dyn Controller>, BuildError> {
        let bad = |reason| BuildError::BadParams { name: self.0.path.clone(), reason };
        let words = params::read(&self.0.params, params).map_err(bad)?;
        let values: Vec<f64> = self
            .0
            .params
            .iter()
            .zip(&words)
            .map(|(param, &word)| match param.unit {
                Unit::Real => f64::from_bits(word),
                _ => word as f64,
            })
            .collect();
        Ok(Box::new(PluginController::new(Arc::clone(&self.0), &values, start).map_err(bad)?))
    }
}

/// Loads the plug-in at `path`; in one process, a file is loaded once.
///
/// # Errors
/// [`BuildError::BadSource`] if the file cannot be read, is not a shared library for this machine, lacks the symbol, or
/// its table contradicts the interface.
pub fn load(path: &Path) -> Result<Plugin, BuildError> {
    static CACHE: Mutex<BTreeMap<PathBuf, Plugin>> = Mutex::new(BTreeMap::new());
    let bad =
        |Refusal { reason, hint }: Refusal| BuildError::BadSource { path: path.display().to_string(), reason, hint };
    let place = path
        .canonicalize()
        .map_err(|e| bad(refuse(e.to_string(), "write the path relative to the working directory")))?;
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(plugin) = cache.get(&place) {
        return Ok(plugin.clone());
    }
    let plugin = inspect(&place, &CONTROLLERS)
        .and_then(|()| open(&place, abi::SYMBOL))
        .and_then(|table| read(path, table))
        .map(|facts| Plugin(Arc::new(facts)))
        .map_err(bad)?;
    cache.insert(place, plugin.clone());
    Ok(plugin)
}

/// Returns the name of an architecture as in compilers' target names.
fn machine(architecture: Architecture) -> String {
    format!("{architecture:?}").to_lowercase()
}

/// The function that a library exports, for one interface.
pub(super) struct Interface {
    pub(super) symbol: &'static str,
    /// The function without the version of the interface.
    pub(super) stem: &'static str,
    pub(super) version: u32,
    pub(super) header: &'static str,
    pub(super) build_hint: &'static str,
}

const CONTROLLERS: Interface = Interface {
    symbol: abi::SYMBOL,
    stem: abi::SYMBOL_STEM,
    version: abi::ABI,
    header: "fairweir_cc.h",
    build_hint: BUILD_HINT,
};

/// Checks the file without running its code.
pub(super) fn inspect(path: &Path, interface: &Interface) -> Result<(), Refusal> {
    let unreadable = |e: std::io::Error| refuse(format!("cannot be read: {e}"), BUILD_HINT);
    let size = fs::metadata(path).map_err(unreadable)?.len();
    if size > MAX_BYTES {
        return Err(refuse(format!("larger than {} MiB", MAX_BYTES >> 20), BUILD_HINT));
    }
    let bytes = fs::read(path).map_err(unreadable)?;
    let file = object::File::parse(&*bytes)
        .map_err(|_| refuse("not a shared library", "a plug-in is an ELF shared object (`cc -shared -fPIC`)"))?;
    // The crate object names architectures as Debug does; std::env::consts names them as targets do.
    let own = match std::env::consts::ARCH {
        "x86_64" => Architecture::X86_64,
        "aarch64" => Architecture::Aarch64,
        "riscv64" => Architecture::Riscv64,
        _ => file.architecture(),
    };
    if file.architecture() != own {
        let (its, ours) = (machine(file.architecture()), std::env::consts::ARCH);
        return Err(refuse(format!("built for {its}, this machine is {ours}"), "build it for this machine"));
    }
    if file.kind() != ObjectKind::Dynamic {
        return Err(refuse("not a shared library", "link it with `-shared`; in Rust, crate-type = [\"cdylib\"]"));
    }
    let exported: Vec<&str> =
        file.dynamic_symbols().filter(|s| s.is_definition()).filter_map(|s| s.name().ok()).collect();
    if exported.contains(&interface.symbol) {
        return Ok(());
    }
    let other = exported.iter().find(|name| name.starts_with(interface.stem));
    Err(match other {
        Some(other) => refuse(
            format!(
                "it exports `{other}`, for another version of the interface; this fairweir reads version {}",
                interface.version
            ),
            format!("build it against the {} of this fairweir", interface.header),
        ),
        None if exported.contains(&endpoint::SYMBOL) => {
            refuse("it is a whole transport stack, not a controller", "run it with `--on quic`")
        }
        None => refuse(format!("it does not export `{}`", interface.symbol), interface.build_hint),
    })
}

/// Loads the library into the process, and calls its function.
pub(super) fn open<Table>(path: &Path, symbol: &str) -> Result<*const Table, Refusal> {
    // SAFETY: the user requested to run this library; its constructors run here.
    let library = unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL) }
        .map_err(|e| refuse(format!("does not load: {e}"), "link it with the libraries that it needs"))?;
    let library: &'static Library = Box::leak(Box::new(library));
    // SAFETY: the symbol exists. By its name, the library declares that the symbol has the interface's type.
    unsafe {
        let table = library
            .get::<unsafe extern "C" fn() -> *const Table>(symbol.as_bytes())
            .map_err(|e| refuse(format!("does not load: {e}"), BUILD_HINT))?;
        Ok(table())
    }
}
