//! The calls of quinn that differ from those of its fork noq.

pub(super) use quinn_proto as proto;

use super::controllers::Gauge;
use bytes::{Bytes, BytesMut};
use fairweir_units::{Bytes as Size, Dur, Rate};
use proto::{
    Connection, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, SendStream, ServerConfig,
    Transmit, WriteError,
};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

pub(super) const NAME: &str = "quinn";
/// Rate at which quinn paces, as a multiple of cwnd per RTT (RFC 9002 §7.7).
const PACING_GAIN: (u64, u64) = (5, 4);

pub(super) fn endpoint(config: Arc<EndpointConfig>, server: Option<Arc<ServerConfig>>) -> Endpoint {
    Endpoint::new(config, server, true, None)
}

pub(super) fn set_cid_generator(
    config: &mut EndpointConfig,
    factory: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(factory);
}

pub(super) fn handle(
    endpoint: &mut Endpoint,
    now: Instant,
    peer: SocketAddr,
    ecn: Option<EcnCodepoint>,
    data: BytesMut,
    answer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, peer, None, ecn, data, answer)
}

pub(super) fn write(stream: &mut SendStream<'_>, data: Bytes) -> Result<usize, WriteError> {
    stream.write_chunks(&mut [data]).map(|written| written.bytes)
}

pub(super) fn poll_transmit(
    connection: &mut Connection,
    now: Instant,
    max_datagrams: usize,
    out: &mut Vec<u8>,
) -> Option<Transmit> {
    connection.poll_transmit(now, max_datagrams, out)
}

pub(super) fn cwnd(connection: &Connection) -> u64 {
    connection.congestion_state().window()
}

pub(super) fn pacing_rate(connection: &Connection) -> Rate {
    let srtt = Dur::from_nanos(connection.rtt().as_nanos() as u64);
    Size(cwnd(connection) * PACING_GAIN.0 / PACING_GAIN.1) / srtt
}

pub(super) fn lost(connection: &Connection, _gauge: &Gauge) -> u64 {
    connection.stats().path.lost_packets
}
