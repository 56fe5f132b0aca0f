//! Why the kernel world does not play: a message, the scenario's key, what to do.

use crate::EmuError;
use crate::traffic::SenderError;
use fairweir_kernel::KernelError;
use fairweir_sim::{Config, SimError};
use serde::Serialize;
use std::fmt;

/// What stands between a message and its hint where both are one text.
const HINT_MARK: &str = "\n\nhint: ";

/// A clear no.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// What is wrong.
    pub message: String,
    /// Which key of the configuration, as `flows.0.cca`.
    pub key: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
}

impl Refusal {
    /// A no that is about this machine, not the scenario.
    pub fn new(message: impl Into<String>) -> Refusal {
        Refusal { message: message.into(), key: None, hint: None }
    }

    /// The same about `key`.
    #[must_use]
    pub fn at(self, key: impl Into<String>) -> Refusal {
        Refusal { key: Some(key.into()), ..self }
    }

    /// The same with advice.
    #[must_use]
    pub fn hint(self, hint: impl Into<String>) -> Refusal {
        Refusal { hint: Some(hint.into()), ..self }
    }

    /// What the senders met, with the names that `config` gives its flows.
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
        self.hint.iter().try_for_each(|hint| write!(f, "{HINT_MARK}{hint}"))
    }
}

impl std::error::Error for Refusal {}

impl From<EmuError> for Refusal {
    fn from(error: EmuError) -> Refusal {
        match error {
            EmuError::Unsupported { key, reason } => Refusal::new(reason).at(key),
            EmuError::Config(SimError::BadConfig { key, reason }) => Refusal::new(reason).at(key),
            other => {
                let text = other.to_string();
                match text.split_once(HINT_MARK) {
                    Some((message, hint)) => Refusal::new(message).hint(hint),
                    None => Refusal::new(text),
                }
            }
        }
    }
}

impl From<&KernelError> for Refusal {
    fn from(error: &KernelError) -> Refusal {
        Refusal { hint: error.hint(), ..Refusal::new(error.to_string()) }
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
    use std::io;

    #[test]
    fn what_the_system_refuses_keeps_its_hint() {
        let error = EmuError::System {
            action: "make a network namespace".into(),
            source: io::ErrorKind::PermissionDenied.into(),
            hint: "\n\nhint: the kernel world needs root",
        };
        let refusal = Refusal::from(error);
        assert_eq!(refusal.message, "make a network namespace: permission denied");
        assert_eq!(refusal.hint.as_deref(), Some("the kernel world needs root"));
        assert_eq!(refusal.key, None);
    }

    #[test]
    fn what_the_scenario_asks_in_vain_keeps_its_key() {
        let error = EmuError::Unsupported { key: "flows.1.receiver.sack".into(), reason: "they must agree".into() };
        assert_eq!(Refusal::from(error).to_string(), "flows.1.receiver.sack: they must agree");
    }
}
