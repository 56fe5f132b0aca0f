//! Controllers of quinn (`quinn_proto::congestion`), called as `quinn_proto::Connection` calls them.
//!
//! **Source**: quinn-proto, `connection/mod.rs` (`on_ack_received`, `detect_lost_packets`), `connection/pacing.rs`.
//!
//! quinn's connection paces by window and smoothed RTT and ignores `ControllerMetrics::pacing_rate`, also of BBR.

use crate::adapter::Adapter;
use crate::instants::at;
use crate::layout::Estimator;
use crate::pacing;
use crate::params::{Pacing, Params};
use crate::rtt::Rtt;
use crate::stack::{Acked, Limits, Stack, Transmission};
use fairweir_cca::{Algorithm, BuildError, Controller, Spacing, Start, defaults, typed};
use fairweir_units::Time;
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{self, BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

impl Estimator for RttEstimator {
    fn get(&self) -> Duration {
        RttEstimator::get(self)
    }
    fn conservative(&self) -> Duration {
        RttEstimator::conservative(self)
    }
    fn min(&self) -> Duration {
        RttEstimator::min(self)
    }
}

/// The part of a quinn connection that congestion control sees.
struct Quinn {
    controller: Box<dyn congestion::Controller>,
    rtt: Rtt<RttEstimator>,
    mtu: u16,
    largest_acked: Option<u64>,
    pacing: Pacing,
}

impl fmt::Debug for Quinn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Quinn").field("window", &self.controller.window()).finish_non_exhaustive()
    }
}

impl Stack for Quinn {
    type Packet = ();

    fn on_sent(&mut self, now: Time, pn: u64, _inflight: u64, _is_app_limited: bool) {
        self.controller.on_sent(at(now), self.mtu.into(), pn);
    }

    fn on_acked(&mut self, now: Time, acked: &Acked<'_, ()>) {
        // The estimator is updated after the deliveries, as in `on_ack_received`.
        let rtt = self.rtt.value();
        for packet in acked.packets {
            let (sent, bytes) = (at(packet.sent), self.mtu.into());
            self.controller.on_ack(at(now), sent, bytes, acked.is_app_limited, &rtt);
        }
        self.largest_acked = self.largest_acked.max(acked.packets.last().map(|packet| packet.pn));
        self.controller.on_end_acks(at(now), acked.inflight, acked.is_app_limited, self.largest_acked);
        if let Some(sample) = acked.rtt {
            self.rtt.update(sample);
        }
    }

    fn on_lost(&mut self, now: Time, lost: &[Transmission<()>], is_persistent: bool) {
        let newest = lost.iter().map(|packet| packet.sent).max().unwrap_or(now);
        let bytes = lost.len() as u64 * u64::from(self.mtu);
        self.controller.on_congestion_event(at(now), at(newest), is_persistent, bytes);
    }

    fn on_marks(&mut self, now: Time, newest: Time) {
        self.controller.on_congestion_event(at(now), at(newest), false, 0);
    }

    fn limits(&self) -> Limits {
        let cwnd = self.controller.window();
        match self.pacing {
            Pacing::Stack => pacing::by_window(cwnd, self.rtt.smoothed(), self.mtu, None),
            Pacing::Off => Limits { cwnd, pacing_rate: None, spacing: Spacing::Transport, ssthresh: None },
        }
    }
}

/// Builds `name` with the factory of its controller.
fn build(
    name: &'static str,
    controller: impl FnOnce(Option<u64>, u16) -> Box<dyn congestion::Controller>,
    params: &serde_json::Value,
    start: &Start,
) -> Result<Box<dyn Controller>, BuildError> {
    let params: Params = typed(name, params)?;
    let mtu = params.check(name, start.mss.0)?;
    let rtt = Rtt::new().map_err(|reason| BuildError::BadParams { name: name.to_owned(), reason })?;
    let controller = controller(params.initial_window_bytes, mtu);
    let stack = Quinn { controller, rtt, mtu, largest_acked: None, pacing: params.pacing };
    Ok(Box::new(Adapter::new(name, start, stack)))
}

/// The row of a controller with the configuration `$config`.
macro_rules! algorithm {
    ($name:literal, $summary:literal, $config:ty) => {
        Algorithm {
            name: $name,
            summary: $summary,
            version: Some(env!("VERSION_QUINN_PROTO")),
            defaults: defaults::<Params>,
            build: |params, start| {
                let controller = |window, mtu| {
                    let mut config = <$config>::default();
                    if let Some(bytes) = window {
                        config.initial_window(bytes);
                    }
                    Arc::new(config).build(at(Time::ZERO), mtu)
                };
                build($name, controller, params, start)
            },
        }
    };
}

pub(crate) const NEWRENO: Algorithm =
    algorithm!("quinn/newreno", "NewReno of the QUIC stack quinn, paced as its connections are", NewRenoConfig);
pub(crate) const CUBIC: Algorithm =
    algorithm!("quinn/cubic", "CUBIC of the QUIC stack quinn, paced as its connections are", CubicConfig);
pub(crate) const BBR: Algorithm =
    algorithm!("quinn/bbr", "BBRv1 of the QUIC stack quinn, whose connections ignore its pacing rate", BbrConfig);
