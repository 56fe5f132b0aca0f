//! Controller files of decision synthesis (docs/formal/game.md), read from disk.

use fairweir_cca::{BuildError, Controller, Start, tree};
use serde_json::Value;
use std::path::Path;

/// Maximum size of a controller file, bytes; typical files have some kB.
const MAX_BYTES: u64 = 16 << 20;

/// Reads the controller file `path` and builds its controller.
///
/// # Errors
/// If the file cannot be read, is not a controller, decides more than a rate, or has invalid parameters.
pub(crate) fn build(path: &str, params: &Value, start: &Start) -> Result<Box<dyn Controller>, BuildError> {
    let refuse =
        |reason: String, hint: &str| BuildError::BadSource { path: path.to_owned(), reason, hint: hint.to_owned() };
    let size = Path::new(path).metadata().map(|file| file.len());
    if size.as_ref().is_ok_and(|&bytes| bytes > MAX_BYTES) {
        return Err(refuse(format!("larger than {} MiB", MAX_BYTES >> 20), "a controller file has some kB"));
    }
    let text = size.and_then(|_| std::fs::read_to_string(path));
    let text =
        text.map_err(|e| refuse(format!("cannot be read: {e}"), "name a controller file (docs/formal/game.md)"))?;
    tree::build(path, &text, params, start)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_units::Bytes;

    #[test]
    fn a_missing_file_and_a_large_one_are_rejected_and_a_shipped_one_is_built() {
        let start =
            Start { mss: Bytes(1500), initial_cwnd: Bytes(15_000), oracle_rtprop: None, first_packet: 0, seed: 1 };
        let refusal = |path: &str| build(path, &Value::Null, &start).expect_err("rejected").to_string();
        assert!(refusal("/nowhere/x.json").contains("cannot be read"));
        let large = tempfile::NamedTempFile::new().expect("a file");
        large.as_file().set_len(MAX_BYTES + 1).expect("it grows");
        assert!(refusal(&large.path().to_string_lossy()).contains("larger than 16 MiB"));
        let shipped = concat!(env!("CARGO_MANIFEST_DIR"), "/../../controllers/bulk.json");
        assert!(build(shipped, &Value::Null, &start).is_ok());
    }
}
