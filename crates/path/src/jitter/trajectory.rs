//! Delay along an explicit trajectory.

use crate::error::{check_dur, check_increasing, check_positive_dur};
use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Packets that arrive at `at` are held for `delay`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayPoint {
    /// Time, ns since the start of the run (or of the repetition).
    pub at: Time,
    /// Delay at that time.
    pub delay: Dur,
}

/// Interpolation between two points.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Interpolation {
    /// The delay of the earlier point.
    #[default]
    Step,
    /// Linear interpolation.
    Linear,
}

/// Parameters of [`Trajectory`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrajectoryConfig {
    /// Points in time order. The first delay also applies before the first point, the last one after the last point.
    pub points: Vec<DelayPoint>,
    /// Interpolation between two points.
    #[serde(default)]
    pub interpolation: Interpolation,
    /// Period of repetition; if absent, the trajectory is not repeated.
    #[serde(default)]
    pub repeat: Option<Dur>,
}

impl TrajectoryConfig {
    /// Checks the configuration.
    ///
    /// # Errors
    /// No points, points out of order, delays out of range, or a repetition shorter than the trajectory.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_increasing("points", self.points.iter().map(|p| p.at))?;
        for (i, point) in self.points.iter().enumerate() {
            check_dur(&format!("points.{i}.delay"), point.delay)?;
        }
        if let Some(repeat) = self.repeat {
            check_positive_dur("repeat", repeat)?;
            let end = self.points[self.points.len() - 1].at.since(Time::ZERO);
            if repeat < end {
                return Err(ConfigError::new(
                    "repeat",
                    format!("must not be shorter than the trajectory ({end}): `{repeat}`"),
                    "points after the repetition would never be reached",
                ));
            }
        }
        Ok(())
    }
}

impl ElementSpec for TrajectoryConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        TrajectoryConfig::validate(self)
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(Trajectory::new(self))
    }

    fn longest_hold(&self) -> Option<Dur> {
        self.points.iter().map(|p| p.delay).max()
    }

    fn examples() -> &'static [&'static str] {
        &[
            r#"{"kind": "trajectory", "points": [{"at": 0, "delay": 0}, {"at": 100000000, "delay": 10000000}], "interpolation": "linear", "repeat": 200000000}"#,
        ]
    }
}

/// Delays packets by the trajectory's value at their arrival. If the delay falls faster than time passes, packets leave
/// together with their predecessor.
#[derive(Clone, Debug)]
pub struct Trajectory {
    config: TrajectoryConfig,
    last_release: Time,
}

impl Trajectory {
    /// The element for `config`, which must be valid.
    pub fn new(config: &TrajectoryConfig) -> Trajectory {
        Trajectory { config: config.clone(), last_release: Time::ZERO }
    }

    fn delay_at(&self, now: Time) -> Dur {
        let points = &self.config.points;
        let t = match self.config.repeat {
            Some(repeat) => Time::from_nanos(now.as_nanos() % repeat.as_nanos()),
            None => now,
        };
        let after = points.partition_point(|p| p.at <= t);
        if after == 0 {
            return points[0].delay;
        }
        let from = points[after - 1];
        match (self.config.interpolation, points.get(after)) {
            (Interpolation::Linear, Some(to)) => {
                let (done, whole) = (t.since(from.at).as_nanos(), to.at.since(from.at).as_nanos());
                if to.delay >= from.delay {
                    from.delay + to.delay.saturating_sub(from.delay).mul_ratio(done, whole)
                } else {
                    from.delay.saturating_sub(from.delay.saturating_sub(to.delay).mul_ratio(done, whole))
                }
            }
            _ => from.delay,
        }
    }
}

impl Element for Trajectory {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        self.last_release = self.last_release.max(now + self.delay_at(now));
        Verdict::Deliver(self.last_release)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::tests::packet;

    fn holds(interpolation: Interpolation, repeat: Option<Dur>, arrivals_ms: &[u64]) -> Vec<f64> {
        let point =
            |at: u64, delay| DelayPoint { at: Time::from_nanos(at * 1_000_000), delay: Dur::from_millis(delay) };
        let config =
            TrajectoryConfig { points: vec![point(100, 4), point(200, 8), point(220, 0)], interpolation, repeat };
        config.validate().unwrap();
        let mut element = Trajectory::new(&config);
        let hold = |&ms: &u64| {
            let now = Time::from_nanos(ms * 1_000_000);
            match element.arrive(now, &packet(1500)) {
                Verdict::Deliver(at) => at.since(now).as_millis_f64(),
                verdict => panic!("{verdict:?}"),
            }
        };
        arrivals_ms.iter().map(hold).collect()
    }

    #[test]
    fn steps_hold_until_the_next_point_and_never_reorder() {
        let arrivals = [0, 100, 199, 200, 218, 221, 227, 999];
        assert_eq!(holds(Interpolation::Step, None, &arrivals), [4.0, 4.0, 4.0, 8.0, 8.0, 5.0, 0.0, 0.0]);
    }

    #[test]
    fn lines_join_the_points() {
        let arrivals = [0, 150, 175, 200, 215, 220, 500];
        assert_eq!(holds(Interpolation::Linear, None, &arrivals), [4.0, 6.0, 7.0, 8.0, 2.0, 0.0, 0.0]);
    }

    #[test]
    fn it_repeats() {
        let arrivals = [220, 299, 300, 500, 520];
        let repeat = Some(Dur::from_millis(300));
        assert_eq!(holds(Interpolation::Step, repeat, &arrivals), [0.0, 0.0, 4.0, 8.0, 0.0]);
    }

    #[test]
    fn refusals_name_the_key() {
        let point = |at, delay| DelayPoint { at: Time::from_nanos(at), delay };
        let refusal = |points: &[DelayPoint], repeat| {
            TrajectoryConfig { points: points.to_vec(), interpolation: Interpolation::Step, repeat }
                .validate()
                .unwrap_err()
                .key
        };
        assert_eq!(refusal(&[], None), "points");
        assert_eq!(refusal(&[point(5, Dur::ZERO), point(4, Dur::ZERO)], None), "points.1.at");
        assert_eq!(refusal(&[point(5, Dur::MAX)], None), "points.0.delay");
        assert_eq!(refusal(&[point(5, Dur::ZERO)], Some(Dur::from_nanos(4))), "repeat");
    }
}
