//! Syntra: joint rate and congestion control from beliefs (thesis 4.5).
//!
//! The published controller decides once per step of 50 ms, on batches of frames: a frame waits half a step on average
//! and is then paced over a step. Here a frame is sent as soon as it is coded, within the step's budget. The
//! [`Decide`]r chooses the frames to send, the rate and the next target.

pub(crate) mod beliefs;
pub(crate) mod planned;
pub(crate) mod published;
mod rate;
pub(crate) mod rules;

use super::{Ack, Coding, Decision, Sender};
use crate::encoder::Quality;
use crate::outgoing::Outgoing;
use beliefs::{Beliefs, View};
use fairweir_units::{Dur, Time};

/// Between two probes of the tail without an acknowledgement.
const PROBE_INTERVAL: Dur = Dur::from_millis(500);

/// Inputs of a controller. Amounts are packets and packets per step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// The belief about the link.
    pub(crate) view: View,
    /// In the pacer, packets.
    pub(crate) backlog: f64,
    /// A frame interval in steps.
    pub(crate) frame_steps: f64,
    /// Minimum excess over the RTprop of all packets in the last step, steps.
    pub(crate) standing: f64,
    /// Known to be lost in all, packets.
    pub(crate) lost: f64,
    /// Recently delivered, packets per step: the mean of the window.
    pub(crate) delivered: f64,
    /// Size of the newest waiting frame, packets; 0 without one.
    pub(crate) newest: f64,
}

/// How a frame is sent.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// The rule or leaf.
    pub(crate) leaf: String,
    /// Total packets, message and repair; at least the message.
    pub(crate) total: f64,
    /// Rate of the pacer, packets per step.
    pub(crate) pace: f64,
}

impl Plan {
    fn new(leaf: String, total: f64, pace: f64) -> Plan {
        Plan { leaf, total, pace }
    }
}

/// A controller inside the per-frame frame.
pub(crate) trait Decide: Send {
    /// Returns the target size of the frame captured now, in packets; 0: it is skipped.
    fn encode(&mut self, situation: &Situation) -> f64;

    /// Returns how the frame coded now is sent.
    fn send(&mut self, situation: &Situation) -> Plan;
}

/// Sends frame by frame as a controller decides.
#[derive(Debug)]
pub(crate) struct PerFrame<D> {
    decide: D,
    beliefs: Beliefs,
    decision: Option<Decision>,
    encode_bytes: f64,
    tail: TailProbe,
}

impl<D: Decide> PerFrame<D> {
    pub(crate) fn new(decide: D, beliefs: Beliefs) -> PerFrame<D> {
        PerFrame { decide, beliefs, decision: None, encode_bytes: 0.0, tail: TailProbe::default() }
    }

    fn look(&mut self, outgoing: &Outgoing) -> Situation {
        let step = self.beliefs.observing.step;
        let view = self.beliefs.look(outgoing);
        let (first, last) = (view.window.delivered[0], view.window.delivered_last());
        Situation {
            view,
            standing: outgoing.standing_delay(step).as_secs_f64() / step.as_secs_f64(),
            delivered: (last - first) / (view.window.len - 1) as f64,
            backlog: outgoing.backlog(),
            lost: outgoing.ledger.lost(),
            frame_steps: outgoing.frame_secs() / self.beliefs.observing.step.as_secs_f64(),
            newest: outgoing.waiting().last().map_or(0.0, |&f| outgoing.amount(f)),
        }
    }
}

impl<D: Decide> Sender for PerFrame<D> {
    fn on_frame(&mut self, outgoing: &mut Outgoing) -> Coding {
        let situation = self.look(outgoing);
        let amount = self.decide.encode(&situation);
        self.encode_bytes = payload(outgoing, amount);
        if self.encode_bytes <= 0.0 {
            self.decision = Some(explained(outgoing.now, &situation.view, situation.backlog, "skip".to_owned()));
            return Coding::Skip;
        }
        Coding::Code(Quality::target(self.encode_bytes))
    }

    fn on_ready(&mut self, outgoing: &mut Outgoing) {
        let Some(&frame) = outgoing.waiting().last() else {
            self.tail.probe(outgoing);
            return;
        };
        let situation = self.look(outgoing);
        let plan = self.decide.send(&situation);
        let size = situation.newest / f64::from(outgoing.sizes.packets(coded_bytes(outgoing, frame)));
        let repair = ((plan.total - situation.newest) / size + 1e-6).floor().max(0.0) as u32;
        outgoing.set_pacing(plan.pace / self.beliefs.observing.step.as_secs_f64());
        let group = outgoing.send(&[frame], repair);
        self.decision = Some(Decision {
            frames: vec![frame],
            message: outgoing.groups()[group as usize].message,
            repair,
            encode_bytes: self.encode_bytes,
            ..explained(outgoing.now, &situation.view, situation.backlog, plan.leaf)
        });
    }

    fn on_ack(&mut self, _outgoing: &mut Outgoing, _ack: &Ack) {
        self.tail.acknowledged();
    }

    fn take_decision(&mut self) -> Option<Decision> {
        self.decision.take()
    }
}

fn coded_bytes(outgoing: &Outgoing, frame: u32) -> f64 {
    outgoing.frames()[frame as usize].coded.map_or(0.0, |c| c.bytes)
}

/// Payload bytes in `amount` full packets.
fn payload(outgoing: &Outgoing, amount: f64) -> f64 {
    let sizes = outgoing.sizes;
    // Part of a packet carries a whole header.
    amount * sizes.full() - (amount - 1e-9).ceil().max(1.0) * sizes.header
}

/// When all was sent and nothing follows, one packet more of the last group shows losses at the tail (as RFC 8985's
/// tail loss probe does): one until something is acknowledged, or for a while.
#[derive(Debug, Default)]
struct TailProbe {
    /// Time when it was sent, unless data was acknowledged since.
    sent: Option<Time>,
}

impl TailProbe {
    fn acknowledged(&mut self) {
        self.sent = None;
    }

    fn probe(&mut self, outgoing: &mut Outgoing) {
        let is_due = self.sent.is_none_or(|at| outgoing.now.since(at) >= PROBE_INTERVAL);
        let in_flight = outgoing.ledger.packets_in_flight();
        if is_due && outgoing.backlog() == 0.0 && in_flight > 0 && !outgoing.groups().is_empty() {
            self.sent = Some(outgoing.now);
            outgoing.send_more(outgoing.groups().len() as u32 - 1, 1);
        }
    }
}

fn explained(now: Time, view: &View, backlog: f64, leaf: String) -> Decision {
    let bounds = view.belief.bounds;
    Decision {
        at_ms: now.as_secs_f64() * 1e3,
        leaf,
        min_c: bounds.c.min,
        max_c: view.held,
        max_q: bounds.q.max,
        safe_rate: bounds.safe_rate,
        belief: view.words().to_owned(),
        backlog,
        ..Decision::default()
    }
}
