//! Sprout: for cellular links; infers the distribution of the link's rate, and limits inflight to what will be delivered in
//! 100 ms with a probability of 95 %.
//!
//! Model, per tick of 20 ms:
//!
//! - the link delivers packets as a Poisson process, whose rate is in Brownian motion, with 256 values of 0 to 1000
//!   packets/s ([`forecast`]); a tick moves the distribution, and the packets that arrived in it update it by Bayes' rule;
//! - a tick without arrivals counts only if a packet could have arrived in it;
//! - N(k), k = 1 to 8: the 5th percentile of the packets delivered in the next k ticks;
//! - cwnd = N(6) - N(1), at least one packet.
//!
//! **Source**: Winstein et al., "Stochastic forecasts achieve high throughput and low delay over cellular networks", NSDI
//! 2013, §3; the window's ticks and the truncation of counts follow the authors' code.
//!
//! **Deviations**: the forecast is made at the sender from ACKs, not at the receiver. The forecast is thus never older than a
//! tick, and queues on the way back count. The queue, which the authors' sender estimates as sent minus received or lost, is
//! inflight. A tick without arrivals counts if a packet sent more than a minimum RTT before its end is outstanding; theirs
//! has the time to the next packet in each packet. Ticks pass with ACKs and sends. Counts above 30 per tick are forecast as
//! 30; theirs drops them. Packets have the transport's size. Their packets in silence (heartbeats) are the transport's
//! timeout.

mod forecast;

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::range::Checks;
use crate::{Ack, Context, Controller, Interests, Loss, Sent};
use fairweir_units::{Bytes, Dur, Rate, Time};
use forecast::{Belief, HORIZON, TICK};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Name in scenarios.
const NAME: &str = "sprout";

/// Ticks after which the distribution no longer changes without observations.
const FORGOTTEN: u64 = 100;

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Probability that fewer packets are delivered than forecast.
    pub quantile: f64,
    /// Time in which what is in flight has to be delivered, ticks of 20 ms; 1 to 7.
    pub target_ticks: u32,
}

impl Default for Params {
    fn default() -> Params {
        Params { quantile: 0.05, target_ticks: 5 }
    }
}

impl Params {
    fn check(&self) -> Result<(), BuildError> {
        Checks { algorithm: NAME }.fraction("quantile", self.quantile)?.within(
            "target_ticks",
            self.target_ticks,
            1..=HORIZON as u32 - 1,
        )?;
        Ok(())
    }
}

impl Row for Sprout {
    const NAME: &'static str = NAME;
    const SUMMARY: &'static str = "for cellular links: cautious forecasts of the link's deliveries (NSDI 2013)";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Sprout, BuildError> {
        params.check()?;
        Ok(Sprout::new(start, &params))
    }
}

/// Sprout, as a row of the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Sprout>();

/// Sprout.
#[derive(Clone, Debug)]
pub struct Sprout {
    mss: Bytes,
    quantile: f64,
    target_ticks: usize,
    belief: Belief,
    /// End of the current tick.
    tick_end: Time,
    /// Packets delivered in it.
    count: u64,
    min_rtt: Dur,
    /// When packets that may be outstanding were sent, one time per tick.
    sent: VecDeque<Time>,
    /// Packets.
    window: u64,
}

impl Sprout {
    /// The length of a tick.
    const TICK: Dur = Dur::from_nanos((TICK * 1e9) as u64);

    /// Creates the state of a new connection.
    pub fn new(start: &Start, params: &Params) -> Sprout {
        let mut sprout = Sprout {
            mss: start.mss,
            quantile: params.quantile,
            target_ticks: params.target_ticks as usize,
            belief: Belief::uniform(),
            tick_end: Time::ZERO,
            count: 0,
            min_rtt: Dur::MAX,
            sent: VecDeque::new(),
            window: 1,
        };
        sprout.forecast();
        sprout
    }

    fn forecast(&mut self) {
        let [soon, later] = [1, self.target_ticks + 1].map(|ticks| self.belief.forecast(ticks, self.quantile));
        self.window = later.saturating_sub(soon).max(1);
    }

    /// Processes the ticks that have passed.
    fn advance(&mut self, now: Time) {
        if self.tick_end == Time::ZERO {
            self.tick_end = now + Self::TICK;
        }
        if now < self.tick_end {
            return;
        }
        let mut passed = 0;
        while now >= self.tick_end {
            if passed == FORGOTTEN {
                self.tick_end = now + Self::TICK;
                break;
            }
            passed += 1;
            self.belief.evolve();
            let is_overdue = self.sent.front().is_some_and(|sent| self.tick_end.since(*sent) > self.min_rtt);
            if self.count > 0 || is_overdue {
                self.belief.observe(std::mem::take(&mut self.count));
            }
            self.tick_end += Self::TICK;
        }
        self.forecast();
    }
}

impl Controller for Sprout {
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        self.advance(cx.now);
        self.min_rtt = ack.sender.min_rtt;
        self.count += ack.acked;
        if ack.newest.is_some() {
            while self.sent.front().is_some_and(|sent| *sent <= ack.newest_sent) {
                self.sent.pop_front();
            }
        }
        if ack.sender.inflight() == 0 {
            self.sent.clear();
        }
    }

    fn on_loss(&mut self, _loss: &Loss<'_>, _cx: &mut Context<'_>) {
        // Only arrivals count.
    }

    fn on_send(&mut self, _sent: &Sent<'_>, cx: &mut Context<'_>) {
        self.advance(cx.now);
        if self.sent.back().is_none_or(|last| cx.now.since(*last) >= Self::TICK) {
            self.sent.push_back(cx.now);
        }
    }

    fn cwnd(&self) -> Bytes {
        self.mss * self.window
    }

    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    fn interests(&self) -> Interests {
        Interests { sent: true, own_recovery: true, own_ecn: true, ..Interests::default() }
    }

    fn telemetry(&self, emit: &mut dyn FnMut(&'static str, f64)) {
        emit("mean_rate_mbps", self.belief.mean() * self.mss.0 as f64 * 8e-6);
        emit("window_pkts", self.window as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Bench, Path, refusal};
    use serde_json::{Value, json};

    #[test]
    fn a_slow_link_is_used_with_a_queue_below_the_target() {
        let mut bench = Bench::of(NAME, &Value::Null, Path::droptail(6, 20, 100));
        bench.run_until(Time::from_nanos(20_000_000_000), |_| ());
        let mut longest = Dur::ZERO;
        let delivered = bench.sender.delivered;
        bench.run_until(bench.now + Dur::from_secs(20), |b| longest = longest.max(b.rtt));
        let used = (bench.sender.delivered - delivered) as f64 * 12e3 / 20.0 / 6e6;
        assert!(used > 0.8, "{used}");
        assert!(longest < Dur::from_millis(120), "{longest}");
    }

    #[test]
    fn a_higher_quantile_sends_more() {
        let window = |quantile: f64| {
            let mut bench = Bench::of(NAME, &json!({"quantile": quantile}), Path::droptail(6, 20, 100));
            bench.run_until(Time::from_nanos(10_000_000_000), |_| ());
            bench.cwnd()
        };
        assert!(window(0.5) > window(0.05), "{} {}", window(0.5), window(0.05));
    }

    #[test]
    fn an_outage_closes_the_window_and_its_end_opens_it() {
        let mut bench = Bench::of(NAME, &Value::Null, Path::droptail(6, 20, 100));
        bench.run_until(Time::from_nanos(10_000_000_000), |_| ());
        let before = bench.cwnd();
        bench.path.lose_every = Some(1);
        bench.run_until(bench.now + Dur::from_secs(3), |_| ());
        assert!(bench.cwnd() < before / 4, "{} {before}", bench.cwnd());
        bench.path.lose_every = None;
        bench.run_until(bench.now + Dur::from_secs(5), |_| ());
        assert!(bench.cwnd() > before / 2, "{} {before}", bench.cwnd());
    }

    #[test]
    fn bad_parameters_are_named() {
        for (params, word) in [
            (json!({"quantile": 0.0}), "quantile"),
            (json!({"target_ticks": 0}), "target_ticks"),
            (json!({"target_ticks": 8}), "target_ticks"),
            (json!({"sigma": 1}), "sigma"),
        ] {
            assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
        }
    }
}
