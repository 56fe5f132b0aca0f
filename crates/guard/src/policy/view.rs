//! What a policy sees of one flow.

use super::Labels;
use crate::flow::FlowId;
use crate::measure::Monitor;
use crate::packet::FlowKey;
use fairweir_units::{Dur, Time};

/// One flow at the time of a decision.
#[derive(Clone, Copy, Debug)]
pub struct View<'a> {
    /// Its name in the table.
    pub id: FlowId,
    /// Who talks to whom.
    pub key: &'a FlowKey,
    /// What else is known of its ends.
    pub labels: &'a Labels,
    /// All its measurements.
    pub monitor: &'a Monitor,
    /// The policy's features, in its order.
    pub values: &'a [Option<f64>],
}

impl View<'_> {
    /// The latest sample.
    pub fn rtt(&self) -> Option<Dur> {
        self.monitor.rtt().latest()
    }

    /// A rate that was measured up to the latest arrival over `span`, spread over the silence since then.
    pub fn faded(&self, mbps: f64, span: Dur, now: Time) -> f64 {
        let silence = now.since(self.monitor.latest_at());
        let total = (span + silence).as_secs_f64();
        if total > 0.0 { mbps * span.as_secs_f64() / total } else { mbps }
    }
}
