//! The machine's network namespaces that contain a process.

use super::default_here;
use nix::sched::{CloneFlags, setns};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

/// Returns the namespaces whose default controller is `name`, in the form `network namespace 4026531840 (process 1)`.
pub(super) fn with_default(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (inode, (pid, path)) in all() {
        // Use a new thread, because a thread that has entered another namespace may be unable to return.
        let default = thread::spawn(move || {
            let namespace = File::open(path).ok()?;
            setns(namespace, CloneFlags::CLONE_NEWNET).ok()?;
            default_here()
        });
        if default.join().ok().flatten().as_deref() == Some(name) {
            found.push(format!("network namespace {inode} (process {pid})"));
        }
    }
    found
}

/// Returns all namespaces by inode number, each with a process that has a thread in it and the path of that thread's
/// namespace file.
fn all() -> BTreeMap<u64, (u32, PathBuf)> {
    let mut namespaces = BTreeMap::new();
    for (pid, process) in numbered(Path::new("/proc")) {
        for (_, thread) in numbered(&process.join("task")) {
            let path = thread.join("ns/net");
            if let Ok(meta) = fs::metadata(&path) {
                namespaces.entry(meta.ino()).or_insert((pid, path));
            }
        }
    }
    namespaces
}

/// Returns the entries whose names are numbers. An unreadable directory belongs to a process that has ended.
fn numbered(directory: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))).collect()
}
