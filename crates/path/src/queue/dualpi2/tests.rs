use super::*;
use crate::Ecn;
use crate::queue::tests::packet;
use rand::SeedableRng;

fn queue(config: &Dualpi2Config) -> Dualpi2 {
    config.validate().unwrap();
    Dualpi2::new(config, ChaCha8Rng::seed_from_u64(1))
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn of(ecn: Ecn) -> Packet {
    Packet { ecn, ..packet(1500) }
}

/// Probability, as a number.
fn real(probability: i128) -> f64 {
    probability as f64 / ONE as f64
}

/// Sets p' to `base` and returns the fractions of 100,000 packets with `ecn` that are marked and dropped after `sojourn`.
fn fractions(base: f64, ecn: Ecn, sojourn: Dur) -> (f64, f64) {
    let mut queue = queue(&Dualpi2Config::default());
    queue.base.value = (base * ONE as f64) as i128;
    let behind = Backlog { bytes: Bytes(15_000), packets: 10 };
    let fates: Vec<_> = (0..100_000).map(|_| queue.leave(ms(1), &of(ecn), sojourn, behind)).collect();
    let fraction = |fate| fates.iter().filter(|&&f| f == fate).count() as f64 / fates.len() as f64;
    (fraction(Admission::Mark), fraction(Admission::Drop))
}

fn assert_near(found: (f64, f64), expected: (f64, f64)) {
    // five standard deviations of a fraction of 100,000 are at most 0.008
    let is_near = |x: f64, y: f64| (x - y).abs() <= 5.0 * (y * (1.0 - y) / 1e5).sqrt();
    assert!(is_near(found.0, expected.0) && is_near(found.1, expected.1), "{found:?}, not {expected:?}");
}

#[test]
fn the_base_probability_follows_the_formula_of_the_rfc() {
    // A packet waits from 3 ms on. By hand, with T = 16 ms: delays 13, 29, 45 ms;
    // 0.16 (13 - 15) + 3.2 (13 - 0) = 41.28; + 0.16 14 + 3.2 16 = 94.72; + 0.16 30 + 3.2 16 = 150.72 thousandths
    let mut base = BaseProbability::new(&Dualpi2Config::default());
    for (now, expected) in [(15, 0.0), (16, 0.041_28), (32, 0.094_72), (47, 0.094_72), (48, 0.150_72)] {
        base.advance(ms(now), ms(3));
        assert!((real(base.value) - expected).abs() < 1e-12, "at {now} ms: {}", real(base.value));
    }
    // Empty from then on: 0.16 (0 - 15) + 3.2 (0 - 45) thousandths, then -2.4 thousandths per update.
    base.advance(ms(64), Time::NEVER);
    assert!((real(base.value) - 0.004_32).abs() < 1e-12, "{}", real(base.value));
    base.advance(ms(80), Time::NEVER);
    assert!((real(base.value) - 0.001_92).abs() < 1e-12, "{}", real(base.value));
    base.advance(ms(1_000_000), Time::NEVER);
    assert_eq!((base.value, base.updated), (0, ms(1_000_000)));
}

#[test]
fn updates_after_a_pause_are_those_that_the_pause_had() {
    let config = Dualpi2Config::default();
    for (idle_until, now) in [(3_000, 3_001), (2_900, 3_200), (50, 5_000), (400, 700), (3_000, 300_000)] {
        let mut at_once = BaseProbability::new(&config);
        (at_once.value, at_once.delay) = (ONE / 3, 7_000_000);
        let mut step_by_step = at_once.clone();
        at_once.advance(ms(now), ms(idle_until));
        for at in 0..=now {
            step_by_step.advance(ms(at), ms(idle_until));
        }
        let state = |base: &BaseProbability| (base.value, base.updated, base.delay);
        assert_eq!(state(&at_once), state(&step_by_step), "{idle_until} {now}");
    }
}

#[test]
fn classic_packets_see_the_square_and_l4s_packets_twice_the_base() {
    let below = Dur::from_micros(999);
    assert_near(fractions(0.1, Ecn::NotEct, below), (0.0, 0.01));
    assert_near(fractions(0.1, Ecn::Ect0, below), (0.01, 0.0));
    assert_near(fractions(0.1, Ecn::Ect1, below), (0.2, 0.0));
}

#[test]
fn overload_drops_in_both_queues() {
    // k p' = 1.2: ECN no longer protects, the rest of L is marked
    let below = Dur::ZERO;
    assert_near(fractions(0.6, Ecn::NotEct, below), (0.0, 0.36));
    assert_near(fractions(0.6, Ecn::Ect0, below), (0.0, 0.36));
    assert_near(fractions(0.6, Ecn::Ect1, below), (0.64, 0.36));
}

#[test]
fn native_marks_are_a_step_or_a_ramp_of_the_packets_own_delay() {
    let us = Dur::from_micros;
    let step = queue(&Dualpi2Config::default());
    assert_eq!((step.native(us(999)), step.native(us(1000))), (0, ONE));
    let ramp = queue(&Dualpi2Config { l_threshold: us(800), l_range: us(400), ..Dualpi2Config::default() });
    for (sojourn, expected) in [(800, 0.0), (900, 0.25), (1100, 0.75), (1199, 0.9975), (1200, 1.0)] {
        assert!((real(ramp.native(us(sojourn))) - expected).abs() < 1e-12, "{sojourn}");
    }
}

#[test]
fn a_packet_alone_in_its_queue_gets_no_native_mark() {
    let mut queue = queue(&Dualpi2Config::default());
    let leave = |queue: &mut Dualpi2, packets| {
        queue.leave(ms(5), &of(Ecn::Ect1), Dur::from_millis(5), Backlog { bytes: Bytes(1500) * packets, packets })
    };
    assert_eq!(leave(&mut queue, 0), Admission::Accept);
    assert_eq!(leave(&mut queue, 1), Admission::Mark);
}

#[test]
fn two_full_queues_share_by_their_weights_and_l_goes_first() {
    let mut queue = queue(&Dualpi2Config { target: Dur::from_secs(10), ..Dualpi2Config::default() });
    let heads = [Some(ms(1)), Some(ms(1))];
    let served: Vec<Class> = (0..1000)
        .map(|_| {
            let class = queue.next(ms(1), heads);
            let ecn = if class == Class::L4s { Ecn::Ect1 } else { Ecn::NotEct };
            assert_eq!(queue.leave(ms(1), &of(ecn), Dur::ZERO, Backlog::default()), Admission::Accept);
            class
        })
        .collect();
    // The credit starts at -80 packets and gains 10 with each packet of L: C is first served after 9 of them.
    assert_eq!(served.iter().position(|&class| class == Class::Classic), Some(9));
    assert_eq!(served.iter().filter(|&&class| class == Class::Classic).count(), 100);
}

#[test]
fn one_queue_alone_leaves_the_credit() {
    let mut queue = queue(&Dualpi2Config::default());
    let first = queue.credit;
    for heads in [[Some(ms(1)), None], [None, Some(ms(1))]] {
        let class = queue.next(ms(1), heads);
        assert_eq!(class, if heads[0].is_some() { Class::Classic } else { Class::L4s });
        queue.leave(ms(1), &of(Ecn::Ect1), Dur::ZERO, Backlog::default());
    }
    assert_eq!(queue.credit, first);
}

#[test]
fn refusals_name_the_key() {
    let refusal = |config: Dualpi2Config| config.validate().unwrap_err().key;
    let usual = Dualpi2Config::default;
    assert_eq!(refusal(Dualpi2Config { target: Dur::ZERO, ..usual() }), "target");
    assert_eq!(refusal(Dualpi2Config { target: Dur::from_secs(11), ..usual() }), "target");
    assert_eq!(refusal(Dualpi2Config { update: Dur::from_micros(99), ..usual() }), "update");
    assert_eq!(refusal(Dualpi2Config { alpha_nanohertz: 0, ..usual() }), "alpha_nanohertz");
    assert_eq!(refusal(Dualpi2Config { beta_nanohertz: u64::MAX, ..usual() }), "beta_nanohertz");
    assert_eq!(refusal(Dualpi2Config { coupling: 0, ..usual() }), "coupling");
    assert_eq!(
        refusal(Dualpi2Config { classic_weight_per_billion: u32::MAX, ..usual() }),
        "classic_weight_per_billion"
    );
    assert_eq!(refusal(Dualpi2Config { limit_packets: Some(0), ..usual() }), "limit_packets");
}
