//! C_L and C_U of the CCAC model, for a jitter D (thesis section A.2.2): whatever the link does within its model,
//!
//! - it serves at most C (T + D) in any T, so C_L = max over intervals of delivered / (T + D);
//! - it serves at least C (T - D) in a T throughout which its queue is not empty: C_U = min over those.
//!
//! That the queue is not empty is certain from a packet's sending until its acknowledgement less R + D, where its RTT is
//! above R + D: it waited for tokens. The thesis asks for this at each step of a grid; here intervals are exact, and R
//! is the smallest RTT. Packets are served whole: an interval runs from one packet's delivery to another's, and counts
//! what came behind the first. The smallest RTT has a packet's transmission in it, which D must have room for. Losses say that the queue was full at an instant, and nothing of an interval.

use crate::hull::Chain;
use crate::packet::{Fate, Packet};
use serde::Serialize;

/// Bounds on the link's rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct RateBounds {
    /// C_L, bytes/s.
    pub least_bytes_per_s: f64,
    /// C_U, bytes/s; `None`: the link was never surely busy for longer than D.
    pub most_bytes_per_s: Option<f64>,
}

/// When the first packet was sent: times count from there, as those since 1970 have more digits than a float.
fn origin(packets: &[Packet]) -> u64 {
    packets.first().map_or(0, |packet| packet.sent)
}

/// Deliveries in the order of time: when, and how much by then with it, bytes.
fn deliveries(packets: &[Packet]) -> Vec<(f64, f64)> {
    let origin = origin(packets);
    let mut acked: Vec<(u64, u32)> = packets.iter().filter_map(|p| p.acked().map(|at| (at, p.bytes))).collect();
    acked.sort_by_key(|&(at, _)| at);
    let mut total = 0.0;
    let sum = |(at, bytes): (u64, u32)| {
        total += f64::from(bytes);
        (at.saturating_sub(origin) as f64, total)
    };
    acked.into_iter().map(sum).collect()
}

/// Times between which the queue was surely not empty, as seen at the sender (shifted by R), ns.
fn busy_spans(packets: &[Packet], rtprop: u64, jitter: u64) -> Vec<(f64, f64)> {
    let mut spans: Vec<(u64, u64)> = Vec::new();
    for packet in packets {
        // one that the receiver may have held back proves no queue
        let Fate::Acked { at, is_prompt: true } = packet.fate else { continue };
        let (from, to) = (packet.sent + rtprop, at.saturating_sub(jitter));
        if to <= from {
            continue;
        }
        match spans.last_mut() {
            Some(last) if from <= last.1 => last.1 = last.1.max(to),
            _ => spans.push((from, to)),
        }
    }
    let origin = origin(packets);
    let since = |at: u64| at.saturating_sub(origin) as f64;
    spans.into_iter().map(|(from, to)| (since(from), since(to))).collect()
}

/// C_L and C_U of packets in the order of their sending; `None` if none was delivered or the jitter is zero.
pub fn rate_bounds(packets: &[Packet], jitter: u64) -> Option<RateBounds> {
    let rtprop = packets.iter().filter_map(Packet::rtt).min()?;
    if jitter == 0 {
        return None;
    }
    let curve = deliveries(packets);
    let d = jitter as f64;
    let (mut chain, mut least) = (Chain::default(), 0.0f64);
    for &(at, total) in &curve {
        least = least.max(chain.steepest_to((at, total)).unwrap_or(0.0));
        chain.push((at - d, total));
    }
    let most = busy_spans(packets, rtprop, jitter).into_iter().filter_map(|span| flattest(&curve, span, d));
    let most = most.min_by(f64::total_cmp).map(|slope| slope * 1e9);
    Some(RateBounds { least_bytes_per_s: least * 1e9, most_bytes_per_s: most })
}

/// The least delivered / (T - D) over intervals from a delivery in a busy span to a later one in it.
fn flattest(curve: &[(f64, f64)], span: (f64, f64), d: f64) -> Option<f64> {
    let first = curve.partition_point(|&(at, _)| at < span.0);
    let mut chain = Chain::default();
    let mut waiting = first;
    let mut least: Option<f64> = None;
    for end in first + 1..curve.len() {
        let (at, total) = curve[end];
        if at > span.1 {
            break;
        }
        while waiting < end && curve[waiting].0 + d < at {
            // upside down, so that the flattest is the steepest
            chain.push((curve[waiting].0 + d, -curve[waiting].1));
            waiting += 1;
        }
        if let Some(slope) = chain.steepest_to((at, -total)) {
            least = Some(least.map_or(-slope, |known| known.min(-slope)));
        }
    }
    least
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::paths;
    use proptest::prelude::*;

    /// The definition: every pair.
    fn all_pairs(packets: &[Packet], jitter: u64) -> RateBounds {
        let rtprop = packets.iter().filter_map(Packet::rtt).min().expect("some");
        let (curve, d) = (deliveries(packets), jitter as f64);
        let spans = busy_spans(packets, rtprop, jitter);
        let (mut least, mut most) = (0.0f64, f64::INFINITY);
        for i in 0..curve.len() {
            for j in i + 1..curve.len() {
                let t = curve[j].0 - curve[i].0;
                least = least.max((curve[j].1 - curve[i].1) / (t + d));
                let is_busy = |s: &(f64, f64)| curve[i].0 >= s.0 && curve[j].0 <= s.1;
                if t > d && spans.iter().any(is_busy) {
                    most = most.min((curve[j].1 - curve[i].1) / (t - d));
                }
            }
        }
        RateBounds { least_bytes_per_s: least * 1e9, most_bytes_per_s: most.is_finite().then_some(most * 1e9) }
    }

    proptest! {
        #[test]
        fn hulls_give_what_all_pairs_give(path in paths(), part in 1u64..8) {
            let jitter = (path.jitter * part / 4).max(1);
            let quick = rate_bounds(&path.packets, jitter).expect("the first fits");
            let slow = all_pairs(&path.packets, jitter);
            prop_assert!((quick.least_bytes_per_s - slow.least_bytes_per_s).abs() <= 1e-9 * slow.least_bytes_per_s);
            match (quick.most_bytes_per_s, slow.most_bytes_per_s) {
                (Some(a), Some(b)) => prop_assert!((a - b).abs() <= 1e-9 * b.abs(), "{a} {b}"),
                (a, b) => prop_assert_eq!(a, b),
            }
        }

        #[test]
        fn the_true_rate_is_within(path in paths()) {
            let transmission = (1500.0 * 1e9 / path.rate) as u64;
            let Some(bounds) = rate_bounds(&path.packets, path.jitter + transmission + 2) else { return Ok(()) };
            prop_assert!(bounds.least_bytes_per_s <= path.rate * (1.0 + 1e-6), "{bounds:?} {}", path.rate);
            prop_assert!(bounds.most_bytes_per_s.is_none_or(|most| most >= path.rate * (1.0 - 1e-6)), "{bounds:?} {}", path.rate);
        }
    }
}
