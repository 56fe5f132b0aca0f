//! Limits of the decisions of users' controllers: a value beyond them is a mistake in the controller.

use fairweir_units::{Bytes, Rate};

/// The largest cwnd, 1 TiB: one second at 8.8 Tbit/s.
pub const MAX_CWND: Bytes = Bytes(1 << 40);
/// The highest pacing rate, 1 Pbit/s.
pub const MAX_PACING_RATE: Rate = Rate::from_mbps(1_000_000_000);
