//! The directories of the control sockets: `/run/fairweir-guard/INTERFACE/NETNS.IFINDEX.sock`.
//!
//! Only root can create the first directory, so no other user can impersonate a guard. (Any user could bind an abstract
//! name.) The second directory belongs to the guard's user: root, or the user for whom a service manager has created
//! the directory. NETNS is the inode of the network namespace, because interfaces of different namespaces share `/run`.
//!
//! Next to each socket is a lock file, which the guard locks while it runs. Unlocked files were left by a killed guard;
//! the next guard removes them.

use crate::device::Device;
use crate::error::GuardError;
use fairweir_units::{During, SystemError};
use nix::unistd::{Uid, geteuid};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

const BASE: &str = "/run/fairweir-guard";
/// Other users may list names, but not connect, because only its owner can access a socket.
const DIRECTORY_MODE: u32 = 0o755;
const LOCK_MODE: u32 = 0o600;
/// Write permission of the group and of others.
const WRITABLE_BY_OTHERS: u32 = 0o022;
/// Maximum attempts to lock a file. An attempt fails if a guard that is ending removes the file at the same time.
const ATTEMPTS: usize = 100;
/// Maximum number of files of killed guards removed at a start; later starts remove the rest.
const MAX_SWEPT: usize = 256;

/// The directory of all sockets.
#[derive(Clone, Debug)]
pub(crate) struct Home(PathBuf);

impl Default for Home {
    fn default() -> Home {
        Home(BASE.into())
    }
}

/// The paths of one guard, locked until the value is dropped.
#[derive(Debug)]
pub(crate) struct Place {
    socket: PathBuf,
    lock: PathBuf,
    /// The locked file.
    _held: File,
}

/// Reasons why a guard cannot take its place.
#[derive(Debug)]
pub(crate) enum Taken {
    /// A running guard holds the lock.
    Alive,
    Failed(GuardError),
}

impl From<SystemError> for Taken {
    fn from(error: SystemError) -> Taken {
        Taken::Failed(error.into())
    }
}

impl From<GuardError> for Taken {
    fn from(error: GuardError) -> Taken {
        Taken::Failed(error)
    }
}

impl Home {
    #[cfg(test)]
    pub(crate) fn at(path: &Path) -> Home {
        Home(path.to_owned())
    }

    fn directory(&self, device: &Device) -> PathBuf {
        self.0.join(&device.name)
    }

    /// Returns the path of the socket of the guard of `device`, and the user besides root that may answer there.
    ///
    /// # Errors
    /// If a user other than root could have created the directories.
    pub(crate) fn find(&self, device: &Device) -> Result<Option<(PathBuf, Uid)>, GuardError> {
        let directory = self.directory(device);
        let Some(base) = found(&self.0)? else { return Ok(None) };
        verify(&self.0, &base, |owner| owner.is_root() || owner == geteuid())?;
        let Some(metadata) = found(&directory)? else { return Ok(None) };
        // Only root can create this directory, so root chose its owner.
        verify(&directory, &metadata, |_| true)?;
        Ok(Some((directory.join(format!("{}.sock", key(device)?)), Uid::from_raw(metadata.uid()))))
    }

    /// Takes the place of the guard of `device`, and removes files that killed guards left there.
    pub(crate) fn take(&self, device: &Device) -> Result<Place, Taken> {
        let directory = self.directory(device);
        make(&self.0)?;
        let is_ours = |owner: Uid| owner.is_root() || owner == geteuid();
        verify(&self.0, &fs::symlink_metadata(&self.0).during(|| look_at(&self.0))?, is_ours)?;
        for _ in 0..ATTEMPTS {
            make(&directory)?;
            // Another guard of an interface with this name may be ending and removing the directory.
            let Some(metadata) = found(&directory)? else { continue };
            verify(&directory, &metadata, |owner| owner == geteuid())?;
            let lock = directory.join(format!("{}.lock", key(device)?));
            if let Some(held) = locked(&lock)? {
                let place = Place { socket: lock.with_extension("sock"), lock, _held: held };
                remove(&place.socket)?;
                sweep(&directory, &place.lock);
                return Ok(place);
            }
        }
        Err(Taken::Failed(GuardError::refused(
            format!("{}: other guards create and remove it at the same time", directory.display()),
            "try again",
        )))
    }
}

impl Place {
    /// Returns the path of the guard's socket; `take` does not create the socket.
    pub(crate) fn socket(&self) -> &Path {
        &self.socket
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // Remove the files before the lock is released, so that the next guard creates new ones. If the directory
        // contains files of other guards, it remains.
        let _ = fs::remove_file(&self.socket);
        let _ = fs::remove_file(&self.lock);
        let _ = self.lock.parent().map(fs::remove_dir);
    }
}

fn key(device: &Device) -> Result<String, GuardError> {
    let namespace = fs::metadata("/proc/thread-self/ns/net").during(|| "read the network namespace".into())?;
    Ok(format!("{}.{}", namespace.ino(), device.index))
}

fn look_at(path: &Path) -> String {
    format!("read {}", path.display())
}

fn found(path: &Path) -> Result<Option<Metadata>, GuardError> {
    match fs::symlink_metadata(path) {
        Ok(metadata) => Ok(Some(metadata)),
        Err(e) if e.kind() == ErrorKind::NotFound => Ok(None),
        Err(e) => Ok(Err(e).during(|| look_at(path))?),
    }
}

fn make(directory: &Path) -> Result<(), GuardError> {
    match DirBuilder::new().mode(DIRECTORY_MODE).create(directory) {
        Err(e) if e.kind() == ErrorKind::PermissionDenied => Err(GuardError::refused(
            format!("{}: {e}", directory.display()),
            "root or a service manager creates it: RuntimeDirectory=fairweir-guard/INTERFACE",
        )),
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            Ok(Err(e).during(|| format!("make {}", directory.display()))?)
        }
        _ => Ok(()),
    }
}

/// Checks that the path is a directory and not a link, has a permitted owner, and is not writable by others.
fn verify(path: &Path, metadata: &Metadata, may_own: impl Fn(Uid) -> bool) -> Result<(), GuardError> {
    let owner = Uid::from_raw(metadata.uid());
    let problem = if !metadata.is_dir() {
        "is not a directory".to_owned()
    } else if !may_own(owner) {
        format!("belongs to user {owner}")
    } else if metadata.mode() & WRITABLE_BY_OTHERS != 0 {
        format!("can be written by others (mode {:o})", metadata.mode() & 0o7777)
    } else {
        return Ok(());
    };
    Err(GuardError::refused(
        format!("{} {problem}, so another process could impersonate the guard", path.display()),
        "remove it; a guard creates it",
    ))
}

/// Opens or creates the file at `path` and locks it; returns `None` if the file was removed in the meantime.
fn locked(path: &Path) -> Result<Option<File>, Taken> {
    let what = || format!("lock {}", path.display());
    let mut options = OpenOptions::new();
    options.write(true).create(true).truncate(false).mode(LOCK_MODE).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    let file = match options.open(path) {
        Err(e) if e.kind() == ErrorKind::NotFound => return Ok(None),
        opened => opened.during(what)?,
    };
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => return Err(Taken::Alive),
        Err(TryLockError::Error(e)) => return Err(SystemError { action: what(), source: e }.into()),
    }
    let ours = file.metadata().during(what)?;
    let is_same = found(path)?.is_some_and(|there| (there.dev(), there.ino()) == (ours.dev(), ours.ino()));
    Ok(is_same.then_some(file))
}

fn remove(path: &Path) -> Result<(), GuardError> {
    match found(path)? {
        None => Ok(()),
        Some(metadata) if metadata.file_type().is_socket() => {
            Ok(fs::remove_file(path).during(|| format!("remove {}, left by a killed guard", path.display()))?)
        }
        Some(_) => Err(GuardError::refused(format!("{} is not a socket", path.display()), "remove it")),
    }
}

/// Removes the files of killed guards of other devices with this name, if their locks are free. Errors are ignored.
fn sweep(directory: &Path, own: &Path) {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten().take(2 * MAX_SWEPT);
    for lock in entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|it| it == "lock")) {
        if lock != own
            && let Ok(Some(_held)) = locked(&lock)
        {
            let _: io::Result<()> = fs::remove_file(lock.with_extension("sock")).and_then(|()| fs::remove_file(&lock));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::os::unix::net::UnixListener;

    fn device(name: &str) -> Device {
        Device { name: name.to_owned(), index: 7, link_header: 14 }
    }

    fn home() -> (tempfile::TempDir, Home) {
        let directory = tempfile::tempdir().unwrap();
        let home = Home::at(&directory.path().join("guard"));
        (directory, home)
    }

    fn files(home: &Home) -> Vec<String> {
        let all = fs::read_dir(home.0.join("v0")).into_iter().flatten().flatten();
        let mut names: Vec<String> = all.map(|entry| entry.file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_place_is_one_guards_and_gone_with_it() {
        let (_directory, home) = home();
        assert_eq!(home.find(&device("v0")).unwrap(), None);
        let place = home.take(&device("v0")).unwrap();
        assert!(matches!(home.take(&device("v0")), Err(Taken::Alive)));
        let other = home.take(&Device { index: 8, ..device("v0") }).unwrap();
        let (socket, owner) = home.find(&device("v0")).unwrap().unwrap();
        assert_eq!((socket.as_path(), owner), (place.socket(), geteuid()));
        drop((place, other));
        assert!(!home.0.join("v0").exists(), "no file is left");
        home.take(&device("v0")).unwrap();
    }

    #[test]
    fn files_of_killed_guards_are_removed_by_the_next() {
        let (_directory, home) = home();
        for index in [7, 8] {
            let place = home.take(&Device { index, ..device("v0") }).unwrap();
            drop(UnixListener::bind(place.socket()).unwrap());
            let Place { socket: _, lock: _, _held } = &place;
            _held.unlock().unwrap(); // as the kernel does when a process is killed
            std::mem::forget(place);
        }
        assert_eq!(files(&home).len(), 2, "the second one has removed what the first left");
        let place = home.take(&device("v0")).unwrap();
        assert_eq!(files(&home).len(), 1, "its lock");
        drop(place);
    }

    #[test]
    fn directories_that_others_could_have_made_are_rejected() {
        let (_directory, home) = home();
        drop(home.take(&device("v0")).unwrap());
        let error = |home: &Home| match home.take(&device("v0")) {
            Err(Taken::Failed(e)) => e.to_string(),
            other => panic!("{other:?}"),
        };
        let chmod = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        chmod(&home.0, 0o777);
        assert!(error(&home).contains("can be written by others (mode 777)"), "{}", error(&home));
        assert!(home.find(&device("v0")).is_err());
        chmod(&home.0, 0o755);
        let leaf = home.0.join("v0");
        fs::write(&leaf, "").unwrap();
        assert!(error(&home).contains("v0 is not a directory"), "{}", error(&home));
        assert!(home.find(&device("v0")).is_err());
        fs::remove_file(&leaf).unwrap();
        std::os::unix::fs::symlink("/tmp", &leaf).unwrap();
        assert!(error(&home).contains("v0 is not a directory"), "{}", error(&home));
        fs::remove_file(&leaf).unwrap();
        DirBuilder::new().create(&leaf).unwrap();
        chmod(&leaf, 0o775);
        assert!(error(&home).contains("(mode 775)"), "{}", error(&home));
        let metadata = fs::metadata(&home.0).unwrap();
        let foreign = verify(&home.0, &metadata, |_| false).unwrap_err();
        assert!(foreign.to_string().contains(&format!("belongs to user {}", geteuid())), "{foreign}");
    }
}
