//! Controlled delay: drops (or marks) packets at the head of the queue once the sojourn time has exceeded a target for
//! a whole interval.
//!
//! A packet is *too late* if the sojourn time has been at least `target` for a whole `interval` and more than one
//! packet's worth of bytes remains. The first such packet starts the dropping state, in which packets are dropped at
//! intervals of `interval / sqrt(count)` until a packet is in time.
//!
//! ```text
//!              too late: drop, next at now + interval
//! passing  ------------------------------------------>  dropping  --+ too late at `next`: drop,
//!          <------------------------------------------             | next += interval / sqrt(count)
//!                            in time                        <------+
//! ```
//!
//! **Source**: RFC 8289 sections 5.3 to 5.6 (with the appendix's pseudo-code). Marking follows section 5.1 of RFC 8290
//! (FQ-CoDel) and Linux: a mark counts as a drop, and the packet is sent.
//!
//! **Deviations**: the RFC's dequeue loops until it has a packet to send. Here the hop offers each head packet in turn
//! at the same instant, with the same decisions. The square root is computed in integers: isqrt(count * 2^32).

use super::limit::Limit;
use super::{Admission, Backlog, Queue, QueueSpec};
use crate::error::{check_limit, check_packet, check_positive_dur};
use crate::{ConfigError, Packet};
use fairweir_units::{Bytes, Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`Codel`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CodelConfig {
    /// Acceptable standing delay.
    #[serde(default = "default_target")]
    pub target: Dur,
    /// Time for which the delay may exceed `target`: of the order of the maximum round-trip time.
    #[serde(default = "default_interval")]
    pub interval: Dur,
    /// Never drop if at most this many bytes remain: one full packet.
    #[serde(default = "default_packet")]
    pub packet: Bytes,
    /// Mark ECN-capable packets rather than drop them.
    #[serde(default)]
    pub ecn: bool,
    /// Maximum bytes held; unlimited if absent.
    #[serde(default)]
    pub limit: Option<Bytes>,
    /// Maximum packets held; unlimited if absent.
    #[serde(default)]
    pub limit_packets: Option<u64>,
}

/// RFC 8289 section 4.4.
fn default_target() -> Dur {
    Dur::from_millis(5)
}
/// RFC 8289 section 4.3.
fn default_interval() -> Dur {
    Dur::from_millis(100)
}
fn default_packet() -> Bytes {
    Bytes(1500)
}

impl Default for CodelConfig {
    fn default() -> CodelConfig {
        CodelConfig {
            target: default_target(),
            interval: default_interval(),
            packet: default_packet(),
            ecn: false,
            limit: None,
            limit_packets: None,
        }
    }
}

impl CodelConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// Times or sizes that are zero or out of range.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive_dur("target", self.target)?;
        check_positive_dur("interval", self.interval)?;
        check_packet("packet", self.packet)?;
        check_limit(self.limit, self.limit_packets)
    }
}

impl QueueSpec for CodelConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        CodelConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Queue> {
        Box::new(Codel::new(self))
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "codel", "target": 5000000, "interval": 100000000, "ecn": false, "limit": 90000}"#]
    }
}

/// Controlled delay in integer arithmetic.
#[derive(Clone, Debug)]
pub struct Codel {
    config: CodelConfig,
    limit: Limit,
    /// Time at which the sojourn time will have been above the target for a whole interval; `None` while it is below.
    first_above: Option<Time>,
    is_dropping: bool,
    drop_next: Time,
    /// `drop_next` is still the time of the last drop; it advances only if the next head is also too late (the
    /// RFC's order of steps).
    must_advance: bool,
    /// Drops in this dropping state.
    count: u64,
    /// `count` when the state was last entered.
    last_count: u64,
}

impl Codel {
    /// The queue for `config`, which must be valid.
    pub fn new(config: &CodelConfig) -> Codel {
        Codel {
            config: config.clone(),
            limit: Limit::new(config.limit, config.limit_packets),
            first_above: None,
            is_dropping: false,
            drop_next: Time::ZERO,
            must_advance: false,
            count: 0,
            last_count: 0,
        }
    }

    /// RFC 8289 section 5.5, `dodequeue`.
    fn is_too_late(&mut self, now: Time, sojourn: Dur, backlog: Backlog) -> bool {
        if sojourn < self.config.target || backlog.bytes <= self.config.packet {
            self.first_above = None;
            return false;
        }
        match self.first_above {
            None => {
                self.first_above = Some(now + self.config.interval);
                false
            }
            Some(deadline) => now >= deadline,
        }
    }

    /// RFC 8289 section 5.6: `interval / sqrt(count)` after `at`.
    fn control_law(&self, at: Time) -> Time {
        at + interval_over_sqrt(self.config.interval, self.count)
    }

    fn enter_dropping(&mut self, now: Time) {
        self.is_dropping = true;
        // RFC 8289 section 5.4: continue near the previous drop rate if the last dropping state ended recently.
        let delta = self.count - self.last_count;
        let was_recent = now.since(self.drop_next) < self.config.interval * 16;
        self.count = if delta > 1 && was_recent { delta } else { 1 };
        self.drop_next = self.control_law(now);
        self.last_count = self.count;
        self.must_advance = false;
    }
}

/// `interval / sqrt(count)`, rounded down; the root is exact to 2^-16 for counts below 2^32.
fn interval_over_sqrt(interval: Dur, count: u64) -> Dur {
    let root = (count.clamp(1, u64::from(u32::MAX)) << 32).isqrt();
    Dur::from_nanos((u128::from(interval.as_nanos()) << 16).div_euclid(u128::from(root)) as u64)
}

impl Queue for Codel {
    fn admit(&mut self, _now: Time, packet: &Packet, backlog: Backlog) -> Admission {
        if self.limit.has_room(packet, backlog) { Admission::Accept } else { Admission::Drop }
    }

    fn decides_on_leave(&self) -> bool {
        true
    }

    fn leave(&mut self, now: Time, packet: &Packet, sojourn: Dur, backlog: Backlog) -> Admission {
        let is_too_late = self.is_too_late(now, sojourn, backlog);
        let refusal = if self.config.ecn && packet.ecn.is_capable() { Admission::Mark } else { Admission::Drop };
        if !self.is_dropping {
            if !is_too_late {
                return Admission::Accept;
            }
            self.enter_dropping(now);
            return refusal;
        }
        if !is_too_late {
            self.is_dropping = false;
            return Admission::Accept;
        }
        if self.must_advance {
            self.drop_next = self.control_law(self.drop_next);
            self.must_advance = false;
        }
        if now < self.drop_next {
            return Admission::Accept;
        }
        self.count += 1;
        if refusal == Admission::Mark {
            self.drop_next = self.control_law(self.drop_next);
        } else {
            self.must_advance = true;
        }
        refusal
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::queue::tests::packet;

    const LONG: Dur = Dur::from_millis(20);
    const BEHIND: Backlog = Backlog { bytes: Bytes(30_000), packets: 20 };

    /// Times in ms at which packets that waited for `LONG` are refused, with one packet per ms.
    fn refusals(queue: &mut Codel, packet: &Packet, from_ms: u64, to_ms: u64) -> Vec<u64> {
        (from_ms..to_ms)
            .filter(|&ms| {
                // As in the hop: after a drop the next head is offered immediately.
                let now = Time::from_nanos(ms * 1_000_000);
                let mut is_refused = false;
                loop {
                    match queue.leave(now, packet, LONG, BEHIND) {
                        Admission::Accept => break is_refused,
                        Admission::Mark => break true,
                        Admission::Drop => is_refused = true,
                    }
                }
            })
            .collect()
    }

    #[test]
    fn drops_close_up_with_the_square_root() {
        let mut queue = Codel::new(&CodelConfig::default());
        // First above at 0, so first drop at 100; then 100/sqrt(1), 100/sqrt(2), ... later, on the next ms.
        let at = refusals(&mut queue, &packet(1500), 0, 500);
        assert_eq!(at, [100, 200, 271, 329, 379, 424, 464]);
    }

    #[test]
    fn marks_are_timed_as_drops_are() {
        let config = CodelConfig { ecn: true, ..CodelConfig::default() };
        let marked = refusals(&mut Codel::new(&config), &Packet { ecn: Ecn::Ect0, ..packet(1500) }, 0, 500);
        let dropped = refusals(&mut Codel::new(&config), &packet(1500), 0, 500);
        assert_eq!(marked, dropped);
    }

    #[test]
    fn a_packet_in_time_ends_it_and_it_resumes_near_the_old_rate() {
        let mut queue = Codel::new(&CodelConfig::default());
        assert_eq!(refusals(&mut queue, &packet(1500), 0, 500).len(), 7);
        let in_time = queue.leave(Time::from_nanos(500_000_000), &packet(1500), Dur::from_millis(4), BEHIND);
        assert_eq!((in_time, queue.is_dropping), (Admission::Accept, false));
        // count was 7, entered at 1: resumes with 6, so the second drop comes 100/sqrt(6) = 40.8 ms after the first.
        let at = refusals(&mut queue, &packet(1500), 501, 650);
        assert_eq!(at, [601, 642]);
    }

    #[test]
    fn the_last_packets_are_never_dropped() {
        let mut queue = Codel::new(&CodelConfig::default());
        let one_behind = Backlog { bytes: Bytes(1500), packets: 1 };
        let all_pass = (0..1000u64).all(|ms| {
            queue.leave(Time::from_nanos(ms * 1_000_000), &packet(1500), LONG, one_behind) == Admission::Accept
        });
        assert!(all_pass);
    }

    #[test]
    fn the_integer_root_is_close_to_the_real_one() {
        for count in [1u64, 2, 3, 10, 1000, 123_456, 4_000_000_000] {
            let real = 1e8 / (count as f64).sqrt();
            let ours = interval_over_sqrt(Dur::from_millis(100), count).as_nanos() as f64;
            assert!((ours - real).abs() <= 1.0 + real * 2e-5, "count {count}: {ours} against {real}");
        }
    }
}
