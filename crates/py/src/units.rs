//! Quantities and traces: conversions between text and base units.

use crate::error;
use fairweir_path::link::TraceConfig;
use fairweir_units::{Bytes, Dur, ParseError, Rate, Size, Time};
use pyo3::prelude::*;

fn parsed<T: std::str::FromStr<Err = ParseError>>(py: Python<'_>, text: &str) -> PyResult<T> {
    text.parse().map_err(|e| error::from_parse(py, &e))
}

/// Converts "40ms" to ns.
#[pyfunction]
pub fn parse_time(py: Python<'_>, text: &str) -> PyResult<u64> {
    parsed::<Dur>(py, text).map(Dur::as_nanos)
}

/// Converts "96Mbps" to bytes per second.
#[pyfunction]
pub fn parse_rate(py: Python<'_>, text: &str) -> PyResult<u64> {
    parsed::<Rate>(py, text).map(Rate::bytes_per_sec)
}

/// Converts "64KiB" to bytes.
#[pyfunction]
pub fn parse_bytes(py: Python<'_>, text: &str) -> PyResult<u64> {
    parsed::<Bytes>(py, text).map(Bytes::as_u64)
}

/// Converts "1.5bdp" to its dimension ("bytes", "packets", "bdp" or "infinite") and its number.
#[pyfunction]
pub fn parse_size(py: Python<'_>, text: &str) -> PyResult<(&'static str, f64)> {
    Ok(match parsed::<Size>(py, text)? {
        Size::Bytes(b) => ("bytes", b.0 as f64),
        Size::Packets(n) => ("packets", n as f64),
        Size::MicroBdp(m) => ("bdp", m as f64 / 1e6),
        Size::Infinite => ("infinite", f64::INFINITY),
    })
}

/// Converts "1.5bdp" to bytes, with packets of `packet_bytes` and a bandwidth-delay product of `bdp_bytes`; returns
/// None for "unlimited".
#[pyfunction]
pub fn resolve_size(py: Python<'_>, text: &str, packet_bytes: u64, bdp_bytes: u64) -> PyResult<Option<u64>> {
    let size: Size = parsed(py, text)?;
    Ok(size.resolve(Bytes(packet_bytes), Bytes(bdp_bytes)).map(Bytes::as_u64))
}

/// Converts ns to "40ms".
#[pyfunction]
pub fn format_time(ns: u64) -> String {
    Dur::from_nanos(ns).to_string()
}

/// Converts bytes per second to "96Mbps".
#[pyfunction]
pub fn format_rate(bytes_per_s: u64) -> String {
    Rate::from_bytes_per_sec(bytes_per_s).to_string()
}

/// Converts bytes to "64KiB".
#[pyfunction]
pub fn format_bytes(n: u64) -> String {
    Bytes(n).to_string()
}

/// Returns the delivery opportunities of a mahimahi trace, ns.
#[pyfunction]
pub fn parse_trace(py: Python<'_>, text: &str) -> PyResult<Vec<u64>> {
    let trace = TraceConfig::parse(text).map_err(|e| error::from_trace(py, &e))?;
    Ok(trace.opportunities.into_iter().map(Time::as_nanos).collect())
}
