//! ACK aggregation: acknowledgements are held and then arrive in bursts, faster than a link of the inferred rate could
//! have delivered the acknowledged data. Wireless links and receivers that merge packets (GRO) cause it.

use crate::packet::{Fate, Packet};
use crate::slice::Slice;
use serde::Serialize;

/// Minimum size of a burst, in packets of the maximum size, because a burst of two packets may be one delayed ACK.
const PACKETS: f64 = 4.0;
/// Minimum rate at which bytes are acknowledged within a burst, as a multiple of the link rate.
const FASTER: f64 = 4.0;
/// Minimum number of bursts for a pattern.
const MIN_BURSTS: usize = 5;
/// Minimum fraction of all acknowledged bytes that arrive in bursts.
const MIN_BURST_SHARE: f64 = 0.5;
/// Minimum ratio of the bursts' hold time to the flow's jitter. If it is smaller, other jitter may have bunched the
/// ACKs.
const MIN_HELD_SHARE: f64 = 0.5;
/// Maximum number of bursts in the report.
const SHOWN: usize = 3;

/// Acknowledgements in bursts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Aggregation {
    /// Median time between the starts of two consecutive bursts, ns.
    pub period_ns: f64,
    /// Median difference in delay between a burst's first and last packet, ns.
    pub hold_ns: f64,
    /// Number of bursts.
    pub bursts: usize,
    /// Fraction of all acknowledged bytes that arrived in bursts.
    pub share: f64,
    /// First and last frame of each of the largest bursts.
    pub frames: Vec<[u32; 2]>,
}

/// Time at which a link of the inferred rate delivers a packet, and time of the packet's acknowledgement.
#[derive(Clone, Copy, Debug)]
struct Delivery {
    left: f64,
    acked: f64,
    bytes: f64,
    frame: u32,
}

#[derive(Clone, Copy, Debug)]
struct Burst {
    at: f64,
    hold: f64,
    bytes: f64,
    frames: [u32; 2],
}

/// Returns the aggregation of packets behind a link of the given rate; `None` if there are too few or too small bursts.
pub fn aggregation(packets: &[Packet], link: &Slice) -> Option<Aggregation> {
    let deliveries = deliveries(packets, link.rate_bytes_per_s);
    let total: f64 = deliveries.iter().map(|d| d.bytes).sum();
    let largest = deliveries.iter().map(|d| d.bytes).fold(0.0, f64::max);
    let mut bursts = bursts(&deliveries, link.rate_bytes_per_s / 1e9);
    bursts.retain(|burst| burst.bytes >= PACKETS * largest);
    let share = bursts.iter().map(|burst| burst.bytes).sum::<f64>() / total;
    if bursts.len() < MIN_BURSTS || share < MIN_BURST_SHARE {
        return None;
    }
    let period_ns = median(bursts.windows(2).map(|pair| pair[1].at - pair[0].at).collect());
    let hold_ns = median(bursts.iter().map(|burst| burst.hold).collect());
    if hold_ns < MIN_HELD_SHARE * link.jitter_min_ns() {
        return None;
    }
    let count = bursts.len();
    bursts.sort_by(|a, b| b.bytes.total_cmp(&a.bytes));
    bursts.truncate(SHOWN);
    Some(Aggregation { period_ns, hold_ns, bursts: count, share, frames: bursts.iter().map(|b| b.frames).collect() })
}

/// Deliveries in the order of the acknowledgements.
fn deliveries(packets: &[Packet], rate: f64) -> Vec<Delivery> {
    let origin = packets.first().map_or(0, |packet| packet.sent);
    let mut free = 0.0f64;
    let mut out: Vec<Delivery> = packets
        .iter()
        .filter_map(|packet| {
            let Fate::Acked { at, frame, .. } = packet.fate else { return None };
            let bytes = f64::from(packet.bytes);
            free = free.max(packet.sent.saturating_sub(origin) as f64) + bytes * 1e9 / rate;
            Some(Delivery { left: free, acked: at.saturating_sub(origin) as f64, bytes, frame })
        })
        .collect();
    out.sort_by(|a, b| a.acked.total_cmp(&b.acked).then(a.left.total_cmp(&b.left)));
    out
}

/// Returns the runs of deliveries in which each packet is acknowledged at `FASTER` times the link rate or more. `rate`
/// in bytes/ns.
fn bursts(deliveries: &[Delivery], rate: f64) -> Vec<Burst> {
    deliveries
        .chunk_by(|before, next| (next.acked - before.acked) * rate * FASTER <= next.bytes)
        .filter_map(|run| {
            let (first, last) = (run.first()?, run.last()?);
            Some(Burst {
                at: first.acked,
                hold: (first.acked - first.left) - (last.acked - last.left),
                bytes: run.iter().map(|d| d.bytes).sum(),
                frames: [first.frame, last.frame],
            })
        })
        .collect()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::{Link, windowed};
    use crate::{explain, slice};

    const MS: u64 = 1_000_000;
    const RATE: f64 = 2e6;

    fn found(packets: &[Packet]) -> Option<Aggregation> {
        aggregation(packets, &explain(packets, |simplest| 2.0 * simplest.jitter_min_ns()).expect("a path").simplest)
    }

    #[test]
    fn held_acks_are_found_with_their_period() {
        let hold = 16 * MS;
        let mut packets = windowed(&mut Link::new(&[(0, RATE)], 0), 20 * MS, 80, 4000);
        for packet in &mut packets {
            if let Fate::Acked { at, .. } = &mut packet.fate {
                *at = at.next_multiple_of(hold);
            }
        }
        let seen = found(&packets).expect("bursts");
        assert!((seen.period_ns / hold as f64 - 1.0).abs() < 0.05, "{seen:?}");
        assert!((0.8..=1.0).contains(&(seen.hold_ns / hold as f64)), "{seen:?}");
        assert!(seen.share > 0.9, "{seen:?}");
    }

    #[test]
    fn a_link_that_delivers_evenly_shows_none() {
        for jitter in [0, MS / 10, 10 * MS] {
            let packets = windowed(&mut Link::new(&[(0, RATE)], jitter), 20 * MS, 80, 4000);
            assert_eq!(found(&packets), None);
        }
    }

    /// A fast link acknowledges a sender's bursts in bursts, without aggregation.
    #[test]
    fn a_senders_bursts_are_not_aggregation() {
        let packets: Vec<Packet> = (0..2000u32)
            .map(|i| {
                let sent = u64::from(i / 20) * 50 * MS + u64::from(i % 20) * 10_000;
                let fate = Fate::Acked { at: sent + 20 * MS, frame: i, is_prompt: true };
                Packet { sent, bytes: 1000, frame: i, fate }
            })
            .collect();
        assert_eq!(found(&packets), None);
        // a link of a quarter of the rate would need aggregation to cause these acknowledgements
        assert!(aggregation(&packets, &slice(&packets, RATE / 4.0).expect("some")).is_some());
    }
}
