//! What an error says beyond its message.

use std::borrow::Cow;
use std::error::Error;

/// An error that names the key with the wrong value, if there is one, and what to write or do instead.
///
/// Front ends print the parts apart (`error: MESSAGE (FILE: KEY)`, then `hint: HINT`), so `Display` contains no hint.
pub trait Hint: Error {
    /// Return the message for a front end that prints [`Hint::key`] itself.
    fn message(&self) -> String {
        self.to_string()
    }

    /// Return the key whose value is wrong, as `links.0.hop.link.rate`.
    fn key(&self) -> Option<&str> {
        None
    }

    /// Return what to write or do instead, where that is known.
    fn hint(&self) -> Option<Cow<'_, str>>;
}
