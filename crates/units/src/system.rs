//! Failures of system calls, with the attempted action.

use std::io;

/// A system call that failed, and for what it was made.
#[derive(Debug, thiserror::Error)]
#[error("{action}: {source}")]
pub struct SystemError {
    /// The attempted action, such as `make a network namespace`.
    pub action: String,
    /// The system's error.
    pub source: io::Error,
}

/// Names the attempted action in an error of the system.
pub trait During<T> {
    /// Adds the action to the error.
    ///
    /// # Errors
    /// As `self`.
    fn during(self, action: impl FnOnce() -> String) -> Result<T, SystemError>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, SystemError> {
        self.map_err(|error| SystemError { action: action(), source: error.into() })
    }
}
