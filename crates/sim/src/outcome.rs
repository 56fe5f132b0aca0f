//! Input and result of a run.

use fairweir_cca::{BuildError, Controller, Start};
use fairweir_path::ConfigError;
use fairweir_scenario::{FlowSpec, Series, Summary};
use fairweir_units::{Hint, Time};
use std::borrow::Cow;
use std::ops::ControlFlow;

/// Result of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Numbers per flow and link.
    pub summary: Summary,
    /// The time series, if [`fairweir_scenario::Config::interval`] is set.
    pub series: Option<Series>,
}

/// Reasons why a run fails.
#[derive(Clone, Debug, thiserror::Error)]
pub enum SimError {
    /// The configuration is inconsistent, or a run would exceed the range of its numbers.
    #[error(transparent)]
    BadConfig(#[from] ConfigError),
    /// A controller could not be built.
    #[error("flow `{flow}`: {source}")]
    Build {
        /// The flow's id.
        flow: String,
        /// The controller's error.
        source: BuildError,
    },
    /// A controller misbehaved.
    #[error("flow `{flow}` at {at}: {reason}")]
    Controller {
        /// The flow's id.
        flow: String,
        /// Simulated time of the interruption.
        at: Time,
        /// Description of the misbehavior.
        reason: String,
    },
    /// The caller interrupted the run.
    #[error("interrupted at {at} of simulated time")]
    Interrupted {
        /// Simulated time reached.
        at: Time,
    },
}

impl Hint for SimError {
    fn message(&self) -> String {
        match self {
            SimError::BadConfig(error) => error.message(),
            _ => self.to_string(),
        }
    }

    fn key(&self) -> Option<&str> {
        match self {
            SimError::BadConfig(error) => error.key(),
            _ => None,
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            SimError::BadConfig(error) => error.hint(),
            SimError::Build { source, .. } => source.hint(),
            SimError::Controller { .. } | SimError::Interrupted { .. } => None,
        }
    }
}

/// Creates a flow's controller. The default is [`fairweir_cca::registry::build`]; a front end may supply its own
/// factory (Python classes).
pub type Factory<'a> = dyn Fn(&FlowSpec, &Start) -> Result<Box<dyn Controller>, BuildError> + 'a;

/// Called about every millisecond of wall time with the simulated time reached; `Break` ends the run.
pub type Progress<'a> = dyn FnMut(Time) -> ControlFlow<()> + 'a;
