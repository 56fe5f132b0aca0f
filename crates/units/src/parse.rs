//! Exact conversions between text and quantities: decimals are scaled as integers, never as floats.

use crate::{Bytes, Dur, Hint, Rate, Size, Time};
use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

/// An invalid quantity. `Display` prints one line; [`ParseError::hint`] describes how to correct the text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseError {
    /// A number without a unit.
    #[error("{quantity} `{text}` has no unit")]
    NoUnit {
        /// The expected quantity: "rate", "time" or "size".
        quantity: &'static str,
        /// The text found.
        text: String,
    },
    /// An unknown unit, or a unit of another quantity.
    #[error("{quantity} `{text}` has an unknown unit `{unit}`")]
    UnknownUnit {
        /// The expected quantity.
        quantity: &'static str,
        /// The text found.
        text: String,
        /// The part after the digits.
        unit: String,
    },
    /// The text is not a non-negative decimal number.
    #[error("{quantity} `{text}` is not a non-negative decimal number with a unit")]
    NotANumber {
        /// The expected quantity.
        quantity: &'static str,
        /// The text found.
        text: String,
    },
    /// The quantity is finer than the smallest unit, or too large for 64 bits.
    #[error("{quantity} `{text}` is out of range")]
    OutOfRange {
        /// The expected quantity.
        quantity: &'static str,
        /// The text found.
        text: String,
    },
}

impl ParseError {
    fn quantity(&self) -> &'static str {
        match self {
            ParseError::NoUnit { quantity, .. }
            | ParseError::UnknownUnit { quantity, .. }
            | ParseError::NotANumber { quantity, .. }
            | ParseError::OutOfRange { quantity, .. } => quantity,
        }
    }

    /// Returns how to correct the text.
    pub fn hint(&self) -> &'static str {
        match self.quantity() {
            "rate" => "write a rate with its unit: \"96Mbps\", \"1.5Gbps\", \"512kbps\" or \"96Mbit/s\"",
            "time" => "write a time with its unit: \"40ms\", \"12us\", \"300s\"",
            _ => "write a size with its unit: \"64KiB\", \"1500B\", \"512pkts\", \"1.5bdp\" or \"infinite\"",
        }
    }
}

impl Hint for ParseError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(ParseError::hint(self).into())
    }
}

const TIME_UNITS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("min", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Units in bits per second; rates are stored as whole bytes per second. The first five units are printed; the others,
/// which tables and tc(8) use, are only parsed.
const RATE_UNITS: &[(&str, u64)] = &[
    ("bps", 1),
    ("kbps", 1_000),
    ("Mbps", 1_000_000),
    ("Gbps", 1_000_000_000),
    ("Tbps", 1_000_000_000_000),
    ("bit/s", 1),
    ("kbit/s", 1_000),
    ("Mbit/s", 1_000_000),
    ("Gbit/s", 1_000_000_000),
    ("Tbit/s", 1_000_000_000_000),
    ("bit", 1),
    ("kbit", 1_000),
    ("Mbit", 1_000_000),
    ("Gbit", 1_000_000_000),
    ("Tbit", 1_000_000_000_000),
];

const BYTE_UNITS: &[(&str, u64)] = &[
    ("B", 1),
    ("kB", 1_000),
    ("KB", 1_000),
    ("MB", 1_000_000),
    ("GB", 1_000_000_000),
    ("KiB", 1 << 10),
    ("MiB", 1 << 20),
    ("GiB", 1 << 30),
];

/// Splits the number from the unit and scales the number by `units`. The result is exactly `value * scale`, or an
/// error.
fn scaled(quantity: &'static str, text: &str, units: &[(&str, u64)]) -> Result<u64, ParseError> {
    let s = text.trim();
    let not_a_number = || ParseError::NotANumber { quantity, text: text.to_owned() };
    let out_of_range = || ParseError::OutOfRange { quantity, text: text.to_owned() };
    let split = s.find(|c: char| !(c.is_ascii_digit() || c == '.' || c == '_')).unwrap_or(s.len());
    let (number, unit) = (s[..split].replace('_', ""), s[split..].trim());
    let (whole, fraction) = number.split_once('.').unwrap_or((&number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return Err(not_a_number());
    }
    if unit.is_empty() {
        return Err(ParseError::NoUnit { quantity, text: text.to_owned() });
    }
    let scale = units
        .iter()
        .find(|(name, _)| *name == unit)
        .map(|(_, scale)| *scale)
        .ok_or_else(|| ParseError::UnknownUnit { quantity, text: text.to_owned(), unit: unit.to_owned() })?;
    let whole: u64 = if whole.is_empty() { 0 } else { whole.parse().map_err(|_| out_of_range())? };
    let fraction = fraction.trim_end_matches('0');
    let mut result = u128::from(whole) * u128::from(scale);
    if !fraction.is_empty() {
        let digits: u128 = fraction.parse().map_err(|_| out_of_range())?;
        let power = u32::try_from(fraction.len()).ok().and_then(|n| 10u128.checked_pow(n));
        let power = power.ok_or_else(out_of_range)?;
        let product = digits.checked_mul(u128::from(scale)).ok_or_else(out_of_range)?;
        if product % power != 0 {
            return Err(out_of_range());
        }
        result += product / power;
    }
    u64::try_from(result).map_err(|_| out_of_range())
}

impl FromStr for Dur {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Dur, ParseError> {
        scaled("time", s, TIME_UNITS).map(Dur::from_nanos)
    }
}

impl FromStr for Rate {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Rate, ParseError> {
        scaled("rate", s, RATE_UNITS).map(|bits| Rate::from_bytes_per_sec(bits / 8))
    }
}

impl FromStr for Bytes {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Bytes, ParseError> {
        scaled("size", s, BYTE_UNITS).map(Bytes)
    }
}

impl FromStr for Size {
    type Err = ParseError;
    fn from_str(s: &str) -> Result<Size, ParseError> {
        let t = s.trim();
        if t == "infinite" {
            return Ok(Size::Infinite);
        }
        if t.ends_with("bdp") {
            return scaled("size", s, &[("bdp", 1_000_000)]).map(Size::MicroBdp);
        }
        if t.ends_with("pkts") || t.ends_with("pkt") {
            return scaled("size", s, &[("pkts", 1), ("pkt", 1)]).map(Size::Packets);
        }
        s.parse().map(Size::Bytes)
    }
}

/// Prints `value` in the largest of `units` in which three decimals represent it exactly.
fn print_exact(f: &mut fmt::Formatter<'_>, value: u64, units: &[(&str, u64)]) -> fmt::Result {
    for (name, scale) in units.iter().rev() {
        if value >= *scale && (u128::from(value) * 1000).is_multiple_of(u128::from(*scale)) {
            let (whole, rest) = (value / scale, value % scale);
            let thousandths = u128::from(rest) * 1000 / u128::from(*scale);
            if thousandths == 0 {
                return write!(f, "{whole}{name}");
            }
            let digits = format!("{thousandths:03}");
            return write!(f, "{whole}.{}{name}", digits.trim_end_matches('0'));
        }
    }
    write!(f, "{value}{}", units[0].0)
}

impl fmt::Display for Dur {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_exact(f, self.as_nanos(), &TIME_UNITS[..4])
    }
}
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_exact(f, self.as_nanos(), &TIME_UNITS[..4])
    }
}
impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_exact(f, self.bits_per_sec(), &RATE_UNITS[..5])
    }
}
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        print_exact(f, self.0, &[("B", 1), ("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30)])
    }
}
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Size::Bytes(b) => b.fmt(f),
            Size::Packets(n) => write!(f, "{n}pkts"),
            Size::MicroBdp(m) => {
                let digits = format!("{}.{:06}", m / 1_000_000, m % 1_000_000);
                write!(f, "{}bdp", digits.trim_end_matches('0').trim_end_matches('.'))
            }
            Size::Infinite => f.write_str("infinite"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn text_becomes_exact_quantities() {
        assert_eq!("96Mbps".parse(), Ok(Rate::from_bytes_per_sec(12_000_000)));
        assert_eq!("1.5Gbps".parse(), Ok(Rate::from_mbps(1500)));
        assert_eq!("1Mbit/s".parse(), Ok(Rate::from_mbps(1)));
        assert_eq!(" 1.5 Gbit ".parse(), Ok(Rate::from_mbps(1500)));
        assert_eq!("800bit/s".parse(), Ok(Rate::from_bytes_per_sec(100)));
        assert_eq!("40ms".parse(), Ok(Dur::from_millis(40)));
        assert_eq!("0.1ms".parse(), Ok(Dur::from_micros(100)));
        assert_eq!("64KiB".parse(), Ok(Bytes(65536)));
        assert_eq!("1.5bdp".parse(), Ok(Size::MicroBdp(1_500_000)));
        assert_eq!("512pkts".parse(), Ok(Size::Packets(512)));
        assert_eq!("infinite".parse(), Ok(Size::Infinite));
    }

    #[test]
    fn errors_say_what_is_missing() {
        let messages: Vec<String> = [
            "96".parse::<Rate>().unwrap_err(),
            "96mbps".parse::<Rate>().unwrap_err(),
            "96mbit/s".parse::<Rate>().unwrap_err(),
            "0.5bit/s".parse::<Rate>().unwrap_err(),
            "Mbit/s".parse::<Rate>().unwrap_err(),
            "96Mbit/h".parse::<Rate>().unwrap_err(),
            "96bpsbit".parse::<Rate>().unwrap_err(),
            "96Mbit/sbit".parse::<Rate>().unwrap_err(),
            "96bit/s/s".parse::<Rate>().unwrap_err(),
            "-4ms".parse::<Dur>().map(|_| Rate::ZERO).unwrap_err(),
            "ms".parse::<Dur>().map(|_| Rate::ZERO).unwrap_err(),
            "1.2.3s".parse::<Dur>().map(|_| Rate::ZERO).unwrap_err(),
            "0.5ns".parse::<Dur>().map(|_| Rate::ZERO).unwrap_err(),
            "99999999999999999999s".parse::<Dur>().map(|_| Rate::ZERO).unwrap_err(),
        ]
        .iter()
        .map(ToString::to_string)
        .collect();
        assert_eq!(
            messages,
            [
                "rate `96` has no unit",
                "rate `96mbps` has an unknown unit `mbps`",
                "rate `96mbit/s` has an unknown unit `mbit/s`",
                "rate `0.5bit/s` is out of range",
                "rate `Mbit/s` is not a non-negative decimal number with a unit",
                "rate `96Mbit/h` has an unknown unit `Mbit/h`",
                "rate `96bpsbit` has an unknown unit `bpsbit`",
                "rate `96Mbit/sbit` has an unknown unit `Mbit/sbit`",
                "rate `96bit/s/s` has an unknown unit `bit/s/s`",
                "time `-4ms` is not a non-negative decimal number with a unit",
                "time `ms` is not a non-negative decimal number with a unit",
                "time `1.2.3s` is not a non-negative decimal number with a unit",
                "time `0.5ns` is out of range",
                "time `99999999999999999999s` is out of range",
            ]
        );
    }

    #[test]
    fn dimensions_combine() {
        assert_eq!(Rate::from_mbps(96) * Dur::from_millis(50), Bytes(600_000));
        assert_eq!(Bytes(1500) / Rate::from_mbps(12), Dur::from_millis(1));
        assert_eq!(Bytes(600_000) / Dur::from_millis(50), Rate::from_mbps(96));
        assert_eq!(Time::from_nanos(3) - Time::from_nanos(5), None);
    }

    proptest! {
        #[test]
        fn printed_values_parse_to_the_same(ns in 0..u64::MAX / 4, bytes in 0..u64::MAX, rate in 0..u64::MAX / 8) {
            prop_assert_eq!(Dur::from_nanos(ns).to_string().parse(), Ok(Dur::from_nanos(ns)));
            prop_assert_eq!(Bytes(bytes).to_string().parse(), Ok(Bytes(bytes)));
            let rate = Rate::from_bytes_per_sec(rate);
            prop_assert_eq!(rate.to_string().parse(), Ok(rate));
            for ending in ["bit/s", "bit"] {
                let spelt = rate.to_string().replace("bps", ending);
                prop_assert_eq!(spelt.parse(), Ok(rate), "{}", spelt);
            }
        }

        #[test]
        fn no_text_panics(s in ".{0,20}") {
            let _ = (s.parse::<Dur>(), s.parse::<Rate>(), s.parse::<Bytes>(), s.parse::<Size>());
        }
    }
}
