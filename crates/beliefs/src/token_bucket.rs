//! Token buckets: links that pass bursts immediately and otherwise limit the rate.
//!
//! A bucket of b bytes that fills at rate r releases a packet at max(arrival, z - b / r), where z is its departure time
//! from a busy link of rate r (the virtual scheduling form of the generic cell rate algorithm, ITU-T I.371 annex A). A
//! *shaper* delays packets in excess of that, behind a link of rate p. A *policer* drops them: its losses are the
//! overflows of a queue of b bytes that is served at r, and it delays no packet.

use crate::cbr_delay::Belief;
use crate::ccac::min_rate;
use crate::changes::Parts;
use crate::golden::least;
use crate::packet::{Fate, Packet};
use crate::slice::{Slice, slice};
use serde::Serialize;

/// A shaper is reported only if it needs at most this fraction of the jitter that a constant link would need.
const MAX_JITTER_SHARE: f64 = 1.0 / 3.0;
/// Minimum bucket size in packets of the maximum size. Smaller buckets count as jitter.
const PACKETS: f64 = 8.0;
/// Minimum ratio of the peak rate to the bucket's rate.
const RATIO: f64 = 1.2;
/// Number of golden sections per parameter and iteration.
const SECTIONS: usize = 16;
/// Number of iterations over the three parameters.
const TURNS: usize = 4;
/// Maximum ratio of the peak rate to the delivery rate in the search.
const WIDEST_PEAK: f64 = 100.0;
/// Minimum number of losses to distinguish a policer from chance.
const LOSSES: usize = 4;
/// Number of rates tried for a policer, in constant ratios.
const RATES: usize = 48;

/// Treatment of packets that exceed the bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Excess {
    /// Packets wait, as in a shaper.
    Delayed,
    /// Packets are dropped, as in a policer.
    Lost,
}

/// A bucket that explains a flow better than a constant link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct TokenBucket {
    /// A shaper or a policer.
    pub excess: Excess,
    /// r, bytes/s.
    pub rate_bytes_per_s: f64,
    /// b, bytes.
    pub bucket_bytes: f64,
    /// p, bytes/s; `None` for a policer.
    pub peak_bytes_per_s: Option<f64>,
    /// The minimum jitter with which the bucket explains the delays, ns.
    pub jitter_min_ns: f64,
    /// First packet of the largest burst, and the packet with which the bucket was empty.
    pub frames: [u32; 2],
}

/// Minimum number of waiting packets to determine a bucket's rate.
const WAITING_PACKETS: usize = 50;
/// A packet counts as waiting if its RTT exceeds the minimum by this time, ns, and by `WAITS_PACKETS`.
const WAITS_NS: f64 = 1_500_000.0;
/// The RTT of a waiting packet exceeds the minimum by the transmission time of this many packets.
const WAITS_PACKETS: f64 = 3.0;
/// Fraction of packets that may deviate more, because hosts stall occasionally.
const OUTLIERS: f64 = 0.02;
/// Minimum fraction of the bucket that must have passed without waiting.
const SPARED: f64 = 0.6;
/// Minimum relative uncertainty of a rate.
const MIN_OFF: f64 = 0.002;
/// Relative range of the search around the given rate.
const AROUND: f64 = 0.03;

/// Returns a shaper whose bursts pass without waiting, if it explains the packets.
///
/// Let Q be the backlog of a constant link of rate r. With a bucket of b bytes, only backlog above b waits: each packet
/// waits for max(0, Q - b) / r. All waiting packets therefore agree on b, and no packet with a smaller backlog waits.
///
/// # Parameters
/// `rate`: approximate r, bytes/s; `tolerance`: maximum deviation of waiting times from this formula, ns.
pub fn sparing_shaper(packets: &[Packet], rate: f64, tolerance: f64) -> Option<TokenBucket> {
    let most = largest(packets);
    let (shift, misfit) = least(-AROUND, AROUND, 2 * SECTIONS, |shift| {
        hinge(packets, rate * (1.0 + shift)).map_or(f64::INFINITY, |hinge| hinge.spread_ns)
    });
    let rate = rate * (1.0 + shift);
    let hinge = hinge(packets, rate)?;
    let is_one = misfit <= tolerance && hinge.bucket >= PACKETS * most && hinge.spared >= SPARED * hinge.bucket;
    is_one.then_some(TokenBucket {
        excess: Excess::Delayed,
        rate_bytes_per_s: rate,
        bucket_bytes: hinge.bucket,
        peak_bytes_per_s: None,
        jitter_min_ns: hinge.spread_ns,
        frames: hinge.frames,
    })
}

/// Returns the service rate of a queue and its uncertainty, bytes/s: the rate at which all waiting packets agree on the
/// number of bytes that pass without waiting.
///
/// `rate`: an approximate value, bytes/s; `tolerance`: maximum deviation of waiting times, ns.
pub(crate) fn served_rate(packets: &[Packet], rate: f64, tolerance: f64) -> Option<(f64, f64)> {
    let spread = |shift: f64| hinge(packets, rate * (1.0 + shift)).map_or(f64::INFINITY, |hinge| hinge.spread_ns);
    let (shift, misfit) = least(-AROUND, AROUND, 2 * SECTIONS, spread);
    let served = rate * (1.0 + shift);
    let hinge = hinge(packets, served)?;
    let is_one = misfit <= tolerance && hinge.bucket < PACKETS * largest(packets);
    // the error accumulates only during a busy period, because an empty queue resets it
    is_one.then_some((served, served * (misfit / hinge.busy_ns).max(MIN_OFF)))
}

/// Properties of the waiting times, assuming a rate.
#[derive(Clone, Copy, Debug)]
struct Hinge {
    /// b, bytes.
    bucket: f64,
    /// Deviation of waiting times from max(0, Q - b) / r, ns.
    spread_ns: f64,
    /// Maximum backlog without waiting, bytes.
    spared: f64,
    /// First and last packet of the burst with that backlog.
    frames: [u32; 2],
    /// Maximum busy period of a link of that rate, ns.
    busy_ns: f64,
}

fn hinge(packets: &[Packet], rate: f64) -> Option<Hinge> {
    let origin = packets.first()?.sent;
    let least = packets.iter().filter_map(Packet::rtt).min()? as f64;
    let floor = WAITS_NS.max(WAITS_PACKETS * largest(packets) * 1e9 / rate);
    let (mut free, mut burst) = (0.0f64, 0);
    let (mut since, mut busy_ns) = (0.0f64, 1.0f64);
    let (mut beyond, mut spared, mut frames) = (Vec::new(), Vec::new(), [0, 0]);
    for packet in packets {
        if packet.acked().is_none() {
            continue;
        }
        let sent = packet.sent.saturating_sub(origin) as f64;
        if free <= sent {
            burst = packet.frame;
            since = sent;
        }
        busy_ns = busy_ns.max(sent - since);
        let queued = (free - sent).max(0.0) * rate / 1e9;
        free = free.max(sent) + f64::from(packet.bytes) * 1e9 / rate;
        let Some(rtt) = packet.rtt() else { continue };
        let waited = rtt as f64 - least;
        if waited >= floor {
            let is_certain = matches!(packet.fate, Fate::Acked { is_prompt: true, .. });
            if is_certain {
                beyond.push(queued - waited * rate / 1e9);
            }
        } else {
            spared.push((queued, [burst, packet.frame]));
        }
    }
    if beyond.len() < WAITING_PACKETS {
        return None;
    }
    beyond.sort_by(f64::total_cmp);
    let cut = (beyond.len() as f64 * OUTLIERS / 2.0) as usize;
    let bucket = beyond[beyond.len() / 2];
    spared.sort_by(|a, b| a.0.total_cmp(&b.0));
    let cut_spared = (spared.len() as f64 * OUTLIERS) as usize;
    let max_spared = spared.get(spared.len().checked_sub(1 + cut_spared)?)?;
    if let Some(&(_, seen)) = spared.last() {
        frames = seen;
    }
    // packets counted as not waiting may exceed the bucket by less than the detection limit
    let above = (max_spared.0 - bucket) * 1e9 / rate - floor;
    let spread_ns = ((beyond[beyond.len() - 1 - cut] - beyond[cut]) * 1e9 / rate).max(above);
    Some(Hinge { bucket, spread_ns, spared: max_spared.0, frames, busy_ns })
}

/// Returns a shaper that explains a flow, if a constant link needs much more jitter for it than the flow's parts need.
pub fn shaper(packets: &[Packet], parts: &Parts<'_>) -> Option<TokenBucket> {
    let (peak, _) = min_rate(&parts.whole(), parts.jitter)?;
    let steady = parts.lasting.iter().max_by_key(|lasting| lasting.len())?.ccac.rate_bytes_per_s();
    let rate = f64::midpoint(steady.lo, steady.hi?);
    let constant = slice(packets, rate)?.jitter_min_ns();
    if peak * 1e9 < RATIO * rate || constant * MAX_JITTER_SHARE < parts.jitter {
        return None;
    }
    let cost = |rate: f64, bucket: f64, peak: f64| fit(packets, rate, bucket, peak).0;
    let mut at = (rate, rate * constant / 1e9, peak * 1e9);
    let mut jitter = f64::INFINITY;
    // each range is a ratio, and narrower in each iteration; the peak rate may be unlimited
    for turn in 0..TURNS {
        let near = |x: f64, factor: f64, cost: &dyn Fn(f64) -> f64| {
            let span = factor.ln() * 0.25f64.powi(turn as i32);
            let (shift, cost) = least(-span, span, SECTIONS, |shift| cost(x * shift.exp()));
            (x * shift.exp(), cost)
        };
        (at.2, _) = near(at.2, WIDEST_PEAK, &|peak| cost(at.0, at.1, peak));
        (at.1, _) = near(at.1, 4.0, &|bucket| cost(at.0, bucket, at.2));
        (at.0, jitter) = near(at.0, 1.05, &|rate| cost(rate, at.1, at.2));
    }
    let explains = jitter <= MAX_JITTER_SHARE * constant && at.2 >= RATIO * at.0 && at.1 >= PACKETS * largest(packets);
    explains.then(|| TokenBucket {
        excess: Excess::Delayed,
        rate_bytes_per_s: at.0,
        bucket_bytes: at.1,
        peak_bytes_per_s: Some(at.2),
        jitter_min_ns: jitter,
        frames: fit(packets, at.0, at.1, at.2).1,
    })
}

/// Returns the minimum jitter with which a shaper (rates in bytes/s) explains the packets, and the frames of its
/// largest burst.
fn fit(packets: &[Packet], rate: f64, bucket: f64, peak: f64) -> (f64, [u32; 2]) {
    let origin = packets.first().map_or(0, |packet| packet.sent);
    // `free`: time when the link before the bucket is free; `full`: time when the bucket is full again, ns
    let (mut free, mut full) = (0.0f64, f64::NEG_INFINITY);
    let (mut lowest, mut highest) = (f64::INFINITY, f64::NEG_INFINITY);
    let (mut burst, mut largest, mut frames) = (0, 0.0f64, [0, 0]);
    for packet in packets {
        let Fate::Acked { at, is_prompt, .. } = packet.fate else { continue };
        let (sent, bytes) = (packet.sent.saturating_sub(origin) as f64, f64::from(packet.bytes));
        free = free.max(sent) + bytes * 1e9 / peak;
        if full <= free {
            burst = packet.frame;
        }
        full = full.max(free) + bytes * 1e9 / rate;
        let used = (full - free) * rate / 1e9;
        if used <= bucket && used > largest {
            (largest, frames) = (used, [burst, packet.frame]);
        }
        let leaves = free.max(full - bucket * 1e9 / rate);
        let rest = at.saturating_sub(origin) as f64 - leaves;
        lowest = lowest.min(rest);
        if is_prompt {
            highest = highest.max(rest);
        }
    }
    if lowest < 0.0 {
        return (f64::INFINITY, frames);
    }
    ((highest - lowest).max(0.0), frames)
}

fn largest(packets: &[Packet]) -> f64 {
    packets.iter().map(|packet| f64::from(packet.bytes)).fold(0.0, f64::max)
}

/// Returns a policer that explains a flow's losses, if a full queue of the link that caused its delays does not.
///
/// `belief`: the CBR-delay model's belief set of the flow.
pub fn policer(packets: &[Packet], belief: &Belief) -> Option<TokenBucket> {
    let lost = packets.iter().filter(|packet| packet.fate == Fate::Lost).count();
    // on a link that never queues, a buffer of a few packets explains any loss
    let is_queue = |most: Option<f64>| most.is_some_and(|most| most >= PACKETS * largest(packets));
    let overflows = |slice: &Slice| slice.losses_are_overflows() && is_queue(slice.buffer_max_bytes);
    if lost < LOSSES || belief.slices.iter().any(overflows) {
        return None;
    }
    // largest queue without loss minus smallest queue with loss, bytes; not above zero at a policer's rate
    let gap = |rate: f64| {
        let at = slice(packets, rate)?;
        is_queue(at.buffer_max_bytes).then_some(at.buffer_min_bytes - at.buffer_max_bytes?)
    };
    let delivered: f64 = packets.iter().filter(|p| p.acked().is_some()).map(|p| f64::from(p.bytes)).sum();
    let ends = (packets.iter().map(|p| p.sent).min()?, packets.iter().filter_map(Packet::acked).max()?);
    let mean = delivered * 1e9 / (ends.1 - ends.0).max(1) as f64;
    // the mean is above r while the initial tokens of the bucket last, and below r if the flow paused
    let rates: Vec<f64> = (0..=RATES).map(|i| mean / 4.0 * 16f64.powf(i as f64 / RATES as f64)).collect();
    let cost = |rate: f64| gap(rate).unwrap_or(f64::INFINITY);
    let best = (0..rates.len()).min_by(|&a, &b| cost(rates[a]).total_cmp(&cost(rates[b])))?;
    let (low, high) = (rates[best.saturating_sub(1)], rates[(best + 1).min(RATES)]);
    let (rate, least) = least(low, high, 2 * SECTIONS, cost);
    let at = slice(packets, rate)?;
    let bucket = f64::midpoint(at.buffer_min_bytes, at.buffer_max_bytes?);
    (least <= 0.0).then(|| TokenBucket {
        excess: Excess::Lost,
        rate_bytes_per_s: rate,
        bucket_bytes: bucket,
        peak_bytes_per_s: None,
        jitter_min_ns: belief.simplest.jitter_min_ns(),
        frames: fit(packets, rate, bucket, rate * 1e6).1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain;
    use crate::packet::testing::{Link, windowed};
    use crate::record::Record;

    const MS: u64 = 1_000_000;

    /// A sender with pauses, over a link of rate p and then a bucket, with jitter.
    fn shaped(rate: f64, bucket: f64, peak: f64, jitter: u64) -> Vec<Packet> {
        let (mut free, mut full, mut last, mut sent) = (0.0f64, 0.0f64, 0u64, 0u64);
        let mut packets: Vec<Packet> = Vec::new();
        for i in 0..6000u32 {
            // a window of 200 packets, with a pause of half a second after each 1500 packets
            let pause = if i % 1500 == 1499 { 500 * MS } else { 0 };
            sent = packets.len().checked_sub(200).and_then(|j| packets[j].acked()).unwrap_or(0).max(sent) + pause;
            free = free.max(sent as f64) + 1000.0 * 1e9 / peak;
            full = full.max(free) + 1000.0 * 1e9 / rate;
            let leaves = free.max(full - bucket * 1e9 / rate);
            last = (leaves as u64 + 20 * MS + jitter * (u64::from(i) * 7919 % 101) / 100).max(last + 1);
            let fate = Fate::Acked { at: last, frame: 2 * i + 2, is_prompt: true };
            packets.push(Packet { sent, bytes: 1000, frame: 2 * i + 1, fate });
        }
        packets
    }

    fn found(packets: &[Packet]) -> Option<TokenBucket> {
        shaper(packets, &Parts::new(&Record::new(packets)?)?)
    }

    #[test]
    fn a_shaper_is_found_with_its_rate_and_bucket() {
        for (rate, bucket, jitter) in [(1e6, 200_000.0, 0), (1e6, 400_000.0, MS), (3e6, 100_000.0, MS)] {
            let packets = shaped(rate, bucket, 10e6, jitter);
            let seen = found(&packets).expect("a bucket");
            let near = |value: f64, truth: f64, share: f64| (value / truth - 1.0).abs() < share;
            assert!(near(seen.rate_bytes_per_s, rate, 0.02), "{seen:?}");
            assert!(near(seen.bucket_bytes, bucket, 0.1), "{seen:?}");
            assert!(near(seen.peak_bytes_per_s.expect("a shaper"), 10e6, 0.2), "{seen:?}");
        }
    }

    #[test]
    fn a_constant_link_is_no_shaper() {
        for jitter in [0, 3 * MS] {
            let packets = windowed(&mut Link::new(&[(0, 2e6)], jitter), 20 * MS, 80, 6000);
            assert_eq!(found(&packets), None);
        }
    }

    #[test]
    fn a_policer_is_found_by_its_losses() {
        let (rate, bucket) = (1e6, 50_000.0);
        let (mut tokens, mut before) = (bucket, 0u64);
        let packets: Vec<Packet> = (0..5000u32)
            .map(|i| {
                // alternately faster and slower than r
                let sent = before + if i / 500 % 2 == 0 { MS * 7 / 10 } else { MS * 13 / 10 };
                tokens = (tokens + (sent - before) as f64 * rate / 1e9).min(bucket);
                before = sent;
                let fate = match tokens >= 1000.0 {
                    true => Fate::Acked { at: sent + 20 * MS + u64::from(i % 7) * 1000, frame: i, is_prompt: true },
                    false => Fate::Lost,
                };
                tokens -= if fate == Fate::Lost { 0.0 } else { 1000.0 };
                Packet { sent, bytes: 1000, frame: i, fate }
            })
            .collect();
        let belief = explain(&packets, |simplest| 2.0 * simplest.jitter_min_ns()).expect("a path");
        let seen = policer(&packets, &belief).expect("a policer");
        assert!((seen.rate_bytes_per_s / rate - 1.0).abs() < 0.02, "{seen:?}");
        assert!((seen.bucket_bytes / bucket - 1.0).abs() < 0.1, "{seen:?}");
    }

    #[test]
    fn losses_by_chance_are_no_policer() {
        let mut packets = windowed(&mut Link::new(&[(0, 2e6)], 0), 20 * MS, 80, 6000);
        for packet in packets.iter_mut().step_by(397) {
            packet.fate = Fate::Lost;
        }
        let belief = explain(&packets, |simplest| 2.0 * simplest.jitter_min_ns()).expect("a path");
        assert_eq!(policer(&packets, &belief), None);
    }
}
