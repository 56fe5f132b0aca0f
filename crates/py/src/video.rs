//! Video sessions, with frames coded from a table or by Python.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

use fairweir_units::Time;
use fairweir_video::{
    CallbackEncoder, Coded, Config, Job, Outcome, Quality, SENDERS, SessionError, Table, play, play_with,
};
use pyo3::prelude::*;

use crate::error;

/// Name and summary of every sender of video.
#[pyfunction]
pub fn video_senders() -> Vec<(&'static str, &'static str)> {
    SENDERS.to_vec()
}

/// Play a session, its configuration as JSON, with an encoder's table as JSON; the outcome as JSON.
#[pyfunction]
pub fn play_video(py: Python<'_>, config: &str, table: &str) -> PyResult<String> {
    let config: Config = serde_json::from_str(config).map_err(|e| error::from_json(py, &e))?;
    let table = Table::parse(table).map_err(|e| error::from_table(py, &e))?;
    let played = py.detach(|| play(&config, table, &mut watch_signals));
    outcome(py, played)
}

/// Stop a session when the interpreter has a signal to handle, such as Ctrl-C.
fn watch_signals(_: Time) -> ControlFlow<()> {
    if Python::attach(|py| py.check_signals()).is_err() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
}

fn outcome(py: Python<'_>, played: Result<Outcome, SessionError>) -> PyResult<String> {
    let outcome = played.map_err(|e| error::from_video(py, &e))?;
    serde_json::to_string(&outcome).map_err(|e| error::from_json(py, &e))
}

/// Play a session, its configuration as JSON, with a live encoder; the outcome as JSON.
///
/// `encode(frame, reference, target_bytes)` returns bytes, SSIM and quantizer; `frozen(frame, shown)` the SSIM of
/// showing an older frame or nothing. Their exceptions end the session and are raised again.
#[pyfunction]
pub fn play_video_live(py: Python<'_>, config: &str, encode: Py<PyAny>, frozen: Py<PyAny>) -> PyResult<String> {
    let config: Config = serde_json::from_str(config).map_err(|e| error::from_json(py, &e))?;
    let raised = Arc::new(Mutex::new(None));
    let (for_encode, for_frozen) = (Arc::clone(&raised), Arc::clone(&raised));
    let mut encoder = CallbackEncoder {
        encode: Box::new(move |job: &Job| {
            let Quality::Target(target) = job.quality else {
                return Err("a live encoder is asked for sizes, not for quantisers".into());
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

/// Keep the first exception for the caller; its text ends the session.
fn keep(raised: &Mutex<Option<PyErr>>, e: PyErr) -> String {
    let text = e.to_string();
    if let Ok(mut kept) = raised.lock() {
        kept.get_or_insert(e);
    }
    text
}
