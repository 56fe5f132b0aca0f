//! Parts of generated scenarios: the examples of each kind. The fuzzer then changes their numbers.

use fairweir_path::{ElementConfig, LinkConfig, QueueConfig};
use serde_json::{Value, json};

/// 24 Mbps.
const RATE: u64 = 3_000_000;
const MS: u64 = 1_000_000;

fn parsed(examples: Vec<&str>) -> Vec<Value> {
    examples.into_iter().map(|text| serde_json::from_str(text).expect("an example is JSON")).collect()
}

pub(crate) fn links() -> Vec<Value> {
    parsed(LinkConfig::examples())
}

pub(crate) fn queues() -> Vec<Value> {
    parsed(QueueConfig::examples())
}

pub(crate) fn elements() -> Vec<Value> {
    parsed(ElementConfig::examples())
}

pub(crate) fn sources() -> Vec<Value> {
    vec![
        json!({"kind": "bulk"}),
        json!({"kind": "finite", "bytes": 100_000}),
        json!({"kind": "rate", "rate": RATE / 4}),
        json!({"kind": "on-off", "on": 50 * MS, "off": 50 * MS}),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_scenario::Source;
    use serde::de::DeserializeOwned;
    use std::collections::BTreeSet;

    /// Returns the kinds of `T`, from serde's error for an unknown kind.
    fn kinds<T: DeserializeOwned + std::fmt::Debug>() -> BTreeSet<String> {
        let refusal = serde_json::from_value::<T>(json!({"kind": "?"})).expect_err("no kind").to_string();
        refusal.split('`').skip(3).step_by(2).map(str::to_owned).collect()
    }

    fn kinds_of(parts: Vec<Value>) -> BTreeSet<String> {
        parts.iter().map(|part| part["kind"].as_str().expect("a kind").to_owned()).collect()
    }

    #[test]
    fn every_kind_is_among_the_parts() {
        assert_eq!(kinds_of(links()), kinds::<LinkConfig>());
        assert_eq!(kinds_of(queues()), kinds::<QueueConfig>());
        assert_eq!(kinds_of(elements()), kinds::<ElementConfig>());
        assert_eq!(kinds_of(sources()), kinds::<Source>());
    }

    #[test]
    fn every_part_is_one() {
        for value in links() {
            let link: LinkConfig = serde_json::from_value(value).expect("a link");
            link.validate().expect("valid");
        }
        for value in queues() {
            let queue: QueueConfig = serde_json::from_value(value).expect("a queue");
            queue.validate().expect("valid");
        }
        for value in elements() {
            let element: ElementConfig = serde_json::from_value(value).expect("an element");
            element.validate().expect("valid");
        }
        for value in sources() {
            let _: Source = serde_json::from_value(value).expect("a source");
        }
    }
}
