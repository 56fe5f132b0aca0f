//! Directories of the permanent state.

use crate::error::KernelError;
use nix::mount::{MsFlags, mount};
use nix::sys::statfs::statfs;
use std::path::{Path, PathBuf};

/// File system type of a BPF file system.
const BPF_FS_MAGIC: i128 = 0xcafe_4a11;

/// A directory for the state file, and a BPF file system for the pins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub(super) state: PathBuf,
    shared_bpffs: Option<PathBuf>,
}

impl Place {
    /// Returns the place of the machine: `/run/fairweir`, and `/sys/fs/bpf` if that is mounted.
    pub fn system() -> Place {
        Place { state: "/run/fairweir".into(), shared_bpffs: Some("/sys/fs/bpf".into()) }
    }

    /// Returns a private place below `directory`, with its own BPF file system.
    pub fn at(directory: &Path) -> Place {
        Place { state: directory.to_owned(), shared_bpffs: None }
    }

    /// Returns the path of the state file.
    pub(super) fn file(&self) -> PathBuf {
        self.state.join("kernel.json")
    }

    /// Returns whether there is nothing to undo.
    pub(super) fn is_untouched(&self) -> bool {
        !self.file().exists()
    }

    /// Returns the directory for pins, and whether a file system was mounted for it.
    pub(super) fn pins(&self) -> Result<(PathBuf, bool), KernelError> {
        if let Some(shared) = self.shared_bpffs.as_ref().filter(|path| is_bpffs(path)) {
            let pins = shared.join("fairweir");
            std::fs::create_dir_all(&pins).map_err(KernelError::io(pins.display().to_string()))?;
            return Ok((pins, false));
        }
        let own = self.state.join("bpf");
        std::fs::create_dir_all(&own).map_err(KernelError::io(own.display().to_string()))?;
        if !is_bpffs(&own) {
            let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV | MsFlags::MS_NOEXEC;
            mount(Some("fairweir"), &own, Some("bpf"), flags, Some("mode=0700"))
                .map_err(|e| KernelError::io(format!("a BPF file system at {}", own.display()))(e.into()))?;
        }
        Ok((own, true))
    }
}

fn is_bpffs(path: &Path) -> bool {
    statfs(path).is_ok_and(|fs| i128::from(fs.filesystem_type().0) & 0xffff_ffff == BPF_FS_MAGIC)
}
