//! Information about a flow's endpoints.

use std::sync::Arc;

/// Information about a flow's endpoints in addition to addresses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// DNS name of the sender.
    pub name: Option<Arc<str>>,
    /// Control group of the local process.
    pub cgroup: Option<Arc<str>>,
    /// Name of the local process.
    pub process: Option<Arc<str>>,
}
