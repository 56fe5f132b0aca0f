//! What a guard is started with.

use crate::error::{During, GuardError};
use crate::hook::Attachment;
use crate::names::Names;
use crate::tap::Means;
use fairweir_guard::policy::Config;
use std::fs;
use std::path::PathBuf;

/// Where the policies come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A file, which SIGHUP reads again.
    File(PathBuf),
    /// TOML.
    Text(String),
}

impl Policy {
    /// Reads them.
    ///
    /// # Errors
    /// Names the file, the line and what is wrong there.
    pub fn read(&self) -> Result<Config, GuardError> {
        let (place, text) = match self {
            Policy::File(path) => {
                let place = path.display().to_string();
                (place.clone(), fs::read_to_string(path).during(|| format!("read {place}"))?)
            }
            Policy::Text(text) => ("--policy".to_owned(), text.clone()),
        };
        let config = Config::from_toml(&text).map_err(|e| {
            GuardError::refused(format!("{place}, {e}"), "docs/guard.md lists the keys; policies/ has examples")
        })?;
        if config.flow.is_some() {
            return Err(GuardError::refused(
                format!("{place}: the daemon has no `[flow]`"),
                "service, weights, rledbat, cap",
            ));
        }
        Ok(config)
    }
}

impl Settings {
    /// Reads the files that it names.
    pub(crate) fn read(&self) -> Result<(Config, Names), GuardError> {
        let names = self.hosts.as_deref().map(Names::read).transpose()?;
        Ok((self.policy.read()?, names.unwrap_or_default()))
    }
}

/// How a guard works.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the device.
    pub interface: String,
    /// What it wants of flows.
    pub policy: Policy,
    /// Names of senders, as /etc/hosts; SIGHUP reads it again.
    pub hosts: Option<PathBuf>,
    /// Only tell what would be done.
    pub dry_run: bool,
    /// Show a table on stderr every second.
    pub live: bool,
    /// JSON lines are appended here.
    pub log: Option<PathBuf>,
    /// Prometheus' text format is written here every few seconds, for node_exporter's textfile collector.
    pub metrics: Option<PathBuf>,
    /// How flows are held back.
    pub means: Means,
    /// How the programs are held.
    pub attachment: Attachment,
}
