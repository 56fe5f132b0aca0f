//! Records and costs of BPF controllers, measured during a run.

use crate::cca::Choice;
use crate::recording::Recording;
use fairweir_kernel::cost::{self, Measuring};
use fairweir_program::Refusal;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Measures a run's BPF controllers.
#[derive(Debug)]
pub(crate) struct Watch<'a> {
    choice: &'a Choice,
    recording: Option<Recording>,
    measuring: Option<Measuring>,
}

impl<'a> Watch<'a> {
    /// Starts to record hooks' calls in the file `record`, if given, and to measure the run time of programs if
    /// `has_cost`.
    ///
    /// # Errors
    /// If the file cannot be written, or the kernel rejects the measurement.
    pub(crate) fn start(choice: &'a Choice, record: Option<&Path>, has_cost: bool) -> Result<Watch<'a>, Refusal> {
        Ok(Watch {
            choice,
            recording: record.map(|path| Recording::start(path, choice.loaded())).transpose()?,
            measuring: has_cost.then(cost::measure).transpose().map_err(Refusal::from)?,
        })
    }

    /// Processes the records since the last call; to be called about every 20 ms.
    ///
    /// # Errors
    /// If the records cannot be read or written.
    pub(crate) fn drain(&self) -> Result<(), Refusal> {
        self.recording.as_ref().map_or(Ok(()), Recording::drain)
    }

    /// Returns `replay` and `cost`, if requested, by the controllers' names in the scenario.
    ///
    /// # Errors
    /// If the records cannot be written, or the kernel's statistics cannot be read.
    pub(crate) fn finish(self) -> Result<Map<String, Value>, Refusal> {
        let mut learnt = Map::new();
        if self.measuring.is_some() {
            let costs = self.choice.loaded().map(|(name, cca)| {
                let cost = cca.cost().map_err(Refusal::from)?;
                Ok((name.to_owned(), json!(cost)))
            });
            learnt.insert("cost".into(), Value::Object(costs.collect::<Result<_, Refusal>>()?));
        }
        if let Some(recording) = self.recording {
            let lost = self.choice.loaded().map(|(_, cca)| cca.lost_records());
            learnt.insert("replay".into(), recording.finish(lost)?);
        }
        Ok(learnt)
    }
}
