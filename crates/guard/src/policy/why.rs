//! Reasons for a flow's window.

use super::share::Demand;
use super::{Class, Service, ServiceModel};
use fairweir_units::Dur;
use std::fmt;

/// Number of flows that share a rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// Flows that have data to send.
    pub active: usize,
    /// Flows without data to send at present, which do not count.
    pub idle: usize,
}

impl Sharing {
    pub(crate) fn of(users: &[(f64, Demand)]) -> Sharing {
        let idle = users.iter().filter(|(_, demand)| demand.is_idle()).count();
        Sharing { active: users.len() - idle, idle }
    }
}

impl fmt::Display for Sharing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} flow(s)", self.active)?;
        if self.idle > 0 { write!(f, ", {} idle", self.idle) } else { Ok(()) }
    }
}

/// The reason for a decision. Its text is one line in English.
#[derive(Clone, Debug, PartialEq)]
pub enum Why {
    /// No rule applies to this flow.
    Unmanaged,
    /// Too few measurements.
    TooYoung,
    /// No loss: there is no evidence that the flow harms others.
    NoLoss {
        /// The flows' service.
        service: Service,
    },
    /// A share of the rate that a model allows the service.
    Share {
        /// The flows' service.
        service: Service,
        /// The model.
        model: ServiceModel,
        /// Loss event rate of all flows of the service together.
        loss_event_rate: f64,
        /// The service's rate, Mbit/s.
        service_mbps: f64,
        /// Number of flows that share the rate.
        flows: Sharing,
    },
    /// A share of a configured rate.
    Cap {
        /// The service that has the rate.
        service: Service,
        /// Mbit/s
        service_mbps: f64,
        /// Number of flows that share the rate.
        flows: Sharing,
    },
    /// The flow's class relative to its target.
    Class {
        /// The flow's class when its limit was last set.
        class: Class,
    },
    /// The flow was limited, but something else slowed it.
    Unused,
    /// A reason as a free text.
    Other(String),
    /// Background traffic, which yields to a queue.
    Background {
        /// The flow's service.
        service: Service,
        /// Queueing delay.
        qdelay: Dur,
    },
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Unmanaged => f.write_str("no rule matches"),
            Why::TooYoung => f.write_str("too young to judge"),
            Why::NoLoss { service } => write!(f, "no loss of {service} seen yet"),
            Why::Share { service, model, loss_event_rate, service_mbps, flows } => write!(
                f,
                "share of {service}: {service_mbps:.2} Mbit/s by {model} at a loss event rate of {loss_event_rate:.2e}, \
                 {flows}"
            ),
            Why::Cap { service, service_mbps, flows } => {
                write!(f, "share of {service}: capped at {service_mbps:.2} Mbit/s, {flows}")
            }
            Why::Class { class } => f.write_str(match class {
                Class::Below => "below its target",
                Class::Near => "near its target",
                Class::Above => "above its target",
            }),
            Why::Other(text) => f.write_str(text),
            Why::Unused => f.write_str("released: uses less than half of its target"),
            Why::Background { service, qdelay } => {
                write!(f, "{service} is background, queueing delay {:.1} ms", qdelay.as_millis_f64())
            }
        }
    }
}
