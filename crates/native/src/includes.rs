//! Limits what a compiler may disclose from a user's source: no lines of files that are neither in its directory nor
//! headers.
//!
//! A source may be untrusted, and root may compile it. `#include "/etc/shadow"` would put that file's lines into the
//! compiler's messages, and so would `#line 1 "/etc/shadow"` before an error.

use std::ffi::OsStr;
use std::io::Error;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Directories of system and compiler headers, which are public.
const SYSTEM: [&str; 3] = ["/usr", "/opt", "/nix/store"];

/// Lines of a compiler's messages that are shown.
const MAX_LINES: usize = 12;

/// The files that a source may include.
#[derive(Clone, Debug)]
pub struct Includes {
    folders: Vec<PathBuf>,
}

impl Includes {
    /// Include files from the folder of `source`, from `headers` and from the system's folders.
    pub fn of(source: &Path, headers: &Path) -> Includes {
        let whole = |path: &Path| path.canonicalize().ok();
        let beside = whole(source).and_then(|path| path.parent().map(Path::to_owned));
        Includes { folders: beside.into_iter().chain(whole(headers)).chain(SYSTEM.map(PathBuf::from)).collect() }
    }

    /// The first file that `compiler`, called with `arguments`, would include and may not.
    ///
    /// # Errors
    /// If the compiler cannot be started.
    pub fn refused<A: AsRef<OsStr>>(&self, compiler: &OsStr, arguments: &[A]) -> Result<Option<String>, Error> {
        // -H lists each file as it is opened, also before an error; nothing is parsed and nothing but the list is used.
        let run = Command::new(compiler).args(arguments).args(["-E", "-w", "-H", "-o", "/dev/null"]).output()?;
        let listing = String::from_utf8_lossy(&run.stderr).into_owned();
        let included = listing
            .lines()
            .filter_map(|line| line.trim_start_matches('.').strip_prefix(' ').filter(|_| line.starts_with('.')));
        Ok(included.filter(|file| !self.admits(file)).map(str::to_owned).next())
    }

    fn admits(&self, file: &str) -> bool {
        // Nonexistent files are not read; symbolic links are resolved.
        Path::new(file).canonicalize().map_or(true, |path| self.folders.iter().any(|folder| path.starts_with(folder)))
    }

    /// The beginning of a compiler's messages, without those about other files and excerpts of them: an assembler,
    /// which has directives of its own to include a file, quotes the line that it cannot read.
    pub fn shown(&self, messages: &str) -> String {
        let mut is_ours = true;
        let lines = messages.lines().filter(|line| {
            // An excerpt is indented and follows its location: `file:line:column: error: ...`.
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
