//! TLS 1.3 of hosts that encrypt: rustls with its provider ring, and a raw public key (RFC 7250) in the place of a chain of
//! certificates.
//!
//! The server's key is constant, and all random values of a handshake have a constant size. The bytes of two runs differ;
//! the times and sizes of their datagrams do not.

use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime,
};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, PeerMisbehaved, ServerConfig, SignatureScheme,
};
use std::sync::Arc;

/// The PKCS #8 document of an Ed25519 key (RFC 8410 §7), before its 32 bytes.
const ED25519_HEADER: [u8; 16] = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
/// The server's private key. It protects nothing: both ends are in this process.
const KEY: [u8; 32] = [7; 32];

/// Returns both sides' configurations.
///
/// # Errors
/// If rustls refuses a setting.
pub(crate) fn configurations() -> Result<(ClientConfig, ServerConfig), Error> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from([ED25519_HEADER.as_slice(), &KEY].concat()));
    let key = provider.key_provider.load_private_key(key)?;
    let public = key.public_key().ok_or_else(|| Error::General("the key has no public key".into()))?;
    let public = CertificateDer::from(public.to_vec());
    let versions = &[&rustls::version::TLS13];

    let verifier = Arc::new(Pinned { public: public.clone(), provider: Arc::clone(&provider) });
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)?
        .dangerous()
        .with_custom_certificate_verifier(verifier)
        .with_no_client_auth();
    let resolver = AlwaysResolvesServerRawPublicKeys::new(Arc::new(CertifiedKey::new(vec![public], key)));
    let server = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(versions)?
        .with_no_client_auth()
        .with_cert_resolver(Arc::new(resolver));
    Ok((client, server))
}

/// Accepts one public key.
#[derive(Debug)]
struct Pinned {
    public: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *end_entity == self.public {
            Ok(ServerCertVerified::assertion())
        } else {
            Err(CertificateError::ApplicationVerificationFailure.into())
        }
    }

    fn verify_tls12_signature(
        &self,
        _message: &[u8],
        _cert: &CertificateDer<'_>,
        _dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Err(PeerMisbehaved::SignedHandshakeWithUnadvertisedSigScheme.into())
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(cert.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
