//! Encryption that does nothing: the same packets and the same sizes, with tags of 16 zero bytes, no entropy and no cost.

use crate::handshake::Handshake;
use bytes::BytesMut;
use noq_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair, Keys,
    PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError, TransportErrorCode};
use std::any::Any;

/// Size of the tag of AES-128-GCM and of ChaCha20-Poly1305.
const TAG_BYTES: usize = 16;

/// Configuration and keys of both sides.
#[derive(Debug)]
pub(super) struct Null;

impl PacketKey for Null {
    fn encrypt(&self, _path: PathId, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(&self, _path: PathId, _packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG_BYTES).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }

    fn tag_len(&self) -> usize {
        TAG_BYTES
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for Null {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG_BYTES
    }
}

fn packet_keys() -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Null), remote: Box::new(Null) }
}

fn keys() -> Keys {
    Keys { header: KeyPair { local: Box::new(Null), remote: Box::new(Null) }, packet: packet_keys() }
}

/// One side's session.
struct NullSession {
    side: Side,
    handshake: Handshake,
    peer: Option<TransportParameters>,
}

impl NullSession {
    fn start(side: Side, parameters: &TransportParameters) -> Box<NullSession> {
        let mut written = Vec::new();
        parameters.write(&mut written);
        Box::new(NullSession { side, handshake: Handshake::start(side == Side::Client, &written), peer: None })
    }
}

impl Session for NullSession {
    fn initial_keys(&self, _destination: ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        Some(false)
    }

    fn is_handshaking(&self) -> bool {
        self.handshake.is_running()
    }

    fn read_handshake(&mut self, message: &[u8]) -> Result<bool, TransportError> {
        let Some(parameters) = self.handshake.read(message) else { return Ok(false) };
        let peer = TransportParameters::read(self.side, &mut &parameters[..])
            .map_err(|e| TransportError::new(TransportErrorCode::TRANSPORT_PARAMETER_ERROR, e.to_string()))?;
        self.peer = Some(peer);
        Ok(true)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, message: &mut Vec<u8>) -> Option<Keys> {
        self.handshake.write(message).then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(packet_keys())
    }

    fn is_valid_retry(&self, _original: ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

impl ClientConfig for Null {
    fn start_session(
        &self,
        _version: u32,
        _server_name: &str,
        parameters: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(NullSession::start(Side::Client, parameters))
    }
}

impl ServerConfig for Null {
    fn initial_keys(&self, _version: u32, _destination: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _original: ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(&self, _version: u32, parameters: &TransportParameters) -> Box<dyn Session> {
        NullSession::start(Side::Server, parameters)
    }
}

impl HmacKey for Null {
    fn sign(&self, _data: &[u8], signature: &mut [u8]) {
        // It becomes the token of stateless resets, which must differ from the last 16 bytes of any packet: its tag.
        signature.fill(0xff);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _data: &[u8], _signature: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

impl HandshakeTokenKey for Null {
    fn seal(&self, _nonce: u128, _data: &mut Vec<u8>) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, _nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        Ok(data)
    }
}
