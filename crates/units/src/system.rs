//! Failed system calls, with the attempted action.

use std::io;

/// A system call that failed, and the action for which it was made.
#[derive(Debug, thiserror::Error)]
#[error("{action}: {source}")]
pub struct SystemError {
    /// The attempted action, such as `make a network namespace`.
    pub action: String,
    /// The system's error.
    pub source: io::Error,
}

/// Adds the attempted action to an error of the operating system.
pub trait During<T> {
    /// Adds the action to the error.
    ///
    /// # Errors
    /// The error of `self`, with the action.
    fn during(self, action: impl FnOnce() -> String) -> Result<T, SystemError>;
}

impl<T, E: Into<io::Error>> During<T> for Result<T, E> {
    fn during(self, action: impl FnOnce() -> String) -> Result<T, SystemError> {
        self.map_err(|error| SystemError { action: action(), source: error.into() })
    }
}
