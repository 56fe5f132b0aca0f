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
    /// The RTT to size windows by ([`Monitor::window_rtt`]), but not one that spans a pause of the sender.
    pub window_rtt: Option<Dur>,
    /// Whether its sender has finished, or it was reset.
    pub is_ended: bool,
    /// The policy's features, in its order.
    pub values: &'a [Option<f64>],
}

/// Time without arrivals after which a flow is idle, or this many RTTs if longer: more than a retransmission timeout
/// (RFC 6298 §2.4: 1 s; Linux: 200 ms) of a flow that is only unlucky.
const IDLE: Dur = Dur::from_millis(1000);
const IDLE_RTTS: u64 = 8;

impl View<'_> {
    /// Whether it has no data to send at present. Such a flow takes no share of the capacity.
    pub fn is_idle(&self, now: Time) -> bool {
        let rtts = self.rtt().map_or(Dur::ZERO, |rtt| rtt * IDLE_RTTS);
        self.is_ended || self.monitor.active_at().is_none_or(|at| now.since(at) >= IDLE.max(rtts))
    }

    /// The RTT for computing windows.
    pub fn rtt(&self) -> Option<Dur> {
        self.window_rtt
    }

    /// A rate that was measured up to the latest arrival over `span`, spread over the silence since then.
    pub fn faded(&self, mbps: f64, span: Dur, now: Time) -> f64 {
        let silence = now.since(self.monitor.latest_at());
        let total = (span + silence).as_secs_f64();
        if total > 0.0 { mbps * span.as_secs_f64() / total } else { mbps }
    }
}
