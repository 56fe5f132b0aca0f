//! Rejected scenarios: a message, the scenario's key, a hint.

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
    pub fn of(error: &dyn Hint) -> Refusal {
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

impl<E: Hint> From<E> for Refusal {
    fn from(error: E) -> Refusal {
        Refusal::of(&error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_path::ConfigError;

    #[test]
    fn an_unsupported_scenario_keeps_its_key_and_hint() {
        let error = ConfigError::new("flows.1.receiver.sack", "they must agree", "set it for all flows");
        let text = Refusal::from(error).to_string();
        assert_eq!(text, "flows.1.receiver.sack: they must agree\n\nhint: set it for all flows");
    }
}
