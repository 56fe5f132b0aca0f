//! Progress reports and Ctrl-C in long computations.

use pyo3::prelude::*;
use std::ops::ControlFlow;

/// Reports progress to a callback, and checks whether to continue.
pub struct Watch {
    callback: Option<Py<PyAny>>,
    cause: Option<PyErr>,
}

impl Watch {
    /// Creates a watch with or without a Python callable, which takes one number.
    pub fn new(callback: Option<Py<PyAny>>) -> Watch {
        Watch { callback, cause: None }
    }

    /// Reports progress; returns `Break` if the callback raised an exception or a signal arrived.
    pub fn report(&mut self, done: u64) -> ControlFlow<()> {
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

    /// Returns `Ok` if the work was not stopped.
    ///
    /// # Errors
    /// The exception or signal that stopped the work.
    pub fn finish(self) -> PyResult<()> {
        self.cause.map_or(Ok(()), Err)
    }
}
