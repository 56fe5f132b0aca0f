//! What can go wrong in the kernel world.

use std::io;

/// Why a network could not be made or an emulator not run.
#[derive(Debug, thiserror::Error)]
pub enum EmuError {
    /// The system refused a step.
    #[error("{action}: {source}{hint}")]
    System {
        /// What was tried, as `make a network namespace`.
        action: String,
        /// Why it failed.
        source: io::Error,
        /// What may help, on a line of its own; or nothing.
        hint: &'static str,
    },
    /// The scenario asks for what the kernel world cannot do.
    #[error("{key}: {reason}")]
    Unsupported {
        /// Which key, as `flows.0.receiver.sack`.
        key: String,
        /// What is in the way.
        reason: String,
    },
    /// The scenario contradicts itself.
    #[error(transparent)]
    Config(#[from] fairweir_sim::SimError),
}

impl EmuError {
    pub(crate) fn unsupported(key: impl Into<String>, reason: impl Into<String>) -> EmuError {
        EmuError::Unsupported { key: key.into(), reason: reason.into() }
    }
}

/// Names the step that an error belongs to.
pub(crate) trait During<T> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, EmuError>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, EmuError> {
        self.map_err(|error| {
            let source: io::Error = error.into();
            let hint = if source.kind() == io::ErrorKind::PermissionDenied {
                "\n\nhint: the kernel world needs root (CAP_NET_ADMIN and CAP_SYS_ADMIN)"
            } else {
                ""
            };
            EmuError::System { action: action(), source, hint }
        })
    }
}
