//! Temporary directories for compilation at run time.

use std::fs::{self, DirEntry};
use std::path::Path;
use std::time::Duration;
use std::{env, io, process};
use tempfile::TempDir;

/// Prefix of the directories' names; the id of the process that created the directory follows.
const PREFIX: &str = "fairweir-";
/// Directories younger than this are not removed. In a container that shares the directory, their processes may run
/// under other ids.
const LEFT_BEHIND: Duration = Duration::from_secs(60);

/// Creates a directory that is removed when the value is dropped. Also removes directories of killed processes.
///
/// # Errors
/// If the temporary directory cannot be written.
pub fn scratch() -> io::Result<TempDir> {
    sweep(&env::temp_dir());
    tempfile::Builder::new().prefix(&format!("{PREFIX}{}-", process::id())).tempdir()
}

/// Removes the subdirectories of `directory` whose processes have ended, except those of other users.
fn sweep(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    entries.flatten().filter(is_left_behind).for_each(|entry| drop(fs::remove_dir_all(entry.path())));
}

fn is_left_behind(entry: &DirEntry) -> bool {
    let name = entry.file_name();
    let process = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.split_once('-')?.0.parse::<u32>().ok());
    let is_dead = |pid| Path::new("/proc/self").exists() && !Path::new(&format!("/proc/{pid}")).exists();
    let is_old = || {
        let modified = entry.metadata().and_then(|metadata| metadata.modified());
        modified.is_ok_and(|at| at.elapsed().is_ok_and(|age| age > LEFT_BEHIND))
    };
    process.is_some_and(is_dead) && is_old()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::time::SystemTime;

    #[test]
    fn only_directories_of_ended_processes_are_removed() {
        let directory = tempfile::tempdir().unwrap();
        let make = |name: &str, age_s: u64| {
            let path = directory.path().join(name);
            fs::create_dir(&path).unwrap();
            fs::write(path.join("cca.o"), "").unwrap();
            File::open(&path).unwrap().set_modified(SystemTime::now() - Duration::from_secs(age_s)).unwrap();
            path
        };
        // Process ids are far below this number.
        let dead = u32::MAX;
        let swept = make(&format!("fairweir-{dead}-a"), 120);
        let kept = [
            make(&format!("fairweir-{dead}-b"), 1),
            make(&format!("fairweir-{}-c", process::id()), 120),
            make("fairweir-notes-d", 120),
            make(&format!("other-{dead}-e"), 120),
        ];
        sweep(directory.path());
        assert!(!swept.exists());
        assert!(kept.iter().all(|path| path.exists()));
    }

    #[test]
    fn a_scratch_directory_is_gone_with_its_value() {
        let scratch = scratch().unwrap();
        let path = scratch.path().to_owned();
        assert!(path.is_dir());
        drop(scratch);
        assert!(!path.exists());
    }
}
