//! Errors of the kernel world.

use fairweir_path::ConfigError;
use fairweir_units::{Hint, SystemError};
use std::borrow::Cow;
use std::io;

/// Errors when creating a network or running the emulator.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    /// A system call failed.
    #[error(transparent)]
    System(#[from] SystemError),
    /// The scenario is inconsistent, or needs a feature that the kernel world does not support.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Hint for EmuError {
    fn message(&self) -> String {
        match self {
            EmuError::System(_) => self.to_string(),
            EmuError::Config(error) => error.message(),
        }
    }

    fn key(&self) -> Option<&str> {
        match self {
            EmuError::System(_) => None,
            EmuError::Config(error) => error.key(),
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            EmuError::System(e) if e.source.kind() == io::ErrorKind::PermissionDenied => {
                Some("the kernel world needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)".into())
            }
            EmuError::System(_) => None,
            EmuError::Config(error) => error.hint(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_program::Refusal;

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
}
