//! Settings and endpoints of quinn, and of noq, its fork: see `end.rs`.

use super::api;
use super::api::proto::congestion::ControllerFactory;
use super::api::proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use super::api::proto::{
    self, AckFrequencyConfig, ClientConfig, ConnectionId, ConnectionIdGenerator, EndpointConfig, ServerConfig,
    TransportConfig, VarInt,
};
use super::controllers::{Gauge, Watched};
use super::end::{End, Role};
use super::null::Null;
use crate::endpoint::Ends;
use crate::limits::{PayloadBytes, payload};
use crate::tls;
use fairweir_program::Refusal;
use fairweir_scenario::{App, Config, Crypto, FlowSpec};
use fairweir_units::Time;
use std::sync::Arc;
use std::time::Duration;

/// A window that never limits.
const UNLIMITED: u64 = 1 << 40;

/// Returns both ends of flow number `flow`, whose sender has a controller of `factory`.
pub(super) fn ends_with(
    config: &Config,
    flow: usize,
    factory: Arc<dyn ControllerFactory + Send + Sync>,
    gauge: Gauge,
) -> Result<Ends, Refusal> {
    let spec = &config.flows[flow];
    let size = payload(config);
    let gauge = Arc::new(gauge);
    let mut sending = transport(spec, size);
    sending.congestion_controller_factory(Arc::new(Watched { factory, gauge: Arc::clone(&gauge) }));
    let (client, server) = encryption(config.host.crypto).map_err(|reason| Refusal::new(reason).at("host.crypto"))?;
    let mut client = ClientConfig::new(client);
    client.transport_config(Arc::new(sending));
    let id = connection_id(flow as u64);
    client.initial_dst_cid_provider(Arc::new(move || id));
    let mut server = ServerConfig::new(server, Arc::new(Null));
    server.transport_config(Arc::new(transport(spec, size)));

    let sides = [2 * flow as u64, 2 * flow as u64 + 1];
    let [sender, receiver] = sides.map(|side| endpoint_config(config.seed, side, size));
    let app =
        App::new(spec.source.clone(), spec.start, spec.stop.unwrap_or(Time::NEVER), config.packet, stream_bytes(size));
    let sender = api::endpoint(sender?, None);
    let receiver = api::endpoint(receiver?, Some(Arc::new(server)));
    Ok(Ends {
        sender: Box::new(End::new(sender, Role::sender(client, app, spec.start), spec.gso, gauge)),
        receiver: Box::new(End::new(receiver, Role::receiver(), spec.gso, Arc::default())),
    })
}

/// Encryption of a client and of a server.
type Sides = (Arc<dyn proto::crypto::ClientConfig>, Arc<dyn proto::crypto::ServerConfig>);

fn encryption(crypto: Crypto) -> Result<Sides, String> {
    if crypto == Crypto::Null {
        return Ok((Arc::new(Null), Arc::new(Null)));
    }
    let (client, server) = tls::configurations().map_err(|e| e.to_string())?;
    let client = QuicClientConfig::try_from(client).map_err(|e| e.to_string())?;
    let server = QuicServerConfig::try_from(server).map_err(|e| e.to_string())?;
    Ok((Arc::new(client), Arc::new(server)))
}

/// Stream data that any datagram of `size` can carry, at least: short header with connection ID and packet number, tag,
/// header of a STREAM frame.
fn stream_bytes(PayloadBytes(size): PayloadBytes) -> u64 {
    const OVERHEAD: u64 = 1 + 8 + 4 + 16 + (1 + 1 + 8 + 2);
    size - OVERHEAD
}

fn transport(spec: &FlowSpec, PayloadBytes(size): PayloadBytes) -> TransportConfig {
    let size = size as u16;
    let window = spec.rwnd.map_or(UNLIMITED, |packets| (packets * u64::from(size)).min(UNLIMITED));
    let window = VarInt::from_u64(window).unwrap_or(VarInt::MAX);
    let mut transport = TransportConfig::default();
    transport.initial_mtu(size).min_mtu(size).mtu_discovery_config(None).max_idle_timeout(None);
    transport.receive_window(window).stream_receive_window(window).send_window(UNLIMITED);
    if spec.receiver.ack_every > 1 {
        let mut frequency = AckFrequencyConfig::default();
        // The number of packets that need no ACK at once.
        let threshold = VarInt::from_u64(spec.receiver.ack_every - 1).unwrap_or(VarInt::MAX);
        frequency.ack_eliciting_threshold(threshold);
        frequency.max_ack_delay(Some(Duration::from_nanos(spec.receiver.ack_timer.as_nanos())));
        transport.ack_frequency_config(Some(frequency));
    }
    transport
}

fn endpoint_config(seed: u64, side: u64, PayloadBytes(size): PayloadBytes) -> Result<Arc<EndpointConfig>, Refusal> {
    let mut config = EndpointConfig::new(Arc::new(Null));
    api::set_cid_generator(&mut config, move || Box::new(Counter { next: side << 40 }));
    let mut rng = [0; 32];
    rng[..8].copy_from_slice(&seed.to_le_bytes());
    rng[8..16].copy_from_slice(&side.to_le_bytes());
    config.rng_seed(Some(rng));
    config.max_udp_payload_size(size as u16).map_err(|e| Refusal::new(format!("{}: {e}", api::NAME)).at("packet"))?;
    Ok(Arc::new(config))
}

/// A connection ID of 8 bytes.
fn connection_id(number: u64) -> ConnectionId {
    ConnectionId::new(&number.to_be_bytes())
}

/// Connection IDs in a row.
#[derive(Debug)]
struct Counter {
    next: u64,
}

impl ConnectionIdGenerator for Counter {
    fn generate_cid(&mut self) -> ConnectionId {
        self.next += 1;
        connection_id(self.next)
    }

    fn cid_len(&self) -> usize {
        8
    }

    fn cid_lifetime(&self) -> Option<Duration> {
        None
    }
}
