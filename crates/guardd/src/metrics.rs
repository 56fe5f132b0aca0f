//! The status in Prometheus's text format, written to a file for node_exporter's textfile collector or served over
//! HTTP.
//!
//! Metrics are per service and not per flow, because each new port would create a new series.

use crate::error::GuardError;
use crate::status::Status;
use fairweir_units::During;
use std::fmt::Write;
use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::Path;

/// Writes `text` to `path` atomically.
///
/// # Errors
/// If the file cannot be written.
pub fn write(path: &Path, text: &str) -> Result<(), GuardError> {
    let unfinished = path.with_extension("unfinished");
    replace(path, &unfinished, text).map_err(|e| {
        // Remove the incomplete file.
        let _ = fs::remove_file(&unfinished);
        GuardError::refused(
            format!("--metrics {}: {e}", path.display()),
            "its directory must exist and be writable by the guard's own user: a running guard has dropped all other privileges",
        )
    })
}

fn replace(path: &Path, unfinished: &Path, text: &str) -> io::Result<()> {
    match fs::remove_file(unfinished) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    // Create a new file, so that a symbolic link placed by another user is not followed.
    let mut file = OpenOptions::new().write(true).create_new(true).open(unfinished)?;
    file.write_all(text.as_bytes())?;
    fs::rename(unfinished, path)
}

/// Removes the file, because a guard that has ended has no metrics.
///
/// # Errors
/// If the file cannot be removed.
pub fn remove(path: &Path) -> Result<(), GuardError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != ErrorKind::NotFound => Ok(Err(e).during(|| format!("remove {}", path.display()))?),
        _ => Ok(()),
    }
}

/// Returns the metrics in Prometheus's text format.
pub fn render(status: &Status) -> String {
    let interface = quoted(&status.interface);
    let mut out = String::new();
    let mut family = |name: &str, kind: &str, help: &str, samples: &mut dyn Iterator<Item = (String, f64)>| {
        let _ = writeln!(out, "# HELP fairweir_guard_{name} {help}\n# TYPE fairweir_guard_{name} {kind}");
        for (labels, value) in samples {
            let _ = writeln!(out, "fairweir_guard_{name}{{interface={interface}{labels}}} {value}");
        }
    };
    let services = || status.services.iter().map(|service| (format!(",service={}", quoted(&service.name)), service));
    family(
        "service_bits_per_second",
        "gauge",
        "Payload received over the last second.",
        &mut services().map(|(labels, service)| (labels, service.mbps * 1e6)),
    );
    family(
        "service_target_bits_per_second",
        "gauge",
        "Payload that the policy allows.",
        &mut services().filter_map(|(labels, service)| Some((labels, service.target_mbps? * 1e6))),
    );
    family(
        "service_flows",
        "gauge",
        "Measured flows.",
        &mut services().map(|(labels, service)| (labels, service.flows.len() as f64)),
    );
    family(
        "service_held_flows",
        "gauge",
        "Flows whose window is reduced.",
        &mut services().map(|(labels, service)| {
            (labels, service.flows.iter().filter(|flow| flow.window_bytes.is_some()).count() as f64)
        }),
    );
    let kernel = &status.kernel;
    for (name, help, value) in [
        ("packets_total", "Packets summarised.", kernel.summarised),
        ("lost_summaries_total", "Summaries dropped because the ring buffer was full.", kernel.lost),
        ("thinned_acks_total", "Pure ACKs not summarised under load.", kernel.thinned),
        ("rewritten_acks_total", "ACKs sent with a reduced window.", kernel.rewritten),
        ("decisions_total", "Decisions about all flows.", status.decisions.made),
        (
            "missed_decisions_total",
            "Decisions skipped because they were late by a period or more.",
            status.decisions.missed,
        ),
        ("refused_flows_total", "Packets of flows not tracked because the table was full.", status.table.refused),
        (
            "unguarded_bytes_total",
            "Payload of flows not tracked because the table was full.",
            status.table.refused_bytes,
        ),
        ("authenticated_acks_total", "ACKs signed by TCP-AO or TCP-MD5, not modified.", kernel.authenticated),
        ("renewed_acks_total", "ACKs sent again with a larger window.", kernel.renewed),
        ("beyond_window_packets_total", "Packets dropped because their senders ignore the window.", kernel.beyond),
    ] {
        family(name, "counter", help, &mut std::iter::once((String::new(), value as f64)));
    }
    for (name, help, value) in [
        ("flows", "Measured flows.", status.table.open as f64),
        ("resting_flows", "Flows that are idle or over and still stored.", status.table.resting as f64),
        (
            "unverified_flows",
            "Flows whose senders may be forged: no handshake was completed.",
            status.table.unverified as f64,
        ),
        ("resident_bytes", "Memory of the daemon.", status.resident_kib as f64 * 1024.0),
        ("timestamp_seconds", "Unix time of these numbers; old if the guard was killed.", status.unix_s),
    ] {
        family(name, "gauge", help, &mut std::iter::once((String::new(), value)));
    }
    family(
        "cpu_seconds_total",
        "counter",
        "CPU time used by the daemon.",
        &mut std::iter::once((String::new(), status.cpu_s)),
    );
    out
}

/// Formats a label's value: escapes backslashes, quotes and line ends.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::status::tests::a_status;

    #[test]
    fn families_have_help_types_and_escaped_labels() {
        let text = render(&a_status());
        for line in [
            "# TYPE fairweir_guard_service_bits_per_second gauge",
            r#"fairweir_guard_service_bits_per_second{interface="eth0",service="a \"quoted\" name"} 2500000"#,
            r#"fairweir_guard_service_target_bits_per_second{interface="eth0",service="a \"quoted\" name"} 3000000"#,
            r#"fairweir_guard_service_held_flows{interface="eth0",service="a \"quoted\" name"} 1"#,
            r#"fairweir_guard_packets_total{interface="eth0"} 7"#,
            r#"fairweir_guard_resident_bytes{interface="eth0"} 10240"#,
            r#"fairweir_guard_timestamp_seconds{interface="eth0"} 1700000000.5"#,
            r#"fairweir_guard_missed_decisions_total{interface="eth0"} 2"#,
        ] {
            assert!(text.lines().any(|it| it == line), "no line {line}:\n{text}");
        }
        let families = text.lines().filter(|line| line.starts_with("# HELP")).count();
        assert_eq!(families, text.lines().filter(|line| line.starts_with("# TYPE")).count());
    }

    #[test]
    fn a_file_is_whole_and_goes() {
        let path = std::env::temp_dir().join(format!("guard-{}.prom", std::process::id()));
        write(&path, &render(&a_status())).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), render(&a_status()));
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert!(!path.exists());
        assert!(write(std::path::Path::new("/nowhere/guard.prom"), "").is_err());
    }

    #[test]
    fn no_link_is_followed_and_no_half_file_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let [path, unfinished, victim] =
            ["guard.prom", "guard.unfinished", "victim"].map(|name| directory.path().join(name));
        fs::write(&victim, "theirs").unwrap();
        std::os::unix::fs::symlink(&victim, &unfinished).unwrap();
        write(&path, "ours").unwrap();
        assert_eq!([&path, &victim].map(|path| fs::read_to_string(path).unwrap()), ["ours", "theirs"]);
        // Renaming onto a directory fails; this stands in for a full disk.
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        assert!(write(&path, "ours").is_err());
        assert!(!unfinished.exists());
    }
}
