//! A policy's view of one flow.

use super::Labels;
use crate::flow::FlowId;
use crate::measure::Monitor;
use crate::packet::FlowKey;
use fairweir_units::{Dur, Time};

/// One flow at the time of a decision.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// The flow's id in the table.
    pub id: FlowId,
    /// The connection.
    pub key: &'a FlowKey,
    /// Further information about the connection's endpoints.
    pub labels: &'a Labels,
    /// All measurements of the flow.
    pub monitor: &'a Monitor,
    /// RTT for computing windows: [`Monitor::window_rtt`], but not a sample that spans a pause of the sender if an
    /// earlier one is known.
    pub window_rtt: Option<Dur>,
    /// Whether the sender has finished or the flow was reset.
    pub is_ended: bool,
    /// The values of [`super::Policy::features`], in the same order.
    pub values: &'a [Option<f64>],
}

/// A flow is idle after this time without arrivals, or after `IDLE_RTTS` RTTs if that is longer. The time exceeds the
/// retransmission timeout of a flow with losses (RFC 6298 §2.4: 1 s; Linux: 200 ms).
const IDLE: Dur = Dur::from_millis(1000);
const IDLE_RTTS: u64 = 8;

impl View<'_> {
    /// Whether the flow has no data to send at present; it then takes no share of the capacity.
    pub fn is_idle(&self, now: Time) -> bool {
        let rtts = self.rtt().map_or(Dur::ZERO, |rtt| rtt * IDLE_RTTS);
        self.is_ended || self.monitor.active_at().is_none_or(|at| now.since(at) >= IDLE.max(rtts))
    }

    /// Returns the RTT for computing windows.
    pub fn rtt(&self) -> Option<Dur> {
        self.window_rtt
    }

    /// Returns the mean rate over `span` and the silence since the latest arrival. `mbps` is the rate measured over
    /// `span`, which ended with that arrival.
    pub fn faded(&self, mbps: f64, span: Dur, now: Time) -> f64 {
        let silence = now.since(self.monitor.latest_at());
        let total = (span + silence).as_secs_f64();
        if total > 0.0 { mbps * span.as_secs_f64() / total } else { mbps }
    }
}
