//! Parameters of the stacks' controllers.

use fairweir_cca::BuildError;
use serde::{Deserialize, Serialize};

/// The spacing of packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Pacing {
    /// As the stack's connection does.
    #[default]
    Stack,
    /// No pacing: packets leave as ACKs allow.
    Off,
}

/// Parameters that all controllers of stacks have.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Params {
    /// Initial window, bytes; absent: the stack's own.
    pub(crate) initial_window_bytes: Option<u64>,
    pub(crate) pacing: Pacing,
}

/// The largest initial window: 64 MiB.
const MAX_INITIAL_WINDOW: u64 = 1 << 26;

impl Params {
    /// Checks the parameters, and that the stack can send packets of `mss` bytes, which it counts in 16 bits.
    pub(crate) fn check(&self, name: &str, mss: u64) -> Result<u16, BuildError> {
        let bad = |reason| Err(BuildError::BadParams { name: name.to_owned(), reason });
        if let Some(bytes) = self.initial_window_bytes
            && !(mss..=MAX_INITIAL_WINDOW).contains(&bytes)
        {
            return bad(format!("initial_window_bytes must lie from {mss} to {MAX_INITIAL_WINDOW}: `{bytes}`"));
        }
        match u16::try_from(mss) {
            Ok(mtu) if mtu > 0 => Ok(mtu),
            _ => bad(format!("a QUIC stack sends packets of at most {} bytes, not of `{mss}`", u16::MAX)),
        }
    }
}
