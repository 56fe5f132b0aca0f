//! The second checker of certificates.

use crate::error;
use pyo3::prelude::*;
use pyo3::types::PyString;

/// Checks a certificate against a question (docs/formal/certificates.md), and returns the number of steps.
///
/// Other Python threads keep running.
#[pyfunction]
pub fn check_certificate(
    py: Python<'_>,
    question: &Bound<'_, PyString>,
    certificate: &Bound<'_, PyString>,
) -> PyResult<usize> {
    // Invalid Unicode is replaced by a non-ASCII character, which is rejected.
    let (question, certificate) = (question.to_string_lossy(), certificate.to_string_lossy());
    py.detach(|| fairweir_checker::accept(question.as_bytes(), certificate.as_bytes()))
        .map_err(|e| error::from_rejected(py, &e))
}
