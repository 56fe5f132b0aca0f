//! The kinds of path parts and their keys. A test compares these with the models of scenario files.

use fairweir_path::{ElementConfig, LinkConfig, QueueConfig};
use pyo3::prelude::*;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Kinds, each with its keys.
type Kinds = Vec<(String, Vec<String>)>;

/// Returns the kind and the keys of each of the `examples`, including keys that an example omits.
fn keys<T: DeserializeOwned + Serialize>(examples: Vec<&str>) -> Kinds {
    let read = |text: &str| {
        let part: T = serde_json::from_str(text).ok()?;
        let Value::Object(mut table) = serde_json::to_value(&part).ok()? else { return None };
        let kind = table.remove("kind")?.as_str()?.to_owned();
        Some((kind, table.into_iter().map(|(key, _)| key).collect()))
    };
    examples.into_iter().filter_map(read).collect()
}

/// Returns the kinds of elements, queues and links, each with its keys in base units.
#[pyfunction]
pub fn part_keys() -> Vec<(&'static str, Kinds)> {
    vec![
        ("element", keys::<ElementConfig>(ElementConfig::examples())),
        ("queue", keys::<QueueConfig>(QueueConfig::examples())),
        ("link", keys::<LinkConfig>(LinkConfig::examples())),
    ]
}
