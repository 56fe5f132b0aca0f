//! The receiver's side: features, examples to learn from, what a forest says of rows.

use crate::error;
use crate::run::{play_observed, raw, table};
use fairweir_guard::policy::{Class, Classify};
use fairweir_guard::{Trees, catalogue};
use fairweir_rehearse::{Lessons, Sampling};
use fairweir_sim::Config;
use fairweir_units::Time;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

/// The names of all features, in the order of rows.
#[pyfunction]
pub fn guard_features() -> Vec<String> {
    catalogue().iter().map(ToString::to_string).collect()
}

/// Plays a configuration (JSON) and gives examples of what its receiver sees, as raw columns: `values` (all features of
/// row after row, NaN where unknown), `flow`, `t_ns`, `share`. One arrival in `one_in` from `from_ns` on is an example.
#[pyfunction]
pub fn guard_lessons<'py>(
    py: Python<'py>,
    config: &str,
    from_ns: u64,
    one_in: u32,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let config: Config = serde_json::from_str(config).map_err(|e| error::from_json(py, &e))?;
    let mut wire = Lessons::watch(&config, Sampling { from: Time::from_nanos(from_ns), one_in, seed });
    play_observed(py, &config, &mut wire)?;
    let rows = wire.finish().rows();
    Ok(table!(py, rows, values, flow, t_ns, share))
}

/// The scores (three f64 a row: below, near, above) and the class (0, 1, 2) that a forest (JSON) gives each row of
/// `values` (f64, row after row, NaN where unknown), as raw columns.
#[pyfunction]
pub fn guard_scores<'py>(
    py: Python<'py>,
    forest: &str,
    values: &[u8],
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>)> {
    let trees = Trees::from_json(forest).map_err(|e| error::from_trees(py, &e))?;
    let width = trees.features().len().max(1);
    let numbers =
        values.chunks_exact(size_of::<f64>()).map(|bytes| f64::from_ne_bytes(bytes.try_into().unwrap_or_default()));
    let cells: Vec<Option<f64>> = numbers.map(|number| (!number.is_nan()).then_some(number)).collect();
    let rows: Vec<&[Option<f64>]> = cells.chunks_exact(width).collect();
    let (scores, classes): (Vec<[f64; 3]>, Vec<Class>) =
        py.detach(|| (rows.iter().map(|row| trees.scores(row)).collect(), trees.classify(&rows)));
    let classes: Vec<u8> = classes.into_iter().map(|class| class as u8).collect();
    Ok((raw!(py, scores.concat()), PyBytes::new(py, &classes)))
}
