//! `fairweir-checker QUESTION CERTIFICATE`: exit code 0: accepted, 1: rejected, 2: there is nothing to check.

use fairweir_checker::{MAX_CERTIFICATE, MAX_QUESTION, accept};
use std::fs::File;
use std::io::{Error, Read, Write};
use std::process::ExitCode;

/// Reads the files that the command line names, and not much more of them than is allowed.
fn texts() -> Result<[Vec<u8>; 2], Error> {
    let paths: Vec<_> = std::env::args_os().skip(1).collect();
    let mut texts = [Vec::new(), Vec::new()];
    if paths.len() != texts.len() {
        return Err(Error::other("not two files"));
    }
    for ((path, limit), text) in paths.iter().zip([MAX_QUESTION, MAX_CERTIFICATE]).zip(&mut texts) {
        let opened = File::open(path).and_then(|file| file.take(limit as u64 + 1).read_to_end(text));
        opened.map_err(|e| Error::other(format!("cannot read {path:?}: {e}")))?;
    }
    Ok(texts)
}

fn main() -> ExitCode {
    let (line, code) = match texts().map(|[question, certificate]| accept(&question, &certificate)) {
        Ok(Ok(steps)) => (format!("accepted: unsatisfiable, {steps} steps, none on trust\n"), 0),
        Ok(Err(why)) => (format!("rejected: {why}\n"), 1),
        Err(error) => {
            eprintln!("error: {error}; usage: fairweir-checker QUESTION CERTIFICATE");
            return ExitCode::from(2);
        }
    };
    // Whoever closed the pipe does not want the words; the exit code has the verdict.
    let _ = std::io::stdout().write_all(line.as_bytes());
    ExitCode::from(code)
}
