//! Changes of the link's rate within a flow (thesis section 4.1.1.2: after the link changes, old beliefs are stale;
//! contradictions between beliefs show that).
//!
//! A flow is cut where no CCAC path explains the data before and after the cut together, with the jitter that short
//! parts of the flow show separately. The data between two cuts is a *stretch*. A cut counts as a change of rate if the
//! inferred rates of both sides differ and both sides last long enough; otherwise it counts as jitter. A *piece* is the
//! data between two changes. The contradiction of the old belief appears only some time after the change. The new
//! belief is therefore extended backwards as far as it explains the data, and the change is placed where the delivery
//! lines of the two rates intersect.

use crate::ccac::{CcacBelief, believe, contradiction, min_jitter_of};
use crate::interval::Interval;
use crate::record::{Record, Stretch};
use serde::Serialize;
use std::ops::Range;

/// Number of parts whose jitter is determined separately.
const PARTS: usize = 32;
/// Minimum number of acknowledgements in such a part. A flow with fewer than four times as many acknowledgements is not
/// cut.
const PART_ACKS: usize = 64;
/// Jitter above this multiple of the parts' median indicates a change of rate.
const JITTER_MEDIANS: f64 = 2.0;
/// Minimum relative difference between two rates that count as distinct.
const APART: f64 = 0.05;
/// A rate is lasting if it holds for this multiple of D and for `LASTING_RTTS`.
const LASTING_JITTERS: f64 = 20.0;
/// A lasting rate holds for this multiple of the minimum RTT. The pause and burst of a stalled host on a link of
/// constant rate are shorter.
const LASTING_RTTS: f64 = 10.0;
/// Maximum number of stretches examined. Later changes are not reported.
const MAX_STRETCHES: usize = 4096;

/// A change of the link's rate, with the times and frames of the acknowledgements that show it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// Time, ns.
    pub time_ns: u64,
    /// Frame of the first acknowledgement after the change.
    pub frame: u32,
    /// C before the change, bytes/s.
    pub before_bytes_per_s: Interval,
    /// C after the change, bytes/s.
    pub after_bytes_per_s: Interval,
    /// Time when the earlier belief was contradicted, ns.
    pub contradicted_ns: u64,
    /// Frame of the acknowledgement that contradicted the earlier belief.
    pub contradicted_frame: u32,
}

/// A part of a flow with a constant rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Piece {
    /// Time of the first acknowledgement, ns.
    pub from_ns: u64,
    /// Frame of the first acknowledgement.
    pub from_frame: u32,
    /// Time of the last acknowledgement, ns.
    pub to_ns: u64,
    /// Frame of the last acknowledgement.
    pub to_frame: u32,
    /// Belief from the longest stretch of the piece that has no disturbance.
    pub ccac: CcacBelief,
    /// Range of C over all stretches of the piece without disturbance, bytes/s.
    pub rate_bytes_per_s: Interval,
}

/// A flow, cut at the changes of its link's rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Pieces {
    /// The D that was assumed within a piece, ns.
    pub jitter_assumed_ns: f64,
    /// The pieces; at least one.
    pub pieces: Vec<Piece>,
    /// The changes between consecutive pieces.
    pub changes: Vec<Change>,
}

/// A stretch that lasts long enough, and its belief.
#[derive(Clone, Debug)]
pub(crate) struct Lasting {
    acks: Range<usize>,
    pub(crate) ccac: CcacBelief,
}

impl Lasting {
    /// Number of acknowledgements.
    pub(crate) fn len(&self) -> usize {
        self.acks.len()
    }
}

/// Beliefs of a flow's parts, each from the data of that part only.
#[derive(Debug)]
pub struct Parts<'a> {
    record: &'a Record<'a>,
    rtprop: f64,
    /// Jitter that the parts need, with a margin, ns.
    pub(crate) jitter: f64,
    pub(crate) lasting: Vec<Lasting>,
}

impl<'a> Parts<'a> {
    /// Splits a record into parts; `None` if the flow is too short.
    pub fn new(record: &'a Record<'a>) -> Option<Parts<'a>> {
        let rtprop = record.whole().rtt_min;
        let jitter = own_jitter(record, rtprop)?;
        let lasting = lasting(record, rtprop, jitter);
        Some(Parts { record, rtprop, jitter, lasting })
    }
    /// The whole flow as one stretch.
    pub(crate) fn whole(&self) -> Stretch<'_> {
        self.record.whole()
    }
}

/// Cuts a flow at the changes of its link's rate; `None` if there is no change.
pub fn cut(parts: &Parts<'_>) -> Option<Pieces> {
    let Parts { record, rtprop, jitter, lasting } = parts;
    let (rtprop, jitter) = (*rtprop, *jitter);
    let mut pieces: Vec<(Piece, Range<usize>)> = Vec::new();
    let mut changes = Vec::new();
    for next in lasting.iter().cloned() {
        let Some((known, last)) = pieces.last_mut() else {
            pieces.push((piece(record, 0..next.acks.end, next.ccac), next.acks));
            continue;
        };
        let rates = (known.ccac.rate_bytes_per_s(), next.ccac.rate_bytes_per_s());
        if are_apart(rates.0, rates.1) {
            let change = change(record, rtprop, jitter, (last.clone(), next.acks.clone()), rates);
            let from = record.acks().partition_point(|ack| record.captured(ack.at) < change.time_ns);
            (known.to_ns, known.to_frame) = (change.time_ns, change.frame);
            changes.push(change);
            pieces.push((piece(record, from.min(next.acks.start)..next.acks.end, next.ccac), next.acks));
        } else {
            let end = &record.acks()[next.acks.end - 1];
            (known.to_ns, known.to_frame) = (record.captured(end.at), end.frame);
            known.rate_bytes_per_s = known.rate_bytes_per_s.hull(rates.1);
            if next.acks.len() > last.len() {
                known.ccac = next.ccac;
            }
            *last = next.acks;
        }
    }
    let pieces: Vec<Piece> = pieces.into_iter().map(|(piece, _)| piece).collect();
    (!changes.is_empty()).then_some(Pieces { jitter_assumed_ns: jitter, pieces, changes })
}

fn stretch<'a>(record: &'a Record<'_>, acks: Range<usize>, rtprop: f64) -> Stretch<'a> {
    // the propagation delay is assumed not to change with the rate
    record.stretch(acks).with_rtprop(rtprop)
}

/// Jitter that short parts need when each is explained separately, with a margin, ns.
fn own_jitter(record: &Record<'_>, rtprop: f64) -> Option<f64> {
    let acks = record.acks();
    let parts = (acks.len() / PART_ACKS).min(PARTS);
    if parts < 4 {
        return None;
    }
    let bound = |i: usize| i * acks.len() / parts;
    let mut least: Vec<f64> = (0..parts)
        .filter_map(|i| {
            let part = stretch(record, bound(i)..bound(i + 1), rtprop);
            let enough = acks[bound(i + 1) - 1].at - acks[bound(i)].at + rtprop;
            min_jitter_of(&part, enough).map(|(jitter, _)| jitter)
        })
        .collect();
    least.sort_by(f64::total_cmp);
    let median = *least.get(least.len() / 2)?;
    let whole = record.whole();
    let span = acks[acks.len() - 1].at - acks[0].at;
    let largest = whole.packets.iter().map(|packet| f64::from(packet.bytes)).fold(0.0, f64::max);
    let packet_time = largest * span / acks[acks.len() - 1].total;
    Some(JITTER_MEDIANS * median.max(packet_time))
}

/// Returns the stretches of sufficient length. Each ends where the next acknowledgement would contradict it.
fn lasting(record: &Record<'_>, rtprop: f64, jitter: f64) -> Vec<Lasting> {
    let acks = record.acks();
    let (mut out, mut from) = (Vec::new(), 0);
    for _ in 0..MAX_STRETCHES {
        if from >= acks.len() {
            break;
        }
        let end =
            longest(acks.len() - from, |n| contradiction(&stretch(record, from..from + n, rtprop), jitter).is_none());
        let range = from..from + end.max(1);
        from = range.end;
        let lasts = acks[range.end - 1].at - acks[range.start].at;
        if lasts < LASTING_JITTERS * jitter || lasts < LASTING_RTTS * rtprop {
            continue;
        }
        if let Some(ccac) = believe(&stretch(record, range.clone(), rtprop), jitter) {
            out.push(Lasting { acks: range, ccac });
        }
    }
    out
}

/// Returns the largest count up to `most` for which `holds` returns true. `holds` must be monotonic: once false, it is
/// false for all larger counts.
fn longest(most: usize, holds: impl Fn(usize) -> bool) -> usize {
    let (mut good, mut step) = (0, PART_ACKS);
    while good < most && holds((good + step).min(most)) {
        good = (good + step).min(most);
        step = good;
    }
    let mut bad = (good + step).min(most + 1);
    while good + 1 < bad {
        let middle = (good + bad) / 2;
        if holds(middle) {
            good = middle;
        } else {
            bad = middle;
        }
    }
    good
}

fn are_apart(one: Interval, other: Interval) -> bool {
    let below = |low: Interval, high: Interval| low.hi.is_some_and(|hi| hi * (1.0 + APART) < high.lo);
    below(one, other) || below(other, one)
}

fn piece(record: &Record<'_>, acks: Range<usize>, ccac: CcacBelief) -> Piece {
    let (from, to) = (&record.acks()[acks.start], &record.acks()[acks.end - 1]);
    Piece {
        from_ns: record.captured(from.at),
        from_frame: from.frame,
        to_ns: record.captured(to.at),
        to_frame: to.frame,
        rate_bytes_per_s: ccac.rate_bytes_per_s(),
        ccac,
    }
}

/// Time of the change of rate between two stretches.
fn change(
    record: &Record<'_>,
    rtprop: f64,
    jitter: f64,
    (before, after): (Range<usize>, Range<usize>),
    rates: (Interval, Interval),
) -> Change {
    let acks = record.acks();
    let contradicted = before.end.min(acks.len() - 1);
    // extend the new rate backwards while it explains the data
    let room = after.end - before.start;
    let back = longest(room, |n| contradiction(&stretch(record, after.end - n..after.end, rtprop), jitter).is_none());
    let first = (after.end - back.max(1)).min(contradicted);
    let (early, late) = (&acks[first], &acks[contradicted]);
    let slope = |rate: Interval| rate.hi.map_or(rate.lo, |hi| (rate.lo + hi) / 2.0) / 1e9;
    let (old, new) = (slope(rates.0), slope(rates.1));
    // early.total + old (t - early.at) = late.total - new (late.at - t)
    let meet = (late.total - early.total + old * early.at - new * late.at) / (old - new);
    let at = if meet.is_finite() { meet.clamp(early.at, late.at) } else { late.at };
    let index = acks.partition_point(|ack| ack.at < at).min(acks.len() - 1);
    Change {
        time_ns: record.captured(at),
        frame: acks[index].frame,
        before_bytes_per_s: rates.0,
        after_bytes_per_s: rates.1,
        contradicted_ns: record.captured(late.at),
        contradicted_frame: late.frame,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Packet;
    use crate::packet::testing::{Link, windowed};

    fn cut(packets: &[Packet]) -> Option<Pieces> {
        super::cut(&Parts::new(&Record::new(packets)?)?)
    }

    const R: u64 = 20_000_000;
    const S: u64 = 1_000_000_000;

    fn link(steps: &[(u64, f64)], jitter: u64) -> Vec<Packet> {
        windowed(&mut Link::new(steps, jitter), R, 80, 6000)
    }

    #[test]
    fn a_constant_link_has_no_change() {
        assert_eq!(cut(&link(&[(0, 2e6)], 0)), None);
        assert_eq!(cut(&link(&[(0, 2e6)], 3_000_000)), None);
    }

    #[test]
    fn changes_are_found_where_they_are() {
        for jitter in [0, 2_000_000] {
            let pieces = cut(&link(&[(0, 2e6), (S, 1e6), (3 * S, 3e6)], jitter)).expect("it changes");
            let found: Vec<f64> = pieces.changes.iter().map(|change| change.time_ns as f64 * 1e-9).collect();
            // ACKs of data delivered before the change arrive up to R later
            assert_eq!(found.len(), 2, "{pieces:?}");
            let near = |i: usize, at: f64| (found[i] - at - R as f64 * 1e-9).abs() < 0.02;
            assert!(near(0, 1.0) && near(1, 3.0), "{found:?}");
            for (piece, rate) in pieces.pieces.iter().zip([2e6, 1e6, 3e6]) {
                let believed = piece.ccac.rate_bytes_per_s();
                assert!(believed.admits(rate, 1e-4), "{believed:?} {rate}");
                assert!(!believed.admits(rate * 1.1, 0.0) && !believed.admits(rate / 1.1, 0.0), "{believed:?}");
            }
            for change in &pieces.changes {
                assert!(change.contradicted_ns >= change.time_ns);
            }
        }
    }

    /// After a pause all waiting packets arrive at once. This delay exceeds the usual jitter, but the rate is
    /// unchanged.
    #[test]
    fn a_pause_is_no_change() {
        let mut packets = link(&[(0, 2e6)], 100_000);
        for packet in &mut packets {
            if let crate::Fate::Acked { at, .. } = &mut packet.fate
                && (2 * S..2 * S + 50_000_000).contains(at)
            {
                *at = 2 * S + 50_000_000;
            }
        }
        assert_eq!(cut(&packets), None);
    }

    #[test]
    fn a_sender_that_pauses_is_no_change() {
        let mut packets = link(&[(0, 2e6)], 100_000);
        let slow = packets.len() / 2;
        for (i, packet) in packets.iter_mut().enumerate().skip(slow) {
            let later = (i - slow) as u64 * 1_000_000 + S / 5;
            packet.sent = packet.sent.saturating_add(later);
            if let crate::Fate::Acked { at, .. } = &mut packet.fate {
                *at = packet.sent + R + 1_000_000;
            }
        }
        assert_eq!(cut(&packets), None);
    }
}
