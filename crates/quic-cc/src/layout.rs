//! Access to fields that quinn and noq keep private. This file holds all `unsafe` code of the crate.
//!
//! `Controller::on_ack` of both stacks takes their `RttEstimator`, which only their crates can construct. Its size, and
//! what its public getters return for a value with known bytes, determine where each field is; [`find`] fails if a release
//! changed the type. noq's BBRv3 has a seed in its configuration that no public method sets; [`seed_bbr3`] compares the
//! configuration's `Debug` text before and after. `docs/upstream` proposes a public method for each.

use noq_proto::congestion::Bbr3Config;
use std::time::Duration;

/// Public methods of a stack's `RttEstimator`.
pub(crate) trait Estimator: Copy {
    fn get(&self) -> Duration;
    fn conservative(&self) -> Duration;
    fn min(&self) -> Duration;
}

/// Where the four durations of an estimator are, in units of 16 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slots {
    pub(crate) latest: usize,
    pub(crate) smoothed: usize,
    pub(crate) var: usize,
    pub(crate) min: usize,
}

/// Returns the estimator with these bytes.
pub(crate) fn estimator<E: Estimator>(slots: [Duration; 4]) -> E {
    const {
        assert!(size_of::<E>() == size_of::<[Duration; 4]>() && align_of::<E>() == align_of::<Duration>());
        assert!(size_of::<Option<Duration>>() == size_of::<Duration>());
    };
    // SAFETY: the sizes and alignments are equal (checked above). The estimator consists of three `Duration` and one
    // `Option<Duration>` without padding, because their sizes add up to its own; a valid `Duration` is a valid
    // `Option<Duration>` of the same size (`Some`), because the only niche is in the range of its nanoseconds.
    unsafe { std::mem::transmute_copy(&slots) }
}

/// Finds the fields of an estimator by what its getters return.
///
/// # Errors
/// If the type is not the one that this version of the code knows.
pub(crate) fn find<E: Estimator>() -> Result<Slots, String> {
    let probe: [Duration; 4] = std::array::from_fn(|i| Duration::new(1 << i, 0));
    let known: E = estimator(probe);
    let place = |value: Duration, getter: &str| {
        probe.iter().position(|&p| p == value).ok_or_else(|| format!("RttEstimator::{getter} returns {value:?}"))
    };
    let (smoothed, min) = (place(known.get(), "get")?, place(known.min(), "min")?);
    let mut others = (0..4).filter(|&slot| slot != smoothed && slot != min);
    let latest = others
        .clone()
        .find(|&slot| {
            let mut raised = probe;
            raised[slot] = Duration::from_secs(1000);
            estimator::<E>(raised).conservative() == raised[slot]
        })
        .ok_or("RttEstimator::conservative ignores all fields")?;
    let var = others.find(|&slot| slot != latest).ok_or("RttEstimator has fewer than four fields")?;
    Ok(Slots { latest, smoothed, var, min })
}

/// Sets the private field `probe_rng_seed: Option<[u8; 16]>` of noq's configuration of BBRv3, without which BBRv3 draws
/// from the process's random generator.
///
/// # Errors
/// If the type is not the one that this version of the code knows.
pub(crate) fn seed_bbr3(config: &mut Bbr3Config, seed: [u8; 16]) -> Result<(), String> {
    // `u64` and nine `Option<f64>` come first because of their alignment; then the tag of the seed, the seed, padding.
    const TAG: usize = 8 + 9 * 16;
    const { assert!(size_of::<Bbr3Config>() == (TAG + 17).next_multiple_of(8)) };
    let before = format!("{config:?}");
    if !before.contains("probe_rng_seed: None") {
        return Err(format!("Bbr3Config has no field probe_rng_seed: {before}"));
    }
    let bytes = std::ptr::from_mut(config).cast::<u8>();
    // SAFETY: the range is within the configuration (checked above), which is borrowed exclusively. Every field with a
    // validity invariant (the tags of the options) has an alignment of 8 and lies before TAG, except the tag of the seed,
    // for which 1 is valid (`Some`).
    unsafe {
        bytes.add(TAG).write(1);
        bytes.add(TAG + 1).copy_from_nonoverlapping(seed.as_ptr(), seed.len());
    }
    let expected = before.replace("probe_rng_seed: None", &format!("probe_rng_seed: Some({seed:?})"));
    let after = format!("{config:?}");
    if after == expected { Ok(()) } else { Err(format!("Bbr3Config has another layout: {after}")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check<E: Estimator>() {
        let slots = find::<E>().expect("the layout of the pinned version");
        let mut values = [Duration::ZERO; 4];
        values[slots.latest] = Duration::from_millis(70);
        values[slots.smoothed] = Duration::from_nanos(50_000_001);
        values[slots.var] = Duration::from_millis(9);
        values[slots.min] = Duration::from_millis(30);
        let estimator: E = estimator(values);
        assert_eq!(estimator.get(), Duration::from_nanos(50_000_001));
        assert_eq!(estimator.conservative(), Duration::from_millis(70));
        assert_eq!(estimator.min(), Duration::from_millis(30));
    }

    #[test]
    fn the_layouts_of_the_pinned_versions_are_known() {
        check::<quinn_proto::RttEstimator>();
        check::<noq_proto::RttEstimator>();
    }

    #[test]
    fn the_seed_of_bbr3_is_set_and_nothing_else() {
        let mut config = Bbr3Config::default();
        config.initial_window(77_777);
        seed_bbr3(&mut config, std::array::from_fn(|i| i as u8)).expect("the layout of the pinned version");
        let text = format!("{config:?}");
        assert!(text.contains("initial_window: 77777") && text.contains("Some([0, 1, 2, 3,"), "{text}");
        assert!(seed_bbr3(&mut config, [1; 16]).is_err(), "a seed is set once");
    }

    /// An estimator whose getters return something else.
    #[derive(Clone, Copy)]
    struct Other([Duration; 4]);

    impl Estimator for Other {
        fn get(&self) -> Duration {
            self.0[0] * 3 + self.0[1]
        }
        fn conservative(&self) -> Duration {
            self.0[0]
        }
        fn min(&self) -> Duration {
            self.0[0]
        }
    }

    #[test]
    fn another_type_is_recognised() {
        let error = find::<Other>().expect_err("not the estimator");
        assert!(error.contains("get"), "{error}");
    }
}
