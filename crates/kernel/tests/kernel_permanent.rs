//! A permanently loaded controller persists, can be changed, and is removed completely.

mod common;

use common::{flow, in_namespace, is_unprivileged, registered, transfer};
use fairweir_kernel::Source;
use fairweir_kernel::permanent::{self, Place};
use serde_json::{Value, json};
use std::time::Duration;
use std::{fs, thread};
use tempfile::TempDir;

const DEFAULT_CCA: &str = "/proc/sys/net/ipv4/tcp_congestion_control";

fn source(name: &str) -> Source {
    Source::named(name).expect("it is in bpf/")
}

/// A private place that is cleaned up even if the test fails.
struct Own(TempDir);

impl Own {
    fn new() -> Own {
        Own(tempfile::tempdir().expect("a directory"))
    }

    fn place(&self) -> Place {
        Place::at(self.0.path())
    }
}

impl Drop for Own {
    fn drop(&mut self) {
        if thread::panicking() {
            let _ = permanent::clean(&self.place());
        }
    }
}

/// Checks that only the lock file is left in `directory`.
fn assert_clean(directory: &std::path::Path) {
    let left: Vec<_> =
        fs::read_dir(directory).expect("it is there").map(|e| e.expect("an entry").file_name()).collect();
    assert_eq!(left, ["lock"]);
}

#[test]
fn a_controller_stays_until_it_is_unloaded() {
    if is_unprivileged() {
        return;
    }
    let own = Own::new();
    let place = own.place();
    let loaded = permanent::load(&place, &source("wcc_ai"), Some("fw_test_stays"), &json!({"weight": 2}), false);
    let loaded = loaded.unwrap_or_else(|e| panic!("{e}"));
    assert_eq!((loaded.is_loaded, loaded.default_of.len(), &loaded.params), (true, 0, &json!({"weight": 2})));
    assert_eq!(registered("fw_test_stays"), ["fw_test_stays"]);
    assert_eq!(permanent::list(&place).expect("a state"), [loaded]);
    let again = permanent::load(&place, &source("wcc_ai"), Some("fw_test_stays"), &Value::Null, false).unwrap_err();
    assert_eq!(again.to_string(), "`fw_test_stays`: a congestion controller of this name is already registered");
    let received = in_namespace(|| {
        transfer(1, Duration::from_millis(300), |_: usize, to| flow("fw_test_stays", to, |_| ()), || ())
    });
    assert!(received > 100_000);
    let undone = permanent::unload(&place, "fw_test_stays", false).expect("it was loaded");
    assert_eq!(undone.unloaded, ["fw_test_stays"]);
    assert_eq!(registered("fw_test_stays"), Vec::<String>::new());
    assert_clean(own.0.path());
    let gone = permanent::unload(&place, "fw_test_stays", false).unwrap_err();
    assert!(gone.to_string().contains("was not loaded by"), "{gone}");
}

#[test]
fn parameters_change_while_it_stays() {
    if is_unprivileged() {
        return;
    }
    let own = Own::new();
    let place = own.place();
    let slow = json!({"mu_minus": "8Mbps", "d": "10s"});
    permanent::load(&place, &source("expo"), Some("fw_test_params"), &slow, false).expect("it loads");
    let mbps = || {
        let run = || transfer(1, Duration::from_secs(1), |_: usize, to| flow("fw_test_params", to, |_| ()), || ());
        in_namespace(run) as f64 * 8e-6
    };
    let before = mbps();
    let shown = permanent::params(&place, "fw_test_params", &json!({"mu_minus": "80Mbps"})).expect("valid");
    assert_eq!((&shown["mu_minus"], &shown["d"], &shown["s"]), (&json!("80Mbps"), &json!("10s"), &json!(2.0)));
    let after = mbps();
    let wrong = permanent::params(&place, "fw_test_params", &json!({"mu": 1})).unwrap_err();
    permanent::clean(&place).expect("it was loaded");
    assert!(before < 12.0 && after > 4.0 * before, "{before} and {after} Mbps");
    assert!(wrong.to_string().contains("unknown field `mu`"), "{wrong}");
    assert_clean(own.0.path());
}

#[test]
fn a_load_that_fails_leaves_nothing_behind() {
    if is_unprivileged() {
        return;
    }
    let own = Own::new();
    let place = own.place();
    let wrong = permanent::load(&place, &source("wcc_ai"), Some("fw_test_fails"), &json!({"weight": 0}), false);
    assert!(wrong.unwrap_err().to_string().contains("`weight` must be from"));
    // Place a directory at the path of the link's pin, so that pinning fails.
    permanent::load(&place, &source("wcc_ai"), Some("fw_test_first"), &Value::Null, false).expect("it loads");
    fs::create_dir_all(own.0.path().join("bpf/fw_test_fails/link")).expect("a directory");
    let blocked = permanent::load(&place, &source("wcc_ai"), Some("fw_test_fails"), &Value::Null, false).unwrap_err();
    assert_eq!(registered("fw_test_fails"), Vec::<String>::new(), "{blocked}");
    fs::remove_dir(own.0.path().join("bpf/fw_test_fails/link")).expect("a directory");
    permanent::clean(&place).expect("the first was loaded");
    assert_eq!(registered("fw_test_first"), Vec::<String>::new());
}

#[test]
fn a_query_leaves_nothing_behind() {
    let own = Own::new();
    assert_eq!(permanent::list(&own.place()).expect("nothing"), []);
    assert_eq!(permanent::clean(&own.place()).expect("nothing"), permanent::Undone::default());
    assert!(permanent::unload(&own.place(), "frcc", true).is_err());
    assert!(permanent::params(&own.place(), "frcc", &Value::Null).is_err());
    assert_eq!(fs::read_dir(own.0.path()).expect("it is there").count(), 0);
}

#[test]
fn a_default_is_restored() {
    if is_unprivileged() {
        return;
    }
    let own = Own::new();
    let place = own.place();
    in_namespace(move || {
        let default = || fs::read_to_string(DEFAULT_CCA).expect("proc").trim().to_owned();
        let before = default();
        let loaded =
            permanent::load(&place, &source("frcc"), Some("fw_test_deflt"), &Value::Null, true).expect("loads");
        assert_eq!(default(), "fw_test_deflt");
        assert_eq!((loaded.default_of.len(), loaded.previous_default.as_deref()), (1, Some(before.as_str())));
        let undone = permanent::unload(&place, "fw_test_deflt", false).expect("we made it the default");
        assert_eq!((undone.default_restored.as_deref(), default()), (Some(before.as_str()), before.clone()));
        assert_eq!(registered("fw_test_deflt"), Vec::<String>::new());
    });
    assert_clean(own.0.path());
}

#[test]
fn a_default_set_by_others_is_not_unloaded_silently() {
    if is_unprivileged() {
        return;
    }
    let own = Own::new();
    let place = own.place();
    in_namespace(move || {
        permanent::load(&place, &source("wcc_md"), Some("fw_test_theirs"), &Value::Null, false).expect("it loads");
        fs::write(DEFAULT_CCA, "fw_test_theirs").expect("anyone may choose it");
        let refused = permanent::unload(&place, "fw_test_theirs", false).unwrap_err().to_string();
        assert!(refused.contains("it is the default of network namespace"), "{refused}");
        assert_eq!(registered("fw_test_theirs").len(), 1);
        let undone = permanent::clean(&place).expect("forced");
        assert_eq!(undone.left_without_default.len(), 1);
        assert_eq!(registered("fw_test_theirs"), Vec::<String>::new());
        fs::write(DEFAULT_CCA, "reno").expect("anyone may choose it");
    });
    assert_clean(own.0.path());
}
