//! A controller of fairweir as quinn's `Controller`.
//!
//! quinn blocks a packet with which the bytes in flight would *equal* the window (connection/mod.rs, line 616), whereas a
//! window of RFC 9002 may be full; the window is therefore reported one byte larger. `metrics` has the controller's pacing
//! rate, which quinn writes to qlog and does not pace at.

use crate::clock::time;
use crate::hosted::{Factory, Hosted};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

/// Builds the controllers of a flow.
pub(super) struct Hosting(pub(super) Factory);

impl ControllerFactory for Hosting {
    fn build(self: Arc<Self>, _now: Instant, _current_mtu: u16) -> Box<dyn Controller> {
        let mut hosted = self.0.build();
        let initial_window = hosted.cwnd();
        Box::new(HostedController { hosting: self, initial_window, hosted: Mutex::new(hosted) })
    }
}

/// The controller of a connection.
struct HostedController {
    hosting: Arc<Hosting>,
    initial_window: u64,
    /// Reading the window completes the events of an ACK.
    hosted: Mutex<Hosted>,
}

impl HostedController {
    fn hosted(&mut self) -> &mut Hosted {
        self.hosted.get_mut().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock(&self) -> MutexGuard<'_, Hosted> {
        self.hosted.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Controller for HostedController {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        self.hosted().on_sent(time(now), bytes);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, app_limited: bool, _rtt: &RttEstimator) {
        self.hosted().on_packet_acked(time(now), time(sent), bytes, app_limited);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _largest: Option<u64>) {
        self.hosted().on_end_acks(time(now), in_flight, app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, is_persistent_congestion: bool, lost_bytes: u64) {
        // quinn reports marks as a congestion event without losses.
        match lost_bytes {
            0 => self.hosted().on_marks(time(now)),
            _ => self.hosted().on_lost(time(now), time(sent), lost_bytes, is_persistent_congestion),
        }
    }

    fn on_mtu_update(&mut self, _new_mtu: u16) {
        // MTU discovery is off.
    }

    fn window(&self) -> u64 {
        self.lock().cwnd() + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let mut hosted = self.lock();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = hosted.cwnd();
        metrics.ssthresh = hosted.ssthresh();
        metrics.pacing_rate = hosted.pacing_rate().map(|rate| rate.saturating_mul(8));
        metrics
    }

    /// A copy for another path; hosts never move.
    fn clone_box(&self) -> Box<dyn Controller> {
        let hosted = Mutex::new(self.hosting.0.build());
        Box::new(HostedController { hosting: Arc::clone(&self.hosting), initial_window: self.initial_window, hosted })
    }

    fn initial_window(&self) -> u64 {
        self.initial_window
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
