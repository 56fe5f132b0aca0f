//! Compares the belief set with its definitions, for each point and each pair of acknowledgements.

use super::*;
use crate::packet::Packet;
use crate::packet::testing::paths;
use crate::record::Ack;
use crate::slice;
use proptest::prelude::*;

/// C_L by its definition: the maximum over all pairs of acknowledgements.
fn all_pairs(acks: &[Ack], jitter: f64) -> f64 {
    let mut least = 0.0f64;
    for (j, to) in acks.iter().enumerate() {
        for from in &acks[..j] {
            if let Some(room) = from.room {
                least = least.max((to.total - room) / (to.at - from.at + jitter));
            }
        }
    }
    least
}

/// C_U by equation 4.1.2: the minimum over all pairs of acknowledgements between which each RTT is above R + D. A
/// packet's transmission time counts as part of D.
fn thesis_most(packets: &[Packet], rate: f64, jitter: f64) -> f64 {
    let rtprop = packets.iter().filter_map(Packet::rtt).min().expect("some") as f64;
    let d = jitter + 1500.0 * 1e9 / rate;
    let mut most = f64::INFINITY;
    let seen: Vec<(f64, f64, f64)> =
        packets.iter().filter_map(|p| Some((p.acked()? as f64, f64::from(p.bytes), p.rtt()? as f64))).collect();
    for (i, from) in seen.iter().enumerate() {
        let mut total = 0.0;
        for to in &seen[i + 1..] {
            total += to.1;
            if to.2 <= rtprop + d || from.2 <= rtprop + d {
                break;
            }
            if to.0 - from.0 > d {
                most = most.min(total / (to.0 - from.0 - d));
            }
        }
    }
    most
}

proptest! {
    #[test]
    fn the_hull_gives_what_all_pairs_give(path in paths(), part in 1u64..8) {
        let jitter = (path.jitter * part / 4).max(1) as f64;
        let Some(record) = Record::new(&path.packets) else { return Ok(()) };
        let slow = all_pairs(record.acks(), jitter);
        let (quick, _) = min_rate(&record.whole(), jitter).expect("no link is that fast");
        prop_assert!((quick - slow).abs() <= 1e-9 * slow || slow == 0.0, "{quick} {slow}");
    }

    #[test]
    fn the_true_path_is_in_the_belief_set(path in paths()) {
        let d = path.jitter as f64 + 2.0;
        let Some(record) = Record::new(&path.packets) else { return Ok(()) };
        let Some(belief) = explain_ccac(&record, d) else { return Err(TestCaseError::fail("no path explains it")) };
        prop_assert!(belief.rate_bytes_per_s().admits(path.rate, 1e-6), "{belief:?} {}", path.rate);
        prop_assert!(belief.rtprop_ns.admits(path.rtprop as f64, 1e-6), "{belief:?} {}", path.rtprop);
        prop_assert!(belief.buffer_bytes.admits(path.buffer, 1e-3), "{belief:?} {}", path.buffer);
    }

    /// CCAC has more behaviors than CBR-delay, so it explains all packets that CBR-delay explains.
    #[test]
    fn it_holds_the_cbr_delay_set(path in paths(), factor in 0.5f64..2.0) {
        let Some(at) = slice(&path.packets, path.rate * factor) else { return Ok(()) };
        prop_assume!(at.rtprop_max_ns >= 0.0);
        let d = at.jitter_min_ns() + 2.0;
        let record = Record::new(&path.packets).expect("delivered");
        let belief = explain_ccac(&record, d);
        prop_assert!(belief.is_some_and(|b| b.rate_bytes_per_s().admits(path.rate * factor, 1e-6)), "D {d}");
        let (least, _) = min_jitter(&record, d).expect("it is enough");
        prop_assert!(least <= d);
    }

    /// The set is no wider than the closed form of equation 4.1.2.
    #[test]
    fn it_is_within_the_closed_form(path in paths()) {
        let d = path.jitter as f64 + 2.0;
        let Some(record) = Record::new(&path.packets) else { return Ok(()) };
        let Some(belief) = explain_ccac(&record, d) else { return Ok(()) };
        let closed = thesis_most(&path.packets, path.rate, d) * 1e9;
        if closed.is_finite() {
            prop_assert!(belief.max_bytes_per_s.is_some_and(|most| most <= closed * (1.0 + 1e-6)), "{belief:?} {closed}");
        }
    }
}

/// A packet with times and sizes in whole steps.
struct Whole {
    sent: i64,
    at: i64,
    bytes: i64,
    is_prompt: bool,
}

/// Returns whether a token count in whole bytes explains a record with integer times, by trying every count.
fn every_count(packets: &[Packet], path: (u64, u64, u64)) -> bool {
    let (rate, rtprop, jitter) = (path.0 as i64, path.1 as i64, path.2 as i64);
    let acked: Vec<Whole> = packets
        .iter()
        .filter_map(|p| match p.fate {
            Fate::Acked { at, is_prompt, .. } => {
                Some(Whole { sent: p.sent as i64, at: at as i64, bytes: p.bytes.into(), is_prompt })
            }
            _ => None,
        })
        .collect();
    let bytes = |of: &[Whole]| of.iter().map(|p| p.bytes).sum::<i64>();
    let (first, end) = (acked[0].sent - jitter - 1, acked[acked.len() - 1].at);
    let ceiling = |t: i64| {
        let next = acked.iter().position(|p| p.is_prompt && p.at - jitter > t);
        next.map_or(i64::MAX, |i| bytes(&acked[..=i]))
    };
    let total = bytes(&acked);
    let mut left: Vec<i64> = (0..=total.min(ceiling(first))).collect();
    for t in first..end {
        let arrived = bytes(&acked[..acked.partition_point(|p| p.sent + rtprop <= t)]);
        let floor = bytes(&acked[..acked.partition_point(|p| p.at <= t + 1)]);
        let room = ceiling(t + 1).min(ceiling(t));
        let mut next: Vec<i64> = Vec::new();
        for &now in &left {
            let low = if now < arrived { (now + rate).min(arrived) } else { now };
            next.extend(low..=now + rate);
        }
        next.sort_unstable();
        next.dedup();
        next.retain(|&tokens| tokens >= floor && tokens <= room);
        left = next;
    }
    !left.is_empty()
}

fn small_records() -> impl Strategy<Value = Vec<Packet>> {
    prop::collection::vec((0u64..4, 1u32..4, 1u64..6, any::<bool>()), 1..7).prop_map(|sends| {
        let (mut now, mut last) = (0, 0);
        let packet = |(i, (gap, bytes, delay, is_prompt)): (usize, (u64, u32, u64, bool))| {
            now += gap;
            // acknowledgements have distinct times
            last = (now + delay).max(last + 1);
            let fate = Fate::Acked { at: last, frame: i as u32, is_prompt };
            Packet { sent: now, bytes, frame: i as u32, fate }
        };
        sends.into_iter().enumerate().map(packet).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn the_walk_gives_what_every_token_count_gives(
        packets in small_records(), rate in 1u64..5, rtprop in 0u64..3, jitter in 0u64..5,
    ) {
        let record = Record::new(&packets).expect("all were delivered");
        prop_assume!(rtprop as f64 <= record.whole().rtt_min);
        let path = Path { rate: rate as f64, rtprop: rtprop as f64, jitter: jitter as f64 };
        let quick = walk(&record.whole(), path, |_| {}).is_ok();
        prop_assert_eq!(quick, every_count(&packets, (rate, rtprop, jitter)));
    }
}
