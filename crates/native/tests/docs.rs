//! Every algorithm, and every shipped controller file that decides a rate, has a page in `docs/ccas/` with all
//! sections, and the page's table of parameters matches the code.

use fairweir_cca::{defaults, tree};
use fairweir_native::registry::algorithms;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;

const SECTIONS: [&str; 7] =
    ["## Model", "## Source", "## Deviations", "## Parameters", "## Validation", "## Known gaps", ""];

fn directory() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/ccas")
}

/// Returns the file name and the text of each page except the index.
fn pages() -> BTreeMap<String, String> {
    let entries = std::fs::read_dir(directory()).expect("the directory of pages");
    let pages: BTreeMap<String, String> = entries
        .map(|entry| entry.expect("a directory entry").path())
        .filter(|path| path.extension().is_some_and(|e| e == "md") && !path.ends_with("README.md"))
        .map(|path| {
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("a readable page"))
        })
        .collect();
    assert!(!pages.is_empty(), "no page in {}", directory().display());
    pages
}

/// Returns the name and the default parameters of every algorithm and of every shipped controller file that decides a
/// rate.
fn known() -> BTreeMap<String, Value> {
    let entries = std::fs::read_dir(directory().join("../../controllers")).expect("the directory of controllers");
    let files = entries.map(|entry| entry.expect("a directory entry").path()).filter(|path| {
        let text = std::fs::read_to_string(path).expect("a readable controller");
        serde_json::from_str::<Value>(&text).expect("JSON")["kind"] == "rate"
    });
    let stems = files.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned());
    let trees = stems.map(|name| (name, defaults::<tree::Params>()));
    algorithms().map(|a| (a.name.to_owned(), (a.defaults)())).chain(trees).collect()
}

/// Returns the quoted spans (between backticks) of `text`.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

/// Returns the algorithms that a page documents.
fn documented(page: &str) -> Vec<&str> {
    let line = page.lines().find(|line| line.starts_with("Scenario name")).expect("a line `Scenario name: ...`");
    quoted(line)
}

/// Returns the parameters and defaults in a page's table.
fn table(page: &str) -> BTreeMap<&str, Value> {
    let (_, rest) = page.split_once("## Parameters").expect("a section on parameters");
    let section = rest.split("\n## ").next().unwrap_or(rest);
    section
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| {
            let cells: Vec<&str> = line.split(" | ").collect();
            let name = quoted(cells[0])[0];
            let default = match cells[1].trim() {
                "none" => Value::Null,
                text => serde_json::from_str(quoted(text)[0]).unwrap_or_else(|e| panic!("{line}: {e}")),
            };
            (name, default)
        })
        .collect()
}

/// Returns whether the values are equal, up to the rounding of fixed point.
fn is_same(ours: &Value, documented: &Value) -> bool {
    match (ours.as_f64(), documented.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() <= 1e-4 * a.abs(),
        _ => ours == documented,
    }
}

#[test]
fn every_algorithm_has_one_page_and_a_line_in_the_index() {
    let pages = pages();
    let index = std::fs::read_to_string(directory().join("README.md")).expect("the index");
    let known = known();
    let mut described: Vec<&str> = pages.values().flat_map(|page| documented(page)).collect();
    described.sort_unstable();
    assert_eq!(described, known.keys().map(String::as_str).collect::<Vec<_>>());
    for name in known.keys() {
        assert!(index.contains(&format!("`{name}`")), "`{name}` is missing in docs/ccas/README.md");
    }
    for file in pages.keys() {
        assert!(index.contains(&format!("({file})")), "{file} is missing in docs/ccas/README.md");
    }
}

#[test]
fn every_page_has_all_sections_in_order_and_none_is_empty() {
    for (file, page) in pages() {
        let mut rest = page.as_str();
        for pair in SECTIONS.windows(2) {
            let (_, after) =
                rest.split_once(&format!("\n{}\n", pair[0])).unwrap_or_else(|| panic!("{file}: no `{}`", pair[0]));
            let body = after.split("\n## ").next().unwrap_or(after);
            assert!(body.trim().len() > 20, "{file}: `{}` is empty", pair[0]);
            rest = after;
        }
    }
}

#[test]
fn tables_of_parameters_are_those_of_the_code() {
    let known = known();
    for (file, page) in pages() {
        let table = table(&page);
        for name in documented(&page) {
            let defaults = known[name].as_object().expect("defaults are an object");
            let undocumented: Vec<_> = defaults.keys().filter(|key| !table.contains_key(key.as_str())).collect();
            assert!(undocumented.is_empty(), "docs/ccas/{file}: no row for {undocumented:?}");
            for (key, documented) in &table {
                let ours = defaults.get(*key).unwrap_or_else(|| panic!("docs/ccas/{file}: `{name}` has no `{key}`"));
                assert!(is_same(ours, documented), "docs/ccas/{file}: `{key}` is {ours}, not {documented}");
            }
        }
    }
}
