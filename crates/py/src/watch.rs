//! Python beside long work: progress, and Ctrl-C.

use pyo3::prelude::*;
use std::ops::ControlFlow;

/// Tells a callback how far work is, and asks whether it shall go on.
pub struct Watch {
    callback: Option<Py<PyAny>>,
    cause: Option<PyErr>,
}

impl Watch {
    /// With a Python callable of one number, or nobody to tell.
    pub fn new(callback: Option<Py<PyAny>>) -> Watch {
        Watch { callback, cause: None }
    }

    /// So much is done; `Break` if the callback raised or a signal came.
    pub fn tell(&mut self, done: u64) -> ControlFlow<()> {
        let checked = Python::attach(|py| {
            py.check_signals()?;
            self.callback.as_ref().map_or(Ok(()), |callback| callback.call1(py, (done,)).map(drop))
        });
        match checked {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                self.cause = Some(e);
                ControlFlow::Break(())
            }
        }
    }

    /// Why the work was to stop.
    ///
    /// # Errors
    /// If it was.
    pub fn finish(self) -> PyResult<()> {
        self.cause.map_or(Ok(()), Err)
    }
}
