//! The second checker of certificates that a set of linear constraints is contradictory.
//!
//! `docs/formal/certificates.md` defines the languages of questions and certificates, and the conversion to clauses.
//! This crate shares no code with `python/fairweir/formal/certificates/checker.py`; a proof is accepted only if both
//! checkers accept it. The crate depends on `num-bigint` and `num-rational`, and on no program that finds certificates.

mod cut;
mod number;
mod question;
mod steps;

/// Maximum bytes of a question.
pub const MAX_QUESTION: usize = 1 << 24;
/// Maximum bytes of a certificate.
pub const MAX_CERTIFICATE: usize = 1 << 28;
/// Maximum bytes of a word in a question or a certificate.
const MAX_WORD: usize = 1000;
/// Limit on the work: units per byte of the question and of the certificate, plus a constant.
const WORK: (usize, usize) = (64, 1 << 22);

/// A result, or the reason for rejection. The reason contains no input text, so it is safe to print on a terminal.
type Result<T> = std::result::Result<T, &'static str>;

fn ensure(holds: bool, reason: &'static str) -> Result<()> {
    if holds { Ok(()) } else { Err(reason) }
}

/// Checks a certificate against a question, and returns the number of steps.
///
/// # Errors
///
/// Returns the reason for rejection; it begins with `line N: ` if a step is invalid.
pub fn accept(question: &[u8], certificate: &[u8]) -> std::result::Result<usize, String> {
    let ascii = |text, limit| std::str::from_utf8(text).ok().filter(|text| text.len() <= limit && text.is_ascii());
    let texts = (ascii(question, MAX_QUESTION), ascii(certificate, MAX_CERTIFICATE));
    let (Some(question), Some(certificate)) = texts else {
        return Err("the question or the certificate is too long, or is not ASCII".into());
    };
    let work = WORK.0 * (question.len() + certificate.len()) + WORK.1;
    steps::check(question::read(question, work as u64)?, certificate)
}
