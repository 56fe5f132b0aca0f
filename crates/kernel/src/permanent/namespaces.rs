//! The machine's network namespaces, as far as a process lives in one.

use super::default_here;
use nix::sched::{CloneFlags, setns};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::thread;

/// The namespaces whose default controller is `name`, as `network namespace 4026531840 (process 1)`.
pub(super) fn with_default(name: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (inode, (pid, path)) in all() {
        // A thread that has entered another namespace cannot return.
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

/// Each by its inode number: a process that has a thread there, and the thread's path to it.
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

/// Entries whose names are numbers. Unreadable entries are of processes that have ended.
fn numbered(directory: &Path) -> Vec<(u32, PathBuf)> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_str()?.parse().ok()?, entry.path()))).collect()
}
