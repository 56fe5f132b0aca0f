//! Ranges of the parameters over the CCAC model's belief set (thesis section A.2.2): the paths of rate C, propagation
//! RTT R, jitter of at most D and buffer beta that explain a flow.
//!
//! [`crate::tokens`] decides for one (C, R) whether a token count T_A explains the record. With a larger R packets
//! arrive later, so fewer tokens must be spent. R is at most the minimum RTT, and the set of possible C is largest
//! there. A larger C raises both bounds on T_A. The possible C are therefore C_L <= C <= C_U; R exceeds a bound that
//! depends on C and is smallest at C_L:
//!
//! - C_L = max over intervals of delivered / (T + D), computed from a convex hull;
//! - C_U, the bound on R and the minimum D for which a path explains the record are found by bisection, with one pass
//!   over the record per step.
//!
//! C_U is at most the bound of equation 4.1.2, which requires RTTs above R + D throughout an interval.

use crate::hull::Chain;
use crate::interval::Interval;
use crate::packet::Fate;
use crate::record::{Record, Stretch};
use crate::tokens::{Breach, Path, walk};
use serde::Serialize;

/// Number of bisection steps. They reduce a range of rates by a factor of 10^4 to a relative width of 1e-8, and a range
/// of times to 1e-9 of its length.
const HALVINGS: usize = 30;
/// Maximum link rate, bytes/ns.
const FASTEST: f64 = 1e3;
/// Minimum link rate (one byte per second), bytes/ns.
const SLOWEST: f64 = 1e-9;

/// Ranges of the parameters over the belief set for a jitter of at most D.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct CcacBelief {
    /// The D that was assumed, ns.
    pub jitter_assumed_ns: f64,
    /// C_L, bytes/s.
    pub min_bytes_per_s: f64,
    /// The acknowledgements between which the delivery rate was highest: they determine C_L.
    pub min_frames: Option<[u32; 2]>,
    /// C_U, bytes/s; `None` if the link was never certainly busy for longer than D.
    pub max_bytes_per_s: Option<f64>,
    /// The frames between which the delivery rate was lowest although packets waited: they determine C_U.
    pub max_frames: Option<[u32; 2]>,
    /// R, ns.
    pub rtprop_ns: Interval,
    /// beta, bytes. Losses are treated as overflows of the queue; if that leads to a contradiction, there is no upper
    /// bound.
    pub buffer_bytes: Interval,
}

impl CcacBelief {
    /// C, bytes/s.
    pub fn rate_bytes_per_s(&self) -> Interval {
        Interval { lo: self.min_bytes_per_s, hi: self.max_bytes_per_s }
    }
}

/// Returns the belief set of a flow; `None` if no path explains the flow with that jitter.
///
/// `jitter`: D, ns.
pub fn explain_ccac(record: &Record<'_>, jitter: f64) -> Option<CcacBelief> {
    believe(&record.whole(), jitter)
}

/// Returns the belief set of a part of a record.
pub(crate) fn believe(record: &Stretch<'_>, jitter: f64) -> Option<CcacBelief> {
    let (least, min_frames) = min_rate(record, jitter)?;
    let at = |rate: f64, rtprop: f64| Path { rate, rtprop, jitter };
    let fits = |path: Path| walk(record, path, |_| {}).is_ok();
    let lowest = at(least, record.rtt_min);
    if !fits(lowest) {
        return None;
    }
    let most =
        (!fits(at(FASTEST, record.rtt_min))).then(|| last(least, FASTEST, mean, |rate| fits(at(rate, record.rtt_min))));
    let max_frames = most.and_then(|(_, beyond)| match walk(record, at(beyond, record.rtt_min), |_| {}) {
        Err(Breach::TooLittle(from, to) | Breach::TooMuch(from, to)) => Some([from, to]),
        Ok(()) => None,
    });
    let rtprop_min = match fits(at(least, 0.0)) {
        true => 0.0,
        false => last(record.rtt_min, 0.0, |a, b| (a + b) / 2.0, |rtprop| fits(at(least, rtprop))).0,
    };
    let fastest = at(most.map_or(FASTEST, |(inside, _)| inside), record.rtt_min);
    let kept = largest_kept(record, fastest);
    Some(CcacBelief {
        jitter_assumed_ns: jitter,
        min_bytes_per_s: least * 1e9,
        min_frames,
        max_bytes_per_s: most.map(|(inside, _)| inside * 1e9),
        max_frames,
        rtprop_ns: Interval { lo: rtprop_min, hi: Some(record.rtt_min) },
        buffer_bytes: Interval {
            lo: kept,
            // if this bound is below `kept`, the losses were not overflows of a queue
            hi: smallest_lost(record, at(least, rtprop_min)).filter(|&lost| lost > kept),
        },
    })
}

/// Returns C_U of a part of a record, bytes/ns. `least`: C_L; `known`: C_U of a shorter part, if it had one.
pub(crate) fn max_rate(record: &Stretch<'_>, least: f64, known: Option<f64>, jitter: f64) -> Option<f64> {
    let fits = |rate: f64| walk(record, Path { rate, rtprop: record.rtt_min, jitter }, |_| {}).is_ok();
    let beyond = known.unwrap_or(FASTEST);
    match fits(beyond) {
        true => known,
        false => Some(last(least.max(SLOWEST), beyond, mean, fits).0),
    }
}

/// The geometric mean of two rates.
fn mean(one: f64, other: f64) -> f64 {
    (one * other).sqrt()
}

/// The minimum D with which the CCAC model explains a flow, ns, and the frames that require it.
///
/// `enough`: a D that suffices, ns.
pub fn min_jitter(record: &Record<'_>, enough: f64) -> Option<(f64, Option<[u32; 2]>)> {
    min_jitter_of(&record.whole(), enough)
}

/// Returns the minimum jitter for a part of a record, as [`min_jitter`] does.
pub(crate) fn min_jitter_of(record: &Stretch<'_>, enough: f64) -> Option<(f64, Option<[u32; 2]>)> {
    let explains = |jitter: f64| contradiction(record, jitter).is_none();
    if explains(0.0) {
        return Some((0.0, None));
    }
    if !explains(enough) {
        return None;
    }
    let (inside, outside) = last(enough, 0.0, |a, b| (a + b) / 2.0, explains);
    Some((inside, contradiction(record, outside).flatten()))
}

/// Returns `None` if a path explains the part with a jitter of D; otherwise the two frames that contradict it, if there
/// are two.
pub(crate) fn contradiction(record: &Stretch<'_>, jitter: f64) -> Option<Option<[u32; 2]>> {
    let Some((rate, _)) = min_rate(record, jitter) else { return Some(None) };
    match walk(record, Path { rate, rtprop: record.rtt_min, jitter }, |_| {}) {
        Ok(()) => None,
        Err(Breach::TooLittle(from, to) | Breach::TooMuch(from, to)) => Some(Some([from, to])),
    }
}

/// Returns C_L, bytes/ns, and the acknowledgements that determine it. `None` if two simultaneous acknowledgements show
/// that D is too small.
pub(crate) fn min_rate(record: &Stretch<'_>, jitter: f64) -> Option<(f64, Option<[u32; 2]>)> {
    let (mut chain, mut least, mut frames) = (Chain::default(), 0.0f64, None);
    for ack in record.acks {
        if let Some((slope, from)) = chain.steepest_to((ack.at, ack.total))
            && slope > least
        {
            (least, frames) = (slope, Some([from, ack.frame]));
        }
        if let Some(room) = ack.room {
            chain.push((ack.at - jitter, room), ack.frame);
        }
    }
    // the margin prevents that rounding contradicts the bound
    (least < FASTEST).then_some((least.max(SLOWEST) * (1.0 + 1e-12), frames))
}

/// Bisects between a value that fits and a value that fails. Returns the last value that was found to fit and the last
/// that was found to fail.
fn last(fits: f64, fails: f64, middle: fn(f64, f64) -> f64, is_fit: impl Fn(f64) -> bool) -> (f64, f64) {
    let (mut inside, mut outside) = (fits, fails);
    for _ in 0..HALVINGS {
        let between = middle(inside, outside);
        if is_fit(between) {
            inside = between;
        } else {
            outside = between;
        }
    }
    (inside, outside)
}

/// Lower bound on the buffer, bytes: the largest queue at the arrival of a packet that was not lost.
fn largest_kept(record: &Stretch<'_>, path: Path) -> f64 {
    let mut largest = 0.0f64;
    let _ = walk(record, path, |seen| {
        if record.packets[seen.packet].fate != Fate::Lost {
            largest = largest.max(seen.arrived - seen.most);
        }
    });
    (largest - largest_packet(record)).max(0.0)
}

/// Upper bound on the buffer, bytes: the smallest queue at the arrival of a lost packet; `None` if no packet was lost.
fn smallest_lost(record: &Stretch<'_>, path: Path) -> Option<f64> {
    let mut smallest = f64::INFINITY;
    let _ = walk(record, path, |seen| {
        if record.packets[seen.packet].fate == Fate::Lost {
            smallest = smallest.min(seen.arrived - seen.least);
        }
    });
    smallest.is_finite().then(|| smallest + largest_packet(record))
}

/// Size of the largest packet, bytes. Links differ in whether the packet in transmission counts towards the buffer.
fn largest_packet(record: &Stretch<'_>) -> f64 {
    record.packets.iter().map(|packet| f64::from(packet.bytes)).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests;
