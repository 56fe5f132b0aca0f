//! Prague: a scalable controller for L4S, whose reduction is in proportion to the fraction of marked packets.
//!
//! Model, cwnd in packets, srtt the smoothed RTT, v the virtual RTT:
//!
//! - once per round (after the transition: and per v), F = marked / delivered since the last time: a = (1 - g) a + g F,
//!   with g = 1/16, from the first mark on; a = 1 before;
//! - a mark, at most once per round (after the transition: and per v): cwnd -= cwnd a / 2, one packet per packet
//!   acknowledged; the first one ends slow start;
//! - each packet acknowledged without a mark: cwnd += s / cwnd, also while cwnd is being reduced, with s = 1, or after the
//!   transition min(1, srtt / v)^2;
//! - loss: cwnd /= 2 in the same way, without growth until it is repaired; timeout: slow start from inflight + 1;
//! - pacing rate = cwnd / srtt, twice that while cwnd < ssthresh / 2.
//!
//! The transition is over after 500 rounds outside slow start. Contract: cwnd = 2.73 / p for independent marks with a small
//! probability p: a reduction of p cwnd / 2 every cwnd + 1/p packets, since after a round the next mark is 1/p packets away.
//! After the transition flows with an RTT below v have the rate of a flow with RTT v.
//!
//! ```text
//!   slow start --- mark or loss ---> avoidance, in which every mark and every ACK change cwnd by fractions of a packet
//!        ^                                                          |
//!        +----------------------- timeout --------------------------+
//! ```
//!
//! **Source**: draft-briscoe-iccrg-prague-congestion-control-04; RFC 9331 §4; facts of L4STeam's `tcp_prague.c` 0.6.
//!
//! **Deviations**: no detection of a classic ECN queue (off by default in `tcp_prague.c`). After a timeout slow start
//! resumes at once; there, cwnd does not grow until the recovery ends. A flow without ECN is controlled by the same rules,
//! where Linux changes to Reno. Where an ACK covers several packets, cwnd falls by as many, not by one. A mark that is
//! ignored because of the virtual RTT does not begin a round; there it does, so its reductions are whole RTTs apart (two of
//! 20 ms rather than 25 ms), which favors RTTs just below v; docs/ccas/prague.md has the effect.

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::range::Checks;
use crate::reno::{MIN_SSTHRESH_PKTS, Window};
use crate::{Ack, Cause, Context, Controller, Interests, Loss, Sender};
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate, Time};
use serde::{Deserialize, Serialize};

/// Name in scenarios.
const NAME: &str = "prague";

/// Fraction bits of a, and of a packet (`PRAGUE_ALPHA_BITS`, `CWND_UNIT`).
const BITS: u32 = 20;
const ONE: i64 = 1 << BITS;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// g = 2^-shift_g, the weight of a new F; 0 to 10.
    pub shift_g: u32,
    /// RTT as which a shorter one counts (`prague_rtt_target`); at most an hour; 0 disables RTT independence.
    #[serde(with = "crate::quantity")]
    pub virtual_rtt: Dur,
    /// Rounds outside slow start after which the RTT no longer matters (`prague_rtt_transition`).
    pub transition_rounds: u64,
}

impl Default for Params {
    fn default() -> Params {
        Params { shift_g: 4, virtual_rtt: Dur::from_millis(25), transition_rounds: 500 }
    }
}

impl Row for Prague {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str =
        "scalable, for L4S: reduces in proportion to marks, independent of short RTTs (RFC 9331)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Prague, BuildError> {
        Checks { algorithm: NAME }
            .within("shift_g", params.shift_g, 0..=10)?
            .at_most_an_hour("virtual_rtt", params.virtual_rtt)?;
        Ok(Prague::new(start, params))
    }
}

/// Prague, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Prague>();

/// Prague.
#[derive(Clone, Debug)]
pub struct Prague {
    params: Params,
    window: Window,
    /// Change of cwnd that is not a whole packet or not yet made, 2^-20 packets.
    carry: i64,
    /// a / g, 2^-20, so that its remainders are kept.
    upscaled_alpha: i64,
    has_seen_mark: bool,
    /// Growth per packet acknowledged and per window, 2^-20 packets: s.
    increase: i64,
    /// Rounds outside slow start.
    rounds: u64,
    /// The round ends when this packet is the first one outstanding.
    round_end: u64,
    /// Packets delivered in the round, and those of them that were marked.
    delivered: u64,
    marked: u64,
    /// Time of the last update of a.
    updated: Time,
    /// Until a packet after this one is acknowledged, marks cause no further reduction (`TCP_CA_CWR`).
    reduced_until: u64,
    /// Time of the last reduction for marks.
    reduced: Option<Time>,
    pacing_rate: Option<Rate>,
}

impl Prague {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: Params) -> Prague {
        Prague {
            upscaled_alpha: ONE << params.shift_g,
            params,
            window: Window::new(start),
            carry: 0,
            has_seen_mark: false,
            increase: ONE,
            rounds: 0,
            round_end: 0,
            delivered: 0,
            marked: 0,
            updated: Time::ZERO,
            reduced_until: 0,
            reduced: None,
            pacing_rate: None,
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.window.cwnd_pkts < self.window.ssthresh_pkts
    }

    /// Whether the RTT no longer matters (`prague_is_rtt_indep`).
    fn is_independent(&self) -> bool {
        self.params.virtual_rtt > Dur::ZERO && !self.is_in_slow_start() && self.rounds >= self.params.transition_rounds
    }

    /// a, 2^-20.
    fn alpha(&self) -> i64 {
        self.upscaled_alpha >> self.params.shift_g
    }

    /// Ends a round: updates a once the path has marked a packet, and the growth.
    #[cold]
    fn end_round(&mut self, sender: &Sender, now: Time) {
        if self.has_seen_mark {
            let fraction = (self.marked << BITS) / self.delivered.max(1);
            let decayed = self.upscaled_alpha - (self.upscaled_alpha >> self.params.shift_g);
            self.upscaled_alpha = (decayed + fraction as i64).min(ONE << self.params.shift_g);
            self.updated = now;
        }
        self.rounds += u64::from(!self.is_in_slow_start());
        (self.round_end, self.delivered, self.marked) = (sender.snd_nxt, 0, 0);
        self.increase = ONE;
        let (srtt, target) = (sender.srtt.as_nanos(), self.params.virtual_rtt.as_nanos());
        if self.rounds >= self.params.transition_rounds && srtt < target {
            // one packet per virtual RTT, and as a share of the rate of that RTT
            let square = |time: u64| u128::from(time) * u128::from(time);
            self.increase = ((square(srtt) << BITS) / square(target)) as i64;
        }
    }

    /// Reduces cwnd by a/2 of it, unless it has been reduced within the virtual RTT.
    fn respond_to_marks(&mut self, snd_nxt: u64, now: Time) {
        let is_too_early = self.reduced.is_some_and(|last| now.since(last) < self.params.virtual_rtt);
        if self.is_independent() && is_too_early {
            return;
        }
        self.reduced_until = snd_nxt;
        self.reduced = Some(now);
        let reduction = (i128::from(self.alpha()) * i128::from(self.window.cwnd_pkts) + 1) >> 1;
        self.carry = self.carry.saturating_sub(reduction as i64);
    }

    /// Grows for `acked` packets that were not marked.
    fn grow(&mut self, acked: u64) {
        let cwnd = self.window.cwnd_pkts;
        let in_slow_start = acked.min(self.window.ssthresh_pkts.saturating_sub(cwnd));
        self.window.cwnd_pkts += in_slow_start;
        let growth = i128::from(acked - in_slow_start) * i128::from(self.increase);
        self.carry += ((growth + i128::from(cwnd >> 1)) / i128::from(cwnd)) as i64;
    }

    /// Moves whole packets of the carry into cwnd, at most `most` when it falls.
    fn settle(&mut self, most: u64) {
        if self.carry >= ONE {
            self.window.cwnd_pkts += (self.carry / ONE) as u64;
            self.carry %= ONE;
        } else if self.carry <= -ONE {
            let steps = ((-self.carry / ONE) as u64).min(most);
            self.carry += steps as i64 * ONE;
            self.window.cwnd_pkts = self.window.cwnd_pkts.saturating_sub(steps);
            if self.window.cwnd_pkts < MIN_SSTHRESH_PKTS {
                (self.window.cwnd_pkts, self.carry) = (MIN_SSTHRESH_PKTS, 0);
            }
            self.window.ssthresh_pkts = self.window.cwnd_pkts;
        }
    }

    /// Paces a window per srtt, twice as fast in the first half of slow start.
    fn pace(&mut self, sender: &Sender) {
        let srtt = u128::from(sender.srtt.as_nanos());
        if srtt == 0 {
            return;
        }
        let gain = if self.window.cwnd_pkts < self.window.ssthresh_pkts / 2 { 2 } else { 1 };
        let pkts = u128::from(self.window.cwnd_pkts.max(sender.inflight()));
        let rate = pkts * gain * u128::from(self.window.mss) * u128::from(NANOS_PER_SEC) / srtt;
        self.pacing_rate = Some(Rate::from_bytes_per_sec(u64::try_from(rate).unwrap_or(u64::MAX).max(1)));
    }
}

impl Controller for Prague {
    #[inline]
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        let sender = ack.sender;
        self.delivered += ack.acked;
        self.marked += ack.marked;
        if ack.marked > 0 {
            self.has_seen_mark = true;
            if sender.snd_una > self.reduced_until && !sender.is_reducing() {
                self.respond_to_marks(sender.snd_nxt, cx.now);
            }
        }
        let unmarked = ack.acked.saturating_sub(ack.marked);
        if unmarked > 0 && sender.is_cwnd_limited && !sender.is_reducing() {
            self.grow(unmarked);
        }
        self.settle(ack.acked);
        let is_early = self.is_independent() && cx.now.since(self.updated) < self.params.virtual_rtt;
        if sender.snd_una >= self.round_end && !is_early {
            self.end_round(sender, cx.now);
        }
        self.pace(sender);
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        if loss.cause == Cause::Timeout {
            self.window.halve(loss);
            self.carry = 0;
        } else {
            let half = (self.window.cwnd_pkts as i64).saturating_mul(ONE / 2);
            self.carry = self.carry.saturating_sub(half).saturating_sub(self.carry >> 1);
        }
    }

    #[inline]
    fn cwnd(&self) -> Bytes {
        self.window.cwnd()
    }

    #[inline]
    fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    fn ssthresh(&self) -> Option<Bytes> {
        Some(self.window.ssthresh())
    }

    fn interests(&self) -> Interests {
        Interests { own_recovery: true, own_ecn: true, exact_marks: true, l4s: true, ..Interests::default() }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("ssthresh_pkts", self.window.ssthresh_pkts as f64);
        emit("alpha", self.alpha() as f64 / ONE as f64);
        emit("increase_pkts", self.increase as f64 / ONE as f64);
    }
}

#[cfg(test)]
mod tests;
