//! Decisions as JSON lines.

use crate::error::{During, GuardError};
use crate::terminal;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file that lines are appended to.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
}

impl Log {
    pub(crate) fn open(path: &Path) -> Result<Log, GuardError> {
        let open = OpenOptions::new().create(true).append(true).open(path);
        Ok(Log { path: path.to_owned(), file: open.during(|| format!("open {}", path.display()))? })
    }

    pub(crate) fn write(&mut self, event: &Value) -> Result<(), GuardError> {
        // In one piece, as others may append too.
        let line = terminal::json(event) + "\n";
        self.file.write_all(line.as_bytes()).during(|| format!("write {}", self.path.display()))
    }
}
