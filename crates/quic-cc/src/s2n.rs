//! Controllers of s2n-quic (`s2n_quic_core::recovery`), called as its recovery manager calls them.
//!
//! **Source**: s2n-quic-core, `recovery/{cubic,bbr,pacing}.rs`; s2n-quic-transport, `recovery/manager.rs`.
//!
//! Packets leave at the departure times of s2n-quic's pacer. The pacing rate, from which the pacer computes them, is what
//! its `Publisher` reports.

use crate::adapter::Adapter;
use crate::params::{Pacing, Params};
use crate::stack::{Acked, Limits, Stack, Transmission};
use fairweir_cca::{Algorithm, BuildError, Controller, Spacing, Start, defaults, typed};
use fairweir_units::{SplitMix64, Time};
use s2n_quic_core::event::builder::{BbrState, SlowStartExitCause};
use s2n_quic_core::inet::SocketAddress;
use s2n_quic_core::packet::number::PacketNumberSpace;
use s2n_quic_core::path::mtu;
use s2n_quic_core::random::Generator;
use s2n_quic_core::recovery::bandwidth::{Bandwidth, RateSample};
use s2n_quic_core::recovery::congestion_controller::{CongestionController, Endpoint, PathInfo, Publisher};
use s2n_quic_core::recovery::{RttEstimator, bbr, cubic};
use s2n_quic_core::time::{Clock, NoopClock, Timestamp};
use std::time::Duration;

/// Initial RTT (RFC 9002 §6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// Receives the rate of s2n-quic's pacer.
#[derive(Debug, Default)]
struct Published {
    /// Bytes per second.
    pacing_rate: Option<u64>,
}

impl Publisher for Published {
    fn on_slow_start_exited(&mut self, _: SlowStartExitCause, _: u32) {}
    fn on_delivery_rate_sampled(&mut self, _: RateSample) {}
    fn on_pacing_rate_updated(&mut self, rate: Bandwidth, _: u32, _: num_rational::Ratio<u64>) {
        self.pacing_rate = Some(rate.as_bytes_per_second().max(1));
    }
    fn on_bbr_state_changed(&mut self, _: BbrState) {}
}

/// The flow's random stream.
#[derive(Debug)]
struct Random(SplitMix64);

impl Generator for Random {
    fn public_random_fill(&mut self, dest: &mut [u8]) {
        SplitMix64::fill(dest, || self.0.next_u64());
    }

    fn private_random_fill(&mut self, dest: &mut [u8]) {
        self.public_random_fill(dest);
    }
}

/// The part of an s2n-quic path that congestion control sees.
#[derive(Debug)]
struct S2n<C: CongestionController> {
    controller: C,
    rtt: RttEstimator,
    random: Random,
    published: Published,
    mtu: u16,
    pacing: Pacing,
}

/// Returns the timestamp of `time`.
fn at(time: Time) -> Timestamp {
    NoopClock.get_time() + Duration::from_nanos(time.as_nanos())
}

impl<C: CongestionController> Stack for S2n<C> {
    type Packet = C::PacketInfo;

    fn on_sent(&mut self, now: Time, _pn: u64, _inflight: u64, is_app_limited: bool) -> C::PacketInfo {
        let bytes = self.mtu.into();
        self.controller.on_packet_sent(at(now), bytes, Some(is_app_limited), &self.rtt, &mut self.published)
    }

    fn on_acked(&mut self, now: Time, acked: &Acked<'_, C::PacketInfo>) {
        let Some(newest) = acked.packets.last() else { return };
        let (now, sent) = (at(now), at(newest.sent));
        if let Some(sample) = acked.rtt {
            let sample = Duration::from_nanos(sample.as_nanos());
            self.rtt.update_rtt(Duration::ZERO, sample, now, true, PacketNumberSpace::ApplicationData);
            self.controller.on_rtt_update(sent, now, &self.rtt, &mut self.published);
        }
        let bytes = acked.packets.len() * usize::from(self.mtu);
        let (rtt, random, published) = (&self.rtt, &mut self.random, &mut self.published);
        self.controller.on_ack(sent, bytes, newest.info, rtt, random, now, published);
    }

    fn on_lost(&mut self, now: Time, lost: &[Transmission<C::PacketInfo>], is_persistent: bool) {
        let mut previous: Option<u64> = None;
        for packet in lost {
            let is_new_burst = previous.is_none_or(|pn| pn + 1 != packet.pn);
            previous = Some(packet.pn);
            let (random, published) = (&mut self.random, &mut self.published);
            let bytes = self.mtu.into();
            self.controller.on_packet_lost(bytes, packet.info, is_persistent, is_new_burst, random, at(now), published);
        }
    }

    fn on_marks(&mut self, now: Time, _newest: Time) {
        self.controller.on_explicit_congestion(1, at(now), &mut self.published);
    }

    fn on_discarded(&mut self, _packet: &Transmission<C::PacketInfo>) {
        self.controller.on_packet_discarded(self.mtu.into(), &mut self.published);
    }

    fn limits(&self) -> Limits {
        let cwnd = self.controller.congestion_window().into();
        let pacing_rate = match self.pacing {
            Pacing::Stack => self.published.pacing_rate,
            Pacing::Off => None,
        };
        Limits { cwnd, pacing_rate, spacing: Spacing::Departures, ssthresh: None }
    }

    fn next_departure(&self) -> Option<Time> {
        let departure = self.controller.earliest_departure_time()?;
        let elapsed = departure.saturating_duration_since(at(Time::ZERO));
        Some(Time::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)))
    }
}

/// Builds `name`, whose controllers `endpoint` creates for an initial window.
fn build<E: Endpoint>(
    name: &'static str,
    endpoint: impl FnOnce(Option<u32>) -> E,
    params: &serde_json::Value,
    start: &Start,
) -> Result<Box<dyn Controller>, BuildError> {
    let params: Params = typed(name, params)?;
    let mtu = params.check(name, start.mss.0)?;
    let window = params.initial_window_bytes.map(|bytes| u32::try_from(bytes).expect("checked to be below 64 MiB"));
    let address = SocketAddress::default();
    let mut path = PathInfo::new(&mtu::Config::default(), &address);
    path.max_datagram_size = mtu;
    let stack = S2n {
        controller: endpoint(window).new_congestion_controller(path),
        rtt: RttEstimator::new(INITIAL_RTT),
        random: Random(SplitMix64::new(start.seed)),
        published: Published::default(),
        mtu,
        pacing: params.pacing,
    };
    Ok(Box::new(Adapter::new(name, start, stack)))
}

/// The row of a controller that `$module::builder` configures.
macro_rules! algorithm {
    ($name:literal, $summary:literal, $module:ident) => {
        Algorithm {
            name: $name,
            summary: $summary,
            version: Some(env!("VERSION_S2N_QUIC_CORE")),
            defaults: defaults::<Params>,
            build: |params, start| {
                let endpoint = |window: Option<u32>| {
                    let builder = $module::builder::Builder::default();
                    match window {
                        Some(bytes) => builder.with_initial_congestion_window(bytes).build(),
                        None => builder.build(),
                    }
                };
                build($name, endpoint, params, start)
            },
        }
    };
}

pub(crate) const CUBIC: Algorithm = algorithm!("s2n-quic/cubic", "CUBIC of the QUIC stack s2n-quic", cubic);
pub(crate) const BBR: Algorithm = algorithm!("s2n-quic/bbr", "BBRv2 of the QUIC stack s2n-quic", bbr);
