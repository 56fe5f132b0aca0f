//! The protocol on stdin, stdout and stderr.

use crate::Refusal;
use fairweir_scenario::Config;
use fairweir_units::{Dur, Time};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Exit code of failures.
const REFUSED: u8 = 2;
/// Exit code after an interrupt, the shells' convention.
pub const INTERRUPTED: u8 = 130;
/// Interval of progress reports.
const PROGRESS_EVERY: Duration = Duration::from_millis(250);

/// Reads the configuration from stdin.
///
/// # Errors
/// If stdin cannot be read or has no valid configuration.
pub fn read_config() -> Result<Config, Refusal> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|e| Refusal::new(format!("read the configuration: {e}")))?;
    serde_json::from_str(&text).map_err(|e| Refusal::new(format!("the configuration: {e}")))
}

/// Prints the result on stdout.
///
/// # Errors
/// If stdout cannot be written to.
pub fn print(document: &Value) -> Result<(), Refusal> {
    writeln!(std::io::stdout().lock(), "{document}").map_err(|e| Refusal::new(format!("write the result: {e}")))
}

/// Returns the program's exit code; reports a refusal on stderr.
pub fn conclude(outcome: Result<ExitCode, Refusal>) -> ExitCode {
    outcome.unwrap_or_else(|refusal| {
        eprintln!("{}", json!({ "error": refusal }));
        ExitCode::from(REFUSED)
    })
}

/// Reports progress on stderr, several times a second.
#[derive(Debug)]
pub struct Progress {
    duration: Dur,
    last: Instant,
}

impl Progress {
    /// The progress of a run of `duration`.
    pub fn of(duration: Dur) -> Progress {
        Progress { duration, last: Instant::now() }
    }

    /// The run has reached `at`.
    pub fn report(&mut self, at: Time) {
        if self.last.elapsed() >= PROGRESS_EVERY {
            self.last = Instant::now();
            let fraction = (at.as_secs_f64() / self.duration.as_secs_f64()).min(1.0);
            // An error is ignored: the reader may be gone.
            let _ = writeln!(std::io::stderr(), "progress {fraction:.4}");
        }
    }
}
