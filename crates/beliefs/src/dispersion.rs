//! Dispersion: the spacing that a link gives to packets that enter it back to back.
//!
//! Two packets that reach a queue together leave it separated by the transmission time of the second, bytes / C. This
//! holds for any backlog and any sharing of the queue (packet pairs, Keshav 1991). Packets of other traffic come
//! between the two only if they arrive in the short time between the arrivals of the two. When other traffic starts or
//! stops, a flow's rate changes but the spacing does not. When the link's rate changes, both change.
//!
//! Paced senders send no pairs. If a flow's packets wait in the queue, they leave in send order: the time between two
//! acknowledgements is the link's transmission time of all packets that entered in between. Traffic outside the capture
//! adds an unknown number of packets. The rates from these times then do not agree, or they agree on a rate that
//! differs from the long-run delivery rate.

use crate::packet::{Fate, Packet};
use std::ops::Range;

/// Packets count as back to back if their send times differ by at most this fraction of the time between their
/// acknowledgements.
const TOGETHER: u64 = 4;
/// Minimum number of pairs.
const PAIRS: usize = 6;
/// Minimum fraction of pairs that agree with the most frequent rate.
const AGREEING: f64 = 0.5;
/// Relative tolerance within which the rates of pairs agree.
const AGREE: f64 = 0.1;

/// A rate measured from two acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    /// Time when the second packet was acknowledged, ns.
    pub(crate) at: u64,
    /// Bytes acknowledged divided by the time since the first acknowledgement, bytes/s.
    pub(crate) rate: f64,
}

/// Packets that share one acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Acked {
    at: u64,
    frame: u32,
    first: usize,
    newest: usize,
    is_prompt: bool,
}

/// Returns the pairs of a flow's packets, in time order.
pub(crate) fn pairs(packets: &[Packet]) -> Vec<Pair> {
    let mut out = Vec::new();
    each_two(packets, |last, now| {
        let gap = now.at - last.at;
        let span = packets[now.newest].sent.saturating_sub(packets[last.newest].sent);
        if now.first == last.newest + 1 && span * TOGETHER <= gap {
            let bytes: u64 = packets[now.first..=now.newest].iter().map(|packet| u64::from(packet.bytes)).sum();
            out.push(Pair { at: now.at, rate: bytes as f64 * 1e9 / gap as f64 });
        }
    });
    out.sort_by_key(|pair| pair.at);
    out
}

/// Returns rates of the link behind a shared queue, in time order. Each is computed from two packets that waited and
/// from all packets of all flows between the two.
///
/// `merged`: the packets of all flows in send order.
pub(crate) fn spacings(flows: &[&[Packet]], merged: &[Packet]) -> Vec<Pair> {
    let mut passed = Vec::with_capacity(merged.len() + 1);
    passed.push(0u64);
    for packet in merged {
        let bytes = if packet.acked().is_some() { u64::from(packet.bytes) } else { 0 };
        passed.push(passed[passed.len() - 1] + bytes);
    }
    let place = |packet: &Packet| {
        let key = (packet.sent, packet.frame);
        // packets segmented from one super-packet have the same key, and all of them count
        passed[merged.partition_point(|other| (other.sent, other.frame) <= key)]
    };
    let mut out = Vec::new();
    for packets in flows {
        let Some(least) = packets.iter().filter_map(Packet::rtt).min() else { continue };
        each_two(packets, |last, now| {
            let (one, other) = (&packets[last.newest], &packets[now.newest]);
            if other.sent + least <= last.at && (one.sent, one.frame) != (other.sent, other.frame) {
                // packets are not in time order if the clock was set back
                let bytes = place(other).saturating_sub(place(one));
                if bytes > 0 {
                    out.push(Pair { at: now.at, rate: bytes as f64 * 1e9 / (now.at - last.at) as f64 });
                }
            }
        });
    }
    out.sort_by_key(|pair| pair.at);
    out
}

/// Calls `on_two` for each two consecutive acknowledgements that the receiver did not delay.
fn each_two(packets: &[Packet], mut on_two: impl FnMut(Acked, Acked)) {
    let mut before: Option<Acked> = None;
    let mut now: Option<Acked> = None;
    let mut close = |before: Option<Acked>, now: Acked| {
        if let Some(last) = before.filter(|last| last.at < now.at && last.newest < now.newest)
            && last.is_prompt
            && now.is_prompt
        {
            on_two(last, now);
        }
    };
    for (i, packet) in packets.iter().enumerate() {
        let Fate::Acked { at, frame, is_prompt } = packet.fate else { continue };
        match &mut now {
            Some(acked) if acked.frame == frame => {
                acked.newest = i;
                acked.is_prompt = is_prompt;
            }
            _ => {
                if let Some(done) = now {
                    close(before, done);
                    before = Some(done);
                }
                now = Some(Acked { at, frame, first: i, newest: i, is_prompt });
            }
        }
    }
    if let Some(done) = now {
        close(before, done);
    }
}

/// Returns the rate on which the pairs in a time interval agree, bytes/s; `None` if there are too few pairs or they
/// disagree.
pub(crate) fn agreed(pairs: &[Pair], time: Range<u64>) -> Option<f64> {
    let from = pairs.partition_point(|pair| pair.at < time.start);
    let to = pairs.partition_point(|pair| pair.at < time.end).max(from);
    let mut rates: Vec<f64> = pairs[from..to].iter().map(|pair| pair.rate).collect();
    if rates.len() < PAIRS {
        return None;
    }
    rates.sort_by(f64::total_cmp);
    // find the window that contains the most rates, all within a factor of the first
    let mut end = 0;
    let (start, count) = (0..rates.len())
        .map(|start| {
            while end < rates.len() && rates[end] <= rates[start] * (1.0 + 2.0 * AGREE) {
                end += 1;
            }
            (start, end - start)
        })
        .max_by_key(|&(start, count)| (count, std::cmp::Reverse(start)))?;
    (count as f64 >= AGREEING * rates.len() as f64).then(|| rates[start + count / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Sends a pair of packets every 40 ms over a shared link. Packets of other traffic (1000 bytes) arrive between
    /// pairs, never within a pair.
    fn paired(rate: f64, others: u64) -> Vec<Packet> {
        let service = (1e12 / rate) as u64;
        (0..200u64)
            .map(|i| {
                let (pair, second) = (i / 2, i % 2);
                let sent = pair * 40 * MS + second * 1000;
                let at = pair * 40 * MS + 20 * MS + (others * (pair % 7) + 1 + second) * service;
                Packet {
                    sent,
                    bytes: 1000,
                    frame: i as u32,
                    fate: Fate::Acked { at, frame: 1000 + i as u32, is_prompt: true },
                }
            })
            .collect()
    }

    #[test]
    fn pairs_show_the_links_rate_and_no_share_of_it() {
        for others in [0, 3] {
            let seen = agreed(&pairs(&paired(1e6, others)), 0..u64::MAX).expect("pairs");
            assert!((seen / 1e6 - 1.0).abs() < 0.01, "{seen}");
        }
    }

    #[test]
    fn packets_that_are_sent_apart_are_no_pairs() {
        let mut packets = paired(1e6, 0);
        for packet in packets.iter_mut().skip(1).step_by(2) {
            packet.sent += MS / 2;
        }
        assert!(pairs(&packets).is_empty());
    }

    #[test]
    fn a_clock_that_is_set_back_spaces_nothing() {
        let mut packets = paired(1e6, 0);
        packets[100..].iter_mut().for_each(|packet| packet.sent -= 1500 * MS);
        let merged = packets.clone();
        assert!(spacings(&[&packets], &merged).iter().all(|pair| pair.rate > 0.0));
    }

    #[test]
    fn pairs_that_disagree_say_nothing() {
        let mut packets = paired(1e6, 0);
        for (i, packet) in packets.iter_mut().enumerate().skip(1).step_by(2) {
            if let Fate::Acked { at, .. } = &mut packet.fate {
                *at += (i as u64 * 7919 % 23) * MS / 4;
            }
        }
        assert_eq!(agreed(&pairs(&packets), 0..u64::MAX), None);
    }
}
