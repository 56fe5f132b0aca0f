//! A link without transmission time. Tests use it to show that a link is one file and one line.

use super::{Link, LinkSpec};
use crate::ConfigError;
use fairweir_units::{Bytes, Rate, Time};
use serde::{Deserialize, Serialize};

/// Parameters of [`DummyLink`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DummyLinkConfig {}

impl LinkSpec for DummyLinkConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn build(&self) -> Box<dyn Link> {
        Box::new(DummyLink)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "dummy"}"#]
    }
}

/// A link without transmission time.
#[derive(Debug)]
pub struct DummyLink;

impl Link for DummyLink {
    fn depart(&mut self, now: Time, _bytes: Bytes) -> Time {
        now
    }

    fn mean_rate(&self, _from: Time, _to: Time) -> Rate {
        Rate::ZERO
    }
}

#[test]
fn a_listed_link_is_read_checked_built_and_among_the_examples() {
    use crate::LinkConfig;
    let text = DummyLinkConfig::examples()[0];
    let config: LinkConfig = serde_json::from_str(text).expect("its name is known");
    assert_eq!((config.validate(), config.rate_key()), (Ok(()), "rate"));
    assert_eq!(config.build().depart(Time::ZERO, Bytes(1500)), Time::ZERO);
    assert!(LinkConfig::examples().contains(&text));
}
