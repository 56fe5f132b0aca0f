//! The belief set of the CBR-delay model: the paths (C, R, D, beta) that explain a flow. A path is a queue with rate C
//! and beta bytes of buffer, then a delay of R, then a jitter in [0, D] without reordering.
//!
//! For a given C the queue, and with it each departure time dep(C), can be computed packet by packet. The remaining
//! unknowns are R and D, with R <= acked - dep <= R + D for each packet. The set's slice at C is
//!
//! `R <= F(C) = min (acked - dep),  R + D >= M(C) = max (acked - dep),  largest queue kept <= beta < smallest queue lost`
//!
//! so C is possible with a jitter of D if M(C) - F(C) <= D. An ideal link has D = 0. Computing a slice takes one pass.

use crate::interval::Interval;
use crate::packet::Packet;
use crate::search::Search;
use crate::slice::Slice;
use serde::Serialize;

/// Maximum number of slices in the result, enough to plot the set. A slice is the part of the set at one C.
const SHOWN: usize = 128;

/// Ranges of the parameters over the belief set for a jitter of at most D.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Belief {
    /// The D that was assumed, ns.
    pub jitter_assumed_ns: f64,
    /// The slice at the rate that needs the minimum jitter.
    pub simplest: Slice,
    /// C, bytes/s.
    pub rate_bytes_per_s: Interval,
    /// R, ns.
    pub rtprop_ns: Interval,
    /// beta, bytes, consistent with all losses as overflows of the queue. If no rate is consistent with that, losses
    /// are ignored.
    pub buffer_bytes: Interval,
    /// Slices across the set, by increasing rate.
    pub slices: Vec<Slice>,
}

/// Returns the belief set of packets in send order; `None` if no packet was delivered, or if no rate explains the
/// packets with that jitter.
///
/// # Parameters
/// `jitter`: function that returns D, ns, from the slice that explains the packets with the minimum jitter.
pub fn explain(packets: &[Packet], jitter: impl Fn(&Slice) -> f64) -> Option<Belief> {
    let (least, most) = brackets(packets)?;
    let mut search = Search::new(packets, least, most)?;
    let simplest = search.simplest()?;
    let d = jitter(&simplest);
    let (inside, is_bounded) = search.within(d);
    let (first, last) = (inside.first()?, inside.last()?);
    let over =
        |f: &dyn Fn(&Slice) -> f64, pick: fn(f64, f64) -> f64| inside.iter().map(f).reduce(pick).unwrap_or(f64::NAN);
    let consistent: Vec<&Slice> = inside.iter().filter(|s| s.losses_are_overflows()).collect();
    let buffer_bytes = match consistent.is_empty() {
        true => Interval { lo: over(&|s| s.buffer_min_bytes, f64::min), hi: None },
        false => consistent.iter().map(|s| s.buffer_bytes()).reduce(Interval::hull).unwrap_or(Interval::ANY),
    };
    Some(Belief {
        jitter_assumed_ns: d,
        simplest,
        rate_bytes_per_s: Interval { lo: first.rate_bytes_per_s, hi: is_bounded.then_some(last.rate_bytes_per_s) },
        rtprop_ns: Interval {
            lo: over(&|s| (s.delay_max_ns - d).max(0.0), f64::min),
            hi: Some(over(&|s| s.rtprop_max_ns, f64::max)),
        },
        buffer_bytes,
        slices: inside.iter().copied().step_by(inside.len().div_ceil(SHOWN)).collect(),
    })
}

/// Range of rates to search: from half the flow's mean rate to one maximum-size packet per microsecond.
fn brackets(packets: &[Packet]) -> Option<(f64, f64)> {
    let delivered = || packets.iter().filter_map(|p| p.acked().map(|at| (at, p.bytes)));
    let first = packets.first()?.sent;
    let last = delivered().map(|(at, _)| at).max()?;
    let total: f64 = delivered().map(|(_, bytes)| f64::from(bytes)).sum();
    let largest = packets.iter().map(|p| p.bytes).max()?;
    let least = total * 1e9 / (last.saturating_sub(first).max(1) as f64) / 2.0;
    Some((least, (f64::from(largest) * 1e6).max(least * 2.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ccac::explain_ccac;
    use crate::packet::Fate;
    use crate::packet::testing::paths;
    use crate::record::Record;
    use crate::slice::slice;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_true_path_is_in_its_slice(path in paths()) {
            let Some(at) = slice(&path.packets, path.rate) else { return Ok(()) };
            let (rtprop, jitter) = (path.rtprop as f64, path.jitter as f64);
            prop_assert!(rtprop <= at.rtprop_max_ns + 2.0, "{at:?}");
            prop_assert!(rtprop + jitter >= at.delay_max_ns - 2.0, "{at:?}");
            prop_assert!(path.buffer >= at.buffer_min_bytes - 0.1, "{at:?}");
            prop_assert!(at.buffer_max_bytes.is_none_or(|most| path.buffer <= most + 0.1), "{at:?}");
        }

        #[test]
        fn the_date_changes_nothing(path in paths()) {
            const TODAY: u64 = 1_700_000_000_123_456_789;
            let mut later = path.packets.clone();
            for packet in &mut later {
                packet.sent += TODAY;
                if let Fate::Acked { at, .. } = &mut packet.fate {
                    *at += TODAY;
                }
            }
            prop_assert_eq!(slice(&later, path.rate), slice(&path.packets, path.rate));
            let d = path.jitter as f64;
            let ccac = |packets: &[Packet]| Record::new(packets).and_then(|record| explain_ccac(&record, d));
            prop_assert_eq!(ccac(&later), ccac(&path.packets));
        }

        #[test]
        fn the_true_path_is_in_the_projections(path in paths()) {
            let d = path.jitter as f64 + 4.0;
            let Some(belief) = explain(&path.packets, |_| d) else { return Ok(()) };
            prop_assert!(belief.rate_bytes_per_s.admits(path.rate, 1e-3), "{:?} {}", belief.rate_bytes_per_s, path.rate);
        }
    }
}
