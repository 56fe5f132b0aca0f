//! Linear forms in a belief's minimum capacity `M`, maximum queue `Q` and safe rate `R0`, and in one packet. All rates,
//! targets and limits of a controller are such forms.

use serde::de::{Error as _, MapAccess, Visitor};
use serde::ser::SerializeMap;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;

/// The quantities of a belief that forms use.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Amounts {
    /// `M`: the minimum capacity of the belief, packets per step.
    pub min_c: f64,
    /// `Q`: the maximum queue at the next point, packets.
    pub max_q: f64,
    /// `R0`: number of packets that can be sent in the next step without loss.
    pub safe_rate: f64,
}

/// `M`, `Q`, `R0` and `packet`, in the order in which a form is summed.
pub const AMOUNTS: [&str; 4] = ["M", "Q", "R0", "packet"];

/// `a M + b Q + c R0 + d packet`. `packet` is one packet; a form that contains it is not scale-free.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Form(pub [f64; 4]);

impl Form {
    /// The zero form.
    pub const ZERO: Form = Form([0.0; 4]);

    /// Return the value in packets. The terms are added in the order of [`AMOUNTS`], so that other implementations get
    /// the same bits from the same text.
    pub fn at(&self, a: &Amounts) -> f64 {
        let [m, q, r0, packet] = self.0;
        m * a.min_c + q * a.max_q + r0 * a.safe_rate + packet
    }

    /// Adds a term.
    fn add(&mut self, name: &str, coefficient: f64) -> Result<(), String> {
        let Some(i) = AMOUNTS.iter().position(|n| *n == name) else {
            return Err(format!("unknown amount `{name}`, expected one of M, Q, R0, packet"));
        };
        self.0[i] += coefficient;
        Ok(())
    }

    /// Parse `3 M - Q + 0.5 R0`.
    ///
    /// # Errors
    /// A description of the invalid part.
    pub fn parse(text: &str) -> Result<Form, String> {
        let mut form = Form::ZERO;
        let spaced = text.replace('+', " + ").replace('-', " - ").replace('*', " ");
        let (mut sign, mut number, mut terms) = (1.0, None, 0);
        for word in spaced.split_whitespace() {
            match word {
                "+" | "-" if number.is_none() => sign = if word == "-" { -1.0 } else { 1.0 },
                "+" | "-" => {
                    return Err(format!("no amount follows a number in `{text}`, expected a sum such as `3 M - Q`"));
                }
                _ if word.starts_with(|c: char| c.is_ascii_digit() || c == '.') => {
                    let value: f64 = word.parse().map_err(|_| format!("`{word}` is not a number"))?;
                    if number.replace(value).is_some() {
                        return Err(format!("a number follows a number in `{text}`, expected a sum such as `3 M - Q`"));
                    }
                }
                _ => {
                    form.add(word, sign * number.take().unwrap_or(1.0))?;
                    (sign, terms) = (1.0, terms + 1);
                }
            }
        }
        if number.is_some() || terms == 0 {
            return Err(format!("`{text}` is not a sum such as `3 M - Q`"));
        }
        if form.0.iter().all(|c| c.is_finite()) { Ok(form) } else { Err(format!("`{text}` is not finite")) }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut is_first = true;
        for (name, &c) in AMOUNTS.iter().zip(&self.0) {
            if c == 0.0 {
                continue;
            }
            match (is_first, c < 0.0) {
                (true, true) => f.write_str("-")?,
                (true, false) => {}
                (false, negative) => f.write_str(if negative { " - " } else { " + " })?,
            }
            is_first = false;
            if c.abs() != 1.0 {
                write!(f, "{} ", c.abs())?;
            }
            f.write_str(name)?;
        }
        if is_first { f.write_str("0 M") } else { Ok(()) }
    }
}

impl Serialize for Form {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (name, &c) in AMOUNTS.iter().zip(&self.0) {
            if c != 0.0 {
                map.serialize_entry(name, &c)?;
            }
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Form {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Form, D::Error> {
        struct Terms;
        impl<'de> Visitor<'de> for Terms {
            type Value = Form;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a linear form such as {\"M\": 3, \"Q\": -1}")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Form, A::Error> {
                let mut form = Form::ZERO;
                let mut seen = [false; 4];
                while let Some((name, c)) = map.next_entry::<String, f64>()? {
                    form.add(&name, c).map_err(A::Error::custom)?;
                    // `add` has checked the name.
                    let i = AMOUNTS.iter().position(|n| *n == name).unwrap_or(0);
                    if std::mem::replace(&mut seen[i], true) {
                        return Err(A::Error::custom(format!("the amount `{name}` is given twice")));
                    }
                    if !c.is_finite() {
                        return Err(A::Error::custom(format!("the coefficient of `{name}` is not finite")));
                    }
                }
                Ok(form)
            }
        }
        deserializer.deserialize_map(Terms)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_reads_as_it_prints() {
        for text in ["3 M - Q", "R0 + 2 packet", "-Q + 0.25 R0", "M"] {
            let form = Form::parse(text).unwrap();
            assert_eq!(Form::parse(&form.to_string()).unwrap(), form);
            assert_eq!(serde_json::from_str::<Form>(&serde_json::to_string(&form).unwrap()).unwrap(), form);
        }
        assert_eq!(Form::parse("3M").unwrap_err(), "`3M` is not a number");
        assert_eq!(Form::parse("3 M - Q").unwrap().at(&Amounts { min_c: 10.0, max_q: 4.0, safe_rate: 12.0 }), 26.0);
    }

    #[test]
    fn an_invalid_form_is_rejected() {
        for text in ["", "3", "M 3", "3 3 M", "3 + M", "Z", "inf M", "1e999 M"] {
            assert!(Form::parse(text).is_err(), "{text}");
        }
        for json in [r#"{"M": 1, "M": 2}"#, r#"{"Z": 1}"#, "[1]", r#"{"M": "1"}"#] {
            assert!(serde_json::from_str::<Form>(json).is_err(), "{json}");
        }
    }
}
