//! Quantiles, so that verdicts do not depend on a scientific Python library.

use crate::error::from_argument;
use pyo3::prelude::*;
use statrs::distribution::{ContinuousCDF, StudentsT};

/// Returns the `probability` quantile of Student's t distribution with `degrees` degrees of freedom.
#[pyfunction]
pub fn student_t_quantile(py: Python<'_>, degrees: f64, probability: f64) -> PyResult<f64> {
    if !(probability > 0.0 && probability < 1.0) {
        return Err(from_argument(py, "probability", probability, "a number above 0 and below 1"));
    }
    let t = StudentsT::new(0.0, 1.0, degrees)
        .map_err(|_| from_argument(py, "degrees", degrees, "a positive number of degrees of freedom"))?;
    Ok(t.inverse_cdf(probability))
}
