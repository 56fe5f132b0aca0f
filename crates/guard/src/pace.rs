//! Maximum rate at which a window's right edge advances. It enforces rates below two segments per RTT, which a window
//! alone cannot.
//!
//! The pace is a token bucket as a virtual clock (GCRA, ITU-T I.371). Its only state is `paid`, the time at which the
//! rate covers all bytes promised so far. `paid` is at most `depth` in the past, so unused credit is bounded. Over a
//! time `t`
//!
//! ```text
//! promised newly <= rate * (depth + t)
//! ```
//!
//! except for windows rounded up to a unit, by less than a unit for each ACK. These excess bytes are charged
//! afterwards, up to the time of a quantum at the present rate. A large promise made before the flow was limited takes
//! few ACKs to use up; charging all of it would stop the flow for seconds, and `policy::Budgets` counts the delivered
//! bytes anyway. The edge moves in quanta for two reasons: each move that no data triggers needs a separate ACK, and
//! with fewer than two segments the sender would wait for its receiver's delayed ACK.

use fairweir_units::{Dur, Time};

/// Minimum quantum, as time at the rate. Shorter quanta cost more ACKs; longer quanta make longer bursts.
const QUANTUM: Dur = Dur::from_millis(2);
/// Maximum number of quanta promised at a time. It allows for ACKs that come late on a busy machine. In addition, data
/// after a lost segment shows the loss to the sender, which with a window of two segments would wait for a
/// retransmission timeout.
const MAX_QUANTA: u64 = 4;
/// Maximum credit for bursts, as time at the rate, in addition to a full window.
const CREDIT: Dur = Dur::from_millis(10);
/// Maximum time for which a wait computed from the present rate is valid.
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
    /// `mbps`: rate in 1e6 bit/s; `bytes`: the window; `least`: two segments, bytes. `None` if the rate is not a number
    /// or is above 34 Gbit/s.
    pub(crate) fn new(mbps: f64, bytes: u64, least: u64) -> Option<Pace> {
        let bytes_per_s = (mbps * 1e6 / 8.0).max(1.0);
        // This is false also for NaN.
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

    /// Returns the rate, bytes per second.
    pub fn bytes_per_s(self) -> u32 {
        self.bytes_per_s
    }

    /// Returns the minimum move of the edge, bytes, unless the move reaches the target.
    pub fn quantum(self) -> u32 {
        self.quantum
    }

    /// Returns the time in which the rate covers a quantum.
    pub(crate) fn between_quanta(self) -> Dur {
        self.time_for(u64::from(self.quantum))
    }

    /// Returns the maximum number of bytes promised at a time.
    pub fn room(self) -> u64 {
        u64::from(self.room)
    }

    /// Returns the maximum credit, as time.
    pub fn depth(self) -> Dur {
        self.depth
    }

    /// Returns the quantum for windows in units of 2^scale bytes; it is at least one unit.
    pub(crate) fn quantum_of(self, scale: u8) -> u64 {
        u64::from(self.quantum).max(1 << scale)
    }

    /// Returns the time in which the rate covers `bytes`, rounded up.
    pub(crate) fn time_for(self, bytes: u64) -> Dur {
        time(bytes, self.bytes_per_s)
    }

    /// Returns the time at which the rate covers all promised bytes, starting from `paid`, clamped to the range that is
    /// valid at `now`.
    pub(crate) fn settled(self, paid: Time, now: Time, scale: u8) -> Time {
        let depth = self.depth.max(self.time_for(2 * self.quantum_of(scale)));
        let horizon = Time::from_nanos(now.as_nanos().saturating_sub(depth.as_nanos()));
        paid.max(horizon).min(now + self.time_for(self.quantum_of(scale)))
    }

    /// Returns the time until which a sender waits for `bytes` more, if earlier bytes are covered at `paid`; or an
    /// earlier time for the next check, because the rate may have changed by then.
    pub(crate) fn wait_for(self, bytes: u64, paid: Time, now: Time) -> Time {
        (paid + self.time_for(bytes)).min(now + LOOK_EVERY)
    }

    /// Returns how many of `missing` bytes may be promised, if earlier bytes are covered at `paid`, which must be
    /// settled.
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
