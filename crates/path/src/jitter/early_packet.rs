//! A constant delay for all packets but a chosen one, which corrupts the min RTT of a controller that remembers it.
//!
//! **Source**: the starvation paper, section 5.1 (Copa): one packet with an RTT of 59 ms where all others have 60 ms.
//!
//! The element never reorders, so a packet can be early only if all packets before it have left. If it is chosen by
//! time, they have: held packets leave by that time, each is held less than the previous one, and the first packet to
//! arrive from then on is early. If it is chosen by number, a packet is early only as far as its predecessor allows.
//! Choose the first packet (number 0) or one after a pause.

use crate::error::{check_dur, check_positive_dur};
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`EarlyPacket`]: one of `at` and `packet`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EarlyPacketConfig {
    /// Delay of all packets that are not chosen.
    pub offset: Dur,
    /// Difference between `offset` and the delay of the chosen packet.
    #[serde(default)]
    pub early: Dur,
    /// The first packet that arrives from this time on is early.
    #[serde(default)]
    pub at: Option<Time>,
    /// Period of repetition.
    #[serde(default)]
    pub every: Option<Dur>,
    /// The packet with this number is early, counting arrivals from 0.
    #[serde(default)]
    pub packet: Option<u64>,
    /// Period of repetition in packets.
    #[serde(default)]
    pub every_packets: Option<u64>,
}

impl EarlyPacketConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// Neither or both choices, a repetition of zero or of the other choice, `early` not below `offset`.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive_dur("offset", self.offset)?;
        if self.early >= self.offset {
            return Err(ConfigError::new(
                "early",
                format!("must be shorter than the offset ({}): `{}`", self.offset, self.early),
                "leave it out for a packet that is not held at all",
            ));
        }
        const CHOICE: &str = "choose by time (`at`, `every`) or by number (`packet`, `every_packets`)";
        match (self.at, self.packet) {
            (None, None) => return Err(ConfigError::new("at", "is missing: no packet is chosen", CHOICE)),
            (Some(_), Some(_)) => return Err(ConfigError::new("packet", "cannot be combined with `at`", CHOICE)),
            (Some(at), None) => check_dur("at", at.since(Time::ZERO))?,
            (None, Some(_)) => {}
        }
        if self.every.is_some() && self.at.is_none() {
            return Err(ConfigError::new("every", "repeats a choice by time, but `at` is missing", CHOICE));
        }
        if self.every_packets.is_some() && self.packet.is_none() {
            return Err(ConfigError::new(
                "every_packets",
                "repeats a choice by number, but `packet` is missing",
                CHOICE,
            ));
        }
        if self.every_packets == Some(0) {
            return Err(ConfigError::new("every_packets", "must be positive: `0`", "leave it out for a single packet"));
        }
        self.every.map_or(Ok(()), |every| check_positive_dur("every", every))
    }
}

impl ElementSpec for EarlyPacketConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        EarlyPacketConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(EarlyPacket::new(self))
    }

    fn longest_hold(&self) -> Option<Dur> {
        Some(self.offset)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "early-packet", "offset": 5000000, "early": 1000000, "at": 10000000, "every": 50000000}"#]
    }
}

/// Delays all packets except the chosen ones.
#[derive(Clone, Debug)]
pub struct EarlyPacket {
    offset: Dur,
    early: Dur,
    /// The first packet from this time on is early; `Time::NEVER` if packets are chosen by number.
    next_at: Time,
    every: Option<Dur>,
    /// Number of packets that pass before the early one; `None` if packets are chosen by time.
    before_next: Option<u64>,
    every_packets: Option<u64>,
    last_release: Time,
}

impl EarlyPacket {
    /// The element for `config`, which must be valid.
    pub fn new(config: &EarlyPacketConfig) -> EarlyPacket {
        EarlyPacket {
            offset: config.offset,
            early: config.early,
            next_at: config.at.unwrap_or(Time::NEVER),
            every: config.every,
            before_next: config.packet,
            every_packets: config.every_packets,
            last_release: Time::ZERO,
        }
    }

    fn is_chosen_by_time(&mut self, now: Time) -> bool {
        if now < self.next_at {
            return false;
        }
        self.next_at = self.every.map_or(Time::NEVER, |every| {
            let repetitions = now.since(self.next_at).as_nanos() / every.as_nanos() + 1;
            self.next_at + every * repetitions
        });
        true
    }

    fn is_chosen_by_number(&mut self) -> bool {
        match self.before_next {
            Some(0) => {
                self.before_next = self.every_packets.map(|n| n - 1);
                true
            }
            Some(n) => {
                self.before_next = Some(n - 1);
                false
            }
            None => false,
        }
    }
}

impl Element for EarlyPacket {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        let is_early = self.is_chosen_by_time(now) | self.is_chosen_by_number();
        let release = if is_early { now + self.early } else { (now + self.offset).min(self.next_at + self.early) };
        self.last_release = self.last_release.max(release);
        Verdict::Deliver(self.last_release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    fn holds(config: &EarlyPacketConfig, arrivals_us: &[u64]) -> Vec<u64> {
        config.validate().unwrap();
        let mut element = EarlyPacket::new(config);
        let hold = |&us: &u64| {
            let now = Time::from_nanos(us * 1000);
            match element.arrive(now, &packet(1500)) {
                Verdict::Deliver(at) => at.since(now).as_micros(),
                verdict => panic!("{verdict:?}"),
            }
        };
        arrivals_us.iter().map(hold).collect()
    }

    const OFFSET: Dur = Dur::from_millis(1);

    #[test]
    fn chosen_by_time_one_packet_is_not_held_even_in_dense_traffic() {
        let config = EarlyPacketConfig { offset: OFFSET, at: Some(Time::from_nanos(5_000_000)), ..Default::default() };
        let arrivals = [3_000, 4_200, 4_500, 4_900, 5_100, 5_200, 9_000];
        assert_eq!(holds(&config, &arrivals), [1000, 800, 500, 100, 0, 1000, 1000]);
    }

    #[test]
    fn the_choice_by_time_repeats() {
        let config = EarlyPacketConfig {
            offset: OFFSET,
            early: Dur::from_micros(10),
            at: Some(Time::ZERO),
            every: Some(Dur::from_millis(10)),
            ..Default::default()
        };
        assert_eq!(
            holds(&config, &[100, 200, 9_999, 10_000, 10_001, 45_000, 46_000]),
            [10, 1000, 11, 10, 1000, 10, 1000]
        );
    }

    #[test]
    fn chosen_by_number_it_does_not_overtake() {
        let config =
            EarlyPacketConfig { offset: OFFSET, packet: Some(0), every_packets: Some(3), ..Default::default() };
        assert_eq!(holds(&config, &[0, 100, 200, 300, 5_000, 10_000, 15_000]), [0, 1000, 1000, 900, 1000, 1000, 0]);
    }

    #[test]
    fn refusals_name_the_key() {
        let refusal = |config: EarlyPacketConfig| config.validate().unwrap_err().key;
        let by_time = EarlyPacketConfig { offset: OFFSET, at: Some(Time::ZERO), ..Default::default() };
        assert_eq!(refusal(EarlyPacketConfig { at: None, ..by_time.clone() }), "at");
        assert_eq!(refusal(EarlyPacketConfig { packet: Some(1), ..by_time.clone() }), "packet");
        assert_eq!(refusal(EarlyPacketConfig { early: OFFSET, ..by_time.clone() }), "early");
        assert_eq!(refusal(EarlyPacketConfig { every: Some(Dur::ZERO), ..by_time.clone() }), "every");
        assert_eq!(refusal(EarlyPacketConfig { every_packets: Some(1), ..by_time }), "every_packets");
    }
}
