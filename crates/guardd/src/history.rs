//! The decisions about a flow and its measured rate over its lifetime. A dry run reports its effect with them.

use crate::status::flow_name;
use fairweir_guard::policy::Decision;
use fairweir_guard::{FlowKey, Monitor};
use fairweir_units::{Dur, mbps};
use std::fmt;

/// A flow's decisions and measurements.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    /// The latest decision to hold the flow.
    held: Option<Decision>,
    payload: u64,
    age: Dur,
}

/// A flow that was held, or that a dry run would have held.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// The flow.
    pub flow: FlowKey,
    /// The latest decision to hold the flow.
    pub decision: Decision,
    /// Payload divided by age, Mbps.
    pub measured_mbps: f64,
    /// Time between its first and its latest data.
    pub age: Dur,
}

impl Course {
    /// Records a decision about a flow, and its measurements.
    pub(crate) fn note(&mut self, decision: &Decision, monitor: &Monitor) {
        if decision.window.is_some() {
            self.held = Some(decision.clone());
        }
        (self.payload, self.age) = (monitor.payload(), monitor.age());
    }

    /// Returns the outcome, or `None` if no decision held the flow.
    pub(crate) fn outcome(&self, flow: FlowKey) -> Option<Outcome> {
        let measured_mbps = mbps(self.payload, self.age);
        Some(Outcome { flow, decision: self.held.clone()?, measured_mbps, age: self.age })
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "would have held {}", flow_name(&self.flow))?;
        if let Some(mbps) = self.decision.rate_mbps {
            write!(f, " to {mbps:.2} Mbit/s,")?;
        }
        let window = self.decision.window.map_or(0, |window| window.room());
        write!(f, " window {:.1} kB ({})", window as f64 / 1e3, self.decision.why)?;
        write!(f, "; measured {:.2} Mbit/s over {:.1} s", self.measured_mbps, self.age.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_guard::WindowTarget;
    use fairweir_guard::policy::Why;

    #[test]
    fn only_what_was_held_is_reported_and_with_the_latest_decision_that_held_it() {
        let flow = FlowKey::new(([10, 0, 0, 1], 5001).into(), ([192, 0, 2, 7], 443).into(), 0);
        let held = |bytes| Decision {
            window: Some(WindowTarget::from_bytes(bytes, 1460)),
            rate_mbps: Some(10.0),
            why: Why::Unmanaged,
        };
        let monitor = Monitor::new(&fairweir_guard::Plan::new([]));
        let mut course = Course::default();
        course.note(&Decision::release(Why::TooYoung), &monitor);
        assert_eq!(course.outcome(flow), None);
        course.note(&held(80_000), &monitor);
        course.note(&held(65_000), &monitor);
        course.note(&Decision::release(Why::Unused), &monitor);
        (course.payload, course.age) = (23_550_000, Dur::from_millis(2000));
        assert_eq!(
            course.outcome(flow).unwrap().to_string(),
            "would have held 192.0.2.7:443 > 10.0.0.1:5001 to 10.00 Mbit/s, window 65.0 kB (no rule matches); measured \
             94.20 Mbit/s over 2.0 s"
        );
    }
}
