//! The calls of noq that differ from those of quinn, of which it is a fork.

pub(super) use noq_proto as proto;

use super::controllers::Gauge;
use bytes::{Bytes, BytesMut};
use fairweir_units::{Bytes as Size, Dur, Rate};
use proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, FourTuple, PathId,
    SendStream, ServerConfig, Transmit, WriteError,
};
use std::net::SocketAddr;
use std::num::NonZero;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Instant;

pub(super) const NAME: &str = "noq";
/// Rate at which noq paces if its controller has no rate, as a multiple of cwnd per RTT (RFC 9002 §7.7).
const PACING_GAIN: (u64, u64) = (5, 4);

pub(super) fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(config, server, true)
}

pub(super) fn set_cid_generator(
    config: &mut EndpointConfig,
    factory: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(Arc::new(factory));
}

pub(super) fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    peer: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, FourTuple::new(peer, None), ecn, data, answer)
}

pub(super) fn write(stream: &mut SendStream<'_>, data: Bytes) -> Result<usize, WriteError> {
    stream.write_chunks(&mut &mut [data][..])
}

pub(super) fn poll_transmit(
    connection: &mut Connection,
    now: Instant,
    max_datagrams: usize,
    out: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, NonZero::new(max_datagrams).unwrap_or(NonZero::<usize>::MIN), out)
}

pub(super) fn cwnd(connection: &Connection) -> u64 {
    connection.congestion_state(PathId::ZERO).map_or(0, |controller| controller.window())
}

pub(super) fn pacing_rate(connection: &Connection) -> Rate {
    let of_controller =
        connection.congestion_state(PathId::ZERO).and_then(|controller| controller.metrics().pacing_rate);
    if let Some(rate) = of_controller {
        return Rate::from_bytes_per_sec(rate);
    }
    let srtt = connection.rtt(PathId::ZERO).unwrap_or_default();
    Size(cwnd(connection) * PACING_GAIN.0 / PACING_GAIN.1) / Dur::from_nanos(srtt.as_nanos() as u64)
}

/// The connection's own counter requires exclusive access.
pub(super) fn lost(_connection: &Connection, gauge: &Gauge) -> u64 {
    gauge.lost.load(Relaxed)
}
