//! Quantities in the spelling of scenario files.

use fairweir_units::ParseError;
use std::str::FromStr;

/// Parses `text`, the value of `key`.
///
/// # Panics
/// If it is not such a quantity; the message has the key and a hint.
#[track_caller]
pub(crate) fn parse<T: FromStr<Err = ParseError>>(key: &str, text: &str) -> T {
    text.parse().unwrap_or_else(|error: ParseError| panic!("{key}: {error}\n\nhint: {}", error.hint()))
}
