//! The belief set of the CBR-delay model: a queue with rate C and beta bytes of buffer, then R, then a jitter in [0, D]
//! without reordering.
//!
//! For a given C the queue is determined, packet by packet, and with it each departure time dep(C). The remaining
//! unknowns are R and D, with R <= acked - dep <= R + D for each packet: the set's slice at C is
//!
//! `R <= F(C) = min (acked - dep),  R + D >= M(C) = max (acked - dep),  largest queue kept <= beta < smallest queue lost`
//!
//! so that C can be true for a jitter of D if M(C) - F(C) <= D. An ideal link has D = 0. A slice costs one pass.

use crate::interval::Interval;
use crate::packet::{Fate, Packet};
use crate::search::Search;
use serde::Serialize;

/// Slices of a set that are handed out: enough to draw it.
const SHOWN: usize = 128;

/// Parameters possible at a given rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Slice {
    /// C, bytes/s.
    pub rate_bytes_per_s: f64,
    /// F: R is at most this, ns. Negative: the rate is too low for the delivered data.
    pub rtprop_max_ns: f64,
    /// The packet that shows it.
    pub rtprop_frame: u32,
    /// M: R + D is at least this, ns.
    pub delay_max_ns: f64,
    /// The packet that shows it.
    pub delay_frame: u32,
    /// The buffer holds at least this, bytes. Links differ in whether the packet in transmission counts: one packet of
    /// tolerance here and below.
    pub buffer_min_bytes: f64,
    /// The packet that met this backlog and was not lost.
    pub buffer_frame: u32,
    /// ... and less than this, if something was lost.
    pub buffer_max_bytes: Option<f64>,
    /// The packet that found so little waiting and was lost.
    pub loss_frame: Option<u32>,
}

impl Slice {
    /// M - F: the minimum D, ns.
    pub fn jitter_min_ns(&self) -> f64 {
        (self.delay_max_ns - self.rtprop_max_ns).max(0.0)
    }
    /// Whether one buffer size explains which packets were kept and lost, allowing for jitter before the queue.
    pub fn losses_are_overflows(&self) -> bool {
        self.buffer_max_bytes.is_none_or(|most| self.buffer_min_bytes < most + self.moved_bytes())
    }
    /// Maximum difference of the queue from the computed one, as packets may be late before it, bytes.
    fn moved_bytes(&self) -> f64 {
        self.rate_bytes_per_s * self.jitter_min_ns() / 1e9
    }
    /// beta, where losses are overflows.
    fn buffer_bytes(&self) -> Interval {
        let least = (self.buffer_min_bytes - self.moved_bytes()).max(0.0);
        let ends = |most: f64| Interval { lo: least, hi: Some(most + self.moved_bytes()) };
        self.buffer_max_bytes.map_or(Interval { lo: least, hi: None }, ends)
    }
    /// Whether a jitter of at most `jitter` ns explains the packets.
    pub(crate) fn is_possible(&self, jitter: f64) -> bool {
        self.rtprop_max_ns >= 0.0 && self.jitter_min_ns() <= jitter
    }
}

/// An extreme of a quantity, and the packet that has it.
#[derive(Clone, Copy, Debug)]
struct Extreme {
    value: f64,
    frame: u32,
}

impl Extreme {
    const LEAST: Extreme = Extreme { value: f64::INFINITY, frame: 0 };
    const MOST: Extreme = Extreme { value: f64::NEG_INFINITY, frame: 0 };
    fn lower(&mut self, value: f64, frame: u32) {
        if value < self.value {
            *self = Extreme { value, frame };
        }
    }
    fn raise(&mut self, value: f64, frame: u32) {
        if value > self.value {
            *self = Extreme { value, frame };
        }
    }
}

/// Returns the parameters possible at a rate in bytes/s, for packets in send order; `None` if none was delivered.
pub fn slice(packets: &[Packet], rate: f64) -> Option<Slice> {
    let mut free = 0.0f64;
    let (mut lowest, mut highest) = (Extreme::LEAST, Extreme::MOST);
    let (mut kept, mut lost) = (Extreme::MOST, Extreme::LEAST);
    // times since the first: those since 1970 have more digits than a float
    let origin = packets.first()?.sent;
    let mut largest = 0.0f64;
    for packet in packets {
        let (sent, bytes) = (packet.sent.saturating_sub(origin) as f64, f64::from(packet.bytes));
        largest = largest.max(bytes);
        let queue = (free - sent).max(0.0) * rate / 1e9 + bytes;
        let serve = |free: f64| free.max(sent) + bytes * 1e9 / rate;
        let (at, is_prompt) = match packet.fate {
            Fate::Acked { at, is_prompt, .. } => (at, is_prompt),
            Fate::Resent { .. } => {
                free = serve(free);
                continue;
            }
            Fate::Lost => {
                lost.lower(queue, packet.frame);
                continue;
            }
            Fate::Open => continue,
        };
        kept.raise(queue, packet.frame);
        free = serve(free);
        let rest = at.saturating_sub(origin) as f64 - free;
        lowest.lower(rest, packet.frame);
        if is_prompt {
            highest.raise(rest, packet.frame);
        }
    }
    if highest.value < lowest.value {
        highest = lowest;
    }
    lowest.value.is_finite().then(|| Slice {
        rate_bytes_per_s: rate,
        rtprop_max_ns: lowest.value,
        rtprop_frame: lowest.frame,
        delay_max_ns: highest.value,
        delay_frame: highest.frame,
        buffer_min_bytes: (kept.value - largest).max(0.0),
        buffer_frame: kept.frame,
        buffer_max_bytes: lost.value.is_finite().then_some(lost.value + largest),
        loss_frame: lost.value.is_finite().then_some(lost.frame),
    })
}

/// Projections of the belief set for a jitter of at most D.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Belief {
    /// The D that was assumed, ns.
    pub jitter_assumed_ns: f64,
    /// The rate that needs the minimum jitter, with its possible parameters.
    pub simplest: Slice,
    /// C, bytes/s.
    pub rate_bytes_per_s: Interval,
    /// R, ns.
    pub rtprop_ns: Interval,
    /// beta, bytes, consistent with all losses. Losses count as overflows of the queue, unless that is inconsistent at
    /// all rates: then they are ignored.
    pub buffer_bytes: Interval,
    /// Slices across the set, by rising rate.
    pub slices: Vec<Slice>,
}

/// The belief set of packets in the order of their sending.
///
/// # Parameters
/// `jitter`: returns D for the slice that explains the packets with minimum jitter, ns.
///
/// `None` if no packet was delivered, or if no rate explains them with that jitter.
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

/// Range of rates to search: from half the flow's average to its largest packet per microsecond.
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
    use crate::packet::testing::paths;
    use crate::record::Record;
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
