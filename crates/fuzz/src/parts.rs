//! Parts from which scenarios are composed before their numbers are changed: one of each kind.

use serde_json::{Value, json};

/// 24 Mbps.
const RATE: u64 = 3_000_000;
const MS: u64 = 1_000_000;

pub(crate) fn links() -> Vec<Value> {
    vec![
        json!({"kind": "constant", "rate": RATE}),
        json!({"kind": "steps", "steps": [{"at": 0, "rate": RATE}, {"at": 100 * MS, "rate": 0}, {"at": 150 * MS, "rate": RATE}]}),
        json!({"kind": "trace", "opportunities": [0, MS, MS, 5 * MS], "bytes": 1504}),
        json!({"kind": "token-bucket", "rate": RATE, "burst": 15_000}),
    ]
}

pub(crate) fn queues() -> Vec<Value> {
    vec![
        json!({"kind": "droptail", "limit": 60_000}),
        json!({"kind": "droptail", "limit_packets": 3}),
        json!({"kind": "droptail"}),
        json!({"kind": "red", "min_threshold": 15_000, "max_threshold": 45_000, "limit": 90_000, "ecn": true}),
        json!({"kind": "ecn-threshold", "mark_above": 15_000, "limit": 90_000}),
        json!({"kind": "codel", "target": 5 * MS, "interval": 100 * MS, "ecn": false, "limit": 90_000}),
    ]
}

pub(crate) fn elements() -> Vec<Value> {
    vec![
        json!({"kind": "delay", "by": 5 * MS, "from": 50 * MS}),
        json!({"kind": "uniform", "max": 10 * MS}),
        json!({"kind": "ack-aggregation", "hold": 20 * MS, "rate": RATE}),
        json!({"kind": "random-aggregation", "max": 10 * MS, "rate": RATE}),
        json!({"kind": "periodic-release", "period": 10 * MS, "offset": MS}),
        json!({"kind": "early-packet", "offset": 5 * MS, "early": MS, "at": 10 * MS, "every": 50 * MS}),
        json!({"kind": "trajectory", "points": [{"at": 0, "delay": 0}, {"at": 100 * MS, "delay": 10 * MS}],
               "interpolation": "linear", "repeat": 200 * MS}),
        json!({"kind": "virtual-link", "rate": RATE / 2, "base": MS, "bound": 10 * MS, "from": 50 * MS}),
        json!({"kind": "iid-loss", "per_billion": 10_000_000}),
        json!({"kind": "burst-loss", "to_bad_per_billion": 10_000_000, "to_good_per_billion": 500_000_000}),
        json!({"kind": "periodic-loss", "every": 100}),
        json!({"kind": "policer", "rate": RATE, "burst": 15_000}),
        json!({"kind": "link", "link": {"kind": "constant", "rate": RATE}, "limit": 30_000}),
    ]
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
    use fairweir_path::{ElementConfig, LinkConfig, QueueConfig};
    use fairweir_scenario::Source;
    use serde::de::DeserializeOwned;
    use std::collections::BTreeSet;

    /// The kinds of `T`, which serde lists when it refuses one.
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
