//! Which mechanisms of Linux's TCP the simulated hosts have, beyond those that every flow has (SACK, RACK, RTO).

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A mechanism of Linux's TCP that a scenario can switch off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[repr(u16)]
pub enum Mechanism {
    /// A SYN and its answer before the data; a lost SYN is sent again.
    Handshake = 1 << 0,
    /// Tail loss probes (RFC 8985, section 7).
    TailLossProbe = 1 << 1,
    /// A smaller cwnd after an idle period (RFC 2861).
    IdleRestart = 1 << 2,
    /// Bursts of about a millisecond of the pacing rate (TSO autosizing).
    Autosizing = 1 << 3,
    /// Immediate ACKs for some packets, if the receiver otherwise delays ACKs.
    QuickAcks = 1 << 4,
    /// cwnd and ssthresh of before a retransmission timeout, if it was spurious (Eifel, F-RTO).
    Undo = 1 << 5,
    /// Receive windows that follow what the application reads; the kernel world has this mechanism too.
    Autotuning = 1 << 6,
    /// ACKs for packets out of order wait for a moment, if the receiver otherwise delays ACKs.
    SackCompression = 1 << 7,
    /// Paced packets that leave late are followed sooner.
    PacingCredit = 1 << 8,
    /// RTT samples of retransmitted data by timestamps of whole milliseconds.
    Timestamps = 1 << 9,
    /// The kernel's rules of when packets are lost, in which order they are sent again, when the timer restarts and when
    /// ssthresh is reduced.
    LossRecovery = 1 << 10,
    /// The kernel's smoothed RTT and its deviation, in place of RFC 6298's.
    RttEstimator = 1 << 11,
    /// Timers that expire at jiffies of 4 ms.
    Jiffies = 1 << 12,
}

impl Mechanism {
    /// All mechanisms, in the order in which sets print them.
    pub const ALL: [Mechanism; 13] = [
        Mechanism::Handshake,
        Mechanism::TailLossProbe,
        Mechanism::IdleRestart,
        Mechanism::Autosizing,
        Mechanism::QuickAcks,
        Mechanism::Undo,
        Mechanism::Autotuning,
        Mechanism::SackCompression,
        Mechanism::PacingCredit,
        Mechanism::Timestamps,
        Mechanism::LossRecovery,
        Mechanism::RttEstimator,
        Mechanism::Jiffies,
    ];
}

/// The mechanisms of a flow's hosts; serialised as a list of names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Transport(u16);

impl Transport {
    /// Returns whether the hosts have `mechanism`.
    #[inline]
    pub fn has(self, mechanism: Mechanism) -> bool {
        self.0 & mechanism as u16 != 0
    }
}

impl FromIterator<Mechanism> for Transport {
    fn from_iter<I: IntoIterator<Item = Mechanism>>(mechanisms: I) -> Transport {
        Transport(mechanisms.into_iter().fold(0, |set, mechanism| set | mechanism as u16))
    }
}

impl Serialize for Transport {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(Mechanism::ALL.into_iter().filter(|&mechanism| self.has(mechanism)))
    }
}

impl<'de> Deserialize<'de> for Transport {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Transport, D::Error> {
        Ok(Vec::<Mechanism>::deserialize(deserializer)?.into_iter().collect())
    }
}
