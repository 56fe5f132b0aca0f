//! The second checker of certificates that linear constraints contradict each other.
//!
//! `docs/formal/certificates.md` defines both languages and how a question is cut into clauses. This crate shares no code
//! with `python/fairweir/formal/checker.py`; a proof counts only when both accept it. It trusts `num-bigint` and
//! `num-rational`, and nothing that found the certificate.

mod cut;
mod number;
mod question;
mod steps;

/// Bytes of a question.
pub const MAX_QUESTION: usize = 1 << 24;
/// Bytes of a certificate.
pub const MAX_CERTIFICATE: usize = 1 << 28;
/// Bytes of a word, of either.
const MAX_WORD: usize = 1000;

/// Why something is not accepted, in printable ASCII; it begins with `line N: ` if a step is wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Rejected(pub String);

type Result<T> = std::result::Result<T, Rejected>;

fn reject<T>(reason: impl Into<String>) -> Result<T> {
    Err(Rejected(reason.into()))
}

fn ensure(holds: bool, reason: &str) -> Result<()> {
    if holds { Ok(()) } else { reject(reason) }
}

/// Quotes what was read, for a message: nothing in it reaches a terminal as it is.
fn shown(word: &str) -> String {
    format!("`{}{}`", word[..word.len().min(60)].escape_default(), if word.len() > 60 { "..." } else { "" })
}

/// Checks a certificate against a question, and returns how many steps there are.
///
/// # Errors
///
/// The question is outside of the language, or the certificate does not show that it is unsatisfiable.
pub fn accept(question: &[u8], certificate: &[u8]) -> Result<usize> {
    let ascii = |text, limit| std::str::from_utf8(text).ok().filter(|text| text.len() <= limit && text.is_ascii());
    match (ascii(question, MAX_QUESTION), ascii(certificate, MAX_CERTIFICATE)) {
        (Some(question), Some(certificate)) => steps::check(question::read(question)?, certificate),
        _ => reject("the question or the certificate is too long, or is not ASCII"),
    }
}
