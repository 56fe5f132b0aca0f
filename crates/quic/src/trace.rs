//! A digest of all datagrams of a run: two runs with the same digest sent the same sizes at the same times.

use fairweir_units::Time;

/// A running hash (FNV with a rotation) of (time, size) of the datagrams in the order in which they enter the network.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trace {
    digest: u64,
    /// Number of datagrams.
    pub(crate) datagrams: u64,
}

impl Default for Trace {
    fn default() -> Trace {
        Trace { digest: 0xcbf2_9ce4_8422_2325, datagrams: 0 }
    }
}

impl Trace {
    /// A datagram of `bytes` enters the network at `now`.
    pub(crate) fn add(&mut self, now: Time, bytes: u64) {
        for word in [now.as_nanos(), bytes] {
            self.digest = (self.digest ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23);
        }
        self.datagrams += 1;
    }

    /// The digest, as hexadecimal digits.
    pub(crate) fn digest(&self) -> String {
        format!("{:016x}", self.digest)
    }
}
