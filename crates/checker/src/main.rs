//! `fairweir-checker QUESTION CERTIFICATE`: exit code 0: accepted, 1: rejected, 2: there is nothing to check.

use fairweir_checker::{MAX_CERTIFICATE, MAX_QUESTION, accept};
use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Write};
use std::process::ExitCode;

/// Reads a file, and not much more than `limit` bytes of it.
fn read(path: &OsString, limit: usize) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(limit as u64 + 1).read_to_end(&mut bytes))
        .map_err(|e| format!("cannot read {path:?}: {e}"))?;
    Ok(bytes)
}

fn texts() -> Result<(Vec<u8>, Vec<u8>), String> {
    let paths: Vec<OsString> = std::env::args_os().skip(1).collect();
    let [question, certificate] = paths.as_slice() else {
        return Err("two files are needed; usage: fairweir-checker QUESTION CERTIFICATE".to_owned());
    };
    Ok((read(question, MAX_QUESTION)?, read(certificate, MAX_CERTIFICATE)?))
}

fn main() -> ExitCode {
    let (line, code) = match texts() {
        Ok((question, certificate)) => match accept(&question, &certificate) {
            Ok(steps) => (format!("accepted: unsatisfiable, {steps} steps, none on trust\n"), 0),
            Err(why) => (format!("rejected: {why}\n"), 1),
        },
        Err(why) => {
            eprintln!("error: {why}");
            return ExitCode::from(2);
        }
    };
    // Whoever closed the pipe does not want the words; the exit code has the verdict.
    let _ = std::io::stdout().write_all(line.as_bytes());
    ExitCode::from(code)
}
