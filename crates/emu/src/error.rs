//! Errors of the kernel world.

use fairweir_path::ConfigError;
use fairweir_units::Hint;
use std::borrow::Cow;
use std::io;

/// Errors of creating a network or running the emulator.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    /// A system call failed.
    #[error("{action}: {source}")]
    System {
        /// The attempted action, such as `make a network namespace`.
        action: String,
        /// The cause.
        source: io::Error,
    },
    /// The scenario contradicts itself, or needs something that the kernel world does not support.
    #[error(transparent)]
    Config(#[from] ConfigError),
}

impl Hint for EmuError {
    fn message(&self) -> String {
        match self {
            EmuError::System { .. } => self.to_string(),
            EmuError::Config(error) => error.message(),
        }
    }

    fn key(&self) -> Option<&str> {
        match self {
            EmuError::System { .. } => None,
            EmuError::Config(error) => error.key(),
        }
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            EmuError::System { source, .. } if source.kind() == io::ErrorKind::PermissionDenied => {
                Some("the kernel world needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)".into())
            }
            EmuError::System { .. } => None,
            EmuError::Config(error) => error.hint(),
        }
    }
}

/// Names the step that an error belongs to.
pub(crate) trait During<T> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, EmuError>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, EmuError> {
        self.map_err(|error| EmuError::System { action: action(), source: error.into() })
    }
}
