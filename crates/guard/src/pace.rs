//! Maximum speed of a window's right edge: enforces rates below two segments per RTT, which a window alone cannot.
//!
//! A token bucket as a virtual clock (GCRA, ITU-T I.371): its only state is the time at which everything promised so
//! far is paid for at the rate. It lies at most `depth` in the past: more is not saved. With it at `paid` at the
//! beginning, over a time `t`
//!
//! ```text
//! promised newly <= rate * (depth + t)
//! ```
//!
//! but for windows rounded up to a unit: less than a unit for each ACK. These are paid for afterwards, as far as they
//! amount to a quantum at the present rate: a large promise from before the flow was limited is used up in this number
//! of ACKs that all of it would stop the flow for seconds, and `policy::Budgets` counts what is delivered anyway. The
//! edge moves by quanta, as every move that no data cause is an ACK of its own, and as fewer than two segments would
//! wait for the delayed ACK of their receiver.

use fairweir_units::{Dur, Time};

/// Minimum quantum as time. Shorter ones cost an ACK each, longer ones make longer bursts.
const QUANTUM: Dur = Dur::from_millis(2);
/// Maximum quanta promised at a time: for ACKs that come late on a busy machine; and data after a lost segment shows
/// the sender that it is lost, where a window of two segments waits for a retransmission timeout.
const MAX_QUANTA: u64 = 4;
/// Maximum credit for bursts, in addition to a full window.
const CREDIT: Dur = Dur::from_millis(10);
/// Maximum time for which a wait is computed from an earlier rate.
const LOOK_EVERY: Dur = Dur::from_millis(250);
const NANOS: u64 = 1_000_000_000;

/// The pace of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    bytes_per_s: u32,
    quantum: u32,
    room: u32,
    depth: Dur,
}

impl Pace {
    /// `mbps` (1e6 bit/s), with a window of `bytes` and two segments of `least` bytes together. `None` for a rate that
    /// is not a number or above 34 Gbit/s.
    pub(crate) fn new(mbps: f64, bytes: u64, least: u64) -> Option<Pace> {
        let bytes_per_s = (mbps * 1e6 / 8.0).max(1.0);
        // False also for NaN.
        let is_possible = mbps.is_finite() && bytes_per_s < f64::from(u32::MAX);
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        is_possible.then(|| {
            let bytes_per_s = bytes_per_s as u32;
            let quantum = (u64::from(bytes_per_s) * QUANTUM.as_nanos() / NANOS).max(least);
            let room = narrow(bytes.max(MAX_QUANTA * quantum));
            let depth = time(u64::from(room), bytes_per_s) + CREDIT;
            Pace { bytes_per_s, quantum: narrow(quantum), room, depth }
        })
    }

    /// Bytes per second.
    pub fn bytes_per_s(self) -> u32 {
        self.bytes_per_s
    }

    /// Minimum move of the edge, bytes, unless it reaches the target.
    pub fn quantum(self) -> u32 {
        self.quantum
    }

    /// The time that pays for a quantum.
    pub(crate) fn between_quanta(self) -> Dur {
        self.time_for(u64::from(self.quantum))
    }

    /// Maximum bytes promised at a time.
    pub fn room(self) -> u64 {
        u64::from(self.room)
    }

    /// Maximum credit as time.
    pub fn depth(self) -> Dur {
        self.depth
    }

    /// Windows have units of 2^scale bytes; a quantum is at least one unit.
    pub(crate) fn quantum_of(self, scale: u8) -> u64 {
        u64::from(self.quantum).max(1 << scale)
    }

    /// The time that pays for `bytes`, rounded up.
    pub(crate) fn time_for(self, bytes: u64) -> Dur {
        time(bytes, self.bytes_per_s)
    }

    /// Time when the pace has paid for all promised bytes, limited to the range that counts at `now`, if it was due at
    /// `paid`.
    pub(crate) fn settled(self, paid: Time, now: Time, scale: u8) -> Time {
        let depth = self.depth.max(self.time_for(2 * self.quantum_of(scale)));
        let horizon = Time::from_nanos(now.as_nanos().saturating_sub(depth.as_nanos()));
        paid.max(horizon).min(now + self.time_for(self.quantum_of(scale)))
    }

    /// Until when a sender waits for `bytes` more, all before being paid for at `paid`; or for another look, as the
    /// rate may be another one by then.
    pub(crate) fn wait_for(self, bytes: u64, paid: Time, now: Time) -> Time {
        (paid + self.time_for(bytes)).min(now + LOOK_EVERY)
    }

    /// How many of `missing` bytes may be promised, all before being paid for until `paid`, which is settled.
    pub(crate) fn grant(self, missing: u64, paid: Time, now: Time, scale: u8) -> u64 {
        let earned = now.since(paid).as_nanos() * u64::from(self.bytes_per_s) / NANOS;
        match earned {
            _ if earned >= missing => missing,
            _ if earned >= self.quantum_of(scale) => earned,
            _ => 0,
        }
    }
}

fn time(bytes: u64, bytes_per_s: u32) -> Dur {
    Dur::from_nanos((bytes * NANOS).div_ceil(u64::from(bytes_per_s)))
}
