//! Limits what a compiler's messages may disclose: they must not contain lines of files other than headers and the
//! files in the directory of the user's source.
//!
//! A source may be untrusted, and root may compile it. `#include "/etc/shadow"` would copy lines of that file into the
//! compiler's messages; `#line 1 "/etc/shadow"` before an error would do the same.

use std::ffi::OsStr;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories of system and compiler headers, which are public.
const SYSTEM: [&str; 3] = ["/usr", "/opt", "/nix/store"];

/// Maximum number of lines shown of a compiler's messages.
const MAX_LINES: usize = 12;

/// The files that a source may include.
#[derive(Clone, Debug)]
pub struct Includes {
    folders: Vec<PathBuf>,
}

impl Includes {
    /// Permits files in the directory of `source`, in `headers` and in the system's directories.
    pub fn of(source: &Path, headers: &Path) -> Includes {
        let whole = |path: &Path| path.canonicalize().ok();
        let beside = whole(source).and_then(|path| path.parent().map(Path::to_owned));
        Includes { folders: beside.into_iter().chain(whole(headers)).chain(SYSTEM.map(PathBuf::from)).collect() }
    }

    /// Returns the first file that `compiler`, called with `arguments`, would include although it is not permitted.
    ///
    /// # Errors
    /// If the compiler cannot be started.
    pub fn refused<A: AsRef<OsStr>>(&self, compiler: &OsStr, arguments: &[A]) -> Result<Option<String>, Error> {
        // -H lists each file when it is opened, even before an error. Nothing is compiled, and only the list is used.
        let run = Command::new(compiler).args(arguments).args(["-E", "-w", "-H", "-o", "/dev/null"]).output()?;
        let listing = String::from_utf8_lossy(&run.stderr).into_owned();
        let included = listing
            .lines()
            .filter_map(|line| line.trim_start_matches('.').strip_prefix(' ').filter(|_| line.starts_with('.')));
        Ok(included.filter(|file| !self.admits(file)).map(str::to_owned).next())
    }

    fn admits(&self, file: &str) -> bool {
        // Nonexistent files are not read. Symbolic links are resolved.
        Path::new(file).canonicalize().map_or(true, |path| self.folders.iter().any(|folder| path.starts_with(folder)))
    }

    /// Returns the beginning of a compiler's messages, without messages about other files and without excerpts of them.
    /// The assembler has its own directives to include a file, and quotes a line that it cannot parse.
    pub fn shown(&self, messages: &str) -> String {
        let mut is_ours = true;
        let lines = messages.lines().filter(|line| {
            // An excerpt is indented and comes after its location: `file:line:column: error: ...`.
            if !line.starts_with([' ', '\t']) && !line.starts_with(|c: char| c.is_ascii_digit()) {
                is_ours = line.split(':').next().is_some_and(|file| self.admits(file));
            }
            is_ours
        });
        let shown: Vec<&str> = lines.take(MAX_LINES).collect();
        if shown.is_empty() {
            "its messages are about other files, which are not shown".to_owned()
        } else {
            shown.join("\n")
        }
    }
}
