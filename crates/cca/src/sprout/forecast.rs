//! Bayesian inference of a link's rate, and the forecast of deliveries at a quantile.
//!
//! The link delivers packets as a Poisson process. Its rate is one of 256 values from 0 to 1000 packets per second, and
//! moves in Brownian motion; at 0 (an outage) it stays longer.

use crate::math;
use std::sync::OnceLock;

/// Number of rates.
const RATES: usize = 256;
/// Largest rate, packets/s.
const MAX_RATE: f64 = 1000.0;
/// Length of a tick, s.
pub(super) const TICK: f64 = 0.02;
/// Strength of the Brownian motion, packets/s per square root of a second.
const SIGMA: f64 = 200.0;
/// Rate at which outages end, per second.
const ESCAPE: f64 = 1.0;
/// Deviations at which steps of a tick are cut off.
const CUT: f64 = 5.0;
/// Largest number of packets in a tick of the forecast.
const MAX_COUNT: usize = 30;
/// Subdivisions of a bin in numerical integration; even.
const PIECES: u32 = 8;

fn rate(bin: usize) -> f64 {
    bin as f64 * MAX_RATE / (RATES - 1) as f64
}

/// Probabilities of steps by a number of bins within a tick; the middle one stands for 0.
fn steps() -> &'static [f64] {
    static STEPS: OnceLock<Vec<f64>> = OnceLock::new();
    STEPS.get_or_init(|| {
        let width = rate(1) / (SIGMA * TICK.sqrt());
        let reach = (CUT / width) as i32;
        let density = |x: f64| math::exp(-x * x / 2.0) / std::f64::consts::TAU.sqrt();
        // Simpson's rule over each bin
        let mass = |bin: i32| -> f64 {
            let (from, h) = ((f64::from(bin) - 0.5) * width, width / f64::from(PIECES));
            let weighted = |i: u32| {
                let weight = if i == 0 || i == PIECES { 1.0 } else { f64::from(2 + 2 * (i % 2)) };
                weight * density(from + f64::from(i) * h)
            };
            (0..=PIECES).map(weighted).sum::<f64>() * h / 3.0
        };
        (-reach..=reach).map(mass).collect()
    })
}

/// The distribution of the rate.
#[derive(Clone, Debug)]
pub(super) struct Belief {
    probability: Vec<f64>,
}

impl Belief {
    /// All rates are equally likely.
    pub fn uniform() -> Belief {
        Belief { probability: vec![1.0 / RATES as f64; RATES] }
    }

    /// The mean rate, packets/s.
    pub fn mean(&self) -> f64 {
        self.probability.iter().enumerate().map(|(bin, p)| rate(bin) * p).sum()
    }

    fn normalize(&mut self) {
        let sum: f64 = self.probability.iter().sum();
        if sum > 0.0 {
            self.probability.iter_mut().for_each(|p| *p /= sum);
        } else {
            *self = Belief::uniform();
        }
    }

    /// A tick passes: Brownian motion.
    pub fn evolve(&mut self) {
        let steps = steps();
        let reach = steps.len() / 2;
        let leaves_outage = 1.0 - math::exp(-ESCAPE * TICK);
        let mut next = vec![0.0; RATES];
        for (from, &p) in self.probability.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            for (i, step) in steps.iter().enumerate() {
                let to = (from + i).saturating_sub(reach).min(RATES - 1);
                let stays = match (from, to) {
                    (0, 0) => 1.0 - leaves_outage,
                    (0, _) => leaves_outage,
                    _ => 1.0,
                };
                next[to] += p * step * stays;
            }
        }
        self.probability = next;
        self.normalize();
    }

    /// `count` packets arrived in a tick. Likelihoods are relative to the largest, because those of large counts underflow.
    pub fn observe(&mut self, count: u64) {
        let log_likelihood = |bin: usize| {
            let mean = rate(bin) * TICK;
            match (mean > 0.0, count) {
                (true, _) => count as f64 * math::ln(mean) - mean,
                (false, 0) => 0.0,
                (false, _) => f64::NEG_INFINITY,
            }
        };
        let possible = self.probability.iter().enumerate().filter(|(_, p)| **p > 0.0);
        let largest = possible.map(|(bin, _)| log_likelihood(bin)).fold(f64::NEG_INFINITY, f64::max);
        if largest == f64::NEG_INFINITY {
            *self = Belief::uniform();
            return self.observe(count);
        }
        for (bin, p) in self.probability.iter_mut().enumerate() {
            *p *= math::exp(log_likelihood(bin) - largest);
        }
        self.normalize();
    }

    /// Returns the quantile of the number of packets that are delivered in `ticks` ticks.
    pub fn forecast(&self, ticks: usize, quantile: f64) -> u64 {
        let table = &forecasts()[ticks - 1];
        let below = |count: usize| -> f64 { self.probability.iter().zip(table).map(|(p, cdf)| p * cdf[count]).sum() };
        let counts: Vec<usize> = (0..table[0].len()).collect();
        counts.partition_point(|&count| below(count) < quantile) as u64
    }
}

/// Number of ticks of the longest forecast.
pub(super) const HORIZON: usize = 8;

/// Distribution functions of the packets in 1 to [`HORIZON`] ticks, for each current rate.
fn forecasts() -> &'static [Vec<Vec<f64>>] {
    static FORECASTS: OnceLock<Vec<Vec<Vec<f64>>>> = OnceLock::new();
    FORECASTS.get_or_init(|| {
        let counts: Vec<Vec<f64>> = (0..RATES).map(|bin| poisson(rate(bin) * TICK)).collect();
        let mut forecasts = vec![Vec::new(); HORIZON];
        for bin in 0..RATES {
            let mut belief = Belief { probability: vec![0.0; RATES] };
            belief.probability[bin] = 1.0;
            let mut total = vec![1.0];
            for forecast in &mut forecasts {
                let mut tick = vec![0.0; MAX_COUNT + 1];
                for (p, counts) in belief.probability.iter().zip(&counts).filter(|(p, _)| **p > 0.0) {
                    tick.iter_mut().zip(counts).for_each(|(sum, q)| *sum += p * q);
                }
                total = convolve(&total, &tick);
                let mut sum = 0.0;
                forecast.push(total.iter().map(|p| (sum += p, sum).1).collect());
                belief.evolve();
            }
        }
        forecasts
    })
}

/// Probabilities of 0 to [`MAX_COUNT`] packets, the last one also of more.
fn poisson(mean: f64) -> Vec<f64> {
    let mut p = math::exp(-mean);
    let mut probabilities = Vec::with_capacity(MAX_COUNT + 1);
    let mut rest = 1.0;
    for count in 0..MAX_COUNT {
        probabilities.push(p);
        rest -= p;
        p *= mean / (count + 1) as f64;
    }
    probabilities.push(f64::max(rest, 0.0));
    probabilities
}

fn convolve(a: &[f64], b: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; a.len() + b.len() - 1];
    for (i, x) in a.iter().enumerate() {
        b.iter().enumerate().for_each(|(j, y)| sums[i + j] += x * y);
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_a_normal_distribution() {
        let sum: f64 = steps().iter().sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
        let middle = (steps().len() / 2) as f64;
        let variance: f64 = steps().iter().enumerate().map(|(i, p)| p * ((i as f64 - middle) * rate(1)).powi(2)).sum();
        // 200^2 0.02 = 800, and the width of a bin squared / 12
        assert!((variance - 800.0 - rate(1).powi(2) / 12.0).abs() < 1.0, "{variance}");
    }

    #[test]
    fn the_rate_is_inferred_from_counts() {
        for per_tick in [0, 1, 5, 10, 19] {
            let mut belief = Belief::uniform();
            for _ in 0..200 {
                belief.evolve();
                belief.observe(per_tick);
            }
            let expected = per_tick as f64 / TICK;
            assert!((belief.mean() - expected).abs() < 40.0, "{per_tick}: {}", belief.mean());
        }
        let mut belief = Belief::uniform();
        belief.observe(1_000_000);
        assert!(belief.mean() > 999.0, "{}", belief.mean());
    }

    #[test]
    fn a_forecast_is_a_cautious_count_that_grows_with_time_and_quantile() {
        let mut belief = Belief::uniform();
        for _ in 0..200 {
            belief.evolve();
            belief.observe(10);
        }
        let counts: Vec<u64> = (1..=HORIZON).map(|ticks| belief.forecast(ticks, 0.05)).collect();
        assert!(counts.windows(2).all(|c| c[1] > c[0]), "{counts:?}");
        // a known rate of 10 per tick alone would have 5th percentiles of 5 and 66 packets in 1 and 8 ticks
        assert!(counts[0] <= 5 && (40..66).contains(&counts[7]), "{counts:?}");
        assert!(belief.forecast(6, 0.5) > belief.forecast(6, 0.05));
    }

    #[test]
    fn an_outage_lasts() {
        let mut belief = Belief::uniform();
        for _ in 0..200 {
            belief.evolve();
            belief.observe(0);
        }
        assert_eq!(belief.forecast(6, 0.05), 0);
    }
}
