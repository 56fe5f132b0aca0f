//! Hops with queues whose decision depends on more than the backlog at arrival.

use fairweir_path::link::ConstantConfig;
use fairweir_path::queue::{CodelConfig, RedConfig};
use fairweir_path::{Backlog, Ecn, Hop, HopConfig, LinkConfig, Packet, QueueConfig, Verdict};
use fairweir_units::{Bytes, Dur, Rate, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// One packet of 1500 B takes 1 ms.
fn hop(queue: QueueConfig) -> Hop {
    let config = HopConfig { link: LinkConfig::Constant(ConstantConfig { rate: Rate::from_mbps(12) }), queue };
    config.validate().unwrap();
    Hop::new(&config, ChaCha8Rng::seed_from_u64(1))
}

fn ms(ms: u64) -> Time {
    Time::from_nanos(ms * 1_000_000)
}

fn packet(seq: u64) -> Packet {
    Packet { seq, bytes: Bytes(1500), sent: Time::ZERO, ecn: Ecn::NotEct }
}

#[test]
fn a_queue_that_decides_on_leave_offers_each_head_when_the_link_is_free() {
    let mut hop = hop(QueueConfig::Codel(CodelConfig::default()));
    assert_eq!(hop.service_at(), Time::NEVER);
    for seq in 0..3 {
        assert!(hop.wait(ms(5), &packet(seq), seq as u32));
    }
    let mut seen = Vec::new();
    while hop.service_at().is_set() {
        let now = hop.service_at();
        let departure = hop.service(now).unwrap();
        seen.push((departure.tag, now, departure.sojourn, departure.verdict));
        // The packet in transmission counts towards the backlog.
        assert_eq!(
            hop.backlog(now),
            Backlog { bytes: Bytes(1500) * (3 - seen.len() as u64 + 1), packets: 4 - seen.len() as u64 }
        );
    }
    assert_eq!(
        seen,
        [
            (0, ms(5), Dur::ZERO, Verdict::Deliver(ms(6))),
            (1, ms(6), Dur::from_millis(1), Verdict::Deliver(ms(7))),
            (2, ms(7), Dur::from_millis(2), Verdict::Deliver(ms(8))),
        ]
    );
    assert_eq!(hop.backlog(ms(8)), Backlog::default());
}

#[test]
fn codel_drops_the_oldest_once_the_delay_has_stood_for_an_interval() {
    let mut hop = hop(QueueConfig::Codel(CodelConfig::default()));
    // 30 packets arrive at once, then one packet per ms: each packet waits 30 ms, and the link is always busy.
    let mut drops = Vec::new();
    for t in 0..200u64 {
        while hop.service_at() < ms(t) {
            let now = hop.service_at();
            let departure = hop.service(now).unwrap();
            if departure.verdict == Verdict::Drop {
                drops.push((now, departure.packet.seq, departure.sojourn));
            }
        }
        for i in 0..if t == 0 { 30 } else { 1 } {
            assert!(hop.wait(ms(t), &packet(if t == 0 { i } else { 29 + t }), 0), "the tail is never refused");
        }
    }
    // Packet 5 is the first packet that waits for the target of 5 ms, so the first drop is at 105 ms and the second
    // drop one interval later.
    let expected_sojourn = Dur::from_millis(29);
    assert_eq!(drops, [(ms(105), 105, expected_sojourn)]);
}

#[test]
fn red_forgets_its_average_while_the_link_is_idle() {
    let mut hop = hop(QueueConfig::Red(RedConfig {
        min_threshold: Bytes(1500),
        max_threshold: Bytes(3000),
        max_per_billion: 100_000_000,
        weight_per_billion: 500_000_000,
        packet_time: Dur::from_millis(1),
        gentle: false,
        ecn: false,
        hard_drop: false,
        limit: None,
        limit_packets: None,
    }));
    let accepted = |hop: &mut Hop, at, n| (0..n).filter(|&i| hop.arrive(at, &packet(i)) != Verdict::Drop).count();
    let first = accepted(&mut hop, Time::ZERO, 20);
    assert!((3..10).contains(&first), "{first} accepted before the average is above its threshold");
    let drained = ms(first as u64);
    assert_eq!(hop.backlog(drained), Backlog::default());
    assert_eq!(accepted(&mut hop, drained, 1), 0, "idle for no time: the average stands");
    assert_eq!(accepted(&mut hop, drained + Dur::from_millis(20), 1), 1, "idle for twenty packets");
}
