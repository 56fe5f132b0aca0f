//! Reading of configuration files whose type is unknown. After SIGHUP the loop reads them, and it must never block on a
//! pipe or read a device.

use crate::error::GuardError;
use fairweir_units::During;
use std::fs::OpenOptions;
use std::io::{self, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Maximum size of a policy file or a file of names.
pub(crate) const MAX_TEXT_MIB: u64 = 64;
/// Maximum size of a forest; 3 million nodes need about 200 MiB.
pub(crate) const MAX_MODEL_MIB: u64 = 512;

/// Returns the text of the regular file at `path`, called `what` in errors.
///
/// # Errors
/// If the file cannot be read, is a pipe, device, socket or directory, is larger than `limit_mib`, or is not UTF-8.
pub(crate) fn read(path: &Path, what: &str, limit_mib: u64) -> Result<String, GuardError> {
    let name = || format!("{}{what}", path.display());
    let opened = || -> io::Result<_> {
        // Without O_NONBLOCK, opening a pipe blocks until a writer opens it.
        let file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path)?;
        let metadata = file.metadata()?;
        Ok((file, metadata))
    };
    let (file, metadata) = opened().during(|| format!("read {}", name()))?;
    if !metadata.is_file() {
        return Err(GuardError::refused(format!("{} is not a regular file", name()), "write it to a file"));
    }
    let limit = limit_mib << 20;
    let mut text = String::new();
    // The file may grow while it is read.
    let read = file.take(limit + 1).read_to_string(&mut text).during(|| format!("read {}", name()))?;
    if read as u64 > limit {
        return Err(GuardError::refused(format!("{} has more than {limit_mib} MiB", name()), "is it the right file?"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use nix::sys::stat::Mode;
    use nix::unistd::mkfifo;
    use std::fs::{self, File};

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        let error = |path: &Path| read(path, ", the model of [flow]", 1).unwrap_err().to_string();
        fs::write(at("good"), "text").unwrap();
        assert_eq!(read(&at("good"), "", 1).unwrap(), "text");
        mkfifo(&at("pipe"), Mode::S_IRUSR | Mode::S_IWUSR).unwrap();
        for path in [&at("pipe"), Path::new("/dev/zero"), directory.path()] {
            assert_eq!(error(path), format!("{}, the model of [flow] is not a regular file", path.display()));
        }
        File::create(at("large")).unwrap().set_len((1 << 20) + 1).unwrap();
        assert!(error(&at("large")).ends_with("has more than 1 MiB"), "{}", error(&at("large")));
        fs::write(at("bytes"), [0xff]).unwrap();
        assert!(error(&at("bytes")).contains("UTF-8"), "{}", error(&at("bytes")));
        assert!(error(&at("absent")).starts_with("read "), "{}", error(&at("absent")));
    }
}
