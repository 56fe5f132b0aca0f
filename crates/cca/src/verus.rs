//! Verus: for cellular links; learns which delay a window causes, and looks up the window of the delay that it wants.
//!
//! Model, delays are RTTs, per epoch of 5 ms, with D the maximum delay of the epoch, D_max its moving average (weight 0.8 for
//! the new value), D_min the minimum delay:
//!
//! - D_est -= delta2 if D_max / D_min > R = 6; else -= delta1 if D > D_max; else += delta2; delta1 = 1 ms, delta2 = 2 ms;
//!   D_est is at least D_min;
//! - W = the window whose delay is D_est, by the delay profile ([`profile`]);
//! - in the epoch S = max(0, W + inflight (2 - n) / (n - 1)) packets may be sent, n = ceil(average RTT / 5 ms);
//! - loss: W = 0.7 times the window in which the lost packet was sent, then W += 1 / W per ACK until a packet that was sent
//!   with a window of at most W is acknowledged;
//! - slow start: W += 1 per packet; ends with a loss or at a delay of 500 ms;
//! - the profile's points are averages of the delay per window (weight 1/8); its curve is computed each second.
//!
//! ```text
//!               loss, or 500 ms                 loss
//!   slow start ----------------> delay profile -------> loss phase
//!                                      ^                     |
//!                                      '---------------------'
//!                                  a packet of the smaller window
//! ```
//!
//! **Source**: Zaki et al., "Adaptive congestion control for unpredictable cellular networks", SIGCOMM 2015 (design);
//! constants and what the paper leaves open follow the authors' code.
//!
//! **Deviations**: the curve is a line through means of 15 pieces, made increasing, instead of a penalized cubic spline of as
//! many nodes. The transport detects losses and sends again (theirs: a packet missing for 150 ms is lost, nothing is sent
//! again). Epochs end with the next ACK, all that have passed. After a timeout, slow start with an empty profile. If the
//! maximum delay exceeds R times D_min although D_est is D_min and fewer than two packets are in flight, D_min grows by 10 ms,
//! as in the code.

mod profile;

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::range::Checks;
use crate::{Ack, Cause, Context, Controller, Interests, Loss, LostPacket, Sent};
use fairweir_units::{Bytes, Dur, Rate, Time};
use profile::{LARGEST, Profile};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Name in scenarios.
const NAME: &str = "verus";

/// Time between two fits of the curve.
const REFIT: Dur = Dur::from_millis(1000);
/// Weight of the past in the average maximum delay, and in the average RTT.
const MAX_MEMORY: f64 = 0.2;
const RTT_MEMORY: f64 = 0.875;
/// Change of the maximum delay that counts, s.
const CHANGE: f64 = 1e-7;
/// Increase of the minimum delay when it cannot be reached, s.
const MIN_DELAY_STEP: f64 = 0.01;
/// Windows below which a loss does not end slow start, packets.
const SMALL_WINDOW: f64 = 20.0;
/// Maximum number of epochs that pass with one ACK.
const MAX_EPOCHS: u32 = 200;
/// Smallest cut of the profile when slow start ends, packets.
const PROFILE_MIN: f64 = 100.0;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Length of an epoch.
    #[serde(with = "crate::quantity")]
    pub epoch: Dur,
    /// Decrease of the delay wanted.
    #[serde(with = "crate::quantity")]
    pub delta1: Dur,
    /// Increase, and the decrease above the ratio R.
    #[serde(with = "crate::quantity")]
    pub delta2: Dur,
    /// Ratio of maximum to minimum delay above which the delay wanted falls (R).
    pub ratio: f64,
    /// Fraction of the window that remains after a loss.
    pub beta: f64,
    /// Delay that ends slow start.
    #[serde(with = "crate::quantity")]
    pub slow_start_delay: Dur,
}

impl Default for Params {
    fn default() -> Params {
        Params {
            epoch: Dur::from_millis(5),
            delta1: Dur::from_millis(1),
            delta2: Dur::from_millis(2),
            ratio: 6.0,
            beta: 0.7,
            slow_start_delay: Dur::from_millis(500),
        }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        Checks { algorithm: NAME }
            .some_time("epoch", self.epoch)?
            .some_time("delta1", self.delta1)?
            .some_time("delta2", self.delta2)?
            .within("ratio", self.ratio, 1.0..=1e6)?
            .fraction("beta", self.beta)?
            .some_time("slow_start_delay", self.slow_start_delay)?;
        Ok(())
    }
}

impl Row for Verus {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str = "for cellular links: learns the delay of each window (SIGCOMM 2015)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Verus, BuildError> {
        params.check()?;
        Ok(Verus::new(start, &params))
    }
}

/// Verus, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Verus>();

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    SlowStart,
    Profile,
    /// After a loss.
    Loss,
}

/// The current epoch.
#[derive(Clone, Copy, Debug)]
struct Epoch {
    start: Time,
    /// Maximum delay so far, s.
    max_delay: Option<f64>,
}

/// Verus.
#[derive(Clone, Debug)]
pub struct Verus {
    mss: Bytes,
    /// s.
    epoch_length: f64,
    epoch_dur: Dur,
    delta1: f64,
    delta2: f64,
    ratio: f64,
    beta: f64,
    slow_start_delay: f64,
    phase: Phase,
    /// When the loss phase began.
    lost_at: Time,
    /// W, packets.
    window: f64,
    /// Packets that may be in flight now.
    allowed: f64,
    profile: Profile,
    has_curve: bool,
    fitted: Time,
    /// D_est, s.
    wanted: f64,
    /// D_max, s.
    average_max: Option<f64>,
    min_delay: f64,
    rtt: f64,
    epoch: Epoch,
    acked_at: Time,
    /// Windows in which the packets in flight were sent: (first packet, window).
    sent_in: VecDeque<(u64, f64)>,
}

impl Verus {
    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: &Params) -> Verus {
        Verus {
            mss: start.mss,
            epoch_length: params.epoch.as_secs_f64(),
            epoch_dur: params.epoch,
            delta1: params.delta1.as_secs_f64(),
            delta2: params.delta2.as_secs_f64(),
            ratio: params.ratio,
            beta: params.beta,
            slow_start_delay: params.slow_start_delay.as_secs_f64(),
            phase: Phase::SlowStart,
            lost_at: Time::ZERO,
            window: start.initial_cwnd.packets(start.mss).max(1) as f64,
            allowed: 0.0,
            profile: Profile::default(),
            has_curve: false,
            fitted: Time::ZERO,
            wanted: 0.0,
            average_max: None,
            min_delay: f64::INFINITY,
            rtt: 0.0,
            epoch: Epoch { start: Time::ZERO, max_delay: None },
            acked_at: Time::ZERO,
            sent_in: VecDeque::new(),
        }
    }

    /// Returns the window in which a packet was sent.
    fn window_of(&self, seq: u64) -> f64 {
        let after = self.sent_in.partition_point(|(first, _)| *first <= seq);
        self.sent_in.get(after.saturating_sub(1)).map_or(self.window, |(_, window)| *window)
    }

    fn forget_before(&mut self, seq: u64) {
        while self.sent_in.get(1).is_some_and(|(first, _)| *first <= seq) {
            self.sent_in.pop_front();
        }
    }

    fn set_window(&mut self, window: f64) {
        self.window = window.clamp(1.0, f64::from(LARGEST));
    }

    /// Enters the loss phase with `window`.
    fn lose(&mut self, window: f64, now: Time) {
        self.set_window(window);
        (self.phase, self.lost_at) = (Phase::Loss, now);
        if !self.has_curve {
            self.fit(now);
        }
        self.wanted = self.profile.delay(self.window).unwrap_or(self.min_delay).max(self.floor());
    }

    fn fit(&mut self, now: Time) {
        self.fitted = now;
        self.has_curve |= self.profile.fit();
    }

    /// The smallest delay wanted, s.
    fn floor(&self) -> f64 {
        if self.min_delay.is_finite() { self.min_delay } else { 0.0 }
    }

    fn on_delay(&mut self, delay: f64, window: f64, now: Time) {
        self.acked_at = now;
        self.epoch.max_delay = Some(self.epoch.max_delay.map_or(delay, |max| max.max(delay)));
        self.rtt = if self.rtt > 0.0 { RTT_MEMORY * self.rtt + (1.0 - RTT_MEMORY) * delay } else { delay };
        self.min_delay = self.min_delay.min(delay);
        if self.phase == Phase::Loss {
            if window > self.window {
                return;
            }
            self.phase = Phase::Profile;
            self.epoch.max_delay = Some(delay);
        }
        self.profile.add(window as u32, delay);
    }

    /// Ends the epochs that have passed; `inflight` packets remain.
    fn end_epochs(&mut self, now: Time, inflight: f64) {
        let mut expected = inflight;
        for _ in 0..MAX_EPOCHS {
            if now.since(self.epoch.start) < self.epoch_dur {
                return;
            }
            self.end_epoch(self.epoch.start + self.epoch_dur, expected);
            expected = self.allowed.max(inflight);
        }
        self.epoch.start = now;
    }

    /// Ends an epoch; `inflight` packets are in flight or will be sent at once.
    fn end_epoch(&mut self, now: Time, inflight: f64) {
        let silence = now.since(self.acked_at).as_secs_f64();
        let before = self.average_max;
        let max = self.epoch.max_delay.unwrap_or(before.unwrap_or(0.0).max(silence));
        self.epoch = Epoch { start: now, max_delay: None };
        let before = before.unwrap_or(max);
        self.average_max = Some(MAX_MEMORY * before + (1.0 - MAX_MEMORY) * max);
        if self.phase != Phase::Profile {
            return;
        }
        if now.since(self.fitted) >= REFIT {
            self.fit(now);
        }
        let floor = self.floor();
        let mut holds = false;
        if before > self.ratio * floor {
            self.wanted = (self.wanted - self.delta2).max(floor);
            if self.wanted == floor {
                if inflight < 2.0 {
                    self.min_delay += MIN_DELAY_STEP;
                } else {
                    holds = true;
                }
            }
        } else if max - before > CHANGE {
            self.wanted = (self.wanted - self.delta1).max(floor);
        } else {
            self.wanted += self.delta2;
        }
        if let Some(window) = self.profile.window(self.wanted) {
            self.set_window(window);
        }
        self.allowed = if holds { inflight } else { inflight + self.packets_to_send(inflight) };
    }

    /// S, packets that may be sent in the next epoch.
    fn packets_to_send(&self, inflight: f64) -> f64 {
        let n = (self.rtt / self.epoch_length).ceil();
        let packets = if n > 1.0 { self.window + inflight * (2.0 - n) / (n - 1.0) } else { self.window - inflight };
        packets.max(0.0)
    }
}

impl Controller for Verus {
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        if self.epoch.start == Time::ZERO {
            self.epoch.start = cx.now;
        }
        if let (Some(rtt), Some(newest)) = (ack.rtt, ack.newest) {
            let window = self.window_of(newest);
            self.on_delay(rtt.as_secs_f64(), window, cx.now);
            if self.phase == Phase::SlowStart && rtt.as_secs_f64() > self.slow_start_delay {
                self.lose(self.beta * window, cx.now);
            }
        }
        // a packet sent again has no RTT sample, but its window is that after the decrease
        if self.phase == Phase::Loss && ack.rtt.is_none() && ack.newest.is_some() && ack.newest_sent > self.lost_at {
            self.phase = Phase::Profile;
        }
        match self.phase {
            Phase::SlowStart => self.set_window(self.window + ack.acked as f64),
            Phase::Loss => self.set_window(self.window + ack.acked as f64 / self.window),
            Phase::Profile => (),
        }
        let inflight = ack.sender.inflight() as f64;
        // what leaves the path within an epoch is replaced in the next one
        self.allowed = (self.allowed - (ack.prior_inflight as f64 - inflight).max(0.0)).max(1.0);
        self.end_epochs(cx.now, inflight);
        self.forget_before(ack.sender.snd_una);
    }

    fn on_send(&mut self, sent: &Sent<'_>, _cx: &mut Context<'_>) {
        let is_new = self.sent_in.back().is_none_or(|(first, window)| sent.seq > *first && *window != self.window);
        if !sent.is_retransmit && is_new {
            self.sent_in.push_back((sent.seq, self.window));
        }
    }

    fn on_packet_lost(&mut self, lost: &LostPacket, cx: &mut Context<'_>) {
        let window = self.window_of(lost.seq);
        match self.phase {
            Phase::SlowStart if self.beta * window > SMALL_WINDOW => {
                self.profile.cut(window.max(PROFILE_MIN) as u32);
                self.lose(self.beta * window, cx.now);
            }
            Phase::SlowStart => self.set_window((self.beta * window).min(self.window)),
            Phase::Profile => self.lose((self.beta * window).min(self.window), cx.now),
            // sent after the decrease, also if for the second time: a new loss
            Phase::Loss if lost.sent > self.lost_at => self.lose(self.beta * window.min(self.window), cx.now),
            Phase::Loss => (),
        }
    }

    fn on_loss(&mut self, loss: &Loss<'_>, _cx: &mut Context<'_>) {
        if matches!(loss.cause, Cause::Timeout | Cause::PersistentCongestion) {
            self.phase = Phase::SlowStart;
            (self.profile, self.has_curve) = (Profile::default(), false);
            (self.average_max, self.min_delay, self.rtt) = (None, f64::INFINITY, 0.0);
            self.set_window(1.0);
        }
    }

    fn cwnd(&self) -> Bytes {
        let packets = if self.phase == Phase::Profile { self.allowed.min(f64::from(LARGEST)) } else { self.window };
        self.mss * (packets as u64).max(1)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn interests(&self) -> Interests {
        Interests { sent: true, lost: true, own_recovery: true, ..Interests::default() }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("window_pkts", self.window);
        emit("wanted_delay_ms", self.wanted * 1e3);
        emit("max_delay_ms", self.average_max.unwrap_or(f64::NAN) * 1e3);
        emit("min_delay_ms", self.floor() * 1e3);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, MSS, Path, refusal};
    use serde_json::{Value, json};

    const START: Start = Start { mss: MSS, initial_cwnd: Bytes(15_000), oracle_rtprop: None, first_packet: 0, seed: 1 };

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// A flow with a profile of 1 ms per packet above 20 ms, and D_est = 60 ms.
    fn verus() -> Verus {
        let mut v = Verus::new(&START, &Params::default());
        (1..=75).for_each(|w| v.profile.add(w, 0.02 + 1e-3 * f64::from(w)));
        v.fit(at(0));
        (v.phase, v.wanted, v.min_delay, v.rtt) = (Phase::Profile, 0.06, 0.02, 0.06);
        v
    }

    #[test]
    fn the_delay_wanted_follows_the_maximum_delay() {
        // (maximum of the epoch, average, wanted afterwards), ms
        for (max, average, wanted) in [(60.0, 50.0, 59.0), (50.0, 50.0, 62.0), (40.0, 50.0, 62.0), (50.0, 121.0, 58.0)]
        {
            let mut v = verus();
            v.average_max = Some(average * 1e-3);
            v.epoch.max_delay = Some(max * 1e-3);
            v.end_epoch(at(5), 40.0);
            assert!((v.wanted * 1e3 - wanted).abs() < 1e-6, "{max} {average}: {}", v.wanted);
            assert!((v.window - (wanted - 20.0)).abs() < 1e-6, "{}", v.window);
            assert!((v.average_max.expect("a value") * 1e3 - (0.8 * max + 0.2 * average)).abs() < 1e-6);
        }
    }

    #[test]
    fn an_epoch_sends_its_part_of_the_window() {
        let mut v = verus();
        v.window = 44.0;
        // n = 12: 44 - 40 10/11
        assert!((v.packets_to_send(40.0) - (44.0 - 400.0 / 11.0)).abs() < 1e-9);
        v.rtt = 0.004;
        assert_eq!(v.packets_to_send(40.0), 4.0);
        assert_eq!(v.packets_to_send(50.0), 0.0);
    }

    #[test]
    fn a_loss_scales_the_window_of_its_packet_until_a_packet_of_a_smaller_window_arrives() {
        let mut v = verus();
        v.window = 60.0;
        v.sent_in = VecDeque::from([(0, 50.0), (100, 60.0)]);
        v.forget_before(50);
        assert_eq!((v.window_of(99), v.window_of(100)), (50.0, 60.0));
        v.lose(0.7 * v.window_of(99), at(5));
        assert_eq!((v.window, v.phase), (35.0, Phase::Loss));
        assert!((v.wanted - 0.055).abs() < 1e-6, "{}", v.wanted);
        v.on_delay(0.08, 60.0, at(6));
        assert_eq!(v.phase, Phase::Loss);
        v.on_delay(0.08, 35.0, at(7));
        assert_eq!(v.phase, Phase::Profile);
    }

    #[test]
    fn a_link_is_filled() {
        let mut bench = Bench::of(NAME, &Value::Null, Path::droptail(24, 40, 5));
        bench.run_until(at(20_000), |_| ());
        let used = bench.utilization_for(Dur::from_secs(20));
        assert!(used > 0.9, "{used}");
    }

    #[test]
    fn bad_parameters_are_named() {
        for (params, word) in [
            (json!({"epoch": "0ms"}), "epoch"),
            (json!({"delta1": "0ms"}), "delta1"),
            (json!({"delta2": "2h"}), "delta2"),
            (json!({"ratio": 0.5}), "ratio"),
            (json!({"beta": 1.0}), "beta"),
            (json!({"slow_start_delay": "0s"}), "slow_start_delay"),
            (json!({"r": 6}), "r"),
        ] {
            assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
        }
    }
}
