//! Syntra: joint rate and congestion control from beliefs (thesis 4.5).
//!
//! The published controller decides once per step of 50 ms about batches of frames: on average a frame waits half a
//! step and is then paced over a step. Here a frame is sent as soon as it is coded, within the step's budget. A
//! [`Decide`]r chooses the frames to send, the rate and the next target size.

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

/// Time between two tail probes without an acknowledgement.
const PROBE_INTERVAL: Dur = Dur::from_millis(500);

/// Inputs of a controller. Amounts are in packets, rates in packets per step.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Situation {
    /// The belief about the link.
    pub(crate) view: View,
    /// Amount in the pacer, packets.
    pub(crate) backlog: f64,
    /// Frame interval, steps.
    pub(crate) frame_steps: f64,
    /// Minimum, over the packets acknowledged in the last step, of RTT minus rtprop, steps.
    pub(crate) standing: f64,
    /// Total amount known to be lost, packets.
    pub(crate) lost: f64,
    /// Mean delivery rate in the window, packets per step.
    pub(crate) delivered: f64,
    /// Size of the newest waiting frame, packets; 0 if none is waiting.
    pub(crate) newest: f64,
}

/// How a frame is sent.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Name of the rule or leaf that decided.
    pub(crate) leaf: String,
    /// Number of packets including repair; at least the number that restores the frame.
    pub(crate) total: f64,
    /// Rate of the pacer, packets per step.
    pub(crate) pace: f64,
}

impl Plan {
    fn new(leaf: String, total: f64, pace: f64) -> Plan {
        Plan { leaf, total, pace }
    }
}

/// A controller that decides frame by frame.
pub(crate) trait Decide: Send {
    /// Returns the target size of the frame that is captured now, packets; 0 if the frame is skipped.
    fn encode(&mut self, situation: &Situation) -> f64;

    /// Returns how to send the frame that was coded now.
    fn send(&mut self, situation: &Situation) -> Plan;
}

/// A sender that sends frame by frame as a controller decides.
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

/// Returns the payload bytes in `amount` full packets.
fn payload(outgoing: &Outgoing, amount: f64) -> f64 {
    let sizes = outgoing.sizes;
    // A partial packet also has a whole header.
    amount * sizes.full() - (amount - 1e-9).ceil().max(1.0) * sizes.header
}

/// Tail loss probe, as in RFC 8985: when all data are sent and no more follow, one more packet of the last group
/// reveals losses at the tail. One probe is sent until data are acknowledged or PROBE_INTERVAL has passed.
#[derive(Debug, Default)]
struct TailProbe {
    /// Time at which the probe was sent, unless data have been acknowledged since.
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
