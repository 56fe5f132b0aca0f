//! Beliefs from captures.

use crate::error;
use fairweir_beliefs::report;
use fairweir_capture::CaptureError;
use pyo3::prelude::*;
use std::fs::File;
use std::ops::ControlFlow;

/// What the capture at `path` lets one believe of its flows' paths, as JSON.
///
/// `on_progress` is called now and then with the number of frames read. Other Python threads go on meanwhile.
#[pyfunction]
#[pyo3(signature = (path, on_progress=None))]
pub fn explain(py: Python<'_>, path: &str, on_progress: Option<Py<PyAny>>) -> PyResult<String> {
    let mut cause = None;
    let answer = py.detach(|| {
        let file = File::open(path).map_err(|e| CaptureError::Read(e.to_string()))?;
        report(file, &mut |frames| {
            let checked = Python::attach(|py| {
                py.check_signals()?;
                on_progress.as_ref().map_or(Ok(()), |callback| callback.call1(py, (frames,)).map(drop))
            });
            match checked {
                Ok(()) => ControlFlow::Continue(()),
                Err(e) => {
                    cause = Some(e);
                    ControlFlow::Break(())
                }
            }
        })
    });
    match answer.map_err(|e| error::from_capture(py, &e, path))? {
        Some(report) => serde_json::to_string(&report).map_err(|e| error::from_json(py, &e)),
        None => Err(cause.expect("only the callback interrupts")),
    }
}
