//! Hints to correct errors.

use std::borrow::Cow;
use std::error::Error;

/// An error with a hint and, if a value is wrong, the key of that value.
///
/// Front ends print message, key and hint separately (`error: MESSAGE (FILE: KEY)`, then `hint: HINT`), so `Display`
/// contains no hint.
pub trait Hint: Error {
    /// Returns the message for a front end that prints [`Hint::key`] itself.
    fn message(&self) -> String {
        self.to_string()
    }

    /// Returns the key whose value is wrong, such as `links.0.hop.link.rate`.
    fn key(&self) -> Option<&str> {
        None
    }

    /// Returns what the user can write or do instead, if known.
    fn hint(&self) -> Option<Cow<'_, str>>;
}
