//! Records of calls to BPF controllers' hooks, written to a file and replayed in the controllers' native builds during
//! the run.
//!
//! The file begins with one line of JSON (`{"format": "fairweir-records 1", "ccas": [name, ...]}`). Frames follow: the
//! index of the controller in that list (u32), the record's length (u32, both little-endian), and a record in the
//! format of `bpf/record.h`.
//!
//! The result of a controller is null if its source does not build for this host. Otherwise the result contains
//! `first_difference` (null if there is none) and these numbers: `flows`; `hooks` and `acks`, the calls of any hook and
//! of the hooks for ACKs in which the kernel and the native build decided equally; and the records that were not
//! compared, because they were lost (`lost`), follow a lost or different record (`skipped`), or are not between a
//! flow's start and its end (`outside`).

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
    /// Replays by controller; `None` if the controller's source does not build for this host.
    replays: Vec<(String, Option<Replay>)>,
    /// The first error; the ring buffer's callback cannot return errors.
    failure: Option<String>,
}

impl Recording {
    /// Records the calls of `ccas` in the file `path`; `ccas` must be compiled with recording.
    ///
    /// # Errors
    /// If the file cannot be written, or a ring buffer cannot be read.
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
    /// If a ring buffer cannot be read, or the file cannot be written.
    pub fn drain(&self) -> Result<(), Refusal> {
        self.tapes.iter().try_for_each(Records::drain).map_err(Refusal::from)?;
        self.check()
    }

    /// Processes the remaining records and returns the results of the replays. `lost` contains for each controller the
    /// number of records that did not fit into its ring buffer.
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
                // Only the kernel's count includes a flow's last records, if these were lost.
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
