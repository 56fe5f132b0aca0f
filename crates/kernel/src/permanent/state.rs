//! The state file: a record of permanent changes, so that they can be undone.

use super::Place;
use crate::error::KernelError;
use crate::{Compiled, Source};
use nix::fcntl::{Flock, FlockArg};
use nix::mount::{MntFlags, umount2};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};
use std::path::{Path, PathBuf};

/// Record of a permanently loaded controller.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Entry {
    pub(super) cca: String,
    /// Name of an algorithm in `bpf/`, or path of a source.
    pub(super) source: String,
    pub(super) params: Value,
    /// Offset of the default parameters in the pinned map, bytes.
    pub(super) defaults_at: usize,
    pub(super) previous_default: Option<String>,
}

impl Entry {
    pub(super) fn new(compiled: &Compiled, params: &Value) -> Entry {
        let source = compiled.source();
        let is_ours = Source::named(source.cca()).is_ok_and(|ours| ours.file == source.file);
        let path = || fs::canonicalize(&source.file).unwrap_or_else(|_| source.file.clone()).display().to_string();
        Entry {
            cca: source.cca().to_owned(),
            source: if is_ours { source.cca().to_owned() } else { path() },
            params: params.clone(),
            defaults_at: compiled.layout.defaults.as_ref().map_or(0, |range| range.start),
            previous_default: None,
        }
    }
}

/// The file's content.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Content {
    pub(super) ccas: BTreeMap<String, Entry>,
    /// The directory for pins, and whether a file system was mounted for it.
    pins: Option<(PathBuf, bool)>,
}

impl Content {
    /// Reads the file; returns empty content if the file does not exist.
    pub(super) fn read(place: &Place) -> Result<Content, KernelError> {
        let path = place.file();
        match fs::read(&path) {
            Ok(text) => serde_json::from_slice(&text)
                .map_err(|e| KernelError::io(path.display().to_string())(std::io::Error::other(e))),
            Err(e) if e.kind() == ErrorKind::NotFound => Ok(Content::default()),
            Err(e) => Err(KernelError::io(path.display().to_string())(e)),
        }
    }
}

/// The state, locked so that only one process changes it at a time.
#[derive(Debug)]
pub(super) struct State {
    pub(super) file: Content,
    path: PathBuf,
    _lock: Flock<File>,
}

impl State {
    pub(super) fn lock(place: &Place) -> Result<State, KernelError> {
        let directory = &place.state;
        let what = || directory.display().to_string();
        fs::create_dir_all(directory).map_err(|e| match e.kind() {
            ErrorKind::PermissionDenied => KernelError::Missing {
                what: format!("no right to write to {}", directory.display()),
                hint: "loading a controller permanently needs root",
            },
            _ => KernelError::io(what())(e),
        })?;
        let lock = OpenOptions::new().create(true).truncate(false).write(true).open(directory.join("lock"));
        let lock = lock.map_err(KernelError::io(what()))?;
        let lock = Flock::lock(lock, FlockArg::LockExclusive).map_err(|(_, e)| KernelError::io(what())(e.into()))?;
        Ok(State { file: Content::read(place)?, path: place.file(), _lock: lock })
    }

    /// Returns the directory for pins. A mount is recorded before anything is pinned in it.
    pub(super) fn pins(&mut self, place: &Place) -> Result<PathBuf, KernelError> {
        if let Some((pins, _)) = self.file.pins.as_ref().filter(|(path, _)| path.is_dir()) {
            return Ok(pins.clone());
        }
        let pins = place.pins()?;
        self.file.pins = Some(pins.clone());
        self.write()?;
        Ok(pins.0)
    }

    /// Removes the directory for pins, and its mount, if no pins are left.
    pub(super) fn release_if_empty(&mut self) -> Result<(), KernelError> {
        let Some((pins, is_mounted)) = self.file.pins.clone().filter(|_| self.file.ccas.is_empty()) else {
            return Ok(());
        };
        let what = || pins.display().to_string();
        if is_mounted {
            umount2(&pins, MntFlags::MNT_DETACH).map_err(|e| KernelError::io(what())(e.into()))?;
        }
        fs::remove_dir(&pins).map_err(KernelError::io(what()))?;
        self.file.pins = None;
        self.write()
    }

    /// Writes the file, or removes it if it is empty.
    pub(super) fn write(&self) -> Result<(), KernelError> {
        let what = || self.path.display().to_string();
        if self.file.ccas.is_empty() && self.file.pins.is_none() {
            return match fs::remove_file(&self.path) {
                Err(e) if e.kind() != ErrorKind::NotFound => Err(KernelError::io(what())(e)),
                _ => Ok(()),
            };
        }
        let text = serde_json::to_vec_pretty(&self.file).map_err(|e| KernelError::io(what())(e.into()))?;
        write_whole(&self.path, &text).map_err(KernelError::io(what()))
    }
}

/// Writes a file atomically: a reader after a crash finds either the old or the new text.
fn write_whole(path: &Path, text: &[u8]) -> std::io::Result<()> {
    let new = path.with_extension("new");
    // Remove a file that a crash left or a link that another user placed, so that neither is written to.
    match fs::remove_file(&new) {
        Err(e) if e.kind() != ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).open(&new)?.write_all(text)?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::write_whole;
    use std::fs;

    #[test]
    fn no_planted_link_is_followed() {
        let directory = tempfile::tempdir().unwrap();
        let [path, new, victim] = ["kernel.json", "kernel.new", "victim"].map(|name| directory.path().join(name));
        fs::write(&victim, "theirs").unwrap();
        for link in [&path, &new] {
            std::os::unix::fs::symlink(&victim, link).unwrap();
        }
        write_whole(&path, b"ours").unwrap();
        assert_eq!([&path, &victim].map(|path| fs::read_to_string(path).unwrap()), ["ours", "theirs"]);
        assert!(!path.is_symlink());
        assert!(!new.exists());
    }
}
