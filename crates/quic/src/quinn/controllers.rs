//! quinn's controllers by name, watched.

use crate::hosted::Trouble;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{
    BbrConfig, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig,
};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// Names of quinn's controllers.
pub(super) const NAMES: [&str; 3] = ["newreno", "cubic", "bbr"];

/// Returns quinn's controller `name`, whose initial window is `initial_window` bytes.
pub(super) fn theirs(name: &str, initial_window: u64) -> Option<Arc<dyn ControllerFactory + Send + Sync>> {
    Some(match name {
        "newreno" => {
            let mut config = NewRenoConfig::default();
            config.initial_window(initial_window);
            Arc::new(config)
        }
        "cubic" => {
            let mut config = CubicConfig::default();
            config.initial_window(initial_window);
            Arc::new(config)
        }
        "bbr" => {
            let mut config = BbrConfig::default();
            config.initial_window(initial_window);
            Arc::new(config)
        }
        _ => return None,
    })
}

/// A controller's inputs that the connection does not report.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    /// Bytes in flight.
    pub(super) inflight: AtomicU64,
    /// Number of times that persistent congestion was established.
    pub(super) persistent: AtomicU64,
    /// The failure of a controller of fairweir.
    pub(super) trouble: Trouble,
}

/// Builds controllers that keep a gauge.
pub(super) struct Watched {
    pub(super) factory: Arc<dyn ControllerFactory + Send + Sync>,
    pub(super) gauge: Arc<Gauge>,
}

impl ControllerFactory for Watched {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        let inner = Arc::clone(&self.factory).build(now, current_mtu);
        Box::new(WatchedController { inner, gauge: Arc::clone(&self.gauge) })
    }
}

/// A controller that keeps a gauge.
struct WatchedController {
    inner: Box<dyn Controller>,
    gauge: Arc<Gauge>,
}

impl Controller for WatchedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, last_packet_number: u64) {
        self.gauge.inflight.fetch_add(bytes, Relaxed);
        self.inner.on_sent(now, bytes, last_packet_number);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.gauge.inflight.store(in_flight, Relaxed);
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        let left = self.gauge.inflight.load(Relaxed).saturating_sub(lost_bytes);
        self.gauge.inflight.store(left, Relaxed);
        self.gauge.persistent.fetch_add(u64::from(is_persistent_congestion), Relaxed);
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, lost_bytes);
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn window(&self) -> u64 {
        self.inner.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(WatchedController { inner: self.inner.clone_box(), gauge: Arc::clone(&self.gauge) })
    }

    fn initial_window(&self) -> u64 {
        self.inner.initial_window()
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self.inner.into_any()
    }
}
