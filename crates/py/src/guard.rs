//! The receiver's side: features, training examples, predictions of a forest.

use crate::error;
use crate::run::{play_observed, raw, table};
use fairweir_capture::{CaptureError, Reader};
use fairweir_guard::policy::{Class, Classify, Config as PolicyConfig, FlowConfig, Policies};
use fairweir_guard::{Trees, catalogue};
use fairweir_rehearse::{Examples, HeldExamples, Receiver, Sampling};
use fairweir_scenario::Config;
use fairweir_segments::SegmentSink;
use fairweir_units::Time;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::fs::File;
use std::net::{IpAddr, Ipv4Addr};

/// Payload of a full segment (1500 bytes) with timestamps.
const MSS: u32 = 1448;

/// Returns the names of all features, in the order of the columns.
#[pyfunction]
pub fn guard_features() -> Vec<String> {
    catalogue().iter().map(ToString::to_string).collect()
}

/// Runs a configuration (JSON) and returns training examples as observed by its receiver, as raw columns: `values`
/// (rows of all features, NaN where unknown), `flow`, `t_ns`, `mbps`, `active` (number of flows). From `from_ns` on,
/// one of `one_in` arrivals, chosen at random, becomes an example. With a `forest` (JSON) a flow policy limits the
/// flows.
#[pyfunction]
#[pyo3(signature = (config, from_ns, one_in, seed, *, forest=None))]
pub fn guard_examples<'py>(
    py: Python<'py>,
    config: &str,
    from_ns: u64,
    one_in: u32,
    seed: u64,
    forest: Option<&str>,
) -> PyResult<Bound<'py, PyDict>> {
    let config: Config = serde_json::from_str(config).map_err(|e| error::from_json(py, &e))?;
    let mut examples = Examples::watch(&config, Sampling { from: Time::from_nanos(from_ns), one_in, seed });
    let examples = match forest {
        None => {
            play_observed(py, &config, &mut examples)?;
            examples
        }
        Some(forest) => {
            let trees = Trees::from_json(forest).map_err(|e| error::from_trees(py, &e))?;
            let wanted = PolicyConfig { flow: Some(FlowConfig::with_model("learnt")), ..PolicyConfig::default() };
            let policies = Policies::new(&wanted, Some(Box::new(trees)));
            let policies = policies.map_err(|e| error::from_policy(py, &e))?;
            let senders = vec![Some(Ipv4Addr::LOCALHOST); config.flows.len()];
            let receiver = Receiver::new(&config, &senders, policies);
            let mut held = HeldExamples { receiver, examples };
            play_observed(py, &config, &mut held)?;
            held.examples
        }
    };
    let rows = examples.finish().rows();
    Ok(table!(py, rows, values, flow, t_ns, mbps, active))
}

/// Reads the capture at `path` and returns examples in the format of [`guard_examples`]; `receivers` has the receiver's
/// address of each flow.
#[pyfunction]
pub fn capture_examples<'py>(
    py: Python<'py>,
    path: &str,
    receivers: Vec<String>,
    from_ns: u64,
    one_in: u32,
    seed: u64,
) -> PyResult<Bound<'py, PyDict>> {
    let receivers = receivers
        .iter()
        .map(|text| text.parse::<IpAddr>().map_err(|_| error::from_address(py, "receiver", text)))
        .collect::<PyResult<Vec<_>>>()?;
    let sampling = Sampling { from: Time::from_nanos(from_ns), one_in, seed };
    let mut examples = Examples::of_capture(receivers, MSS, sampling);
    let read = |examples: &mut Examples| {
        let file = File::open(path).map_err(|e| CaptureError::Read(e.to_string()))?;
        let mut reader = Reader::new(file)?;
        while let Some(segment) = reader.next_segment()? {
            let _ = examples.take(&segment);
        }
        Ok(())
    };
    py.detach(|| read(&mut examples)).map_err(|e: CaptureError| error::from_capture(py, &e, path))?;
    let rows = examples.rows();
    Ok(table!(py, rows, values, flow, t_ns, mbps, active))
}

/// For each row of `values` (f64, row after row, NaN where unknown), returns the scores of a forest (JSON; three f64:
/// below, near, above) and the class (0, 1, 2), as raw columns.
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
