//! Users' own `.bpf.c` files: the host's C compiler compiles each file to a shared object, which is loaded into the
//! process.

use crate::abi::{Hook, RawOps, RawParam};
use crate::controller::NativeController;
use crate::includes::Includes;
use crate::list::HEADERS;
use crate::module::Module;
use crate::scratch::scratch;
use fairweir_cca::{BuildError, Controller, Start};
use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use object::{Object, ObjectSection, ObjectSymbol, SectionKind, SymbolKind};
use serde_json::Value;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::mem::size_of;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex, PoisonError};
use std::{fs, slice};

/// Suffix of a source's path.
pub const SUFFIX: &str = ".bpf.c";

/// An algorithm in C, compiled and loaded. It is never unloaded, because hooks must outlive every controller.
#[derive(Clone, Debug)]
pub struct Loaded(pub(crate) Arc<Module>);

impl From<&Module> for Loaded {
    fn from(module: &Module) -> Loaded {
        Loaded(Arc::new(module.clone()))
    }
}

impl Loaded {
    /// Returns the algorithm's name, which is that of its `struct tcp_congestion_ops`.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Returns every parameter with its default, as JSON.
    pub fn defaults(&self) -> Value {
        self.0.defaults()
    }

    /// Returns the name and the documentation line of each parameter.
    pub fn param_docs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.docs()
    }

    /// Returns the words that the hooks read for `params` (an object, or null), in the order of the algorithm's list.
    ///
    /// # Errors
    /// If the algorithm rejects its parameters.
    pub fn param_words(&self, params: &Value) -> Result<Box<[u64]>, BuildError> {
        self.0.read_params(params)
    }

    /// Builds a controller with `params` (an object, or null).
    ///
    /// # Errors
    /// If the algorithm rejects its parameters.
    pub fn build(&self, params: &Value, start: &Start) -> Result<Box<dyn Controller>, BuildError> {
        Ok(Box::new(NativeController::new(&self.0, params, start)?))
    }
}

/// Compiles and loads the source at `path`. In one process, a file with the same path and content is compiled once.
///
/// If a source contains several `struct tcp_congestion_ops`, the one with the file's name is used.
///
/// # Errors
/// [`BuildError::BadSource`] if the file cannot be read, the compiler is missing or rejects it, it contains no
/// congestion controller, or it has state shared between flows.
pub fn load(path: &Path) -> Result<Loaded, BuildError> {
    static CACHE: Mutex<BTreeMap<(PathBuf, Vec<u8>), Loaded>> = Mutex::new(BTreeMap::new());
    let bad = |reason: String, hint: &str| BuildError::BadSource {
        path: path.display().to_string(),
        reason,
        hint: hint.to_owned(),
    };
    let place =
        path.canonicalize().map_err(|e| bad(e.to_string(), "write the path relative to the working directory"))?;
    let content = fs::read(&place).map_err(|e| bad(e.to_string(), "use a C source in the kernel's style"))?;
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (place, content);
    if let Some(loaded) = cache.get(&key) {
        return Ok(loaded.clone());
    }
    let module = compile(&key.0).and_then(|bytes_and_library| take(&key.0, bytes_and_library));
    let loaded = Loaded(Arc::new(module.map_err(|Refusal { reason, hint }| bad(reason, hint))?));
    cache.insert(key, loaded.clone());
    Ok(loaded)
}

/// The reason why a source is rejected, and a hint.
struct Refusal {
    reason: String,
    hint: &'static str,
}

impl From<Error> for Refusal {
    fn from(e: Error) -> Refusal {
        Refusal { reason: e.to_string(), hint: "is the temporary directory writable? TMPDIR names another" }
    }
}

/// Compiles `source` to a shared object, and returns the object's bytes and the loaded library.
fn compile(source: &Path) -> Result<(Vec<u8>, Library), Refusal> {
    let scratch = scratch()?;
    let include = scratch.path().join("include");
    for (name, text) in HEADERS {
        let header = include.join(name);
        fs::create_dir_all(header.parent().unwrap_or(&include))?;
        fs::write(header, text)?;
    }
    let output = scratch.path().join("cca.so");
    let compiler = std::env::var_os("CC").filter(|cc| !cc.is_empty()).unwrap_or_else(|| "cc".into());
    let not_started = |e: Error| match e.kind() {
        ErrorKind::NotFound => Refusal {
            reason: format!("C compiler not found: `{}`", compiler.display()),
            hint: "install one (`apt-get install gcc`), or name one in the environment variable CC",
        },
        _ => Refusal { reason: format!("`{}`: {e}", compiler.display()), hint: "is CC a C compiler?" },
    };
    let mut reading: Vec<OsString> = vec!["-std=gnu11".into(), "-x".into(), "c".into(), source.into()];
    reading.extend(["-I".into(), include.clone().into(), "-I".into(), include.join("compat").into()]);
    let includes = Includes::of(source, &include);
    if let Some(file) = includes.refused(&compiler, &reading).map_err(not_started)? {
        return Err(Refusal {
            reason: format!("it includes `{file}`, which is neither in the folder of the source nor a system header"),
            hint: "put included files into the folder of the source",
        });
    }
    let run = Command::new(&compiler)
        .args(["-O2", "-fPIC", "-shared", "-fno-strict-aliasing", "-fwrapv", "-fdiagnostics-color=never"])
        .arg("-Wl,-z,defs")
        .args(&reading)
        .arg("-o")
        .arg(&output)
        .output()
        .map_err(not_started)?;
    if !run.status.success() {
        return Err(Refusal {
            reason: format!("the C compiler rejects it:\n{}", includes.shown(&String::from_utf8_lossy(&run.stderr))),
            hint: "include \"tcp.h\": it declares the kernel functions that a CCA may use",
        });
    }
    let bytes = fs::read(&output)?;
    // SAFETY: the file was just compiled from the user's source, and the user requested to run its code.
    let library = unsafe { Library::open(Some(&output), RTLD_NOW | RTLD_LOCAL) }.map_err(|e| Refusal {
        reason: format!("the compiled object does not load: {e}"),
        hint: "is the temporary directory mounted noexec? TMPDIR names another",
    })?;
    Ok((bytes, library))
}

/// Data symbols that the source itself defines: name, size and section.
struct Symbols {
    ops: Vec<String>,
    table: Option<(String, u64)>,
    shared_state: Vec<String>,
}

fn symbols(bytes: &[u8]) -> Result<Symbols, object::Error> {
    let file = object::File::parse(bytes)?;
    let mut found = Symbols { ops: Vec::new(), table: None, shared_state: Vec::new() };
    for symbol in file.symbols().filter(|s| s.kind() == SymbolKind::Data && s.size() > 0) {
        let Some(section) = symbol.section_index().and_then(|i| file.section_by_index(i).ok()) else { continue };
        let name = symbol.name()?.to_owned();
        match section.name()? {
            ".struct_ops" | ".struct_ops.link" => found.ops.push(name),
            "cc_params" => found.table = Some((name, symbol.size())),
            ".data" | ".bss" => found.shared_state.push(name),
            _ if section.kind() == SectionKind::UninitializedData => found.shared_state.push(name),
            _ => {}
        }
    }
    // The compiler's start-up files add symbols of their own.
    found.shared_state.retain(|name| !name.starts_with("completed.") && !name.starts_with("__"));
    found.ops.sort();
    Ok(found)
}

/// Returns the algorithm in a loaded object.
fn take(source: &Path, (bytes, library): (Vec<u8>, Library)) -> Result<Module, Refusal> {
    let odd = |e: &dyn std::fmt::Display| Refusal {
        reason: format!("the compiled object cannot be read: {e}"),
        hint: "is CC a compiler for this machine?",
    };
    let found = symbols(&bytes).map_err(|e| odd(&e))?;
    if let Some(shared) = found.shared_state.first() {
        return Err(Refusal {
            reason: format!("`{shared}` is a variable that all flows would share"),
            hint: "keep a flow's state at inet_csk_ca(sk), and make constants `const`",
        });
    }
    let stem = source.file_name().and_then(|n| n.to_str()).and_then(|n| n.strip_suffix(SUFFIX)).unwrap_or_default();
    let name = match found.ops.as_slice() {
        [] => {
            return Err(Refusal {
                reason: "there is no `struct tcp_congestion_ops` in section \".struct_ops\"".to_owned(),
                hint: "write `SEC(\".struct_ops\") struct tcp_congestion_ops mine = {...};`",
            });
        }
        [one] => one,
        several => several.iter().find(|name| *name == stem).ok_or_else(|| Refusal {
            reason: format!("there are several congestion controllers: {}", several.join(", ")),
            hint: "name the file after the controller to use",
        })?,
    };
    // The library is never closed, so that hooks and tables live as long as the process.
    let library: &'static Library = Box::leak(Box::new(library));
    let address = |symbol: &str| {
        // SAFETY: only the address is read.
        unsafe { library.get::<*const ()>(symbol.as_bytes()) }.map(|s| s.as_raw_ptr().cast_const()).map_err(|e| odd(&e))
    };
    // SAFETY: the object was compiled against bpf/tcp.h, whose structs these types mirror. The sizes are from the
    // symbol table.
    let (ops, table) = unsafe {
        let ops: &'static RawOps = &*address(name)?.cast();
        let table: &'static [RawParam] = match &found.table {
            Some((symbol, size)) => {
                slice::from_raw_parts(address(symbol)?.cast(), *size as usize / size_of::<RawParam>())
            }
            None => &[],
        };
        (ops, table)
    };
    // SAFETY: as above.
    let mut module = unsafe { Module::new(name, ops, table) }.map_err(|reason| Refusal {
        reason,
        hint: "the kernel demands ssthresh, undo_cwnd and one of cong_avoid and cong_control",
    })?;
    // Sources that include the kernel's own headers use helpers without an argument for the flow (bpf/compat). SAFETY: only
    // our header defines the symbol, with this type.
    module.enter = unsafe { library.get::<Hook>(b"cc_enter") }.ok().map(|symbol| *symbol);
    Ok(module)
}
