//! Rejected scenarios: a message, the scenario's key, a hint.

use crate::EmuError;
use crate::traffic::SenderError;
use fairweir_kernel::KernelError;
use fairweir_scenario::Config;
use fairweir_units::Hint;
use serde::Serialize;
use std::borrow::Cow;
use std::fmt;

/// A rejected scenario or failed run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// The error.
    pub message: String,
    /// The key of the configuration, such as `flows.0.cca`.
    pub key: Option<String>,
    /// How to fix it.
    pub hint: Option<String>,
}

impl Refusal {
    /// A no that is about this machine, not the scenario.
    pub fn new(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), key: None, hint: None }
    }

    /// Converts an error with its key and hint.
    fn of(error: &dyn Hint) -> Refusal {
        Refusal {
            message: error.message(),
            key: error.key().map(str::to_owned),
            hint: error.hint().map(Cow::into_owned),
        }
    }

    /// Sets the key.
    #[must_use]
    pub fn at(self, key: impl Into<String>) -> Refusal {
        Refusal { key: Some(key.into()), ..self }
    }

    /// Adds a hint.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Refusal {
        Refusal { hint: Some(hint.into()), ..self }
    }

    /// Converts an error of the senders, with the flows' names from `config`.
    pub fn of_senders(error: &SenderError, config: &Config) -> Refusal {
        match error.flow {
            Some(flow) => Refusal::new(format!("flow `{}`: {error}", config.flows[flow].id)),
            None => Refusal::new(error.to_string()),
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(key) = &self.key {
            write!(f, "{key}: ")?;
        }
        f.write_str(&self.message)?;
        self.hint.iter().try_for_each(|hint| write!(f, "\n\nhint: {hint}"))
    }
}

impl std::error::Error for Refusal {}

impl From<EmuError> for Refusal {
    fn from(error: EmuError) -> Refusal {
        Refusal::of(&error)
    }
}

impl From<&KernelError> for Refusal {
    fn from(error: &KernelError) -> Refusal {
        Refusal::of(error)
    }
}

impl From<KernelError> for Refusal {
    fn from(error: KernelError) -> Refusal {
        Refusal::from(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_path::ConfigError;
    use fairweir_units::SystemError;
    use std::io;

    #[test]
    fn a_failed_system_call_keeps_its_hint() {
        let error = EmuError::from(SystemError {
            action: "make a network namespace".into(),
            source: io::ErrorKind::PermissionDenied.into(),
        });
        let refusal = Refusal::from(error);
        assert_eq!(refusal.message, "make a network namespace: permission denied");
        assert!(refusal.hint.is_some_and(|hint| hint.starts_with("the kernel world needs root")));
        assert_eq!(refusal.key, None);
    }

    #[test]
    fn an_unsupported_scenario_keeps_its_key_and_hint() {
        let error = ConfigError::new("flows.1.receiver.sack", "they must agree", "set it for all flows");
        let text = Refusal::from(EmuError::from(error)).to_string();
        assert_eq!(text, "flows.1.receiver.sack: they must agree\n\nhint: set it for all flows");
    }
}
