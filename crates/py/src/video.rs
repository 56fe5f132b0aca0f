//! Video sessions, whose frames are coded from a table or by Python.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use fairweir_units::Time;
use fairweir_video::{
    CallbackEncoder, Coded, Config, Job, Outcome, Quality, SENDERS, SessionError, Table, play, play_with,
};
use pyo3::prelude::*;

use crate::error;

/// Returns the name and summary of every video sender.
#[pyfunction]
pub fn video_senders() -> Vec<(&'static str, &'static str)> {
    SENDERS.to_vec()
}

/// Runs a session (configuration as JSON) with an encoder's table (JSON); returns the outcome as JSON.
#[pyfunction]
pub fn play_video(py: Python<'_>, config: &str, table: &str) -> PyResult<String> {
    let config: Config = serde_json::from_str(config).map_err(|e| error::from_json(py, &e))?;
    let table = Table::parse(table).map_err(|e| error::from_table(py, &e))?;
    let played = py.detach(|| play(&config, table, &mut watch_signals));
    outcome(py, played)
}

/// Stops a session when the interpreter has a pending signal, such as Ctrl-C.
fn watch_signals(_: Time) -> ControlFlow<()> {
    if Python::attach(|py| py.check_signals()).is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn outcome(py: Python<'_>, played: Result<Outcome, SessionError>) -> PyResult<String> {
    let outcome = played.map_err(|e| error::from_video(py, &e))?;
    serde_json::to_string(&outcome).map_err(|e| error::from_json(py, &e))
}

/// Runs a session (configuration as JSON) with a live encoder; returns the outcome as JSON.
///
/// `encode(frame, reference, target_bytes)` returns bytes, SSIM and quantizer. `frozen(frame, shown)` returns the SSIM
/// if an older frame or no frame is shown. An exception in either function ends the session and is raised again.
#[pyfunction]
pub fn play_video_live(py: Python<'_>, config: &str, encode: Py<PyAny>, frozen: Py<PyAny>) -> PyResult<String> {
    let config: Config = serde_json::from_str(config).map_err(|e| error::from_json(py, &e))?;
    let raised = Arc::new(Mutex::new(None));
    let (for_encode, for_frozen) = (Arc::clone(&raised), Arc::clone(&raised));
    let mut encoder = CallbackEncoder {
        encode: Box::new(move |job: &Job| {
            let Quality::Target(target) = job.quality else {
                return Err("a live encoder codes to a size; it cannot code with a given quantizer".into());
            };
            let called = Python::attach(|py| {
                let coded = encode.call1(py, (job.frame, job.reference, target))?;
                coded.extract::<(f64, f64, f64)>(py)
            });
            let (bytes, ssim, qp) = called.map_err(|e| keep(&for_encode, e))?;
            Ok(Coded { bytes, ssim, qp })
        }),
        frozen: Box::new(move |frame, shown| {
            let called = Python::attach(|py| frozen.call1(py, (frame, shown))?.extract::<f64>(py));
            called.unwrap_or_else(|e| {
                keep(&for_frozen, e);
                0.0
            })
        }),
    };
    let played = py.detach(|| play_with(&config, &mut encoder, &mut watch_signals));
    drop(encoder);
    if let Some(e) = raised.lock().ok().and_then(|mut kept| kept.take()) {
        return Err(e);
    }
    outcome(py, played)
}

/// Stores the first exception for the caller; the session ends with the exception's text.
fn keep(raised: &Mutex<Option<PyErr>>, e: PyErr) -> String {
    let text = e.to_string();
    if let Ok(mut kept) = raised.lock() {
        kept.get_or_insert(e);
    }
    text
}
