//! Converts Rust errors to exceptions of `fairweir.errors`; no other file of this crate does so.

use fairweir_capture::CaptureError;
use fairweir_game::controller::ControllerError;
use fairweir_game::observed::ObservedError;
use fairweir_guard::TreesError;
use fairweir_guard::policy::Config as PolicyConfig;
use fairweir_path::link::TraceError;
use fairweir_sim::SimError;
use fairweir_units::{Hint, ParseError};
use fairweir_video::fec::FecError;
use fairweir_video::{SessionError, TableError};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::fmt::Display;

/// Returns `fairweir.errors.<class>(message, **details)`, or the exception of the import if the import fails.
fn raise(py: Python<'_>, class: &str, message: &str, details: &[(&str, Bound<'_, PyAny>)]) -> PyErr {
    let make = || -> PyResult<PyErr> {
        let kwargs = PyDict::new(py);
        for (key, value) in details {
            kwargs.set_item(key, value)?;
        }
        let class = py.import("fairweir.errors")?.getattr(class)?;
        Ok(PyErr::from_value(class.call((message,), Some(&kwargs))?))
    };
    make().unwrap_or_else(|e| e)
}

fn text<'py>(py: Python<'py>, s: &str) -> Bound<'py, PyAny> {
    pyo3::types::PyString::new(py, s).into_any()
}

/// Returns `fairweir.errors.<class>` with the message, the key and the hint of `e`, and further `details`.
fn raise_with_hint(py: Python<'_>, class: &str, e: &dyn Hint, details: &[(&str, &str)]) -> PyErr {
    let message = match e.key() {
        // The scenario parser finds the value by the last component of its key.
        Some(key) => format!("{} {}", key.rsplit('.').next().unwrap_or(key), e.message()),
        None => e.message(),
    };
    let mut all: Vec<(&str, Bound<'_, PyAny>)> = details.iter().map(|(name, value)| (*name, text(py, value))).collect();
    all.extend(e.key().map(|key| ("key", text(py, key))));
    all.extend(e.hint().map(|hint| ("hint", text(py, &hint))));
    raise(py, class, &message, &all)
}

/// A certificate or question that was rejected, with the error class of the checker in Python.
pub fn from_rejected(py: Python<'_>, reason: &str) -> PyErr {
    let make = || {
        PyResult::Ok(PyErr::from_value(
            py.import("fairweir.formal.certificates.checker")?.call_method1("RejectedError", (reason,))?,
        ))
    };
    make().unwrap_or_else(|e| e)
}

/// A text that is not a valid quantity.
pub fn from_parse(py: Python<'_>, e: &ParseError) -> PyErr {
    raise_with_hint(py, "ConfigError", e, &[])
}

/// An invalid erasure code, or invalid packets of a code.
pub fn from_fec(py: Python<'_>, e: &FecError) -> PyErr {
    raise_with_hint(py, "ConfigError", e, &[])
}

/// An invalid table of an encoder.
pub fn from_table(py: Python<'_>, e: &TableError) -> PyErr {
    raise_with_hint(py, "ConfigError", e, &[])
}

/// A video session that failed.
pub fn from_video(py: Python<'_>, e: &SessionError) -> PyErr {
    match e {
        SessionError::BadConfig(error) => raise_with_hint(py, "ConfigError", error, &[]),
        SessionError::Encoder(_) => raise(py, "FairweirError", &e.to_string(), &[]),
        SessionError::Interrupted { .. } => PyKeyboardInterrupt::new_err(e.to_string()),
    }
}

/// An invalid line in a trace file.
pub fn from_trace(py: Python<'_>, e: &TraceError) -> PyErr {
    raise_with_hint(py, "ConfigError", e, &[])
}

/// A JSON document that is not a valid configuration.
pub fn from_json(py: Python<'_>, e: &serde_json::Error) -> PyErr {
    raise(py, "ConfigError", &format!("configuration: {e}"), &[])
}

/// An invalid reachability query.
pub fn from_question(py: Python<'_>, key: &str, reason: &str) -> PyErr {
    raise(py, "ConfigError", &format!("{key} {reason}"), &[("key", text(py, key))])
}

/// An invalid controller file, or an invalid query of the game. The caller adds the file name.
pub fn from_controller(py: Python<'_>, e: &ControllerError) -> PyErr {
    let hint = e.hint().unwrap_or_default();
    raise(py, "ConfigError", &e.to_string(), &[("key", text(py, &e.key)), ("hint", text(py, &hint))])
}

/// An invalid session of the game.
pub fn from_game_session(py: Python<'_>, key: &str, reason: &str) -> PyErr {
    raise(py, "ConfigError", &format!("{key}: {reason}"), &[("key", text(py, key))])
}

/// Observations or a model that are impossible for a sender.
pub fn from_observed(py: Python<'_>, e: &ObservedError) -> PyErr {
    raise_with_hint(py, "ConfigError", e, &[])
}

/// An unreadable capture.
pub fn from_capture(py: Python<'_>, e: &CaptureError, path: &str) -> PyErr {
    raise_with_hint(py, "ConfigError", e, &[("source", path)])
}

/// An invalid capture position: it is neither the sender nor the receiver.
pub fn from_side(py: Python<'_>, side: &str) -> PyErr {
    let message = format!("a capture is taken at `sender` or `receiver`: `{side}`");
    let hint = "write \"sender\" or \"receiver\"";
    raise(py, "ConfigError", &message, &[("key", text(py, "capture")), ("hint", text(py, hint))])
}

/// A run with more data packets than the record may contain.
pub fn from_full_log(py: Python<'_>, most: usize) -> PyErr {
    let hint = "simulate a shorter time or a lower rate, or record more: each takes about 200 bytes of memory";
    let message = format!("the run has more data packets than the limit of the record: `{most}`");
    raise(py, "ConfigError", &message, &[("key", text(py, "record_packets")), ("hint", text(py, hint))])
}

/// An output file that cannot be written.
pub fn from_output(py: Python<'_>, e: &std::io::Error, path: &str) -> PyErr {
    raise(py, "ConfigError", &format!("cannot be written: {e}"), &[("source", text(py, path))])
}

/// An invalid policy file, or an invalid model for it.
pub fn from_policy(py: Python<'_>, e: &dyn Hint) -> PyErr {
    let mut details: Vec<(&str, Bound<'_, PyAny>)> = Vec::new();
    details.extend(e.key().map(|key| ("key", text(py, key))));
    details.extend(e.hint().map(|hint| ("hint", text(py, &hint))));
    raise(py, "PolicyError", &e.to_string(), &details)
}

/// An invalid forest, which a policy file names.
pub fn from_forest(py: Python<'_>, e: &TreesError, config: &PolicyConfig) -> PyErr {
    let model = config.flow.as_ref().map(|flow| ("source", flow.model.as_str()));
    let details: Vec<(&str, &str)> = [("key", "flow.model")].into_iter().chain(model).collect();
    raise_with_hint(py, "PolicyError", e, &details)
}

/// A number of senders that differs from the number of flows.
pub fn from_senders(py: Python<'_>, senders: usize, flows: usize) -> PyErr {
    let hint = "name one sender for each flow, or none for a flow without a guard";
    raise(py, "ConfigError", &format!("{senders} senders for {flows} flows"), &[("hint", text(py, hint))])
}

/// A text that is not the address of a host.
pub fn from_address(py: Python<'_>, what: &str, address: &str) -> PyErr {
    let hint = "write an IP address such as \"192.0.2.1\" or \"2001:db8::1\"";
    raise(py, "ConfigError", &format!("{what}: `{address}` is not an IP address"), &[("hint", text(py, hint))])
}

/// A file that contains no valid forest.
pub fn from_trees(py: Python<'_>, e: &TreesError) -> PyErr {
    raise_with_hint(py, "ConfigError", e, &[])
}

/// A failed run. `cause` is the Python exception that caused the failure, if any.
pub fn from_sim(py: Python<'_>, e: &SimError, cause: Option<PyErr>) -> PyErr {
    let raised = match e {
        SimError::BadConfig(error) => raise_with_hint(py, "ConfigError", error, &[]),
        SimError::Build { flow, source } => {
            raise_with_hint(py, "CcaError", source, &[("flow", flow), ("cca", source.name())])
        }
        SimError::Controller { flow, at, reason } => {
            let at_s = pyo3::types::PyFloat::new(py, at.as_secs_f64()).into_any();
            let details = [("flow", text(py, flow)), ("at_s", at_s), ("reason", text(py, reason))];
            raise(py, "ControllerError", &e.to_string(), &details)
        }
        SimError::Interrupted { .. } => PyKeyboardInterrupt::new_err(e.to_string()),
    };
    if cause.is_some() {
        raised.set_cause(py, cause);
    }
    raised
}

/// An argument that is out of its range.
pub fn from_argument(py: Python<'_>, key: &str, value: impl Display, hint: &str) -> PyErr {
    let details = [("key", text(py, key)), ("hint", text(py, hint))];
    raise(py, "ConfigError", &format!("{key} is out of range: `{value}`"), &details)
}

/// Bytes whose number is not a multiple of the row size, `columns` numbers of 8 bytes.
pub fn from_rows(py: Python<'_>, bytes: usize, columns: usize) -> PyErr {
    raise(py, "ConfigError", &format!("{bytes} bytes are not rows of {columns} features of 8 bytes"), &[])
}

/// Returns whether `e` is a KeyboardInterrupt.
pub fn is_interrupt(py: Python<'_>, e: &PyErr) -> bool {
    e.is_instance_of::<PyKeyboardInterrupt>(py)
}
