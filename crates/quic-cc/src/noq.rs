//! Controllers of noq (`noq_proto::congestion`), called as `noq_proto::Connection` calls them.
//!
//! **Source**: noq-proto, `connection/mod.rs` (`on_ack_received`, `detect_lost_packets`), `connection/pacing.rs`.
//!
//! noq's connection paces at `ControllerMetrics::pacing_rate` if the controller has one (BBRv3), otherwise by window and
//! smoothed RTT.

use crate::adapter::Adapter;
use crate::instants::at;
use crate::layout::{self, Estimator};
use crate::pacing;
use crate::params::{Pacing, Params};
use crate::rtt::Rtt;
use crate::stack::{Acked, Limits, Stack, Transmission};
use fairweir_cca::{Algorithm, BuildError, Controller, Spacing, Start, defaults, typed};
use fairweir_units::Time;
use noq_proto::RttEstimator;
use noq_proto::congestion::{self, Bbr3Config, ControllerFactory, CubicConfig, NewRenoConfig};
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

/// The part of a noq connection that congestion control sees.
struct Noq {
    controller: Box<dyn congestion::Controller>,
    rtt: Rtt<RttEstimator>,
    mtu: u16,
    largest_acked: Option<u64>,
    pacing: Pacing,
}

impl fmt::Debug for Noq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Noq").field("window", &self.controller.window()).finish_non_exhaustive()
    }
}

impl Stack for Noq {
    type Packet = ();

    fn on_sent(&mut self, now: Time, pn: u64, inflight: u64, is_app_limited: bool) {
        self.controller.on_packet_sent(at(now), self.mtu, pn);
        self.controller.on_sent(at(now), self.mtu.into(), pn);
        // The next packet does not fit, and there is one.
        if inflight + u64::from(self.mtu) > self.controller.window() && !is_app_limited {
            self.controller.on_cwnd_limited();
        }
    }

    fn on_acked(&mut self, now: Time, acked: &Acked<'_, ()>) {
        // The estimator is updated after the deliveries, as in `on_ack_received`.
        let rtt = self.rtt.value();
        for packet in acked.packets {
            let (sent, bytes) = (at(packet.sent), self.mtu.into());
            self.controller.on_ack(at(now), sent, bytes, packet.pn, acked.is_app_limited, &rtt);
        }
        self.largest_acked = self.largest_acked.max(acked.packets.last().map(|packet| packet.pn));
        self.controller.on_end_acks(at(now), acked.inflight, acked.is_app_limited, self.largest_acked);
        if let Some(sample) = acked.rtt {
            self.rtt.update(sample);
        }
    }

    fn on_lost(&mut self, now: Time, lost: &[Transmission<()>], is_persistent: bool) {
        for packet in lost {
            self.controller.on_packet_lost(self.mtu, packet.pn, at(now));
        }
        let newest = lost.iter().map(|packet| packet.sent).max().unwrap_or(now);
        let largest = lost.last().map_or(0, |packet| packet.pn);
        let bytes = lost.len() as u64 * u64::from(self.mtu);
        self.controller.on_congestion_event(at(now), at(newest), is_persistent, false, bytes, largest);
    }

    fn on_marks(&mut self, now: Time, newest: Time) {
        self.controller.on_congestion_event(at(now), at(newest), false, true, 0, self.largest_acked.unwrap_or(0));
    }

    fn limits(&self) -> Limits {
        let metrics = self.controller.metrics();
        let (cwnd, ssthresh) = (metrics.congestion_window, metrics.ssthresh);
        match (self.pacing, metrics.pacing_rate) {
            (Pacing::Stack, Some(rate)) => pacing::by_rate(cwnd, rate, self.mtu, ssthresh),
            (Pacing::Stack, None) => pacing::by_window(cwnd, self.rtt.smoothed(), self.mtu, ssthresh),
            (Pacing::Off, _) => Limits { cwnd, pacing_rate: None, spacing: Spacing::Transport, ssthresh },
        }
    }
}

/// Builds `name` with the factory of its controller.
fn build(
    name: &'static str,
    controller: impl FnOnce(Option<u64>, u16) -> Result<Box<dyn congestion::Controller>, String>,
    params: &serde_json::Value,
    start: &Start,
) -> Result<Box<dyn Controller>, BuildError> {
    let params: Params = typed(name, params)?;
    let mtu = params.check(name, start.mss.0)?;
    let changed = |reason| BuildError::BadParams { name: name.to_owned(), reason };
    let rtt = Rtt::new().map_err(changed)?;
    let controller = controller(params.initial_window_bytes, mtu).map_err(changed)?;
    let stack = Noq { controller, rtt, mtu, largest_acked: None, pacing: params.pacing };
    Ok(Box::new(Adapter::new(name, start, stack)))
}

/// Seeds BBRv3, whose configuration has no public method for it.
///
/// # Errors
/// If this version of noq has another configuration than the known one.
pub fn seed_bbr3(config: &mut Bbr3Config, seed: u64) -> Result<(), String> {
    let mut bytes = [0; 16];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    layout::seed_bbr3(config, bytes)
}

/// The other controllers draw no random numbers.
fn needs_no_seed<C>(_config: &mut C, _seed: u64) -> Result<(), String> {
    Ok(())
}

/// The row of a controller with the configuration `$config`.
macro_rules! algorithm {
    ($name:literal, $summary:literal, $config:ty, $seed:expr) => {
        Algorithm {
            name: $name,
            summary: $summary,
            version: Some(env!("VERSION_NOQ_PROTO")),
            defaults: defaults::<Params>,
            build: |params, start| {
                let controller = |window, mtu| {
                    let mut config = <$config>::default();
                    if let Some(bytes) = window {
                        config.initial_window(bytes);
                    }
                    $seed(&mut config, start.seed)?;
                    Ok(Arc::new(config).build(at(Time::ZERO), mtu))
                };
                build($name, controller, params, start)
            },
        }
    };
}

pub(crate) const NEWRENO: Algorithm = algorithm!(
    "noq/newreno",
    "NewReno of the QUIC stack noq, paced as its connections are",
    NewRenoConfig,
    needs_no_seed
);
pub(crate) const CUBIC: Algorithm =
    algorithm!("noq/cubic", "CUBIC of the QUIC stack noq, paced as its connections are", CubicConfig, needs_no_seed);
pub(crate) const BBR3: Algorithm =
    algorithm!("noq/bbr3", "BBRv3 of the QUIC stack noq, at its own pacing rate", Bbr3Config, seed_bbr3);
