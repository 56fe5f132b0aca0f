//! A compiled algorithm: its hooks and its table of parameters.

use crate::abi::{Hook, RawOps, RawParam, unit};
use crate::params::{self, Param, Unit};
use fairweir_cca::BuildError;
use serde_json::Value;
use std::ffi::{CStr, c_char};

/// Hooks and parameters of an algorithm, which were checked when it was loaded.
#[derive(Clone, Debug)]
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) ops: &'static RawOps,
    /// Sets the flow of the next hook.
    pub(crate) enter: Option<Hook>,
    params: Vec<Param>,
}

impl std::fmt::Debug for RawOps {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("RawOps").finish_non_exhaustive()
    }
}

impl Module {
    /// Returns an algorithm with `ops`, some of which the kernel requires, and the parameter `table` of its file.
    ///
    /// # Errors
    /// If a hook that the kernel requires is missing, or the table is invalid.
    ///
    /// # Safety
    /// `ops` and `table` must come from C that was compiled against `bpf/tcp.h`.
    pub(crate) unsafe fn new(name: &str, ops: &'static RawOps, table: &'static [RawParam]) -> Result<Module, String> {
        // The kernel rejects ops without these three hooks (tcp_validate_congestion_control).
        let missing = match ops {
            RawOps { ssthresh: None, .. } => Some("ssthresh"),
            RawOps { undo_cwnd: None, .. } => Some("undo_cwnd"),
            RawOps { cong_avoid: None, cong_control: None, .. } => Some("cong_avoid or cong_control"),
            _ => None,
        };
        if let Some(hook) = missing {
            return Err(format!("`{name}` has no {hook}"));
        }
        // SAFETY: guaranteed by the caller: the rows contain literals.
        let params = table.iter().map(|row| unsafe { read_row(row) }).collect::<Result<_, _>>()?;
        Ok(Module { name: name.to_owned(), ops, enter: None, params })
    }

    /// Returns every parameter with its default, as JSON.
    pub(crate) fn defaults(&self) -> Value {
        params::defaults(&self.params)
    }

    /// Returns every parameter's default in the form that the hooks read.
    pub(crate) fn default_words(&self) -> Box<[u64]> {
        self.params.iter().map(|param| param.default).collect()
    }

    /// Returns a flow's parameters in the form that the hooks read.
    ///
    /// # Errors
    /// If the algorithm rejects the parameters.
    pub(crate) fn read_params(&self, given: &Value) -> Result<Box<[u64]>, BuildError> {
        params::read(&self.params, given).map_err(|reason| BuildError::BadParams { name: self.name.clone(), reason })
    }

    /// Returns the name and the documentation line of each parameter.
    pub(crate) fn docs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.params.iter().map(|param| (param.name.as_str(), param.doc.as_str()))
    }
}

/// # Safety
/// The row's strings must be C strings.
unsafe fn read_row(row: &RawParam) -> Result<Param, String> {
    let text = |s: *const c_char| {
        // SAFETY: guaranteed by the caller.
        let s = unsafe { CStr::from_ptr(s) };
        s.to_str().map(str::to_owned).map_err(|_| "a parameter's name or line of documentation is not UTF-8".to_owned())
    };
    let name = text(row.name)?;
    let unit = match row.unit {
        unit::NUMBER => Unit::Number,
        unit::FIXED => Unit::Fixed,
        unit::FLAG => Unit::Flag,
        unit::US => Unit::Micros,
        unit::PKTS => Unit::Packets,
        unit::RATE => Unit::Rate,
        other => return Err(format!("parameter `{name}` has an unknown unit ({other})")),
    };
    if !(row.least..=row.most).contains(&row.def) {
        return Err(format!("the default of parameter `{name}` is out of its own range"));
    }
    Ok(Param { name, doc: text(row.doc)?, unit, default: row.def, least: row.least, most: row.most })
}
