//! A policy for tests that limits nothing. It also shows that a policy takes one file and one line in the list.

use super::{Classify, Decision, Group, ModelError, Policy, Rule, View, Why};
use crate::features::Feature;
use fairweir_units::Time;
use serde::Deserialize;

/// A table `[[dummy]]`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct DummyRule {
    /// The reason given with its decisions.
    pub why: String,
}

impl Rule for DummyRule {
    fn policy(&self, _classifier: &mut Option<Box<dyn Classify>>) -> Result<Box<dyn Policy>, ModelError> {
        Ok(Box::new(Dummy(self.clone())))
    }

    fn group(&self) -> Option<Group> {
        None
    }

    fn examples() -> &'static [&'static str] {
        &["[[dummy]]\nwhy = 'as an example'\n"]
    }
}

/// A policy without limits.
#[derive(Debug)]
pub struct Dummy(DummyRule);

impl Policy for Dummy {
    fn features(&self) -> Vec<Feature> {
        Vec::new()
    }

    fn decide(&mut self, _now: Time, flows: &[View<'_>]) -> Vec<Decision> {
        vec![Decision::release(Why::Other(self.0.why.clone())); flows.len()]
    }
}

#[test]
fn a_listed_policy_is_read_from_a_file_built_and_among_the_examples() {
    use super::{Config, Policies};
    let text = DummyRule::examples()[0];
    let config = Config::from_toml(text).expect("its table is known");
    assert_eq!(config.dummy, [DummyRule { why: "as an example".to_owned() }]);
    assert!(Policies::new(&config, None).expect("it needs no model").plan().features().is_empty());
    assert!(Config::examples().contains(&text));
    assert_eq!(Why::Other("as an example".to_owned()).to_string(), "as an example");
}
