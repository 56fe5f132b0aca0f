//! Random early detection.
//!
//! If the average backlog is between `min_threshold` and `max_threshold`, packets are marked (or dropped, if they are
//! not ECN-capable) with a probability that increases from 0 to `max_per_billion`. Above `max_threshold` all packets
//! are. Let `q` be the backlog at a packet's arrival and `w` the weight:
//!
//! - busy: `avg <- avg + w (q - avg)`; after `m` packet times of idleness: `avg <- (1 - w)^m avg`
//! - `p_b = max_p (avg - min) / (max - min)`; a packet is marked once `count p_b >= R`. `count` is the number of
//!   packets since the last mark. `R` is a random number in [0, 1), drawn after each mark; this distributes the
//!   distance between marks uniformly over `[1, 1/p_b]`.
//!
//! **Source**: Floyd and Jacobson, "Random Early Detection Gateways for Congestion Avoidance", 1993, section 4 and the
//! efficient algorithm of section 11; gentle: Floyd, "Recommendation on using the gentle_ variant of RED", 2000.
//!
//! **Deviations**: thresholds and the average are in bytes, and the probability does not depend on a packet's size.
//! Above the thresholds ECN-capable packets are marked, as Linux does, unless `hard_drop` selects RFC 3168's drop.

use super::limit::Limit;
use super::{Admission, Backlog, Queue, QueueSpec};
use crate::error::{check_dur, check_limit, check_positive_bytes, check_probability};
use crate::{ConfigError, Packet};
use fairweir_units::{Bytes, Dur, Time};
use rand::Rng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`Red`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RedConfig {
    /// No packet is marked while the average is below this.
    pub min_threshold: Bytes,
    /// All packets are marked while the average is above this (twice this, if gentle).
    pub max_threshold: Bytes,
    /// Marking probability at `max_threshold`, in units of 10^-9.
    #[serde(default = "default_max_per_billion")]
    pub max_per_billion: u32,
    /// Weight of the present backlog in the average, in units of 10^-9.
    #[serde(default = "default_weight_per_billion")]
    pub weight_per_billion: u32,
    /// A typical packet's transmission time, by which the average decays while the queue is empty; zero: at once.
    #[serde(default)]
    pub packet_time: Dur,
    /// Whether the probability increases linearly from `max_per_billion` to 1 between `max_threshold` and twice that,
    /// rather than jumping to 1.
    #[serde(default)]
    pub gentle: bool,
    /// Mark ECN-capable packets rather than drop them.
    #[serde(default)]
    pub ecn: bool,
    /// Drop packets rather than mark them where all packets would be marked.
    #[serde(default)]
    pub hard_drop: bool,
    /// Maximum bytes held; unlimited if absent.
    #[serde(default)]
    pub limit: Option<Bytes>,
    /// Maximum packets held; unlimited if absent.
    #[serde(default)]
    pub limit_packets: Option<u64>,
}

/// Floyd 1997, "RED: Discussions of Setting Parameters": 0.1.
fn default_max_per_billion() -> u32 {
    100_000_000
}
/// The 1993 paper, section 6.1: 0.002.
fn default_weight_per_billion() -> u32 {
    2_000_000
}

const BILLION: u32 = 1_000_000_000;

impl RedConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// Thresholds out of order or out of range, probabilities above 1, a weight or a limit of zero.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_positive_bytes("max_threshold", self.max_threshold)?;
        if self.min_threshold > self.max_threshold {
            return Err(ConfigError::new(
                "min_threshold",
                format!("must not exceed max_threshold ({}): `{}`", self.max_threshold, self.min_threshold),
                "a third of max_threshold is usual",
            ));
        }
        check_probability("max_per_billion", self.max_per_billion)?;
        check_probability("weight_per_billion", self.weight_per_billion)?;
        if self.weight_per_billion == 0 {
            return Err(ConfigError::new(
                "weight_per_billion",
                "must be positive: `0`",
                "a weight of 0.002 is 2000000; 1000000000 takes the present backlog instead of an average",
            ));
        }
        check_dur("packet_time", self.packet_time)?;
        check_limit(self.limit, self.limit_packets)
    }
}

impl QueueSpec for RedConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        RedConfig::validate(self)
    }

    fn build(&self, rng: ChaCha8Rng) -> Box<dyn Queue> {
        Box::new(Red::new(self, rng))
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "red", "min_threshold": 15000, "max_threshold": 45000, "limit": 90000, "ecn": true}"#]
    }
}

/// The average is stored in units of 1/65536 bytes.
const AVERAGE_BITS: u32 = 16;
/// Probabilities and random numbers count in 2^-32.
const ONE: u64 = 1 << 32;

/// Decision for an arriving packet from the average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Region {
    Below,
    /// Marked with this probability, in 2^-32.
    Between(u64),
    Above,
}

/// Random early detection in integer arithmetic.
#[derive(Clone, Debug)]
pub struct Red {
    config: RedConfig,
    limit: Limit,
    rng: ChaCha8Rng,
    /// In 2^-16 bytes.
    average: u64,
    /// Packets since the last mark or drop while the average was between the thresholds; `None` outside.
    count: Option<u64>,
    /// Floyd's R, in 2^-32.
    spacing: u64,
}

impl Red {
    /// The queue for `config`, which must be valid.
    pub fn new(config: &RedConfig, rng: ChaCha8Rng) -> Red {
        let limit = Limit::new(config.limit, config.limit_packets);
        Red { config: config.clone(), limit, rng, average: 0, count: None, spacing: 0 }
    }

    fn region(&self) -> Region {
        let fixed = |bytes: Bytes| u128::from(bytes.0) << AVERAGE_BITS;
        let (min, max) = (fixed(self.config.min_threshold), fixed(self.config.max_threshold));
        let average = u128::from(self.average);
        let at_max = u128::from(self.config.max_per_billion) * u128::from(ONE) / u128::from(BILLION);
        let probability = if average < min {
            return Region::Below;
        } else if average < max {
            at_max * (average - min) / (max - min)
        } else if self.config.gentle && average < 2 * max {
            at_max + (u128::from(ONE) - at_max) * (average - max) / max
        } else {
            return Region::Above;
        };
        Region::Between(probability as u64)
    }

    fn is_chosen(&mut self, probability: u64) -> bool {
        let count = match self.count {
            Some(count) => count + 1,
            None => {
                self.draw_spacing();
                0
            }
        };
        let is_chosen = count > 0 && count.saturating_mul(probability) >= self.spacing && probability > 0;
        if is_chosen {
            self.draw_spacing();
        }
        self.count = Some(if is_chosen { 0 } else { count });
        is_chosen
    }

    fn draw_spacing(&mut self) {
        self.spacing = u64::from(self.rng.next_u32());
    }
}

/// `(1 - weight)^n` in 2^-32, by repeated squaring.
fn decay(weight_per_billion: u32, mut n: u64) -> u64 {
    let mut base = u64::from(BILLION - weight_per_billion) * ONE / u64::from(BILLION);
    let mut product = ONE;
    while n > 0 && product > 0 {
        if n & 1 == 1 {
            product = ((u128::from(product) * u128::from(base)) >> 32) as u64;
        }
        base = ((u128::from(base) * u128::from(base)) >> 32) as u64;
        n >>= 1;
    }
    product
}

impl Queue for Red {
    fn admit(&mut self, _now: Time, packet: &Packet, backlog: Backlog) -> Admission {
        if backlog.packets > 0 {
            let found = i128::from(backlog.bytes.0) << AVERAGE_BITS;
            let average = i128::from(self.average);
            let step = (found - average) * i128::from(self.config.weight_per_billion) / i128::from(BILLION);
            self.average = (average + step) as u64;
        }
        if !self.limit.has_room(packet, backlog) {
            // Floyd's `count` restarts at every drop.
            self.count = self.count.map(|_| 0);
            return Admission::Drop;
        }
        let can_mark = self.config.ecn && packet.ecn.is_capable();
        let (is_chosen, may_mark) = match self.region() {
            Region::Below => {
                self.count = None;
                (false, false)
            }
            Region::Between(probability) => (self.is_chosen(probability), can_mark),
            Region::Above => {
                self.count = Some(0);
                (true, can_mark && !self.config.hard_drop)
            }
        };
        match (is_chosen, may_mark) {
            (false, _) => Admission::Accept,
            (true, true) => Admission::Mark,
            (true, false) => Admission::Drop,
        }
    }

    fn on_idle(&mut self, idle: Dur) {
        let packets = idle.as_nanos().checked_div(self.config.packet_time.as_nanos()).unwrap_or(u64::MAX);
        let factor = decay(self.config.weight_per_billion, packets);
        self.average = ((u128::from(self.average) * u128::from(factor)) >> 32) as u64;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Ecn;
    use crate::queue::tests::packet;
    use rand::SeedableRng;

    fn config() -> RedConfig {
        RedConfig {
            min_threshold: Bytes(10_000),
            max_threshold: Bytes(30_000),
            max_per_billion: 100_000_000,
            weight_per_billion: BILLION,
            packet_time: Dur::from_millis(1),
            gentle: false,
            ecn: true,
            hard_drop: false,
            limit: None,
            limit_packets: None,
        }
    }

    fn red(config: &RedConfig) -> Red {
        config.validate().unwrap();
        Red::new(config, ChaCha8Rng::seed_from_u64(1))
    }

    /// With weight 1 the average is the backlog; returns the numbers of the marked packets.
    fn marks(queue: &mut Red, backlog: u64, packets: u64) -> Vec<u64> {
        let packet = Packet { ecn: Ecn::Ect0, ..packet(1000) };
        let backlog = Backlog { bytes: Bytes(backlog), packets: backlog / 1000 };
        (0..packets).filter(|_| queue.admit(Time::ZERO, &packet, backlog) == Admission::Mark).collect()
    }

    #[test]
    fn marks_with_the_probability_of_the_average_and_spaces_them() {
        let mut queue = red(&config());
        assert_eq!(marks(&mut queue, 9_999, 1000).len(), 0);
        assert_eq!(marks(&mut queue, 30_000, 1000).len(), 1000);
        // p_b = 0.05: marks uniform over 1..=20 packets apart, 10.5 on average.
        let at = marks(&mut queue, 20_000, 105_000);
        assert!((9_800..=10_200).contains(&at.len()), "{} marks", at.len());
        assert!(at.windows(2).all(|w| (1..=20).contains(&(w[1] - w[0]))));
    }

    #[test]
    fn gentle_rises_to_certainty_at_twice_the_threshold() {
        let mut queue = red(&RedConfig { gentle: true, ..config() });
        // Half way p_b = 0.55: one packet apart with probability 0.55, else two.
        let n = marks(&mut queue, 45_000, 100_000).len();
        assert!((68_000..=70_000).contains(&n), "{n} marks");
        assert_eq!(marks(&mut queue, 60_000, 1000).len(), 1000);
    }

    #[test]
    fn packets_that_cannot_be_marked_are_dropped() {
        let above = Backlog { bytes: Bytes(40_000), packets: 40 };
        let admit = |config: &RedConfig, ecn| red(config).admit(Time::ZERO, &Packet { ecn, ..packet(1000) }, above);
        assert_eq!(admit(&config(), Ecn::Ect0), Admission::Mark);
        assert_eq!(admit(&config(), Ecn::NotEct), Admission::Drop);
        assert_eq!(admit(&RedConfig { ecn: false, ..config() }, Ecn::Ect0), Admission::Drop);
        assert_eq!(admit(&RedConfig { hard_drop: true, ..config() }, Ecn::Ect0), Admission::Drop);
    }

    #[test]
    fn the_average_follows_the_backlog_by_the_weight() {
        let mut queue = red(&RedConfig { weight_per_billion: 2_000_000, ..config() });
        for _ in 0..500 {
            queue.admit(Time::ZERO, &packet(1000), Backlog { bytes: Bytes(8_000), packets: 8 });
        }
        // 8000 (1 - 0.998^500) = 5059.9
        assert_eq!(queue.average >> AVERAGE_BITS, 5059);
    }

    #[test]
    fn idleness_counts_as_so_many_small_packets_on_an_empty_queue() {
        let mut queue = red(&RedConfig { weight_per_billion: 2_000_000, ..config() });
        queue.average = 20_000 << AVERAGE_BITS;
        queue.on_idle(Dur::from_millis(500));
        // 20000 x 0.998^500 = 7350.2
        assert_eq!(queue.average >> AVERAGE_BITS, 7350);
        queue.on_idle(Dur::from_secs(3600));
        assert_eq!(queue.average, 0);
    }

    /// The maximum number of packets between two marks (p_b = 0.05) when `disturb` is applied in between.
    fn longest_gap(disturb: impl Fn(&mut Red)) -> u64 {
        let mut queue = red(&RedConfig { limit_packets: Some(25), ..config() });
        let mut gap = || {
            let after_mark = marks(&mut queue, 20_000, 12).last().map_or(12, |last| 11 - last);
            disturb(&mut queue);
            after_mark + marks(&mut queue, 20_000, 12).first().copied().unwrap_or(12)
        };
        (0..1000).map(|_| gap()).max().unwrap_or(0)
    }

    #[test]
    fn the_count_restarts_after_a_drop_and_below_the_thresholds() {
        assert!(longest_gap(|_| ()) < 20);
        let full = Backlog { bytes: Bytes(20_000), packets: 25 };
        let dropped = longest_gap(|queue| {
            assert_eq!(queue.admit(Time::ZERO, &packet(1000), full), Admission::Drop);
        });
        assert!(dropped >= 20, "{dropped} packets unmarked around a drop");
        let below = longest_gap(|queue| {
            marks(queue, 5_000, 1);
        });
        assert!(below >= 20, "{below} packets unmarked around a moment below the thresholds");
    }

    #[test]
    fn refusals_name_the_key() {
        let refusal = |config: RedConfig| config.validate().unwrap_err().key;
        assert_eq!(refusal(RedConfig { min_threshold: Bytes(30_001), ..config() }), "min_threshold");
        assert_eq!(refusal(RedConfig { max_per_billion: BILLION + 1, ..config() }), "max_per_billion");
        assert_eq!(refusal(RedConfig { weight_per_billion: 0, ..config() }), "weight_per_billion");
        assert_eq!(refusal(RedConfig { limit_packets: Some(0), ..config() }), "limit_packets");
    }
}
