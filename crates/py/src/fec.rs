//! The Reed-Solomon erasure code, on bytes.

use std::collections::BTreeMap;

use fairweir_video::fec::Code;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::error;

/// Returns the repair packets of data packets of equal length, for a code of `total` packets.
#[pyfunction]
pub fn fec_repair<'py>(py: Python<'py>, data: Vec<Vec<u8>>, total: usize) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let repair = py.detach(|| Code::new(data.len(), total)?.repair(&data));
    bytes(py, repair.map_err(|e| error::from_fec(py, &e))?)
}

/// Returns the data packets, computed from received packets by packet number.
#[pyfunction]
pub fn fec_recover<'py>(
    py: Python<'py>,
    message: usize,
    total: usize,
    received: BTreeMap<usize, Vec<u8>>,
) -> PyResult<Vec<Bound<'py, PyBytes>>> {
    let received: Vec<(usize, Vec<u8>)> = received.into_iter().collect();
    let data = py.detach(|| Code::new(message, total)?.recover(&received));
    bytes(py, data.map_err(|e| error::from_fec(py, &e))?)
}

fn bytes(py: Python<'_>, packets: Vec<Vec<u8>>) -> PyResult<Vec<Bound<'_, PyBytes>>> {
    Ok(packets.iter().map(|packet| PyBytes::new(py, packet)).collect())
}
