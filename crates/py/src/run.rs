//! Runs scenarios, and lists the available controllers.

use crate::controller::{Cause, PyController};
use crate::error;
use crate::observers::Observers;
use fairweir_cca::{BuildError, Controller, Start};
use fairweir_native::registry;
use fairweir_scenario::{Acks, Config, FlowSpec, Observer, PacketLog, Packets, Series};
use fairweir_sim::{Outcome, SimError, run_observed, run_with};
use fairweir_tcp::Side;
use fairweir_units::Time;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use std::cell::RefCell;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// Wall-clock interval at which a run checks for Ctrl-C and reports progress; users do not notice this delay.
const SIGNAL_CHECK: Duration = Duration::from_millis(50);

/// Raw columns, by name, of two tables: flows and links, or packets and ACKs.
type Columns<'py> = (Bound<'py, PyDict>, Bound<'py, PyDict>);

/// Returns name, summary, default parameters (JSON) and version of every controller; there is no version if it is
/// fairweir's.
#[pyfunction]
pub fn algorithms() -> Vec<(&'static str, &'static str, String, Option<&'static str>)> {
    registry::algorithms().map(|a| (a.name, a.summary, (a.defaults)().to_string(), a.version)).collect()
}

/// Runs a configuration (JSON); `classes` contains the Python controllers, by the name that flows use.
///
/// Returns the summary as JSON and, if the configuration requests it, the time series as two tables of raw columns.
/// With `max_packets` it also returns a record of every data packet and ACK; a run with more data packets is an error.
/// `capture` is the path of a pcap file, and the side (sender or receiver) of the capture. Without Python controllers
/// other Python threads keep running.
#[pyfunction]
#[pyo3(signature = (config, classes=None, on_progress=None, max_packets=None, capture=None))]
pub fn run<'py>(
    py: Python<'py>,
    config: &str,
    classes: Option<&Bound<'py, PyDict>>,
    on_progress: Option<Py<PyAny>>,
    max_packets: Option<usize>,
    capture: Option<(String, String)>,
) -> PyResult<(String, Option<Columns<'py>>, Option<Columns<'py>>)> {
    let config: Config = serde_json::from_str(config).map_err(|e| error::from_json(py, &e))?;
    let cause: Cause = Arc::new(Mutex::new(None));
    let classes = classes.filter(|c| !c.is_empty());
    let log = max_packets.map(|most| PacketLog::new(config.duration, most));
    let mut observers = Observers::with_log(log);
    if let Some((path, side)) = &capture {
        let side = match side.as_str() {
            "sender" => Side::Sender,
            "receiver" => Side::Receiver,
            _ => return Err(error::from_side(py, side)),
        };
        observers.capture(&config, path, side).map_err(|e| error::from_output(py, &e, path))?;
    }
    let observer = (!observers.is_empty()).then_some(&mut observers as &mut (dyn Observer + Send));
    let result = match classes {
        Some(classes) => play(&config, Some(classes), on_progress.as_ref(), &cause, plain(observer)),
        None => py.detach(|| play(&config, None, on_progress.as_ref(), &cause, plain(observer))),
    };
    if let (true, Some(most)) = (observers.log.as_ref().is_some_and(PacketLog::is_full), max_packets) {
        return Err(error::from_full_log(py, most));
    }
    if let (Err(e), Some((path, _))) = (observers.finish_capture(), &capture) {
        return Err(error::from_output(py, &e, path));
    }
    let outcome = judge(py, result, &cause)?;
    let summary = serde_json::to_string(&outcome.summary).map_err(|e| error::from_json(py, &e))?;
    let series = outcome.series.as_ref().map(|s| columns(py, s)).transpose()?;
    let packets = observers.log.map(|log| packet_columns(py, &log.finish())).transpose()?;
    Ok((summary, series, packets))
}

/// Drops the `Send` bound.
fn plain<'a>(observer: Option<&'a mut (dyn Observer + Send + 'a)>) -> Option<&'a mut (dyn Observer + 'a)> {
    match observer {
        Some(observer) => Some(observer),
        None => None,
    }
}

/// Runs a configuration of built-in controllers with `observer` attached. Other Python threads keep running.
pub(crate) fn play_observed(
    py: Python<'_>,
    config: &Config,
    observer: &mut (dyn Observer + Send),
) -> PyResult<Outcome> {
    let cause: Cause = Arc::new(Mutex::new(None));
    let result = py.detach(|| play(config, None, None, &cause, Some(observer)));
    judge(py, result, &cause)
}

/// Converts an error for Python: a controller's exception takes precedence.
fn judge(py: Python<'_>, result: Result<Outcome, SimError>, cause: &Cause) -> PyResult<Outcome> {
    result.map_err(|e| {
        let cause = cause.lock().unwrap_or_else(|p| p.into_inner()).take();
        match cause {
            Some(cause) if error::is_interrupt(py, &cause) || matches!(e, SimError::Interrupted { .. }) => cause,
            cause => error::from_sim(py, &e, cause),
        }
    })
}

fn play(
    config: &Config,
    classes: Option<&Bound<'_, PyDict>>,
    on_progress: Option<&Py<PyAny>>,
    cause: &Cause,
    observer: Option<&mut dyn Observer>,
) -> Result<Outcome, SimError> {
    let factory = |flow: &FlowSpec, start: &Start| -> Result<Box<dyn Controller>, BuildError> {
        match classes.and_then(|c| c.get_item(&flow.cca).ok().flatten()) {
            Some(class) => python_controller(&class, flow, start, cause),
            None => registry::build(&flow.cca, &flow.params, start),
        }
    };
    let last_check = RefCell::new(Instant::now());
    let mut progress = |at: Time| {
        if last_check.borrow().elapsed() < SIGNAL_CHECK {
            return ControlFlow::Continue(());
        }
        *last_check.borrow_mut() = Instant::now();
        let checked = Python::attach(|py| {
            py.check_signals()?;
            match on_progress {
                Some(callback) => callback.call1(py, (at.as_nanos(),)).map(drop),
                None => Ok(()),
            }
        });
        match checked {
            Ok(()) => ControlFlow::Continue(()),
            Err(e) => {
                *cause.lock().unwrap_or_else(|p| p.into_inner()) = Some(e);
                ControlFlow::Break(())
            }
        }
    };
    match observer {
        Some(observer) => run_observed(config, &factory, &mut progress, observer),
        None => run_with(config, &factory, &mut progress),
    }
}

fn python_controller(
    class: &Bound<'_, PyAny>,
    flow: &FlowSpec,
    start: &Start,
    cause: &Cause,
) -> Result<Box<dyn Controller>, BuildError> {
    let py = class.py();
    let bad = |e: PyErr| BuildError::BadParams { name: flow.cca.clone(), reason: e.to_string() };
    let params = match &flow.params {
        serde_json::Value::Null => PyDict::new(py),
        params => {
            let loads = py.import("json").and_then(|json| json.getattr("loads")).map_err(bad)?;
            loads.call1((params.to_string(),)).map_err(bad)?.cast_into::<PyDict>().map_err(|e| bad(e.into()))?
        }
    };
    Ok(Box::new(PyController::new(class, &params, start, &flow.cca, Arc::clone(cause))?))
}

/// Returns a column as the bytes of its numbers, in native byte order.
macro_rules! raw {
    ($py:expr, $column:expr) => {{
        let mut bytes = Vec::with_capacity($column.len() * size_of_val($column.first().unwrap_or(&Default::default())));
        $column.iter().for_each(|x| bytes.extend_from_slice(&x.to_ne_bytes()));
        PyBytes::new($py, &bytes)
    }};
}
pub(crate) use raw;

/// Returns a table of the named columns of a struct.
macro_rules! table {
    ($py:expr, $columns:expr, $($column:ident),*) => {{
        let table = PyDict::new($py);
        $(table.set_item(stringify!($column), raw!($py, $columns.$column))?;)*
        table
    }};
}
pub(crate) use table;

fn columns<'py>(py: Python<'py>, Series { flows, links }: &Series) -> PyResult<Columns<'py>> {
    let flows =
        table!(py, flows, t_ns, flow, throughput_mbps, cwnd_bytes, inflight_bytes, pacing_rate_mbps, rtt_ms, lost_pkts);
    let links = table!(py, links, t_ns, link, queue_bytes, arrival_rate_mbps, drops, marks);
    Ok((flows, links))
}

fn packet_columns<'py>(py: Python<'py>, (packets, acks): &(Packets, Acks)) -> PyResult<Columns<'py>> {
    let packets = table!(
        py,
        packets,
        flow,
        seq,
        is_retransmission,
        sent_ns,
        dropped_ns,
        dropped_link,
        arrived_ns,
        is_marked,
        acked_ns
    );
    let acks = table!(py, acks, flow, cum, sent_ns, arrived_ns);
    Ok((packets, acks))
}
