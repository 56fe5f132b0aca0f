//! The log of decisions, one JSON object per line.

use crate::error::GuardError;
use crate::terminal;
use fairweir_units::During;
use serde_json::Value;
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// A file to which lines are appended.
#[derive(Debug)]
pub(crate) struct Log {
    path: PathBuf,
    file: File,
    /// Whether the last line may be incomplete.
    is_torn: bool,
}

impl Log {
    pub(crate) fn open(path: &Path) -> Result<Log, GuardError> {
        // A full pipe must not delay decisions: it is treated as an outage, like a full disk.
        let flags = libc::O_NONBLOCK | libc::O_NOCTTY;
        let open = OpenOptions::new().create(true).append(true).custom_flags(flags).open(path);
        Ok(Log { path: path.to_owned(), file: open.during(|| format!("open {}", path.display()))?, is_torn: false })
    }

    pub(crate) fn write(&mut self, event: &Value) -> Result<(), GuardError> {
        // Write once per line, because other processes may append too. If the last line is incomplete, end it first.
        let end = if self.is_torn { "\n" } else { "" };
        let line = format!("{end}{}\n", terminal::json(event));
        let written = self.file.write_all(line.as_bytes());
        self.is_torn = written.is_err();
        Ok(written.during(|| format!("write {}", self.path.display()))?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use serde_json::json;
    use std::io::Read;

    #[test]
    fn a_pipe_that_nobody_reads_keeps_nothing_waiting() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pipe");
        mkfifo(&path, Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        let refused = Log::open(&path).unwrap_err().to_string();
        assert!(refused.starts_with("open "), "no reader: {refused}");

        let mut reader = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(&path).unwrap();
        let mut log = Log::open(&path).unwrap();
        let event = json!({ "why": "x".repeat(1000) });
        let written = (0..1000).take_while(|_| log.write(&event).is_ok()).count();
        assert!((1..1000).contains(&written), "{written} lines");
        // The incomplete line is ended as soon as the file accepts data again.
        let mut bytes = vec![0; 1 << 20];
        let before = reader.read(&mut bytes).unwrap();
        log.write(&json!(7)).unwrap();
        let after = reader.read(&mut bytes).unwrap();
        assert!(before > 0 && bytes[..after].ends_with(b"\n7\n"), "{after} bytes");
    }
}
