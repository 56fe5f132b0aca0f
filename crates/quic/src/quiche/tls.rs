//! Identities for TLS: an Ed25519 key and a certificate whose size does not depend on the key.
//!
//! The length of an ECDSA signature varies: the sizes of handshakes, and thereby the phase of flows, would depend on the
//! key and the random numbers.

use boring::error::ErrorStack;
use boring::pkey::{Id, PKey, Private};
use boring::sign::Signer;
use boring::ssl::{SslContextBuilder, SslMethod, SslSignatureAlgorithm};
use boring::x509::X509;

/// Object identifier of Ed25519 (RFC 8410 §3), as an AlgorithmIdentifier.
const ALGORITHM: [u8; 7] = [0x30, 5, 0x06, 3, 0x2b, 0x65, 0x70];

/// ASN.1 tags.
const INTEGER: u8 = 0x02;
const BIT_STRING: u8 = 0x03;
const UTC_TIME: u8 = 0x17;
const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;

/// A key and its certificate, signed by itself; peers do not verify it.
pub(super) struct Identity {
    key: PKey<Private>,
    certificate: X509,
}

impl Identity {
    /// A new key.
    pub(super) fn new() -> Result<Identity, ErrorStack> {
        let key = PKey::generate(Id::ED25519)?;
        let mut public = [0; 32];
        key.raw_public_key(&mut public)?;
        let to_sign = to_be_signed(&public);
        let signature = Signer::new_without_digest(&key)?.sign_oneshot_to_vec(&to_sign)?;
        let certificate = element(SEQUENCE, &[&to_sign, &ALGORITHM, &bits(&signature)]);
        Ok(Identity { certificate: X509::from_der(&certificate)?, key })
    }

    /// The settings of TLS for either side.
    pub(super) fn context(&self) -> Result<SslContextBuilder, ErrorStack> {
        let mut context = SslContextBuilder::new(SslMethod::tls())?;
        context.set_certificate(&self.certificate)?;
        context.set_private_key(&self.key)?;
        context.set_verify_algorithm_prefs(&[SslSignatureAlgorithm::ED25519])?;
        Ok(context)
    }
}

/// A TBSCertificate (RFC 5280 §4.1) without names, valid for a century.
fn to_be_signed(public: &[u8]) -> Vec<u8> {
    let version = element(VERSION, &[&element(INTEGER, &[&[2]])]);
    let serial = element(INTEGER, &[&[1]]);
    let nobody = element(SEQUENCE, &[]);
    let [from, to] = [b"500101000000Z", b"491231235959Z"].map(|date| element(UTC_TIME, &[date]));
    let validity = element(SEQUENCE, &[&from, &to]);
    let key = element(SEQUENCE, &[&ALGORITHM, &bits(public)]);
    element(SEQUENCE, &[&version, &serial, &ALGORITHM, &nobody, &validity, &nobody, &key])
}

/// A DER element; its content has less than 256 bytes.
fn element(tag: u8, parts: &[&[u8]]) -> Vec<u8> {
    let content = parts.concat();
    let mut bytes = vec![tag];
    if content.len() >= 0x80 {
        bytes.push(0x81);
    }
    bytes.push(content.len() as u8);
    bytes.extend(content);
    bytes
}

/// A BIT STRING of whole bytes.
fn bits(bytes: &[u8]) -> Vec<u8> {
    element(BIT_STRING, &[&[0], bytes])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_have_one_size_and_carry_their_key() {
        let identities = [(); 8].map(|()| Identity::new().unwrap());
        for identity in &identities {
            assert_eq!(identity.certificate.to_der().unwrap().len(), identities[0].certificate.to_der().unwrap().len());
            assert!(identity.certificate.verify(&identity.key).unwrap());
            assert!(identity.context().is_ok());
        }
    }
}
