//! Records of BPF controllers' hooks: written to a file, and replayed natively during the run.
//!
//! The file is one line of JSON (`{"format": "fairweir-records 1", "ccas": [name, ...]}`), then frames: number of the
//! controller in that list (u32), length (u32, both little-endian), a record as `bpf/record.h` describes it.
//!
//! The result contains for each controller `flows`, `hooks` and `acks` (calls with the same decisions in the kernel and
//! natively), `lost` and `skipped` records, and `first_difference`(null if none).

use fairweir_kernel::{Cca, Records};
use fairweir_native::replay::Replay;
use fairweir_program::Refusal;
use serde_json::{Map, Value, json};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A recording in progress.
#[derive(Debug)]
pub struct Recording {
    path: PathBuf,
    tapes: Vec<Records>,
    desk: Arc<Mutex<Desk>>,
}

/// Destination of records.
#[derive(Debug)]
struct Desk {
    file: BufWriter<File>,
    /// By controller; `None` if its source does not build for this host.
    replays: Vec<(String, Option<Replay>)>,
    /// First error, which the ring buffer's reader cannot return itself.
    failure: Option<String>,
}

impl Recording {
    /// Records `ccas`, which must be compiled to be recorded, in the file `path`.
    ///
    /// # Errors
    /// If the file cannot be written, or a ring buffer not be read.
    pub fn start<'a>(
        path: &Path,
        ccas: impl Iterator<Item = (&'a str, &'a Cca)> + Clone,
    ) -> Result<Recording, Refusal> {
        let failed = |e: io::Error| Refusal::new(format!("record hooks in `{}`: {e}", path.display()));
        let mut file = BufWriter::new(File::create(path).map_err(failed)?);
        let names: Vec<&str> = ccas.clone().map(|(name, _)| name).collect();
        writeln!(file, "{}", json!({ "format": "fairweir-records 1", "ccas": names })).map_err(failed)?;
        let replays = ccas
            .clone()
            .map(|(name, cca)| (name.to_owned(), cca.source().native().cloned().map(Replay::new)))
            .collect();
        let desk = Arc::new(Mutex::new(Desk { file, replays, failure: None }));
        let tapes = ccas.enumerate().map(|(index, (_, cca))| {
            let desk = Arc::clone(&desk);
            cca.records(move |record| lock(&desk).take(index, record)).map_err(Refusal::from)
        });
        let tapes = tapes.collect::<Result<_, _>>()?;
        Ok(Recording { path: path.to_owned(), tapes, desk })
    }

    /// Processes the records since the last call.
    ///
    /// # Errors
    /// If a ring cannot be read or the file not be written.
    pub fn drain(&self) -> Result<(), Refusal> {
        self.tapes.iter().try_for_each(Records::drain).map_err(Refusal::from)?;
        self.check()
    }

    /// Processes the remaining records and returns the replays' results. `lost` are the counts of records for which a
    /// controller had no room.
    ///
    /// # Errors
    /// As [`Recording::drain`].
    pub fn finish(self, lost: impl Iterator<Item = u64>) -> Result<Value, Refusal> {
        self.drain()?;
        let mut desk = lock(&self.desk);
        desk.file.flush().map_err(|e| self.failed(&e.to_string()))?;
        let results = desk.replays.iter().zip(lost).map(|((name, replay), lost)| {
            let result = replay.as_ref().map_or(Value::Null, |replay| {
                let mut result = json!(replay.tally());
                // Only the kernel's own count shows that a flow's last records are missing.
                result["lost"] = json!(lost.max(replay.tally().lost));
                result["first_difference"] = json!(replay.difference());
                result
            });
            (name.clone(), result)
        });
        Ok(Value::Object(results.collect::<Map<_, _>>()))
    }

    fn check(&self) -> Result<(), Refusal> {
        lock(&self.desk).failure.as_ref().map_or(Ok(()), |reason| Err(self.failed(reason)))
    }

    fn failed(&self, reason: &str) -> Refusal {
        Refusal::new(format!("record hooks in `{}`: {reason}", self.path.display()))
    }
}

impl Desk {
    fn take(&mut self, index: usize, record: &[u8]) {
        let written = [index as u32, record.len() as u32]
            .iter()
            .try_for_each(|word| self.file.write_all(&word.to_le_bytes()))
            .and_then(|()| self.file.write_all(record));
        if let Err(e) = written {
            self.failure.get_or_insert(e.to_string());
        }
        if let Some(replay) = &mut self.replays[index].1
            && let Err(e) = replay.feed(record)
        {
            self.failure.get_or_insert(e.to_string());
        }
    }
}

fn lock(desk: &Mutex<Desk>) -> MutexGuard<'_, Desk> {
    desk.lock().unwrap_or_else(PoisonError::into_inner)
}
