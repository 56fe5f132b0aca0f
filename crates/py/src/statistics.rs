//! Quantiles, so that a verdict needs no scientific library of Python's.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// The `probability` quantile of Student's t distribution with `degrees` of freedom.
#[pyfunction]
pub fn student_t_quantile(degrees: f64, probability: f64) -> PyResult<f64> {
    if !(probability > 0.0 && probability < 1.0) {
        return Err(PyValueError::new_err(format!("a probability is between 0 and 1: {probability}")));
    }
    let t = StudentsT::new(0.0, 1.0, degrees).map_err(|error| PyValueError::new_err(error.to_string()))?;
    Ok(t.inverse_cdf(probability))
}
