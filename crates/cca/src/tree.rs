//! A congestion controller that executes a file from decision synthesis (docs/formal/game.md): in each step, the file's
//! decision tree chooses a rate from a belief about the link, which follows from the observations of the last steps.
//!
//! Model, R the minimum RTT, T = max(R, `min_step`) the length of a step, amounts in packets:
//!
//! - every T, the observations form a window of six points T apart, with the packets A(t - R) sent, S(t) delivered and,
//!   where known, L(t - R) lost;
//! - the belief of the window has exact bounds of C, B and q for a link of constant rate with a finite buffer, which
//!   delays service by up to a step; max C and min B are held for some steps (docs/formal/game.md);
//! - the file's tree, and the shield, which may limit the tree's action, choose the rate r of the step from the belief;
//! - the sender paces r over the step, and may send at least one packet in each step.
//!
//! ```text
//!             first RTT + T
//!   initial window ---------> a decision every T
//! ```
//!
//! **Source**: thesis section 4.5, the game of congestion control alone; the file names the query from which it was
//! synthesised.
//!
//! **Deviations**: decisions are made on ACKs and departures, so a step lasts until the first of these after T. The
//! last pacing interval is not cut short by a new decision: below M the window, not the pacer, limits sending. Points
//! of a window are T apart regardless of how late the decisions were. Retransmissions count like other packets.

mod observations;

use crate::algorithm::{BuildError, Start, typed};
use crate::range::Checks;
use crate::{Ack, Cause, Context, Controller, Interests, Loss, LostPacket, Sent};
use fairweir_game::controller::{Controller as Tree, Kind};
use fairweir_game::frames::Frames;
use fairweir_game::state::{Situation, State};
use fairweir_game::{HeldCapacity, LinkModel, Range};
use fairweir_units::{Bytes, Dur, Hint, NANOS_PER_SEC, Rate, Time};
use observations::Observations;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Suffix of a controller file's path.
pub const SUFFIX: &str = ".json";

/// Maximum data sent between two decisions at a rate of min C or more, in steps at that rate. It limits how much is
/// lost if the path stops delivering.
const SILENT_STEPS: f64 = 2.0;

/// Upper limit of all rates, in packets per step; it prevents overflow.
const MAX_RATE_PKTS: f64 = 1e9;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Minimum length of a step, so that a step has packets to count even on a slow link with a short RTT.
    #[serde(with = "crate::quantity")]
    pub min_step: Dur,
}

impl Default for Params {
    fn default() -> Params {
        Params { min_step: Dur::from_millis(10) }
    }
}

/// Builds a controller of `text`, the content of the controller file `path`.
///
/// # Errors
/// If the file is not a controller, if it decides on more than a rate, or if a parameter is invalid.
pub fn build(path: &str, text: &str, params: &Value, start: &Start) -> Result<Box<dyn Controller>, BuildError> {
    let tree = read(path, text)?;
    let params: Params = typed(path, params)?;
    Checks { algorithm: SUFFIX }.some_time("min_step", params.min_step).map_err(|e| match e {
        BuildError::BadParams { reason, .. } => BuildError::BadParams { name: path.to_owned(), reason },
        other => other,
    })?;
    Ok(Box::new(TreeControl::new(tree, start, &params)))
}

fn read(path: &str, text: &str) -> Result<Tree, BuildError> {
    let refuse =
        |reason: String, hint: &str| BuildError::BadSource { path: path.to_owned(), reason, hint: hint.to_owned() };
    let tree = Tree::from_json(text).map_err(|e| refuse(e.to_string(), e.hint().as_deref().unwrap_or_default()))?;
    match tree.kind {
        Kind::Rate => Ok(tree),
        Kind::Video => Err(refuse(
            "decides on video frames, not on a rate alone".to_owned(),
            "`fairweir video run` plays it; a congestion controller has \"kind\": \"rate\"",
        )),
    }
}

/// The rate and data that a decision allows until the next one.
#[derive(Clone, Copy, Debug)]
struct Grant {
    /// Rate of the step, packets.
    rate: f64,
    /// Rate of the pacer, packets per step.
    pace: f64,
    /// Packets that may still be sent.
    left: u64,
    /// Length of a step at the time of the decision.
    step: Dur,
    /// Time of the next decision.
    until: Time,
}

/// Columns of a trace about the last decision.
#[derive(Clone, Copy, Debug)]
struct Shown {
    min_c: f64,
    max_c: f64,
    max_q: f64,
    safe_rate: f64,
    leaf: usize,
}

/// The congestion controller of a file.
#[derive(Debug)]
pub struct TreeControl {
    tree: Tree,
    model: LinkModel,
    mss: Bytes,
    initial_cwnd: Bytes,
    min_step: Dur,
    seen: Observations,
    held: HeldCapacity,
    /// Time of the first decision; [`Time::NEVER`] before the first RTT sample.
    first: Time,
    grant: Option<Grant>,
    inflight: u64,
    shown: Option<Shown>,
}

impl TreeControl {
    fn new(tree: Tree, start: &Start, params: &Params) -> TreeControl {
        let [c, b] = [tree.model.c, tree.model.b].map(Range::from);
        TreeControl {
            model: LinkModel { c, b, ..LinkModel::default() },
            held: HeldCapacity::new(tree.probe_period),
            tree,
            mss: start.mss,
            initial_cwnd: start.initial_cwnd,
            min_step: params.min_step,
            seen: Observations::default(),
            first: Time::NEVER,
            grant: None,
            inflight: 0,
            shown: None,
        }
    }

    /// Makes a decision if one is due. `rtprop` is the minimum RTT.
    fn step(&mut self, now: Time, rtprop: Dur, inflight: u64) {
        self.inflight = inflight;
        if rtprop == Dur::MAX {
            return;
        }
        let step = rtprop.max(self.min_step);
        let due = match &self.grant {
            Some(grant) => grant.until.min(now.after(step)),
            None if self.first.is_set() => self.first,
            None => {
                self.first = now.after(step);
                self.first
            }
        };
        if now >= due {
            self.decide(now, step, rtprop);
        }
    }

    #[cold]
    fn decide(&mut self, now: Time, step: Dur, rtprop: Dur) {
        let window = self.seen.window(now, step, rtprop);
        self.seen.forget(now, step, rtprop);
        let state = State { window, frames: Frames::new() };
        let situation = Situation::new(state, &self.model, self.tree.points, &mut self.held);
        let view = situation.view();
        let decided = self.tree.decide(&view);
        let rate = decided.action.rate.clamp(0.0, MAX_RATE_PKTS);
        let min_c = view.amounts.min_c;
        let packets = if rate < min_c { rate.round() } else { (SILENT_STEPS * rate).ceil() };
        let left = (packets as u64).max(1);
        self.grant = Some(Grant { rate, pace: rate.max(min_c), left, step, until: now.after(step) });
        self.shown = Some(Shown {
            min_c,
            max_c: view.max_c,
            max_q: view.amounts.max_q,
            safe_rate: view.amounts.safe_rate,
            leaf: decided.leaf,
        });
    }
}

impl Controller for TreeControl {
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.seen.on_ack(cx.now, ack.acked);
        self.step(cx.now, ack.sender.min_rtt, ack.sender.inflight());
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        self.inflight = loss.sender.inflight();
        if loss.cause == Cause::Timeout
            && let Some(grant) = &mut self.grant
        {
            // The decision assumed that the path delivers packets.
            grant.left = grant.left.min(1);
        }
    }

    fn on_send(&mut self, sent: &Sent<'_>, cx: &mut Context<'_>) {
        self.seen.on_send(cx.now);
        if let Some(grant) = &mut self.grant {
            grant.left = grant.left.saturating_sub(1);
        }
        self.step(cx.now, sent.sender.min_rtt, sent.sender.inflight());
    }

    fn on_packet_lost(&mut self, lost: &LostPacket, _cx: &mut Context<'_>) {
        self.seen.on_packet_lost(lost.sent);
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        match &self.grant {
            Some(grant) => self.mss * (self.inflight + grant.left).max(1),
            None => self.initial_cwnd.max(self.mss),
        }
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        let grant = self.grant.as_ref()?;
        let bytes_per_s = grant.pace * self.mss.0 as f64 * NANOS_PER_SEC as f64 / grant.step.as_nanos() as f64;
        Some(Rate::from_bytes_per_sec((bytes_per_s as u64).max(1)))
    }

    fn interests(&self) -> Interests {
        Interests { sent: true, lost: true, own_recovery: true, ..Interests::default() }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        let shown = self.shown;
        let of = |value: fn(&Shown) -> f64| shown.as_ref().map_or(f64::NAN, value);
        emit("rate_pkts", self.grant.as_ref().map_or(f64::NAN, |grant| grant.rate));
        emit("min_c_pkts", of(|s| s.min_c));
        emit("max_c_pkts", of(|s| s.max_c));
        emit("max_q_pkts", of(|s| s.max_q));
        emit("safe_rate_pkts", of(|s| s.safe_rate));
        emit("leaf", of(|s| s.leaf as f64));
    }
}

#[cfg(test)]
mod tests;
