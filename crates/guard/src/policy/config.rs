//! Policies in a TOML file. Each table configures a policy. All policies apply: each flow gets the smallest window that
//! any of them decides.

use super::{Config, Group};
use fairweir_units::{Hint, ParseError, Rate};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

/// An error in a file of policies, and its line.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ConfigError {
    /// Counted from 1.
    pub line: usize,
    /// The table or key with the error, such as `cap[0].rate`; `None` if the error is outside of tables.
    pub key: Option<String>,
    /// The reason, one line.
    pub reason: String,
}

impl Hint for ConfigError {
    fn key(&self) -> Option<&str> {
        self.key.as_deref()
    }

    fn hint(&self) -> Option<Cow<'_, str>> {
        Some("docs/guard.md lists all keys; policies/ has examples".into())
    }
}

impl Config {
    /// Reads TOML.
    ///
    /// # Errors
    /// [`ConfigError`] for invalid TOML, an unknown key or an invalid value.
    pub fn from_toml(text: &str) -> Result<Config, ConfigError> {
        let refuse = |error: &toml::de::Error, key: Option<String>| {
            let start = error.span().map_or(0, |span| span.start.min(text.len()));
            let line = text.as_bytes()[..start].iter().filter(|&&byte| byte == b'\n').count() + 1;
            ConfigError { line, key, reason: error.message().trim().replace('\n', ", ") }
        };
        let document = toml::Deserializer::parse(text).map_err(|error| refuse(&error, None))?;
        serde_path_to_error::deserialize(document).map_err(|error| {
            let key = error.path().to_string();
            refuse(error.inner(), (key != ".").then_some(key))
        })
    }

    /// Grouping by which services are displayed: that of the first policy that has one.
    pub fn group(&self) -> Group {
        self.groups().next().unwrap_or_default()
    }

    /// Groupings of the policies, in the order of the list of policies.
    pub fn groups(&self) -> impl Iterator<Item = Group> {
        self.rules().into_iter().filter_map(|rule| rule.group())
    }
}

/// A rate above zero with its unit, as `"10Mbps"`.
pub(crate) fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<Rate, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = Rate;
        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a rate with its unit, such as \"10Mbps\"")
        }
        fn visit_str<E: Error>(self, text: &str) -> Result<Rate, E> {
            let rate: Rate = text.parse().map_err(|e: ParseError| E::custom(format!("{e}: {}", e.hint())))?;
            if rate.bytes_per_sec() == 0 {
                Err(E::custom(format!("rate `{text}` must be above zero")))
            } else {
                Ok(rate)
            }
        }
    }
    from.deserialize_str(Text)
}

/// Weights by name, each above zero.
pub(crate) fn weights<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<String, f64>, D::Error> {
    let weights = BTreeMap::<String, f64>::deserialize(from)?;
    match weights.iter().find(|(_, weight)| !(weight.is_finite() && **weight > 0.0)) {
        Some((name, weight)) => Err(D::Error::custom(format!("weight `{weight}` of `{name}` must be above zero"))),
        None => Ok(weights),
    }
}

fn factor<'de, D: Deserializer<'de>>(from: D, range: (f64, f64)) -> Result<f64, D::Error> {
    let factor = f64::deserialize(from)?;
    let (low, high) = range;
    let is_within = low < factor && factor < high;
    is_within
        .then_some(factor)
        .ok_or_else(|| D::Error::custom(format!("factor `{factor}` must be between {low} and {high}")))
}

/// A ratio of RTTs, at least 1.
pub(crate) fn idle<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let ratio = f64::deserialize(from)?;
    (1.0..10.0)
        .contains(&ratio)
        .then_some(ratio)
        .ok_or_else(|| D::Error::custom(format!("ratio `{ratio}` must be from 1 to less than 10")))
}

/// A factor below 1.
pub(crate) fn decrease<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    factor(from, (0.0, 1.0))
}

/// A factor above 1.
pub(crate) fn increase<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    factor(from, (1.0, 10.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ServiceModel;

    #[test]
    fn a_file_with_everything() {
        let config = Config::from_toml(
            "[service]\ngroup = 'prefix'\nmodel = 'padhye'\nweights = { '192.0.2.0/24' = 2.5 }\n\
             [[cap]]\ngroup = 'all'\nrate = '50Mbps'\n[[cap]]\nservice = '192.0.2.1'\nrate = '1.5Mbps'\n",
        )
        .unwrap();
        let service = config.service.unwrap();
        assert_eq!((service.group, service.model), (Group::Prefix, ServiceModel::Padhye));
        assert_eq!(service.weights["192.0.2.0/24"], 2.5);
        assert_eq!(config.cap[1].service.as_deref(), Some("192.0.2.1"));
        assert_eq!(config.cap[1].rate.as_mbps_f64(), 1.5);
        assert_eq!(Config::from_toml(""), Ok(Config::default()));
    }

    #[test]
    fn errors_name_line_key_and_value() {
        let error = |text: &str| Config::from_toml(text).unwrap_err().to_string();
        insta::assert_snapshot!(
            [
                error("[service]\ngrup = 'sender'\n"),
                error("[servce]\n"),
                error("[service]\nmodel = 'vegas'\n"),
                error("[service]\nweights = { a = 0.0 }\n"),
                error("[[cap]]\ngroup = 'all'\nrate = 10\n"),
                error("[[cap]]\nrate = '10'\n"),
                error("[[cap]]\nrate = '0Mbps'\n"),
                error("[[cap]]\ngroup = 'all'\n"),
                error("[flow]\nmodel = 'm.json'\ndecrease = 1.3\n"),
                error("[flow]\nmodel = 'm.json'\nincrease = nan\n"),
                error("[flow]\nmodel = 'm.json'\nidle = 0.9\n"),
                error("[service\n"),
            ]
            .join("\n"),
            @r#"
        line 2: unknown field `grup`, expected one of `group`, `model`, `weights`
        line 1: unknown field `servce`, expected one of `service`, `flow`, `weights`, `rledbat`, `cap`, `dummy`
        line 2: unknown variant `vegas`, expected one of `reno`, `mathis`, `padhye`
        line 2: weight `0` of `a` must be above zero
        line 3: invalid type: integer `10`, expected a rate with its unit, such as "10Mbps"
        line 2: rate `10` has no unit: write a rate with its unit: "96Mbps", "1.5Gbps", "512kbps" or "96Mbit/s"
        line 2: rate `0Mbps` must be above zero
        line 1: missing field `rate`
        line 3: factor `1.3` must be between 0 and 1
        line 3: factor `NaN` must be between 1 and 10
        line 3: ratio `0.9` must be from 1 to less than 10
        line 1: unclosed table, expected `]`
        "#
        );
    }

    #[test]
    fn errors_have_their_key_and_a_hint() {
        let error = Config::from_toml("[[cap]]\nrate = '1Mbps'\n[[cap]]\nrate = 10\n").unwrap_err();
        assert_eq!((error.key(), error.line), (Some("cap[1].rate"), 4));
        assert!(error.hint().is_some_and(|hint| hint.contains("docs/guard.md")));
        assert_eq!(Config::from_toml("[service\n").unwrap_err().key(), None);
    }
}
