//! A guard's settings at its start.

use crate::error::GuardError;
use crate::files;
use crate::hook::Attachment;
use crate::names::Names;
use crate::tap::Enforcement;
use fairweir_guard::Trees;
use fairweir_guard::policy::{Classify, Config, FlowConfig, Group, Policies};
use fairweir_units::Hint;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

/// Source of the policies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Policy {
    /// A TOML file; SIGHUP reads it again.
    File(PathBuf),
    /// TOML text.
    Text(String),
}

/// Content of the files that the settings name.
#[derive(Clone, Debug)]
pub struct Rules {
    /// The policies' configuration.
    pub config: Config,
    /// The flow policy's classifier, if any.
    pub forest: Option<Trees>,
    /// Names of senders.
    pub names: Names,
}

impl Rules {
    /// Returns the policies in their initial state.
    pub(crate) fn policies(&self) -> Result<Policies, GuardError> {
        let classifier = self.forest.clone().map(|forest| Box::new(forest) as Box<dyn Classify>);
        Policies::new(&self.config, classifier)
            .map_err(|e| GuardError::refused(e.to_string(), e.hint().unwrap_or_default()))
    }

    /// Returns whether a policy groups flows by this host's processes.
    pub(crate) fn needs_owners(&self) -> bool {
        self.config.groups().any(|group| matches!(group, Group::Process | Group::Cgroup))
    }
}

impl Policy {
    /// Reads and parses the policies.
    ///
    /// # Errors
    /// If the policies cannot be read or are invalid; the error names the file and the line.
    fn read(&self) -> Result<Config, GuardError> {
        let (place, text) = match self {
            Policy::File(path) => {
                let place = path.display().to_string();
                (place, files::read(path, "", files::MAX_TEXT_MIB)?)
            }
            Policy::Text(text) => ("--policy".to_owned(), text.clone()),
        };
        Config::from_toml(&text).map_err(|e| GuardError::refused(format!("{place}, {e}"), e.hint().unwrap_or_default()))
    }

    /// Returns the directory to which relative paths in the configuration refer.
    fn directory(&self) -> &Path {
        match self {
            Policy::File(path) => path.parent().unwrap_or(Path::new("")),
            Policy::Text(_) => Path::new(""),
        }
    }
}

fn read_forest(path: &Path) -> Result<Trees, GuardError> {
    let text = files::read(path, ", the model of [flow]", files::MAX_MODEL_MIB)?;
    Trees::from_json(&text).map_err(|e| {
        GuardError::refused(
            format!("{}, the model of [flow]: {e}", path.display()),
            "`fairweir guard train --out FILE` writes one",
        )
    })
}

impl Settings {
    /// Reads the files that the settings name.
    pub(crate) fn read(&self) -> Result<Rules, GuardError> {
        let names = self.hosts.as_deref().map(Names::read).transpose()?.unwrap_or_default();
        let config = self.policy.read()?;
        let place = |flow: &FlowConfig| self.policy.directory().join(&flow.model);
        let forest = config.flow.as_ref().map(|flow| read_forest(&place(flow))).transpose()?;
        Ok(Rules { config, forest, names })
    }
}

/// All settings of a guard.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Name of the device.
    pub interface: String,
    /// The guard's policy.
    pub policy: Policy,
    /// File with names of senders, in the format of /etc/hosts; SIGHUP reads it again.
    pub hosts: Option<PathBuf>,
    /// Whether names of senders are learned from DNS answers that pass the device.
    pub dns: bool,
    /// Dry run: windows are not modified.
    pub dry_run: bool,
    /// Show a table on stderr every second.
    pub live: bool,
    /// File to which JSON lines are appended.
    pub log: Option<PathBuf>,
    /// File to which the metrics are written every few seconds, for node_exporter's textfile collector.
    pub metrics: Option<PathBuf>,
    /// Address at which the metrics are served over HTTP.
    pub metrics_listen: Option<SocketAddr>,
    /// How flows are limited.
    pub enforcement: Enforcement,
    /// How the programs are attached.
    pub attachment: Attachment,
}
