//! A policy's view of one flow.

use super::Labels;
use crate::flow::FlowId;
use crate::measure::Monitor;
use crate::packet::FlowKey;
use fairweir_units::{Dur, Time};

/// One flow at the time of a decision.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Its id in the table.
    pub id: FlowId,
    /// The connection.
    pub key: &'a FlowKey,
    /// Further information about its ends.
    pub labels: &'a Labels,
    /// All its measurements.
    pub monitor: &'a Monitor,
    /// RTT for computing windows ([`Monitor::window_rtt`]), except a sample that spans a pause of the sender.
    pub window_rtt: Option<Dur>,
    /// Whether the sender has finished or the flow was reset.
    pub is_ended: bool,
    /// The features of the policy, in its order.
    pub values: &'a [Option<f64>],
}

/// Time without arrivals after which a flow is idle; or this many RTTs, if that is longer. It exceeds the
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

    /// Returns a rate that was measured over `span` up to the latest arrival, averaged over the silence since then too.
    pub fn faded(&self, mbps: f64, span: Dur, now: Time) -> f64 {
        let silence = now.since(self.monitor.latest_at());
        let total = (span + silence).as_secs_f64();
        if total > 0.0 { mbps * span.as_secs_f64() / total } else { mbps }
    }
}
