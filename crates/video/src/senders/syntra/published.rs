//! The published controller: the hand-written tree of Syntra's artifact, which decides once per step about batches of
//! frames (docs/video.md).
//!
//! **Deviations**: the modes are tried in the order below. A batch that was predicted from an older waiting batch is
//! sent or dropped together with that batch; the artifact rewinds its encoder instead.

use super::beliefs::{Beliefs, View};
use super::{TailProbe, explained, payload};
use crate::encoder::Quality;
use crate::outgoing::Outgoing;
use crate::senders::{Ack, Coding, Decision, Sender};
use fairweir_units::{Dur, Time};

/// If more packets than this are in the pacer and the queue, they are drained before the link is probed.
const DRAIN: f64 = 2.0;
/// A frame that would get less than this fraction of its share is skipped.
const MIN_TARGET: f64 = 0.1;
/// Maximum number of waiting batches.
const MAX_WAITING: usize = 3;
/// Encoding stops while pacer and queue contain more than M plus this number of packets.
const SPARE: f64 = 3.0;

/// Packets sent in one step: groups of batches from the oldest to the newest, each with repair packets.
#[derive(Clone, Debug, Default, PartialEq)]
struct Move {
    mode: &'static str,
    /// Number of batches in each group, and its amount of repair, packets.
    groups: Vec<(usize, f64)>,
    /// Whether frames are coded in the next step.
    encodes: bool,
}

/// Inputs of the tree: M, Q, R0, the pacer's backlog, the sizes of the batches from the oldest to the newest (all in
/// packets), and whether max C is kept.
#[derive(Clone, Copy, Debug)]
struct Inputs<'a> {
    m: f64,
    q: f64,
    r0: f64,
    p: f64,
    is_converged: bool,
    sizes: &'a [f64],
}

fn decide(i: &Inputs<'_>) -> Move {
    let Inputs { m, q, r0, p, is_converged, sizes } = *i;
    let sum: f64 = sizes.iter().sum();
    if is_converged {
        let repair = if q + p <= 0.0 && sum < m { m - sum } else { 0.0 };
        let groups = if sizes.is_empty() { Vec::new() } else { vec![(sizes.len(), repair)] };
        return Move { mode: "converged", groups, encodes: p + q <= m + SPARE };
    }
    let drain = |mode| {
        let groups = if sizes.is_empty() { Vec::new() } else { vec![(1, 0.0)] };
        Move { mode, groups, encodes: sum <= 2.0 * m }
    };
    if p + q > DRAIN {
        return drain("drain");
    }
    match *sizes {
        [e] if e <= r0 => Move { mode: "single", groups: vec![(1, (3.0 * m - q - e).max(0.0))], encodes: true },
        [_, _] if sum <= m + r0 && sum <= 3.0 * m - q => {
            Move { mode: "multi", groups: vec![(2, 3.0 * m - q - sum)], encodes: true }
        }
        [e0, e1, ..] if e0 <= r0 && e0 + e1 <= 2.0 * m - q && sum <= 3.0 * m - q => {
            let pair = e0 + e1;
            let (first, second) = if pair <= r0 {
                // This probes min C.
                let each = (r0 - pair).min((3.0 * m - q - sum) / 2.0).max(0.0);
                (each, each)
            } else if 2.0 * m - q - r0 >= e1 {
                // This probes min(C + B): all repair protects the oldest batch.
                (2.0 * m - q - pair, 0.0)
            } else {
                ((2.0 * m - q - pair) / 2.0, (2.0 * m - q - pair) / 2.0)
            };
            Move { mode: "per frame", groups: vec![(1, first), (sizes.len() - 1, second)], encodes: true }
        }
        [] => Move { mode: "idle", groups: Vec::new(), encodes: true },
        _ => drain("none fits"),
    }
}

/// The published controller.
#[derive(Debug)]
pub(crate) struct Published {
    beliefs: Beliefs,
    next_step: Time,
    /// Frames coded in each step; the last batch is still being filled.
    batches: Vec<Vec<u32>>,
    encodes: bool,
    m: f64,
    tail: TailProbe,
    decision: Option<Decision>,
}

impl Published {
    pub(crate) fn new(beliefs: Beliefs) -> Published {
        let next_step = Time::ZERO.after(beliefs.observing.step);
        Published {
            beliefs,
            next_step,
            batches: vec![Vec::new()],
            encodes: true,
            m: 1.0,
            tail: TailProbe::default(),
            decision: None,
        }
    }

    fn step(&self) -> Dur {
        self.beliefs.observing.step
    }

    /// Removes frames that are no longer waiting, and drops frames that have waited too long.
    fn tidy(&mut self, outgoing: &mut Outgoing) {
        for batch in &mut self.batches {
            batch.retain(|f| outgoing.waiting().contains(f));
        }
        self.batches.retain(|batch| !batch.is_empty());
        while self.batches.len() > MAX_WAITING {
            for frame in self.batches.remove(0) {
                outgoing.drop_waiting(frame);
            }
            for batch in &mut self.batches {
                batch.retain(|f| outgoing.waiting().contains(f));
            }
            self.batches.retain(|batch| !batch.is_empty());
        }
    }

    fn act(&mut self, outgoing: &mut Outgoing, view: &View, chosen: &Move) -> (Vec<u32>, u32, u32) {
        let (mut frames, mut message, mut total) = (Vec::new(), 0, 0);
        for &(batches, repair) in &chosen.groups {
            let together: Vec<u32> = self.batches.drain(..batches).flatten().collect();
            let group = outgoing.send(&together, repair.floor() as u32);
            let group = &outgoing.groups()[group as usize];
            (message, total) = (message + group.message, total + group.total);
            frames.extend(together);
        }
        // A drain is sent at rate M; in other modes all packets passed to the pacer are sent within the step.
        let m = view.bounds.c.min;
        let rate = if chosen.mode == "drain" { m } else { outgoing.backlog().max(m) };
        outgoing.set_pacing(rate / self.step().as_secs_f64());
        (frames, message, total - message)
    }
}

impl Sender for Published {
    fn on_frame(&mut self, outgoing: &mut Outgoing) -> Coding {
        if !self.encodes {
            return Coding::Skip;
        }
        // The budget of a step is M minus the size of the frames already coded in it.
        let budget = self.m.max(1.0);
        let used: f64 = self.batches.last().map_or(0.0, |batch| batch.iter().map(|&f| outgoing.amount(f)).sum());
        let share = budget * outgoing.frame_secs() / self.step().as_secs_f64();
        let amount = share.min(budget - used);
        if amount < MIN_TARGET * share {
            return Coding::Skip;
        }
        Coding::Code(Quality::target(payload(outgoing, amount)))
    }

    fn on_ready(&mut self, outgoing: &mut Outgoing) {
        let Some(&newest) = outgoing.waiting().last() else { return };
        match self.batches.last_mut() {
            Some(batch) => batch.push(newest),
            None => self.batches.push(vec![newest]),
        }
    }

    fn on_ack(&mut self, _outgoing: &mut Outgoing, _ack: &Ack) {
        self.tail.acknowledged();
    }

    fn next_timer(&self) -> Time {
        self.next_step
    }

    fn on_timer(&mut self, outgoing: &mut Outgoing) {
        self.next_step = outgoing.now.after(self.step());
        let view = self.beliefs.look(outgoing);
        self.m = view.bounds.c.min;
        self.tidy(outgoing);
        let amount = |batch: &Vec<u32>| batch.iter().map(|&f| outgoing.amount(f)).sum();
        let sizes: Vec<f64> = self.batches.iter().map(amount).collect();
        let p = outgoing.backlog();
        let inputs = Inputs {
            m: self.m,
            q: view.bounds.q.max,
            r0: view.bounds.safe_rate,
            p,
            is_converged: view.held.is_some(),
            sizes: &sizes,
        };
        let chosen = decide(&inputs);
        self.encodes = chosen.encodes;
        let (frames, message, repair) = self.act(outgoing, &view, &chosen);
        if frames.is_empty() {
            self.tail.probe(outgoing);
        }
        // The frames of the next step form a new batch.
        self.batches.push(Vec::new());
        self.decision =
            Some(Decision { frames, message, repair, ..explained(outgoing.now, &view, p, chosen.mode.to_owned()) });
    }

    fn take_decision(&mut self) -> Option<Decision> {
        self.decision.take()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(m: f64, q: f64, r0: f64, sizes: &[f64]) -> (&'static str, Vec<(usize, f64)>) {
        let Move { mode, groups, .. } = decide(&Inputs { m, q, r0, p: 0.0, is_converged: false, sizes });
        (mode, groups)
    }

    #[test]
    fn the_mode_follows_from_what_waits_and_what_fits() {
        assert_eq!(mode(10.0, 3.0, 20.0, &[8.0]), ("drain", vec![(1, 0.0)]));
        assert_eq!(mode(10.0, 1.0, 12.0, &[8.0]), ("single", vec![(1, 21.0)]));
        assert_eq!(mode(10.0, 0.0, 12.0, &[8.0, 9.0]), ("multi", vec![(2, 13.0)]));
        assert_eq!(mode(10.0, 0.0, 19.0, &[8.0, 9.0, 9.0]), ("per frame", vec![(1, 2.0), (2, 2.0)]));
        assert_eq!(mode(10.0, 0.0, 10.0, &[8.0, 9.0, 9.0]), ("per frame", vec![(1, 3.0), (2, 0.0)]));
        assert_eq!(mode(10.0, 0.0, 15.0, &[8.0, 9.0, 9.0]), ("per frame", vec![(1, 1.5), (2, 1.5)]));
        assert_eq!(mode(10.0, 0.0, 5.0, &[8.0]), ("none fits", vec![(1, 0.0)]));
        assert_eq!(mode(10.0, 0.0, 5.0, &[]), ("idle", vec![]));
    }

    #[test]
    fn once_converged_a_small_batch_is_filled_to_m_and_a_long_queue_stops_the_encoder() {
        let at = |q: f64, sizes: &[f64]| decide(&Inputs { m: 10.0, q, r0: 12.0, p: 0.0, is_converged: true, sizes });
        assert_eq!(at(0.0, &[8.0]), Move { mode: "converged", groups: vec![(1, 2.0)], encodes: true });
        assert_eq!(at(5.0, &[8.0]).groups, [(1, 0.0)]);
        assert!(!at(13.5, &[8.0]).encodes);
    }
}
