//! Beliefs over the time of a flow (thesis section 3.2): the CCAC model's bounds after increasing parts of the flow.
//!
//! The number of acknowledgements grows by a constant factor from moment to moment, so all moments together cost little
//! more than the last. The jitter is that of the final belief: the result is what a sender that knew this jitter could
//! have believed.

use crate::ccac::max_rate;
use crate::hull::Chain;
use crate::record::{Record, Stretch};
use serde::Serialize;
use std::ops::Range;

/// Number of acknowledgements at the first moment.
const FIRST: usize = 4;
/// Ratio of the numbers of acknowledgements at consecutive moments.
const FACTOR: f64 = std::f64::consts::SQRT_2;

/// Beliefs at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Moment {
    /// Time of the acknowledgement, ns.
    pub time_ns: u64,
    /// Frame number of the acknowledgement.
    pub frame: u32,
    /// C_L, bytes/s.
    pub min_bytes_per_s: f64,
    /// C_U, bytes/s; `None` if there is no bound yet.
    pub max_bytes_per_s: Option<f64>,
    /// Upper bound on R, ns.
    pub rtprop_max_ns: f64,
}

/// Returns beliefs over time with a jitter of D, ns.
///
/// `pieces`: first and last frames of the intervals in which beliefs start afresh; empty if they start only with the
/// flow.
pub fn shrink(record: &Record<'_>, jitter: f64, pieces: &[(u32, u32)]) -> Vec<Moment> {
    let acks = record.acks();
    let place = |frame: u32| acks.iter().position(|ack| ack.frame == frame);
    let mut starts: Vec<usize> = pieces.iter().filter_map(|&(from, _)| place(from)).collect();
    if starts.first() != Some(&0) {
        starts.insert(0, 0);
    }
    let ends = starts[1..].iter().copied().chain([acks.len()]);
    starts.iter().zip(ends).flat_map(|(&from, to)| moments(record, from..to, jitter)).collect()
}

fn moments(record: &Record<'_>, part: Range<usize>, jitter: f64) -> Vec<Moment> {
    let mut out: Vec<Moment> = Vec::new();
    let (mut chain, mut least) = (Chain::default(), 0.0f64);
    let mut next = FIRST;
    for (i, ack) in record.acks()[part.clone()].iter().enumerate() {
        if let Some((slope, _)) = chain.steepest_to((ack.at, ack.total)) {
            least = least.max(slope);
        }
        if let Some(room) = ack.room {
            chain.push((ack.at - jitter, room), ack.frame);
        }
        let count = i + 1;
        if count < next && count < part.len() {
            continue;
        }
        next = ((next as f64 * FACTOR) as usize).max(count + 1);
        let seen: Stretch<'_> = record.stretch(part.start..part.start + count);
        let known = out.last().and_then(|moment| moment.max_bytes_per_s);
        out.push(Moment {
            time_ns: record.captured(ack.at),
            frame: ack.frame,
            min_bytes_per_s: least * 1e9,
            max_bytes_per_s: max_rate(&seen, least, known.map(|rate| rate / 1e9), jitter).map(|rate| rate * 1e9),
            rtprop_max_ns: seen.rtt_min,
        });
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explain_ccac;
    use crate::packet::testing::{Link, windowed};

    #[test]
    fn beliefs_only_shrink_and_end_at_the_whole_flows() {
        let packets = windowed(&mut Link::new(&[(0, 2e6)], 1_000_000), 20_000_000, 80, 2000);
        let d = 1_100_000.0;
        let record = Record::new(&packets).expect("delivered");
        let seen = shrink(&record, d, &[]);
        assert!(seen.len() > 10, "{seen:?}");
        let most = |moment: &Moment| moment.max_bytes_per_s.unwrap_or(f64::INFINITY);
        for pair in seen.windows(2) {
            assert!(pair[0].min_bytes_per_s <= pair[1].min_bytes_per_s);
            assert!(most(&pair[0]) >= most(&pair[1]));
            assert!(pair[0].rtprop_max_ns >= pair[1].rtprop_max_ns);
        }
        let (first, last) = (seen[0], seen[seen.len() - 1]);
        assert!(most(&first) > 2.0 * most(&last), "{first:?} {last:?}");
        let whole = explain_ccac(&record, d).expect("a path");
        assert!((last.min_bytes_per_s / whole.min_bytes_per_s - 1.0).abs() < 1e-6);
        assert!((most(&last) / whole.max_bytes_per_s.expect("it was busy") - 1.0).abs() < 1e-4, "{last:?} {whole:?}");
    }

    #[test]
    fn beliefs_restart_with_a_piece() {
        let packets = windowed(&mut Link::new(&[(0, 2e6), (1_000_000_000, 1e6)], 0), 20_000_000, 80, 3000);
        let record = Record::new(&packets).expect("delivered");
        let pieces = crate::cut(&crate::Parts::new(&record).expect("long")).expect("it changes").pieces;
        let ends: Vec<(u32, u32)> = pieces.iter().map(|piece| (piece.from_frame, piece.to_frame)).collect();
        let seen = shrink(&record, 2_000_000.0, &ends);
        let last = seen[seen.len() - 1];
        assert!(last.max_bytes_per_s.is_some_and(|most| most < 1.1e6), "{last:?}");
        assert!(seen.iter().any(|moment| moment.min_bytes_per_s > 1.9e6));
    }
}
