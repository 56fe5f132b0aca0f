//! Aggregation with a random hold at a fixed mean rate.
//!
//! **Source**: the thesis, appendix B.6: "We sample agg_delay in [0, D) uniformly randomly. We serve a batch of C
//! agg_delay bytes after waiting for agg_delay seconds, ensuring an average bandwidth of C. We sample agg_delay after
//! every batch."
//!
//! Unused bytes of a batch are lost. Behind a link of rate `C` the element therefore adds less than `D`, and one packet
//! may wait for a second batch; with more traffic the element itself is the bottleneck.

use crate::chance::uniform_below;
use crate::error::{check_packet, check_positive_dur, check_rate};
use crate::opportunity::{Opportunity, OpportunityServer, Schedule};
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`RandomAggregation`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RandomAggregationConfig {
    /// Upper bound on the wait between batches; at least a microsecond.
    pub max: Dur,
    /// Mean rate of batches, equal to the bottleneck's; at least a byte in `max`.
    pub rate: Rate,
    /// Bytes counted per packet: on the return path, the data that an ACK acknowledges. Default: the packet's own size.
    #[serde(default)]
    pub counts_as: Option<Bytes>,
}

impl RandomAggregationConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// A bound, rate or size that is zero, out of range, or too small for a batch to carry a packet.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive_dur("max", self.max)?;
        check_rate("rate", self.rate)?;
        if self.max < Dur::from_micros(1) {
            return Err(ConfigError::new(
                "max",
                format!("must be at least a microsecond: `{}`", self.max),
                "shorter waits have no effect on packets",
            ));
        }
        if self.rate * self.max == Bytes::ZERO {
            return Err(ConfigError::new(
                "rate",
                format!("is too low for a byte to pass in {}: `{}`", self.max, self.rate),
                "use the bottleneck's rate",
            ));
        }
        self.counts_as.map_or(Ok(()), |bytes| check_packet("counts_as", bytes))
    }
}

impl ElementSpec for RandomAggregationConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        RandomAggregationConfig::validate(self)
    }

    fn build(&self, rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(RandomAggregation::new(self, rng))
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "random-aggregation", "max": 10000000, "rate": 3000000}"#]
    }
}

/// Maximum number of waits drawn after an idle time.
const REMEMBERED_WAITS: u64 = 64;

/// Batches at random instants, each with the bytes that the link serves in the wait before it.
#[derive(Clone, Debug)]
struct Batches {
    max: Dur,
    rate: u64,
    last: Time,
    /// Fraction of a byte that is left from earlier batches, 10^-9 bytes.
    carry: u128,
    rng: ChaCha8Rng,
}

impl Schedule for Batches {
    fn next_from(&mut self, time: Time) -> Opportunity {
        // After a long idle time only the most recent waits matter.
        self.last = self.last.max(time - self.max * REMEMBERED_WAITS);
        loop {
            let wait = uniform_below(self.max, &mut self.rng);
            self.last += wait;
            let work = u128::from(self.rate) * u128::from(wait.as_nanos()) + self.carry;
            self.carry = work % u128::from(NANOS_PER_SEC);
            if self.last >= time {
                return Opportunity { at: self.last, bytes: (work / u128::from(NANOS_PER_SEC)) as u64 };
            }
        }
    }
}

/// Lets packets pass in batches at random instants.
#[derive(Clone, Debug)]
pub struct RandomAggregation {
    server: OpportunityServer<Batches>,
    counts_as: Option<Bytes>,
}

impl RandomAggregation {
    /// The element for `config`, which must be valid.
    pub fn new(config: &RandomAggregationConfig, rng: ChaCha8Rng) -> RandomAggregation {
        let rate = config.rate.bytes_per_sec();
        let batches = Batches { max: config.max, rate, last: Time::ZERO, carry: 0, rng };
        RandomAggregation { server: OpportunityServer::new(batches), counts_as: config.counts_as }
    }
}

impl Element for RandomAggregation {
    fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict {
        Verdict::Deliver(self.server.depart(now, self.counts_as.unwrap_or(packet.bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;
    use rand::SeedableRng;

    const MAX: Dur = Dur::from_millis(40);

    fn element(mbps: u64, counts_as: Option<Bytes>) -> RandomAggregation {
        let config = RandomAggregationConfig { max: MAX, rate: Rate::from_mbps(mbps), counts_as };
        config.validate().unwrap();
        RandomAggregation::new(&config, ChaCha8Rng::seed_from_u64(5))
    }

    fn release(element: &mut RandomAggregation, now: Time, bytes: u64) -> Time {
        match element.arrive(now, &packet(bytes)) {
            Verdict::Deliver(at) => at,
            verdict => panic!("{verdict:?}"),
        }
    }

    #[test]
    fn a_million_packets_leave_at_the_rate() {
        let mut element = element(7, None);
        let mut last = Time::ZERO;
        for _ in 0..1_000_000 {
            last = release(&mut element, Time::ZERO, 1500);
        }
        // The batch with the last packet left less than MAX after the packet's data was due.
        let exact = 1_500_000_000u64 * 8_000 / 7;
        assert!((exact..exact + MAX.as_nanos()).contains(&last.as_nanos()));
    }

    #[test]
    fn a_lone_packet_is_held_for_a_third_of_the_longest_wait_on_average() {
        let mut element = element(100, None);
        let held = |second: u64| {
            let now = Time::from_nanos(second * 1_000_000_000);
            release(&mut element, now, 52).since(now).as_nanos()
        };
        let mean = (1..=100_000).map(held).sum::<u64>() / 100_000;
        // A packet arrives during a wait of length x with density 2x/D^2 and is held for x/2 on average: D/3 = 13.33
        // ms.
        assert!((13_200_000..=13_470_000).contains(&mean), "{mean} ns");
    }

    #[test]
    fn behind_its_own_link_it_holds_for_less_than_two_waits() {
        let mut element = element(12, Some(Bytes(1500)));
        let mut held = 0;
        for ms in 1..=100_000 {
            let now = Time::from_nanos(ms * 1_000_000);
            let hold = release(&mut element, now, 52).since(now);
            assert!(hold < MAX * 2);
            held += hold.as_nanos();
        }
        // A third of D, and slightly more because a few packets wait for a second batch.
        assert!((13_000_000..=16_000_000).contains(&(held / 100_000)), "{} ns", held / 100_000);
    }
}
