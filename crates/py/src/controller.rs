//! A Python object as a controller.

use crate::events::{Ack, AckedPacket, Loss, LostPacket, Sent, Start};
use fairweir_cca::limits::{MAX_CWND, MAX_PACING_RATE};
use fairweir_cca::{self as cca, BuildError, Context, Controller, Fault, Interests};
use fairweir_units::{Bytes, Rate};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyType};
use std::sync::{Arc, Mutex};

/// Stores the exception that caused a fault until the run has ended.
pub type Cause = Arc<Mutex<Option<PyErr>>>;

/// A Python object as a controller. It is only called with the interpreter attached to this thread.
#[derive(Debug)]
pub struct PyController {
    object: Py<PyAny>,
    /// Reused for every ACK: if a controller stores the object, its fields change with the next ACK.
    ack: Py<Ack>,
    interests: Interests,
    has_on_recovered: bool,
    mss: Bytes,
    cwnd: Bytes,
    pacing_rate: Option<Rate>,
    fault: Option<Fault>,
    cause: Cause,
}

/// Returns the fault for an invalid value of a decision attribute.
fn refuse(name: &str, value: &Bound<'_, PyAny>, why: &str) -> Fault {
    let repr = value.repr().map_or_else(|_| "?".to_owned(), |r| r.to_string());
    let shown: String = repr.chars().take(80).collect();
    Fault(format!("{name} {why}: {shown}"))
}

/// Returns the last line of the traceback, and the user's line that raised the exception.
fn describe(py: Python<'_>, e: &PyErr) -> String {
    let describe = || -> PyResult<String> {
        e.value(py).setattr(intern!(py, "__traceback__"), e.traceback(py))?;
        py.import("fairweir.errors")?.getattr(intern!(py, "describe_exception"))?.call1((e.value(py),))?.extract()
    };
    describe().unwrap_or_else(|_| e.to_string())
}

impl PyController {
    /// Creates the controller `class(start, **params)`.
    ///
    /// # Errors
    /// If the constructor raises an exception or sets invalid decisions.
    pub fn new(
        class: &Bound<'_, PyAny>,
        params: &Bound<'_, PyDict>,
        start: &cca::Start,
        name: &str,
        cause: Cause,
    ) -> Result<PyController, BuildError> {
        let py = class.py();
        let bad = |reason: String| BuildError::BadParams { name: name.to_owned(), reason };
        let raised = |e: PyErr| {
            let reason = describe(py, &e);
            *cause.lock().unwrap_or_else(|p| p.into_inner()) = Some(e);
            bad(reason)
        };
        let object = class.call((Start(*start),), Some(params)).map_err(raised)?;
        let overrides = |method: &str| -> PyResult<bool> {
            let base = py.import("fairweir.ccas.cca")?.getattr("Cca")?;
            let own: Bound<'_, PyType> = object.get_type();
            Ok(!own.getattr(method)?.is(&base.getattr(method)?))
        };
        let interests = Interests {
            sent: overrides("on_send").map_err(raised)?,
            lost: overrides("on_packet_lost").map_err(raised)?,
            acked: overrides("on_packet_acked").map_err(raised)?,
            rate_sample: true,
            own_recovery: object.getattr("own_recovery").and_then(|v| v.extract()).map_err(raised)?,
            ..Interests::default()
        };
        let has_on_recovered = overrides("on_recovered").map_err(raised)?;
        let ack = Py::new(py, Ack::empty(&cca::Sender::new(start.mss))).map_err(raised)?;
        let mut controller = PyController {
            object: object.unbind(),
            ack,
            interests,
            has_on_recovered,
            mss: start.mss,
            cwnd: start.initial_cwnd,
            pacing_rate: None,
            fault: None,
            cause: Arc::clone(&cause),
        };
        controller.read_decisions(py);
        match controller.fault.take() {
            Some(Fault(reason)) => Err(bad(reason)),
            None => Ok(controller),
        }
    }

    /// Ends the run: the transport calls `fault` on a controller whose window is 0.
    fn fail(&mut self, fault: Fault) {
        self.fault = Some(fault);
        self.cwnd = Bytes::ZERO;
    }

    /// Ends the run with `e`, unless it is already ending.
    fn raised(&mut self, py: Python<'_>, e: PyErr) {
        if self.fault.is_none() {
            let interrupted = e.is_instance_of::<PyKeyboardInterrupt>(py);
            self.fail(Fault(if interrupted { "interrupted".to_owned() } else { describe(py, &e) }));
            *self.cause.lock().unwrap_or_else(|p| p.into_inner()) = Some(e);
        }
    }

    /// Reads `cwnd_bytes` and `pacing_rate_mbps` from the object.
    fn read_decisions(&mut self, py: Python<'_>) {
        if self.fault.is_some() {
            return;
        }
        let object = self.object.bind(py).clone();
        match Self::read_cwnd(&object).and_then(|cwnd| Ok((cwnd, Self::read_pacing(&object)?))) {
            Ok((cwnd, pacing_rate)) => {
                // As in the kernel, a window is at least one packet.
                self.cwnd = Bytes(cwnd.max(self.mss.0));
                self.pacing_rate = pacing_rate;
            }
            Err(fault) => self.fail(fault),
        }
    }

    fn read_cwnd(object: &Bound<'_, PyAny>) -> Result<u64, Fault> {
        let py = object.py();
        let value = object.getattr(intern!(py, "cwnd_bytes")).map_err(|e| Fault(describe(py, &e)))?;
        let bytes: f64 = value.extract().map_err(|_| refuse("cwnd_bytes", &value, "is not a number"))?;
        if bytes.is_nan() {
            return Err(refuse("cwnd_bytes", &value, "is not a number"));
        }
        if bytes <= 0.0 {
            return Err(refuse("cwnd_bytes", &value, "is not positive"));
        }
        if bytes > MAX_CWND.0 as f64 {
            return Err(refuse("cwnd_bytes", &value, "is larger than 1 TiB"));
        }
        Ok(bytes as u64)
    }

    fn read_pacing(object: &Bound<'_, PyAny>) -> Result<Option<Rate>, Fault> {
        let py = object.py();
        let value = object.getattr(intern!(py, "pacing_rate_mbps")).map_err(|e| Fault(describe(py, &e)))?;
        if value.is_none() {
            return Ok(None);
        }
        let mbps: f64 =
            value.extract().map_err(|_| refuse("pacing_rate_mbps", &value, "is neither a number nor None"))?;
        if mbps.is_nan() {
            return Err(refuse("pacing_rate_mbps", &value, "is not a number"));
        }
        if mbps <= 0.0 {
            return Err(refuse("pacing_rate_mbps", &value, "is not positive"));
        }
        if mbps > MAX_PACING_RATE.as_mbps_f64() {
            return Err(refuse("pacing_rate_mbps", &value, "is larger than 1 Pbit/s"));
        }
        Ok(Some(Rate::from_bytes_per_sec((mbps * 125_000.0).max(1.0) as u64)))
    }

    /// Calls `method(event)` and reads the decisions it left.
    fn call<'py>(
        &mut self,
        py: Python<'py>,
        method: &Bound<'py, pyo3::types::PyString>,
        event: PyResult<Bound<'py, PyAny>>,
    ) {
        if self.fault.is_some() {
            return;
        }
        match event.and_then(|event| self.object.bind(py).call_method1(method, (event,))) {
            Ok(_) => self.read_decisions(py),
            Err(e) => self.raised(py, e),
        }
    }
}

impl Controller for PyController {
    fn on_ack(&mut self, ack: &cca::Ack<'_>, cx: &mut Context<'_>) {
        Python::attach(|py| {
            let event = self.ack.bind(py).clone();
            let filled = event.try_borrow_mut().map(|mut e| e.fill(ack, cx.now.as_nanos()));
            self.call(py, intern!(py, "on_ack"), filled.map(|()| event.into_any()).map_err(PyErr::from));
        });
    }

    fn on_loss(&mut self, loss: &cca::Loss<'_>, cx: &mut Context<'_>) {
        Python::attach(|py| {
            let event = Loss {
                now_ns: cx.now.as_nanos(),
                sender: loss.sender.clone(),
                cause: loss.cause,
                prior_inflight: loss.prior_inflight,
                is_repeated: loss.is_repeated,
            };
            self.call(py, intern!(py, "on_loss"), Bound::new(py, event).map(Bound::into_any));
        });
    }

    fn on_recovered(&mut self, sender: &cca::Sender, cx: &mut Context<'_>) {
        if !self.has_on_recovered {
            return;
        }
        Python::attach(|py| {
            let mut event = Ack::empty(sender);
            event.now_ns = cx.now.as_nanos();
            self.call(py, intern!(py, "on_recovered"), Bound::new(py, event).map(Bound::into_any));
        });
    }

    fn on_send(&mut self, sent: &cca::Sent<'_>, cx: &mut Context<'_>) {
        Python::attach(|py| {
            let event = Sent {
                now_ns: cx.now.as_nanos(),
                sender: sent.sender.clone(),
                seq: sent.seq,
                is_retransmit: sent.is_retransmit,
            };
            self.call(py, intern!(py, "on_send"), Bound::new(py, event).map(Bound::into_any));
        });
    }

    fn on_packet_lost(&mut self, lost: &cca::LostPacket, cx: &mut Context<'_>) {
        Python::attach(|py| {
            let event = LostPacket { now_ns: cx.now.as_nanos(), seq: lost.seq, sent_ns: lost.sent.as_nanos() };
            self.call(py, intern!(py, "on_packet_lost"), Bound::new(py, event).map(Bound::into_any));
        });
    }

    fn on_packet_acked(&mut self, acked: &cca::AckedPacket, cx: &mut Context<'_>) {
        Python::attach(|py| {
            let event = AckedPacket {
                now_ns: cx.now.as_nanos(),
                seq: acked.seq,
                sent_ns: acked.sent.as_nanos(),
                was_retransmitted: acked.was_retransmitted,
                is_app_limited: acked.is_app_limited,
            };
            self.call(py, intern!(py, "on_packet_acked"), Bound::new(py, event).map(Bound::into_any));
        });
    }

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn interests(&self) -> Interests {
        self.interests
    }

    fn fault(&mut self) -> Option<Fault> {
        self.fault.clone()
    }
}
