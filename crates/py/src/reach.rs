//! Reachability queries about FRCC's attractors.

use crate::error;
use fairweir_reach::attract::NoAttraction;
use fairweir_reach::{Question, Refusal};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use std::ops::ControlFlow;

/// Borders of the cells in the odds and in `N_T`, and the rank of each cell as native u32.
type Cells<'py> = (Vec<f64>, Vec<f64>, Bound<'py, PyBytes>);

/// Answers a query (JSON) about FRCC's main update: returns the answer as JSON and its cells, or an error.
///
/// `on_progress` is called periodically with the number of cells decided. Other Python threads keep running.
#[pyfunction]
#[pyo3(signature = (question, on_progress=None))]
pub fn frcc_attractor<'py>(
    py: Python<'py>,
    question: &str,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<(String, Option<Cells<'py>>)> {
    let question: Question = serde_json::from_str(question).map_err(|e| error::from_json(py, &e))?;
    let mut cause = None;
    let answer = py.detach(|| {
        question.answer(&mut |settled| {
            let checked = Python::attach(|py| {
                py.check_signals()?;
                on_progress.as_ref().map_or(Ok(()), |callback| callback.call1(py, (settled,)).map(drop))
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
    match answer {
        Ok((answer, certificate)) => {
            let answer = serde_json::to_string(&answer).map_err(|e| error::from_json(py, &e))?;
            let rank: Vec<u8> = certificate.rank.iter().flat_map(|rank| rank.to_ne_bytes()).collect();
            Ok((answer, Some((certificate.odds, certificate.nt, PyBytes::new(py, &rank)))))
        }
        Err(Refusal::BadQuestion { key, reason }) => Err(error::from_question(py, key, &reason)),
        Err(Refusal::NoAttraction(NoAttraction::Interrupted)) => Err(cause.expect("only the callback interrupts")),
        Err(refusal) => Ok((refusal.to_string(), None)),
    }
}
