//! Applies a guard's policies to a capture.

use crate::error;
use crate::rehearse::policies_of;
use crate::watch::Watch;
use fairweir_capture::{CaptureError, Reader};
use fairweir_guard::policy::Config as PolicyConfig;
use fairweir_rehearse::{Receivers, Replay};
use pyo3::prelude::*;
use serde_json::json;
use std::fs::File;
use std::io::BufReader;
use std::net::IpAddr;

/// Number of packets between two progress reports.
const REPORT_EVERY: u64 = 1 << 16;

/// Returns the decisions that a guard with `policies` (TOML) would take for the capture at `path`, as JSON: `flows`,
/// `managed`, `capture`.
///
/// `managed` are the guarded hosts; the default is the host that receives the most payload. `forest` is the flow
/// policy's model (JSON). `on_progress` is called periodically with the number of frames read. Without `managed` the
/// file is read twice.
#[pyfunction]
#[pyo3(signature = (path, policies, managed, *, forest=None, on_progress=None))]
pub fn replay_guarded(
    py: Python<'_>,
    path: &str,
    policies: &str,
    managed: Vec<String>,
    forest: Option<&str>,
    on_progress: Option<Py<PyAny>>,
) -> PyResult<String> {
    let config = PolicyConfig::from_toml(policies).map_err(|e| error::from_policy(py, &e))?;
    let policies = policies_of(py, &config, None, forest)?;
    let parse = |text: &String| text.parse::<IpAddr>().map_err(|_| error::from_address(py, "host", text));
    let mut managed = managed.iter().map(parse).collect::<PyResult<Vec<IpAddr>>>()?;
    let mut watch = Watch::new(on_progress);
    let answer = py.detach(|| {
        if managed.is_empty() {
            let mut receivers = Receivers::default();
            read(path, &mut watch, |segment| receivers.take(segment))?;
            managed.extend(receivers.busiest());
        }
        let mut replay = Replay::new(&config, policies, managed.clone());
        let counts = read(path, &mut watch, |segment| replay.take(segment))?;
        Ok(json!({ "flows": replay.finish(), "managed": managed, "capture": counts }))
    });
    watch.finish()?;
    answer.map(|document| document.to_string()).map_err(|e: CaptureError| error::from_capture(py, &e, path))
}

/// Reads to the end of the capture, or until `watch` stops it.
fn read(
    path: &str,
    watch: &mut Watch,
    mut take: impl FnMut(&fairweir_tcp::Segment),
) -> Result<fairweir_capture::Counts, CaptureError> {
    let file = File::open(path).map_err(|e| CaptureError::Read(e.to_string()))?;
    let mut reader = Reader::new(BufReader::new(file))?;
    let mut reported = 0;
    while let Some(segment) = reader.next_segment()? {
        take(&segment);
        let frames = reader.counts().frames;
        if frames >= reported + REPORT_EVERY {
            reported = frames;
            if watch.report(frames).is_break() {
                break;
            }
        }
    }
    Ok(reader.counts())
}
