//! The program: `fairweir-quic`, and `fairweir-quiche`, which has one more stack.
//!
//! `run` reads a [`fairweir_scenario::Config`] as JSON from stdin and prints one JSON document on stdout: the fields of
//! [`fairweir_scenario::Summary`], `series` if the configuration has an `interval`, as [`fairweir_program`] renders it,
//! and `quic`: the number of datagrams, a digest of their times and sizes, and the versions of the stacks. Lines
//! `progress 0.25` on stderr report progress. Exit code 0: success; 2: failure, and the last line on stderr is `{"error":
//! {"message", "key", "hint"}}`; 130: interrupted.

use crate::{Ending, ambient, check, play, stacks};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use fairweir_program::{INTERRUPTED, Progress, Refusal, Signals, conclude, print, read_config};
use serde_json::{Map, Value, json};
use std::ops::ControlFlow;
use std::process::ExitCode;

/// Whole QUIC stacks in virtual time.
#[derive(Debug, Parser)]
#[command(version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the configuration (JSON) on stdin; the result goes to stdout
    Run,
    /// Show the stacks, their versions and controllers
    Stacks,
}

/// Runs the program `name` with the arguments of the process; returns its exit code.
pub fn main(name: &'static str) -> ExitCode {
    let matches = Arguments::command().name(name).get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    conclude(match arguments.command {
        Command::Run => run(),
        Command::Stacks => {
            print(&json!({ "versions": versions(), "ccas": stacks::names() })).map(|()| ExitCode::SUCCESS)
        }
    })
}

fn versions() -> Value {
    Value::Object(
        stacks::versions()
            .into_iter()
            .map(|(stack, version)| (stack.to_owned(), version.into()))
            .collect::<Map<_, _>>(),
    )
}

fn run() -> Result<ExitCode, Refusal> {
    let signals = Signals::block()?;
    let config = read_config()?;
    check(&config)?;
    ambient::seed(config.seed);
    let ends = stacks::ends(&config)?;
    let mut progress = Progress::of(config.duration);
    let ending = play(&config, ends, &mut |at| {
        progress.report(at);
        if signals.has_come() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    match ending {
        Ending::Complete(mut document) => {
            document["quic"]["versions"] = versions();
            print(&document).map(|()| ExitCode::SUCCESS)
        }
        Ending::Interrupted => Ok(ExitCode::from(INTERRUPTED)),
    }
}
