//! Properties of every path component, for any configuration and traffic.

use fairweir_path::jitter::{
    AckAggregationConfig, DelayConfig, DelayPoint, EarlyPacketConfig, Interpolation, PeriodicReleaseConfig,
    RandomAggregationConfig, TrajectoryConfig, UniformConfig, VirtualLinkConfig,
};
use fairweir_path::link::{ConstantConfig, RateStep, ShaperConfig, StepsConfig, TraceConfig};
use fairweir_path::loss::{BurstLossConfig, IidLossConfig, PeriodicLossConfig, PolicerConfig};
use fairweir_path::queue::{CodelConfig, DroptailConfig, EcnThresholdConfig, RedConfig};
use fairweir_path::{
    Admission, Backlog, Class, Ecn, ElementConfig, Hop, HopConfig, LinkConfig, Packet, PrivateLinkConfig, QueueConfig,
    Verdict,
};
use fairweir_units::{Bytes, Dur, Rate, Time};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use std::collections::{BTreeSet, VecDeque};
use std::fmt::Debug;

/// Durations, mostly as in real runs, sometimes extreme; `validate` must reject zero and excessive values.
fn dur() -> impl Strategy<Value = Dur> {
    prop_oneof![1 => 0u64..10, 4 => 0u64..1_000_000, 8 => 0u64..1_000_000_000, 1 => 0..u64::MAX]
        .prop_map(Dur::from_nanos)
}

fn time() -> impl Strategy<Value = Time> {
    dur().prop_map(|d| Time::ZERO + d)
}

fn rate() -> impl Strategy<Value = Rate> {
    prop_oneof![1 => 0u64..10, 8 => 100_000u64..20_000_000_000, 1 => 0..u64::MAX].prop_map(Rate::from_bytes_per_sec)
}

fn bytes() -> impl Strategy<Value = Bytes> {
    prop_oneof![1 => 0u64..10, 8 => 40u64..1_000_000, 1 => 0..u64::MAX].prop_map(Bytes)
}

fn probability() -> impl Strategy<Value = u32> {
    prop_oneof![1 => Just(0), 1 => Just(1_000_000_000), 8 => 0u32..1_000_000_000, 1 => 0..u32::MAX]
}

fn limits() -> impl Strategy<Value = (Option<Bytes>, Option<u64>)> {
    (prop::option::of(bytes()), prop::option::of(0u64..100))
}

/// Returns increasing times, beginning with `first`.
fn times(first: impl Strategy<Value = u64>) -> impl Strategy<Value = Vec<Time>> {
    (first, prop::collection::vec(1u64..50_000_000, 0..8)).prop_map(|(mut t, gaps)| {
        let rest = gaps.into_iter().map(move |gap| {
            t += gap;
            t
        });
        std::iter::once(t).chain(rest).map(Time::from_nanos).collect()
    })
}

/// Returns one of the `examples`, each of whose numbers is scaled or replaced. A new kind is tested with its examples.
fn perturbed<T: DeserializeOwned + Debug>(examples: Vec<&'static str>) -> impl Strategy<Value = T> {
    let change = prop_oneof![8 => Just(None), 1 => (0u64..u64::MAX).prop_map(Some), 2 => (0u64..1000).prop_map(Some)];
    (prop::sample::select(examples), prop::collection::vec((1u64..20, change), 8)).prop_filter_map(
        "numbers of the type",
        |(example, changes)| {
            let mut value: Value = serde_json::from_str(example).expect("an example is JSON");
            perturb(&mut value, &mut changes.into_iter().cycle());
            serde_json::from_value(value).ok()
        },
    )
}

fn perturb(value: &mut Value, changes: &mut impl Iterator<Item = (u64, Option<u64>)>) {
    match value {
        Value::Number(number) => {
            if let (Some((tenths, other)), Some(old)) = (changes.next(), number.as_u64()) {
                *value = other.unwrap_or(old.saturating_mul(tenths) / 10).into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| perturb(item, changes)),
        Value::Object(items) => items.values_mut().for_each(|item| perturb(item, changes)),
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

fn link() -> impl Strategy<Value = LinkConfig> {
    prop_oneof![
        perturbed(LinkConfig::examples()),
        rate().prop_map(|rate| LinkConfig::Constant(ConstantConfig { rate })),
        (rate(), bytes()).prop_map(|(rate, burst)| LinkConfig::TokenBucket(ShaperConfig { rate, burst })),
        (times(1u64..1_000_000), bytes())
            .prop_map(|(opportunities, bytes)| { LinkConfig::Trace(TraceConfig { opportunities, bytes }) }),
        (times(Just(0)), prop::collection::vec(rate(), 9)).prop_map(|(times, rates)| {
            let steps = times.into_iter().zip(rates).map(|(at, rate)| RateStep { at, rate }).collect();
            LinkConfig::Steps(StepsConfig { steps })
        }),
    ]
}

fn queue() -> impl Strategy<Value = QueueConfig> {
    let red = (bytes(), bytes(), probability(), probability(), dur(), any::<[bool; 3]>(), limits()).prop_map(
        |(a, b, max_per_billion, weight_per_billion, packet_time, [gentle, ecn, hard_drop], limits)| {
            QueueConfig::Red(RedConfig {
                min_threshold: a.min(b),
                max_threshold: a.max(b),
                max_per_billion,
                weight_per_billion,
                packet_time,
                gentle,
                ecn,
                hard_drop,
                limit: limits.0,
                limit_packets: limits.1,
            })
        },
    );
    prop_oneof![
        perturbed(QueueConfig::examples()),
        limits().prop_map(|(limit, limit_packets)| QueueConfig::Droptail(DroptailConfig { limit, limit_packets })),
        (limits(), limits()).prop_map(|(mark, limit)| QueueConfig::EcnThreshold(EcnThresholdConfig {
            mark_above: mark.0,
            mark_above_packets: mark.1,
            limit: limit.0,
            limit_packets: limit.1,
        })),
        red,
        (dur(), dur(), bytes(), any::<bool>(), limits()).prop_map(|(target, interval, packet, ecn, limits)| {
            QueueConfig::Codel(CodelConfig { target, interval, packet, ecn, limit: limits.0, limit_packets: limits.1 })
        }),
    ]
}

fn element() -> impl Strategy<Value = ElementConfig> {
    let choice = prop_oneof![
        (time(), prop::option::of(dur())).prop_map(|(at, every)| (Some(at), every, None, None)),
        (0u64..50, prop::option::of(0u64..50)).prop_map(|(n, every)| (None, None, Some(n), every)),
    ];
    let early = (dur(), dur(), choice).prop_map(|(a, b, (at, every, packet, every_packets))| EarlyPacketConfig {
        offset: a.max(b),
        early: a.min(b),
        at,
        every,
        packet,
        every_packets,
    });
    let interpolation = prop_oneof![Just(Interpolation::Step), Just(Interpolation::Linear)];
    let trajectory = (times(0u64..1_000_000), prop::collection::vec(dur(), 9), interpolation, prop::option::of(dur()))
        .prop_map(|(times, delays, interpolation, repeat)| TrajectoryConfig {
            points: times.into_iter().zip(delays).map(|(at, delay)| DelayPoint { at, delay }).collect(),
            interpolation,
            repeat,
        });
    let aggregation = (dur(), rate(), rate(), time(), bytes()).prop_map(|(hold, a, b, smooth, opportunity)| {
        AckAggregationConfig { hold, rate: a.min(b), burst_rate: a.max(b), smooth, opportunity }
    });
    let burst = (probability(), probability(), probability(), probability()).prop_map(|(a, b, c, d)| BurstLossConfig {
        to_bad_per_billion: a,
        to_good_per_billion: b,
        in_good_per_billion: c,
        in_bad_per_billion: d,
    });
    prop_oneof![
        perturbed(ElementConfig::examples()),
        (dur(), time()).prop_map(|(by, from)| ElementConfig::Delay(DelayConfig { by, from })),
        dur().prop_map(|max| ElementConfig::Uniform(UniformConfig { max })),
        aggregation.prop_map(ElementConfig::AckAggregation),
        (dur(), rate(), prop::option::of(bytes())).prop_map(|(max, rate, counts_as)| {
            ElementConfig::RandomAggregation(RandomAggregationConfig { max, rate, counts_as })
        }),
        (dur(), dur()).prop_map(|(a, b)| {
            ElementConfig::PeriodicRelease(PeriodicReleaseConfig { period: a.max(b), offset: a.min(b) })
        }),
        early.prop_map(ElementConfig::EarlyPacket),
        trajectory.prop_map(ElementConfig::Trajectory),
        (rate(), dur(), dur(), time(), prop::option::of(bytes())).prop_map(|(rate, base, bound, from, counts_as)| {
            ElementConfig::VirtualLink(VirtualLinkConfig { rate, base, bound, from, counts_as })
        }),
        probability().prop_map(|per_billion| ElementConfig::IidLoss(IidLossConfig { per_billion })),
        burst.prop_map(ElementConfig::BurstLoss),
        (0u64..20, prop::option::of(0u64..20))
            .prop_map(|(every, first)| { ElementConfig::PeriodicLoss(PeriodicLossConfig { every, first }) }),
        (rate(), bytes()).prop_map(|(rate, burst)| ElementConfig::Policer(PolicerConfig { rate, burst })),
        (link(), limits()).prop_map(|(link, (limit, limit_packets))| {
            ElementConfig::Link(PrivateLinkConfig { link, limit, limit_packets })
        }),
    ]
}

/// Packets with their arrival times: bursts, steady phases and pauses.
fn traffic() -> impl Strategy<Value = Vec<(Time, Packet)>> {
    let gap = prop_oneof![4 => Just(0u64), 8 => 0u64..2_000_000, 1 => 0u64..2_000_000_000];
    let size = prop_oneof![8 => Just(1500u64), 4 => Just(52), 1 => 1u64..65_536];
    prop::collection::vec(
        (gap, size, 0u64..50_000_000, prop::sample::select(&[Ecn::NotEct, Ecn::Ect0, Ecn::Ect1][..])),
        1..200,
    )
    .prop_map(|packets| {
        let (mut now, mut sent) = (Time::ZERO, Time::ZERO);
        let mut out = Vec::new();
        for (seq, (gap, bytes, way, ecn)) in packets.into_iter().enumerate() {
            now += Dur::from_nanos(gap);
            sent = sent.max(now - Dur::from_nanos(way));
            out.push((now, Packet { seq: seq as u64, bytes: Bytes(bytes), sent, ecn }));
        }
        out
    })
}

fn rng() -> ChaCha8Rng {
    ChaCha8Rng::seed_from_u64(7)
}

proptest! {
    // A failing case is saved as a test of its own, so there is no file of seeds.
    #![proptest_config(ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn elements_never_reorder_nor_look_into_the_future_and_hold_no_longer_than_they_promise(
        config in element().prop_filter("valid", |c| c.validate().is_ok()),
        traffic in traffic(),
    ) {
        let mut element = config.build(rng());
        let mut last = Time::ZERO;
        for (now, packet) in &traffic {
            if let Verdict::Deliver(at) | Verdict::Mark(at) = element.arrive(*now, packet) {
                prop_assert!(at >= *now, "released at {} before its arrival at {}", at, now);
                prop_assert!(at >= last, "released at {} before the packet ahead of it at {}", at, last);
                if let Some(bound) = config.longest_hold() {
                    prop_assert!(at.since(*now) <= bound, "held for {} of at most {}", at.since(*now), bound);
                }
                last = at;
            }
        }
    }

    #[test]
    fn equal_seeds_give_equal_elements(
        config in element().prop_filter("valid", |c| c.validate().is_ok()),
        traffic in traffic(),
    ) {
        let (mut a, mut b) = (config.build(rng()), config.build(rng()));
        for (now, packet) in &traffic {
            prop_assert_eq!(a.arrive(*now, packet), b.arrive(*now, packet));
        }
    }

    #[test]
    fn hops_are_fifo_and_know_what_is_inside(
        link in link().prop_filter("valid", |c| c.validate().is_ok()),
        queue in queue().prop_filter("valid", |c| c.validate().is_ok()),
        traffic in traffic(),
    ) {
        let config = HopConfig { link, queue };
        let mut hop = Hop::new(&config, rng());
        let run = Bench::play(&mut hop, &config.queue, &traffic)?;
        prop_assert_eq!(run.arrived, run.refused + run.dropped_inside + run.departed.len());
        prop_assert!(run.departed.windows(2).all(|w| w[0].1 <= w[1].1), "departures are in order of time");
        for class in Class::BOTH {
            let is_of_class = |seq: u64| !matches!(config.queue, QueueConfig::Dualpi2(_))
                || Class::of(&traffic[seq as usize].1) == class;
            let departed: Vec<u64> = run.departed.iter().map(|d| d.0).filter(|&seq| is_of_class(seq)).collect();
            prop_assert!(departed.is_sorted(), "departures are in order of arrival");
        }
        if let QueueConfig::Droptail(DroptailConfig { limit: None, limit_packets: None }) = config.queue {
            prop_assert_eq!(run.refused + run.dropped_inside, 0);
        }
        prop_assert_eq!(hop.backlog(Time::NEVER), Backlog::default());
    }

    #[test]
    fn a_busy_link_s_mean_rate_is_what_it_served(
        link in link().prop_filter("valid and not immeasurably fast", |c| {
            c.validate().is_ok() && match c {
                LinkConfig::Constant(c) => c.rate < Rate::from_mbps(100_000),
                LinkConfig::Steps(c) => c.steps.iter().all(|s| s.rate < Rate::from_mbps(100_000)),
                LinkConfig::Trace(c) => c.bytes < Bytes(1_000_000),
                LinkConfig::TokenBucket(c) => c.rate < Rate::from_mbps(100_000) && c.burst < Bytes(100_000),
            }
        }),
    ) {
        let mut server = link.build();
        let served = Bytes(1000) * 1000;
        let last = (0..1000).map(|_| server.depart(Time::ZERO, Bytes(1000))).last().unwrap();
        if last.is_set() && last > Time::ZERO {
            let capacity = server.mean_rate(Time::ZERO, last) * last.since(Time::ZERO);
            // The slack covers a burst, an unfinished opportunity or a rounded nanosecond at the end, and the rounding
            // of the rate.
            let slack = match &link {
                LinkConfig::TokenBucket(c) => c.burst,
                LinkConfig::Trace(c) => c.bytes * c.opportunities.len() as u64,
                _ => Bytes(20_000),
            } + Rate::from_bytes_per_sec(1) * last.since(Time::ZERO) + Bytes(20_000);
            prop_assert!(capacity + slack >= served && served + slack >= capacity, "{} of {}", served, capacity);
        }
    }
}

/// Result of sending the traffic through a hop.
#[derive(Default)]
struct Bench {
    arrived: usize,
    refused: usize,
    dropped_inside: usize,
    /// Number and departure time of each packet that departed.
    departed: Vec<(u64, Time)>,
    /// Packets still inside, with their bytes; the hop must count the same.
    inside: VecDeque<(Time, Bytes)>,
    waiting: VecDeque<(u64, Bytes)>,
}

impl Bench {
    /// Acts as the simulator: packets arrive, and queues that decide on leave are served when they are due.
    fn play(hop: &mut Hop, queue: &QueueConfig, traffic: &[(Time, Packet)]) -> Result<Bench, TestCaseError> {
        let mut bench = Bench::default();
        for (now, packet) in traffic {
            while hop.service_at() < *now {
                bench.service(hop)?;
            }
            bench.forget(*now);
            bench.arrived += 1;
            if hop.decides_on_leave() {
                match hop.wait(*now, packet, packet.seq as u32) {
                    true => bench.waiting.push_back((packet.seq, packet.bytes)),
                    false => bench.refused += 1,
                }
            } else {
                let verdict = hop.arrive(*now, packet);
                if matches!(queue, QueueConfig::Droptail(_) | QueueConfig::EcnThreshold(_)) {
                    // These queues are stateless: the decision depends only on the backlog.
                    let decision = queue.build(rng()).admit(*now, packet, bench.backlog());
                    prop_assert_eq!(decision, admission(verdict));
                }
                bench.record(packet, *now, verdict)?;
            }
            // Only for one packet of 16, to show that the hop's own accounting does not depend on these calls.
            if packet.seq % 16 == 0 {
                bench.expect(hop, *now)?;
            }
        }
        while hop.service_at().is_set() {
            bench.service(hop)?;
        }
        // Behind a very slow link, packets may still be waiting at the end.
        bench.waiting.clear();
        while let Some(departure) = hop.service(Time::NEVER) {
            bench.departed.push((departure.packet.seq, Time::NEVER));
        }
        Ok(bench)
    }

    fn service(&mut self, hop: &mut Hop) -> Result<(), TestCaseError> {
        let now = hop.service_at();
        let departure = hop.service(now).expect("a packet is due");
        let at = self.waiting.iter().position(|w| w.0 == departure.packet.seq).expect("it waits");
        let (seq, _) = self.waiting.remove(at).expect("found above");
        prop_assert_eq!(u64::from(departure.tag), seq);
        if departure.verdict == Verdict::Drop {
            self.dropped_inside += 1;
        } else {
            self.record(&departure.packet, now, departure.verdict)?;
        }
        self.expect(hop, now)
    }

    fn record(&mut self, packet: &Packet, now: Time, verdict: Verdict) -> Result<(), TestCaseError> {
        let departure = match verdict {
            Verdict::Drop => {
                self.refused += 1;
                return Ok(());
            }
            Verdict::Mark(at) => {
                prop_assert!(packet.ecn.is_capable());
                at
            }
            Verdict::Deliver(at) => at,
        };
        prop_assert!(departure >= now);
        self.departed.push((packet.seq, departure));
        self.inside.push_back((departure, packet.bytes));
        Ok(())
    }

    fn expect(&mut self, hop: &mut Hop, now: Time) -> Result<(), TestCaseError> {
        self.forget(now);
        prop_assert_eq!(hop.backlog(now), self.backlog());
        Ok(())
    }

    fn forget(&mut self, now: Time) {
        while self.inside.front().is_some_and(|p| p.0 <= now) {
            self.inside.pop_front();
        }
    }

    fn backlog(&self) -> Backlog {
        let sizes = self.inside.iter().map(|p| p.1.0).chain(self.waiting.iter().map(|w| w.1.0));
        Backlog { bytes: Bytes(sizes.sum()), packets: (self.inside.len() + self.waiting.len()) as u64 }
    }
}

fn admission(verdict: Verdict) -> Admission {
    match verdict {
        Verdict::Deliver(_) => Admission::Accept,
        Verdict::Mark(_) => Admission::Mark,
        Verdict::Drop => Admission::Drop,
    }
}

/// Returns the kinds of `T`, from serde's error for an unknown kind.
fn kinds<T: DeserializeOwned + Debug>() -> BTreeSet<String> {
    let refusal = serde_json::from_value::<T>(json!({"kind": "?"})).expect_err("no kind").to_string();
    refusal.split('`').skip(3).step_by(2).map(str::to_owned).collect()
}

/// Returns the kinds among a thousand values of `strategy`.
fn kinds_of<T: Serialize>(strategy: impl Strategy<Value = T>) -> BTreeSet<String> {
    let mut runner = TestRunner::deterministic();
    let mut kind = || {
        let part = strategy.new_tree(&mut runner).expect("a part").current();
        serde_json::to_value(part).expect("JSON")["kind"].as_str().expect("a kind").to_owned()
    };
    (0..1000).map(|_| kind()).collect()
}

#[test]
fn every_kind_is_among_those_that_properties_are_checked_for() {
    assert_eq!(kinds_of(link()), kinds::<LinkConfig>());
    assert_eq!(kinds_of(queue()), kinds::<QueueConfig>());
    assert_eq!(kinds_of(element()), kinds::<ElementConfig>());
}

#[test]
fn every_kind_has_valid_examples() {
    fn parsed<T: DeserializeOwned>(examples: Vec<&str>) -> Vec<T> {
        examples.into_iter().map(|text| serde_json::from_str(text).expect("an example")).collect()
    }
    assert!(parsed::<LinkConfig>(LinkConfig::examples()).iter().all(|link| link.validate().is_ok()));
    assert!(parsed::<QueueConfig>(QueueConfig::examples()).iter().all(|queue| queue.validate().is_ok()));
    assert!(parsed::<ElementConfig>(ElementConfig::examples()).iter().all(|element| element.validate().is_ok()));
    assert_eq!(kinds_of(perturbed::<ElementConfig>(ElementConfig::examples())), kinds::<ElementConfig>());
}
