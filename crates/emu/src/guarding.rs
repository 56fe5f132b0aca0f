//! The receivers' guard: the daemon `fairweir-guard`, which runs at the receivers' device for the duration of a run.

use fairweir_program::Refusal;
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, Stdio};

/// Configuration of the receivers' guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guarding {
    /// Path of the daemon.
    pub program: PathBuf,
    /// Path of its policies (TOML).
    pub config: PathBuf,
    /// File with names of senders, in the format of /etc/hosts.
    pub hosts: Option<PathBuf>,
    /// File to which the daemon logs its decisions.
    pub log: Option<PathBuf>,
}

/// A running daemon; dropping the value kills it.
#[derive(Debug)]
pub(crate) struct Guarded {
    child: Child,
    said: BufReader<ChildStderr>,
}

impl Guarded {
    /// Starts the daemon at `device` of the calling thread's network namespace, and returns when the daemon sees
    /// packets. The daemon is killed when the calling thread ends.
    pub(crate) fn start(guarding: &Guarding, device: &str) -> Result<Guarded, Refusal> {
        let program = guarding.program.display();
        let mut command = Command::new(&guarding.program);
        command.args(["run", "--json", "--interface", device, "--config"]).arg(&guarding.config);
        for (option, file) in [("--hosts", &guarding.hosts), ("--log", &guarding.log)] {
            file.iter().for_each(|file| {
                command.arg(option).arg(file);
            });
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // SAFETY: the closure makes only one system call between fork and exec.
        unsafe { command.pre_exec(|| Ok(set_pdeathsig(Signal::SIGKILL)?)) };
        let mut child = command.spawn().map_err(|e| {
            Refusal::new(format!("start the guard `{program}`: {e}"))
                .hint("run `make` to build it, or name another program in FAIRWEIR_GUARD")
        })?;
        let stderr = child.stderr.take().ok_or_else(|| Refusal::new("the guard has no stderr"))?;
        let mut guarded = Guarded { child, said: BufReader::new(stderr) };
        let mut first = String::new();
        let failed = |e: std::io::Error| Refusal::new(format!("read messages of the guard: {e}"));
        guarded.said.read_line(&mut first).map_err(failed)?;
        if first.starts_with("guard of ") {
            return Ok(guarded);
        }
        guarded.said.read_to_string(&mut first).map_err(failed)?;
        let (message, hint) = first.split_once("hint: ").unwrap_or((&first, ""));
        let refusal = Refusal::new(format!("the guard: {}", message.trim_start_matches("error: ").trim()));
        Err(if hint.is_empty() { refusal } else { refusal.hint(hint.trim()) })
    }

    /// Ends the daemon by a signal and returns its last status.
    pub(crate) fn stop(mut self) -> Result<Value, Refusal> {
        let failed = |e: std::io::Error| Refusal::new(format!("end the guard: {e}"));
        kill(Pid::from_raw(self.child.id() as i32), Signal::SIGINT).map_err(|e| failed(e.into()))?;
        let mut text = String::new();
        let stdout = self.child.stdout.take().ok_or_else(|| Refusal::new("the guard has no stdout"))?;
        BufReader::new(stdout).read_to_string(&mut text).map_err(failed)?;
        if let Ok(status) = serde_json::from_str(&text) {
            return Ok(status);
        }
        let mut message = String::new();
        self.said.read_to_string(&mut message).map_err(failed)?;
        Err(Refusal::new(format!("the guard ended before the run: {}", message.trim())))
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // Both calls fail only if the process has already ended.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
