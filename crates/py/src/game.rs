//! Beliefs about the jittery link with a finite buffer; `crates/game` contains the model.

use fairweir_game::observed::{model_from_json, windows_from_json};
use fairweir_game::{LinkModel, Window, believe, exact_bounds, fast_bounds};
use pyo3::prelude::*;
use serde::Serialize;

use crate::error::from_observed;

/// Returns the bounds of each window; null if no link explains the window.
#[pyfunction]
#[pyo3(signature = (windows, model="{}", *, exact=true))]
pub fn game_bounds(py: Python<'_>, windows: &str, model: &str, exact: bool) -> PyResult<String> {
    if exact { each(py, windows, model, exact_bounds) } else { each(py, windows, model, fast_bounds) }
}

/// Returns the belief about each window's link; never null.
#[pyfunction]
#[pyo3(signature = (windows, model="{}"))]
pub fn game_believe(py: Python<'_>, windows: &str, model: &str) -> PyResult<String> {
    each(py, windows, model, believe)
}

fn each<T: Serialize + Send>(
    py: Python<'_>,
    windows: &str,
    model: &str,
    answer: impl Fn(&Window, &LinkModel) -> T + Sync,
) -> PyResult<String> {
    let model = model_from_json(model).map_err(|e| from_observed(py, &e))?;
    let windows = windows_from_json(windows).map_err(|e| from_observed(py, &e))?;
    let text = py.detach(|| {
        let all: Vec<T> = windows.iter().map(|w| answer(w, &model)).collect();
        serde_json::to_string(&all)
    });
    text.map_err(|e| crate::error::from_json(py, &e))
}
