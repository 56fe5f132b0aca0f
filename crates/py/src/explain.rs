//! Computes beliefs from captures.

use crate::error;
use crate::watch::Watch;
use fairweir_beliefs::report;
use fairweir_capture::CaptureError;
use pyo3::prelude::*;
use std::fs::File;

/// Returns the beliefs about the paths of a capture's flows, as JSON.
///
/// `on_progress` is called periodically with the number of frames read. Other Python threads keep running.
#[pyfunction]
#[pyo3(signature = (path, on_progress=None))]
pub fn explain(py: Python<'_>, path: &str, on_progress: Option<Py<PyAny>>) -> PyResult<String> {
    let mut watch = Watch::new(on_progress);
    let answer = py.detach(|| {
        let file = File::open(path).map_err(|e| CaptureError::Read(e.to_string()))?;
        report(file, &mut |frames| watch.report(frames))
    });
    watch.finish()?;
    let report = answer.map_err(|e| error::from_capture(py, &e, path))?;
    serde_json::to_string(&report).map_err(|e| error::from_json(py, &e))
}
