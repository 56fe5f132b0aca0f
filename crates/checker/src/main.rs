//! `fairweir-checker QUESTION CERTIFICATE`. Exit code 0: accepted; 1: rejected; 2: the check could not run.

use fairweir_checker::{MAX_CERTIFICATE, MAX_QUESTION, accept};
use std::ffi::OsString;
use std::io::{Read, Write, stderr, stdout};
use std::process::ExitCode;

/// Reads at most slightly more than `limit` bytes of a file, so that a file that is too large is recognized.
fn read(path: &OsString, limit: usize) -> Result<Vec<u8>, String> {
    let mut text = Vec::new();
    let done = std::fs::File::open(path).and_then(|file| file.take(limit as u64 + 1).read_to_end(&mut text));
    done.map(|_| text).map_err(|e| format!("cannot read {path:?}: {e}"))
}

fn verdict() -> Result<Result<usize, String>, String> {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    let [question, certificate] = paths.as_slice() else { return Err("not two files".into()) };
    Ok(accept(&read(question, MAX_QUESTION)?, &read(certificate, MAX_CERTIFICATE)?))
}

fn main() -> ExitCode {
    let (line, code) = match verdict() {
        Ok(Ok(steps)) => (format!("accepted: unsatisfiable, {steps} steps, none on trust\n"), 0),
        Ok(Err(why)) => (format!("rejected: {why}\n"), 1),
        Err(error) => (format!("error: {error}; usage: fairweir-checker QUESTION CERTIFICATE\n"), 2),
    };
    // If the program that reads the pipe has closed it, the output is lost, but the exit code contains the verdict.
    let _ = if code == 2 { stderr().write_all(line.as_bytes()) } else { stdout().write_all(line.as_bytes()) };
    ExitCode::from(code)
}
