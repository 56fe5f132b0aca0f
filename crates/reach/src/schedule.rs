//! Schedules of updates.

use serde::{Deserialize, Serialize};

/// The order of measurements and updates in a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// All flows measure, then all update (thesis D.3.2, Assumption 4).
    Synchronous,
    /// Flows measure and update one after another, each once per round, in an order that the adversary chooses in every
    /// round.
    Sequential,
}
