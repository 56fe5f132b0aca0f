//! The native door to `bpf/`: kernel C, compiled by the host's C compiler, driven as a [`Controller`](crate::Controller).

use crate::registry::Algorithm;

/// Algorithms written in kernel C.
pub const ALGORITHMS: &[Algorithm] = &[];
