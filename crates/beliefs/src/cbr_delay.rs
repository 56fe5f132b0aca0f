//! The belief set of the CBR-delay model: a queue that is served at rate C and holds beta bytes, then R, then a jitter in
//! [0, D] that keeps the order.
//!
//! For a given C the queue is determined, packet by packet, and with it when each left it: dep(C). What is left to the
//! network is R and D, with R <= acked - dep <= R + D for each packet: the set's slice at C is
//!
//! `R <= F(C) = min (acked - dep),  R + D >= M(C) = max (acked - dep),  largest queue kept <= beta < smallest queue lost`
//!
//! so that C can be true for a jitter of D if M(C) - F(C) <= D. An ideal link has D = 0. A slice costs one pass.

use crate::packet::{Fate, Packet};
use serde::Serialize;

/// Candidate rates that are looked at before the ends are refined.
const GRID: usize = 96;
/// Halvings by which an end is refined: to a thousandth of a step of the grid.
const HALVINGS: usize = 10;

/// A range; no upper end means no bound.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The least.
    pub lo: f64,
    /// The largest.
    pub hi: Option<f64>,
}

/// What a rate leaves possible.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slice {
    /// C, bytes/s.
    pub rate_bytes_per_s: f64,
    /// F: R is at most this, ns. Negative: the rate is too low for what was delivered.
    pub rtprop_most_ns: f64,
    /// M: R + D is at least this, ns.
    pub delay_most_ns: f64,
    /// The buffer holds at least this, bytes.
    pub buffer_least_bytes: f64,
    /// ... and less than this, if something was lost.
    pub buffer_most_bytes: Option<f64>,
}

impl Slice {
    /// M - F: the least D, ns.
    pub fn jitter_least_ns(&self) -> f64 {
        (self.delay_most_ns - self.rtprop_most_ns).max(0.0)
    }
    fn is_possible(&self, jitter: f64) -> bool {
        self.rtprop_most_ns >= 0.0 && self.jitter_least_ns() <= jitter
    }
}

/// What packets in the order of their sending leave possible at a rate in bytes/s; `None` if none was delivered.
pub fn slice(packets: &[Packet], rate: f64) -> Option<Slice> {
    let (mut free, mut lowest, mut highest) = (0.0f64, f64::INFINITY, f64::NEG_INFINITY);
    let (mut kept, mut lost) = (0.0f64, f64::INFINITY);
    // times since the first: those since 1970 have more digits than a float
    let origin = packets.first()?.sent;
    for packet in packets {
        let (sent, bytes) = (packet.sent.saturating_sub(origin) as f64, f64::from(packet.bytes));
        let queue = (free - sent).max(0.0) * rate / 1e9 + bytes;
        let Fate::Acked { at, is_prompt } = packet.fate else {
            if packet.fate == Fate::Lost {
                lost = lost.min(queue);
            }
            continue;
        };
        kept = kept.max(queue);
        free = free.max(sent) + bytes * 1e9 / rate;
        let rest = at.saturating_sub(origin) as f64 - free;
        lowest = lowest.min(rest);
        if is_prompt {
            highest = highest.max(rest);
        }
    }
    lowest.is_finite().then(|| Slice {
        rate_bytes_per_s: rate,
        rtprop_most_ns: lowest,
        delay_most_ns: highest.max(lowest),
        buffer_least_bytes: kept,
        buffer_most_bytes: lost.is_finite().then_some(lost),
    })
}

/// Projections of the belief set for a jitter of at most D.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Belief {
    /// The D that was assumed, ns.
    pub jitter_assumed_ns: f64,
    /// The rate that needs least jitter, with what it leaves possible.
    pub simplest: Slice,
    /// C, bytes/s.
    pub rate_bytes_per_s: Interval,
    /// R, ns.
    pub rtprop_ns: Interval,
    /// beta, bytes: also what no loss contradicts. Losses are taken for overflows of the queue.
    pub buffer_bytes: Interval,
    /// Slices across the set, by rising rate.
    pub slices: Vec<Slice>,
}

/// The belief set of packets in the order of their sending.
///
/// # Parameters
/// `jitter`: D from the least jitter that explains the packets, both ns.
///
/// `None` if nothing was delivered, or if no rate explains it with that jitter.
pub fn explain(packets: &[Packet], jitter: impl Fn(f64) -> f64) -> Option<Belief> {
    let (least, most) = brackets(packets)?;
    let step = (most / least).powf(1.0 / GRID as f64);
    let grid: Vec<Slice> = (0..=GRID).filter_map(|i| slice(packets, least * step.powi(i as i32))).collect();
    let best = (0..grid.len())
        .filter(|&i| grid[i].rtprop_most_ns >= 0.0)
        .min_by(|&a, &b| grid[a].jitter_least_ns().total_cmp(&grid[b].jitter_least_ns()))?;
    let around = (best.saturating_sub(1), (best + 1).min(grid.len() - 1));
    let simplest = refine(packets, grid[best], grid[around.0].rate_bytes_per_s, grid[around.1].rate_bytes_per_s);
    let d = jitter(simplest.jitter_least_ns());
    if !simplest.is_possible(d) {
        return None;
    }
    let mut inside: Vec<Slice> = grid.iter().copied().filter(|s| s.is_possible(d)).collect();
    inside.push(simplest);
    inside.sort_by(|a, b| a.rate_bytes_per_s.total_cmp(&b.rate_bytes_per_s));
    let (first, last) = (inside[0], inside[inside.len() - 1]);
    let below = grid.iter().rev().find(|s| s.rate_bytes_per_s < first.rate_bytes_per_s);
    let above = grid.iter().find(|s| s.rate_bytes_per_s > last.rate_bytes_per_s);
    // what is beyond an end is not possible: bisect between
    let low = below.map(|out| end(packets, first, out.rate_bytes_per_s, d));
    let high = above.map(|out| end(packets, last, out.rate_bytes_per_s, d));
    inside.splice(0..0, low);
    inside.extend(high);
    let over =
        |f: &dyn Fn(&Slice) -> f64, pick: fn(f64, f64) -> f64| inside.iter().map(f).reduce(pick).unwrap_or(f64::NAN);
    let buffers: Option<Vec<f64>> = inside.iter().map(|s| s.buffer_most_bytes).collect();
    Some(Belief {
        jitter_assumed_ns: d,
        simplest,
        rate_bytes_per_s: Interval {
            lo: inside[0].rate_bytes_per_s,
            hi: above.map(|_| inside[inside.len() - 1].rate_bytes_per_s),
        },
        rtprop_ns: Interval {
            lo: over(&|s| (s.delay_most_ns - d).max(0.0), f64::min),
            hi: Some(over(&|s| s.rtprop_most_ns, f64::max)),
        },
        buffer_bytes: Interval {
            lo: over(&|s| s.buffer_least_bytes, f64::min),
            hi: buffers.and_then(|all| all.into_iter().reduce(f64::max)),
        },
        slices: inside,
    })
}

/// Rates between which to look: the flow's average, halved, and that of its largest packet in a microsecond.
fn brackets(packets: &[Packet]) -> Option<(f64, f64)> {
    let delivered = || packets.iter().filter_map(|p| p.acked().map(|at| (at, p.bytes)));
    let first = packets.first()?.sent;
    let last = delivered().map(|(at, _)| at).max()?;
    let total: f64 = delivered().map(|(_, bytes)| f64::from(bytes)).sum();
    let largest = packets.iter().map(|p| p.bytes).max()?;
    let least = total * 1e9 / (last.saturating_sub(first).max(1) as f64) / 2.0;
    Some((least, (f64::from(largest) * 1e6).max(least * 2.0)))
}

/// The slice of least jitter between two rates, by golden sections.
fn refine(packets: &[Packet], best: Slice, low: f64, high: f64) -> Slice {
    let golden = (5f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high, mut best) = (low, high, best);
    let cost = |s: &Slice| if s.rtprop_most_ns < 0.0 { f64::INFINITY } else { s.jitter_least_ns() };
    for _ in 0..2 * HALVINGS {
        let span = (high - low) * golden;
        let (Some(left), Some(right)) = (slice(packets, high - span), slice(packets, low + span)) else { break };
        let near = if cost(&left) <= cost(&right) { left } else { right };
        if cost(&left) <= cost(&right) {
            high = right.rate_bytes_per_s;
        } else {
            low = left.rate_bytes_per_s;
        }
        if cost(&near) < cost(&best) {
            best = near;
        }
    }
    best
}

/// The last possible slice on the way from one that is to a rate that is not.
fn end(packets: &[Packet], inside: Slice, outside: f64, jitter: f64) -> Slice {
    let (mut inside, mut outside) = (inside, outside);
    for _ in 0..HALVINGS {
        match slice(packets, (inside.rate_bytes_per_s + outside) / 2.0) {
            Some(middle) if middle.is_possible(jitter) => inside = middle,
            Some(middle) => outside = middle.rate_bytes_per_s,
            None => break,
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::testing::paths;
    use crate::rates::rate_bounds;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_true_path_is_in_its_slice(path in paths()) {
            let Some(at) = slice(&path.packets, path.rate) else { return Ok(()) };
            let (rtprop, jitter) = (path.rtprop as f64, path.jitter as f64);
            prop_assert!(rtprop <= at.rtprop_most_ns + 2.0, "{at:?}");
            prop_assert!(rtprop + jitter >= at.delay_most_ns - 2.0, "{at:?}");
            prop_assert!(path.buffer >= at.buffer_least_bytes - 0.1, "{at:?}");
            prop_assert!(at.buffer_most_bytes.is_none_or(|most| path.buffer <= most + 0.1), "{at:?}");
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
            prop_assert_eq!(rate_bounds(&later, path.jitter), rate_bounds(&path.packets, path.jitter));
        }

        #[test]
        fn the_true_path_is_in_the_projections(path in paths()) {
            let d = path.jitter as f64 + 4.0;
            let Some(belief) = explain(&path.packets, |_| d) else { return Ok(()) };
            let holds = |i: Interval, value: f64, slack: f64| {
                i.lo <= value * (1.0 + slack) && i.hi.is_none_or(|hi| hi >= value * (1.0 - slack))
            };
            prop_assert!(holds(belief.rate_bytes_per_s, path.rate, 1e-3), "{:?} {}", belief.rate_bytes_per_s, path.rate);
        }
    }
}
