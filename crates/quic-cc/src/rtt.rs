//! The RTT estimator of quinn and noq (RFC 9002 §5.3), with the update of their connections.

use crate::layout::{Estimator, Slots, estimator, find};
use fairweir_units::Dur;
use std::marker::PhantomData;
use std::time::Duration;

/// `TransportConfig::initial_rtt` of both stacks (RFC 9002 §6.2.2).
const INITIAL_RTT: Duration = Duration::from_millis(333);

/// An estimator of type `E`.
#[derive(Debug)]
pub(crate) struct Rtt<E> {
    slots: Slots,
    values: [Duration; 4],
    has_sample: bool,
    kind: PhantomData<fn() -> E>,
}

impl<E: Estimator> Rtt<E> {
    /// An estimator without samples.
    ///
    /// # Errors
    /// If the stack's type has changed.
    pub(crate) fn new() -> Result<Rtt<E>, String> {
        let slots = find::<E>()?;
        let mut values = [INITIAL_RTT; 4];
        values[slots.var] = INITIAL_RTT / 2;
        Ok(Rtt { slots, values, has_sample: false, kind: PhantomData })
    }

    /// Returns the stack's value. `smoothed` is `Some` before the first sample too, with the value that `get` then has.
    pub(crate) fn value(&self) -> E {
        estimator(self.values)
    }

    /// The smoothed RTT.
    pub(crate) fn smoothed(&self) -> Duration {
        self.values[self.slots.smoothed]
    }

    /// `RttEstimator::update` with an ACK delay of zero: the simulated receiver reports none.
    pub(crate) fn update(&mut self, sample: Dur) {
        let sample = Duration::from_nanos(sample.as_nanos());
        let Slots { latest, smoothed, var, min } = self.slots;
        let values = &mut self.values;
        values[latest] = sample;
        if self.has_sample {
            values[min] = values[min].min(sample);
            values[var] = (3 * values[var] + values[smoothed].abs_diff(sample)) / 4;
            values[smoothed] = (7 * values[smoothed] + sample) / 8;
        } else {
            self.has_sample = true;
            (values[smoothed], values[var], values[min]) = (sample, sample / 2, sample);
        }
    }
}
