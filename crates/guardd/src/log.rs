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
    /// The latest line may be there in part.
    is_torn: bool,
}

impl Log {
    pub(crate) fn open(path: &Path) -> Result<Log, GuardError> {
        let open = OpenOptions::new().create(true).append(true).open(path);
        Ok(Log { path: path.to_owned(), file: open.during(|| format!("open {}", path.display()))?, is_torn: false })
    }

    pub(crate) fn write(&mut self, event: &Value) -> Result<(), GuardError> {
        // In one piece, as others may append too; what a full disk has cut off is ended first.
        let end = if self.is_torn { "\n" } else { "" };
        let line = format!("{end}{}\n", terminal::json(event));
        let written = self.file.write_all(line.as_bytes());
        self.is_torn = written.is_err();
        written.during(|| format!("write {}", self.path.display()))
    }
}
