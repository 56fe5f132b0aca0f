//! noq's controllers by name, watched.

use crate::hosted::Trouble;
use fairweir_quic_cc::seed_noq_bbr3;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Bbr3Config, Controller, ControllerFactory, ControllerMetrics, CubicConfig, NewRenoConfig};
use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// Names of noq's controllers.
pub(super) const NAMES: [&str; 3] = ["newreno", "cubic", "bbr3"];

/// Returns noq's controller `name`, whose initial window is `initial_window` bytes, with the random numbers of `seed`.
///
/// # Errors
/// If the seed cannot be set in this version of noq.
pub(super) fn theirs(
    name: &str,
    initial_window: u64,
    seed: u64,
) -> Result<Option<Arc<dyn ControllerFactory + Send + Sync>>, String> {
    Ok(Some(match name {
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
        "bbr3" => {
            let mut config = Bbr3Config::default();
            config.initial_window(initial_window);
            seed_noq_bbr3(&mut config, seed)?;
            Arc::new(config)
        }
        _ => return Ok(None),
    }))
}

/// A controller's inputs that the connection does not report.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    /// Bytes in flight.
    pub(super) inflight: AtomicU64,
    /// Packets declared lost.
    pub(super) lost: AtomicU64,
    /// Number of times that persistent congestion was established.
    pub(super) persistent: AtomicU64,
    /// Always empty: fairweir's controllers run in quinn.
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
#[derive(Debug)]
struct WatchedController {
    inner: Box<dyn Controller>,
    gauge: Arc<Gauge>,
}

impl Controller for WatchedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, largest_pn: u64) {
        self.gauge.inflight.fetch_add(bytes, Relaxed);
        self.inner.on_sent(now, bytes, largest_pn);
    }

    fn on_packet_sent(&mut self, now: Instant, bytes: u16, pn: u64) {
        self.inner.on_packet_sent(now, bytes, pn);
    }

    fn on_cwnd_limited(&mut self) {
        self.inner.on_cwnd_limited();
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, pn: u64, app_limited: bool, rtt: &RttEstimator) {
        self.inner.on_ack(now, sent, bytes, pn, app_limited, rtt);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, largest: Option<u64>) {
        self.gauge.inflight.store(in_flight, Relaxed);
        self.inner.on_end_acks(now, in_flight, app_limited, largest);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        is_ecn: bool,
        lost_bytes: u64,
        largest_lost_pn: u64,
    ) {
        let left = self.gauge.inflight.load(Relaxed).saturating_sub(lost_bytes);
        self.gauge.inflight.store(left, Relaxed);
        self.gauge.persistent.fetch_add(u64::from(is_persistent_congestion), Relaxed);
        self.inner.on_congestion_event(now, sent, is_persistent_congestion, is_ecn, lost_bytes, largest_lost_pn);
    }

    fn on_packet_lost(&mut self, lost_bytes: u16, pn: u64, now: Instant) {
        self.gauge.lost.fetch_add(1, Relaxed);
        self.inner.on_packet_lost(lost_bytes, pn, now);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.inner.on_spurious_congestion_event();
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.inner.on_mtu_update(new_mtu);
    }

    fn on_ack_frequency_update(&mut self, ack_eliciting_threshold: u64, requested_max_ack_delay: Duration) {
        self.inner.on_ack_frequency_update(ack_eliciting_threshold, requested_max_ack_delay);
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
