//! Enforces a flow's rate `L` for any RTT that its sender claims: the bytes that the host acknowledges are compared
//! with the rate, and while they exceed it, the window is reduced.
//!
//! A window is rate times RTT, and a sender can claim an arbitrarily long RTT by echoing timestamps late. It cannot
//! make the host acknowledge data that has not arrived. Each flow therefore has a budget in bytes, which grows at the
//! rate `L` and shrinks by the bytes delivered:
//!
//! ```text
//! window = L · RTT · min(1.1, 1 + budget / (L · RECOVERY))
//! ```
//!
//! The window is at least two segments, and two segments per RTT may exceed `L`. A pace (`crate::Pace`: the maximum
//! rate at which the window's right edge advances) therefore limits the rate to the same factor of `L`, but at least to
//! a tenth.
//!
//! Bound on the delivered bytes: budget(T) = budget(0) + L · T - delivered(T), unless the budget reaches one of its
//! limits. The upper limit (the credit) only removes budget that the flow does not use. Below -L · RECOVERY the window
//! is at its minimum, so the budget grows if two segments per RTT are less than L. Over a time T, therefore, at most L
//! · T plus the credit plus the debt at the end is delivered.

use super::{Decision, View, Why};
use crate::flow::FlowId;
use crate::window::WindowTarget;
use fairweir_units::{Dur, Time};
use std::collections::HashMap;

/// Debt at which the window reaches its minimum, as time at the rate.
const RECOVERY: Dur = Dur::from_millis(500);
/// Maximum factor by which the window may exceed L · RTT, because rounding and delayed ACKs make a flow slower than its
/// window allows.
const MAX_SHARE: f64 = 1.1;
/// Minimum pace of a flow with a negative budget, as a fraction of its rate.
const MIN_PACE: f64 = 0.1;
/// Maximum credit for bursts, as time at the rate; one RTT, up to the same time, is added because data arrives in
/// windows. It also compensates for rounding, delayed ACKs and RTT samples below the mean.
const CREDIT: Dur = Dur::from_millis(100);
/// Maximum debt, as time at the rate.
const MAX_DEBT: Dur = Dur::from_secs(2);
/// Number of initial decisions during which deliveries are not counted, because data that earlier windows allowed is
/// still arriving.
const GRACE: u32 = 4;
/// Maximum growth of the RTT used for windows, between two decisions. While the debt exceeds `CREDIT`, this RTT does
/// not grow.
const GROWTH: (u64, u64) = (5, 4);

/// Budgets of flows that are limited to a rate.
#[derive(Debug, Default)]
pub(crate) struct Budgets {
    flows: HashMap<FlowId, Budget>,
}

#[derive(Clone, Copy, Debug)]
struct Budget {
    /// Balance, bytes; negative if more was delivered than the rate allows.
    balance: f64,
    delivered: u64,
    /// Mbit/s
    level: f64,
    rtt: Dur,
    /// The last window, bytes.
    window: u64,
    at: Time,
    age: u32,
}

/// Returns the bytes at rate `mbps` in `span`.
fn bytes(mbps: f64, span: Dur) -> f64 {
    mbps * span.as_secs_f64() * 1e6 / 8.0
}

impl Budgets {
    /// Limit the flow of `view` to `mbps`, with the reason `why`.
    pub(crate) fn hold(&mut self, mbps: f64, view: &View<'_>, now: Time, why: Why) -> Decision {
        let Some(rtt) = view.rtt() else { return Decision::hold(mbps, view, why) };
        let delivered = view.monitor.delivered();
        let budget = self.flows.entry(view.id).or_insert(Budget {
            balance: 0.0,
            delivered,
            level: mbps,
            rtt,
            window: 0,
            at: now,
            age: 0,
        });
        budget.advance(delivered, now);
        budget.rtt = rtt.min(budget.rtt);
        (budget.level, budget.at) = (mbps, now);
        let share = (1.0 + budget.balance / bytes(mbps, RECOVERY).max(1.0)).clamp(0.0, MAX_SHARE);
        let mut decision = Decision::hold(mbps * share, &View { window_rtt: Some(budget.rtt), ..*view }, why);
        decision.window = decision.window.map(|window| window.paced(mbps * share.max(MIN_PACE)));
        budget.window = decision.window.map_or(0, WindowTarget::bytes);
        decision.rate_mbps = Some(mbps);
        decision
    }

    /// Removes all flows except `flows`.
    pub(crate) fn retain(&mut self, flows: &[View<'_>]) {
        if self.flows.len() > flows.len() {
            let living: std::collections::HashSet<FlowId> = flows.iter().map(|view| view.id).collect();
            self.flows.retain(|id, _| living.contains(id));
        }
    }
}

impl Budget {
    fn advance(&mut self, delivered: u64, now: Time) {
        let arrived = delivered.saturating_sub(self.delivered) as f64;
        self.delivered = delivered;
        self.age = self.age.saturating_add(1);
        if self.age <= GRACE {
            self.rtt = self.rtt.mul_ratio(GROWTH.0, GROWTH.1);
            return;
        }
        let span = now.since(self.at);
        let credit = bytes(self.level, CREDIT + self.rtt.min(CREDIT));
        let debt = bytes(self.level, MAX_DEBT);
        self.balance = (self.balance + bytes(self.level, span) - arrived).clamp(-debt, credit);
        if self.balance < -bytes(self.level, CREDIT) {
            // A sender that delivers more than its window per RTT has a shorter RTT than it claims; its deliveries show
            // which.
            let shown = Dur::from_nanos((self.window as f64 / arrived.max(1.0) * span.as_nanos() as f64) as u64);
            self.rtt = self.rtt.min(shown.max(self.rtt.mul_ratio(1, 2)));
        } else {
            self.rtt = self.rtt.mul_ratio(GROWTH.0, GROWTH.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::features::Plan;
    use crate::measure::Monitor;
    use crate::packet::FlowKey;
    use crate::policy::Labels;
    use crate::{Limits, Table};
    use proptest::prelude::*;

    /// Runs a sender that uses its whole window on a path of RTT `rtt` and claims an RTT of `claims`. Returns its rate
    /// in Mbit/s for each second.
    fn rates(mbps: f64, rtt: Dur, seconds: u64, mut claims: impl FnMut(Time) -> Dur) -> Vec<f64> {
        let key = FlowKey::new("10.0.0.1:1".parse().unwrap(), "192.0.2.1:443".parse().unwrap(), 0);
        let (labels, every) = (Labels::default(), Dur::from_millis(100));
        let (mut budgets, mut monitor) = (Budgets::default(), Monitor::new(&Plan::new([])));
        // The table only serves to create a flow id.
        let mut table = Table::new(Limits { needs_proof: false, ..Limits::default() }, [0; 16], Plan::new([]));
        let packet = crate::Packet {
            at: Time::ZERO,
            flow: key,
            direction: fairweir_tcp::Direction::Incoming,
            flags: fairweir_tcp::Flags::ACK,
            seq: 0,
            ack: 0,
            window: 0,
            timestamps: None,
            payload: 1,
            wire: 1,
            segs: 1,
            wscale: None,
        };
        let id = table.observe(&packet).unwrap();
        let mut now = Time::ZERO;
        let per_second = |_| {
            let before = monitor.delivered();
            for _ in 0..10 {
                now += every;
                let view = View {
                    id,
                    key: &key,
                    labels: &labels,
                    monitor: &monitor,
                    window_rtt: Some(claims(now)),
                    is_ended: false,
                    values: &[],
                };
                let decision = budgets.hold(mbps, &view, now, Why::Unmanaged);
                assert_eq!(decision.rate_mbps, Some(mbps));
                // The path carries 1 Gbit/s.
                let window = decision.window.unwrap().bytes() as f64 / rtt.as_secs_f64();
                monitor.on_acknowledged((window.min(1.25e8) * every.as_secs_f64()) as u32, now, None);
            }
            (monitor.delivered() - before) as f64 * 8e-6
        };
        (0..seconds).map(per_second).collect()
    }

    fn mean(rates: &[f64]) -> f64 {
        rates.iter().sum::<f64>() / rates.len() as f64
    }

    #[test]
    fn an_honest_flow_gets_its_rate() {
        for rtt in [5, 20, 200].map(Dur::from_millis) {
            let rates = rates(10.0, rtt, 10, |_| rtt);
            assert!(rates[2..].iter().all(|rate| (9.9..10.1).contains(rate)), "{rtt:?}: {rates:?}");
        }
    }

    #[test]
    fn a_claimed_rtt_widens_no_rate() {
        let rtt = Dur::from_millis(20);
        for claimed in [100, 520, 5_000, 120_000].map(Dur::from_millis) {
            let rates = rates(10.0, rtt, 60, |_| claimed);
            assert!(mean(&rates[1..]) < 11.0, "{claimed:?}: {rates:?}");
        }
    }

    proptest! {
        #[test]
        fn whatever_is_claimed_the_mean_stays(claims in proptest::collection::vec(20u64..10_000, 600)) {
            let mut claims = claims.into_iter().map(Dur::from_millis).cycle();
            let rates = rates(10.0, Dur::from_millis(20), 60, |_| claims.next().unwrap());
            prop_assert!(mean(&rates[5..]) < 11.0, "{:?}", rates);
        }
    }
}
