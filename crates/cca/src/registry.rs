//! The list of the controllers in Rust.

use crate::{
    Algorithm, BuildError, Controller, Start, aimd_delay, bbr, bbr3, contract, cubic, dctcp, fast, ledbat, pcc_allegro,
    pcc_vivace, poseidon, reno, swift, tfrc,
};
use serde_json::Value;

/// Algorithms written in Rust. To add one: a file with an `ALGORITHM`, a line here.
const RUST: &[Algorithm] = &[
    reno::ALGORITHM,
    cubic::ALGORITHM,
    bbr::ALGORITHM,
    bbr3::ALGORITHM,
    dctcp::ALGORITHM,
    pcc_allegro::ALGORITHM,
    pcc_vivace::ALGORITHM,
    aimd_delay::ALGORITHM,
    contract::ALGORITHM,
    fast::ALGORITHM,
    ledbat::ALGORITHM,
    poseidon::ALGORITHM,
    swift::ALGORITHM,
    tfrc::ALGORITHM,
];

/// All algorithms in Rust.
pub fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
    RUST.iter()
}

/// Builds the controller `name` with `params` (an object, or null for the defaults).
///
/// # Errors
/// If there is no such controller, or a parameter is rejected.
pub fn build(name: &str, params: &Value, start: &Start) -> Result<Box<dyn Controller>, BuildError> {
    let algorithm = algorithms().find(|a| a.name == name).ok_or_else(|| BuildError::UnknownName(name.to_owned()))?;
    (algorithm.build)(params, start)
}
