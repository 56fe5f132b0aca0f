//! Errors of a path's configuration, and the checks that all parts share.

use fairweir_units::{Bytes, Dur, Hint, Rate};
use std::borrow::Cow;

/// An invalid configuration: the key, a description of the error, and a hint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct ConfigError {
    /// The key, such as `link.rate` or `points.3.at`.
    pub key: String,
    /// The error in its value.
    pub reason: String,
    /// Valid values.
    pub hint: Cow<'static, str>,
}

impl Hint for ConfigError {
    fn message(&self) -> String {
        self.reason.clone()
    }

    fn key(&self) -> Option<&str> {
        Some(&self.key)
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(Cow::Borrowed(&self.hint))
    }
}

impl ConfigError {
    /// Creates an error about `key`.
    pub fn new(key: impl Into<String>, reason: impl Into<String>, hint: impl Into<Cow<'static, str>>) -> ConfigError {
        ConfigError { key: key.into(), reason: reason.into(), hint: hint.into() }
    }

    /// Prepends the table `key` to the error's key.
    pub fn within(mut self, key: &str) -> ConfigError {
        self.key = format!("{key}.{}", self.key);
        self
    }
}

/// Maximum rate, 80 Tbps: above any link, and small enough that products of rates do not overflow 64 bits.
const MAX_RATE: Rate = Rate::from_bytes_per_sec(10_000_000_000_000);
/// Maximum time, a year: longer than any run, and small enough that sums of delays are exact.
const MAX_DUR: Dur = Dur::from_secs(366 * 86_400);
/// Maximum size, a tebibyte.
const MAX_BYTES: Bytes = Bytes(1 << 40);

/// Rejects a rate of zero or above 80 Tbps.
///
/// # Errors
/// The error names `key`.
pub fn check_rate(key: &str, rate: Rate) -> Result<(), ConfigError> {
    if rate == Rate::ZERO {
        return Err(ConfigError::new(key, format!("must be positive: `{rate}`"), "write a rate such as \"96Mbps\""));
    }
    if rate > MAX_RATE {
        return Err(ConfigError::new(key, format!("is too high: `{rate}`"), "the maximum rate is 80 Tbps"));
    }
    Ok(())
}

/// Rejects a time above one year; zero is allowed.
///
/// # Errors
/// The error names `key`.
pub fn check_dur(key: &str, dur: Dur) -> Result<(), ConfigError> {
    if dur > MAX_DUR {
        return Err(ConfigError::new(key, format!("is too long: `{dur}`"), "the maximum time is a year"));
    }
    Ok(())
}

/// Rejects a time of zero or above one year.
///
/// # Errors
/// The error names `key`.
pub fn check_positive_dur(key: &str, dur: Dur) -> Result<(), ConfigError> {
    if dur == Dur::ZERO {
        return Err(ConfigError::new(key, "must be positive: `0ms`", "write a time such as \"40ms\""));
    }
    check_dur(key, dur)
}

pub(crate) fn check_positive_bytes(key: &str, bytes: Bytes) -> Result<(), ConfigError> {
    if bytes == Bytes::ZERO {
        return Err(ConfigError::new(key, "must be positive: `0B`", "write a size such as \"1500B\""));
    }
    if bytes > MAX_BYTES {
        return Err(ConfigError::new(key, format!("is too large: `{bytes}`"), "the maximum size is 1 TiB"));
    }
    Ok(())
}

pub(crate) fn check_packet(key: &str, bytes: Bytes) -> Result<(), ConfigError> {
    if bytes > Bytes(65_536) {
        return Err(ConfigError::new(key, format!("is larger than any packet: `{bytes}`"), "a full packet has 1500B"));
    }
    check_positive_bytes(key, bytes)
}

/// Rejects a limit of zero, which would admit no packet. Without a limit the key is omitted.
pub(crate) fn check_limit(bytes: Option<Bytes>, packets: Option<u64>) -> Result<(), ConfigError> {
    const HINT: &str = "for an unlimited queue leave the limit out";
    if bytes == Some(Bytes::ZERO) {
        return Err(ConfigError::new("limit", "must be positive: `0B`", HINT));
    }
    if packets == Some(0) {
        return Err(ConfigError::new("limit_packets", "must be positive: `0`", HINT));
    }
    Ok(())
}

pub(crate) fn check_probability(key: &str, per_billion: u32) -> Result<(), ConfigError> {
    if per_billion > 1_000_000_000 {
        return Err(ConfigError::new(
            key,
            format!("must not exceed 1000000000 (certainty): `{per_billion}`"),
            "probabilities count in thousand millionths: 2 % is 20000000",
        ));
    }
    Ok(())
}

/// Rejects points whose `at` is not later than that of the previous point.
pub(crate) fn check_increasing(
    key: &str,
    times: impl Iterator<Item = fairweir_units::Time>,
) -> Result<(), ConfigError> {
    let mut last = None;
    for (i, at) in times.enumerate() {
        if last.is_some_and(|last| at <= last) {
            return Err(ConfigError::new(
                format!("{key}.{i}.at"),
                format!("must be later than the point before it: `{at}`"),
                "list the points in order of time, each time once",
            ));
        }
        last = Some(at);
    }
    if last.is_none() {
        return Err(ConfigError::new(key, "must not be empty", "list at least one point"));
    }
    check_dur(key, last.unwrap_or_default().since(fairweir_units::Time::ZERO))
}
