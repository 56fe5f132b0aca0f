//! `fairweir-guard`: the receiver's daemon, and requests to a running daemon.
//!
//! Exit code 0: done, or ended by its service manager; 2: it could not run; 130: interrupted by Ctrl-C.

use clap::{CommandFactory, Parser, Subcommand};
use fairweir_guardd::status::{Explanation, Status};
use fairweir_guardd::terminal::{self, escape, escape_all};
use fairweir_guardd::{
    Attachment, ControlSocket, Device, Enforcement, GuardError, Policy, Settings, ask, daemon, live, sweep,
};
use fairweir_units::{Hint, SystemError};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::io::Write;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

/// Exit code after a failure.
const REFUSED: u8 = 2;
/// Exit code after an interrupt, by the shells' convention.
const INTERRUPTED: u8 = 130;

/// Limits arriving TCP flows by the receiver's policy, through the receive windows that this host advertises.
#[derive(Debug, Parser)]
#[command(name = "fairweir-guard", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Guard an interface until interrupted; when the process ends, even if killed, no window is rewritten
    Run(RunArguments),
    /// Show the flows that the guard of an interface measures, and their limits
    Status {
        #[command(flatten)]
        at: At,
    },
    /// Show the reasons for the limits of flows
    Explain {
        /// Part of `REMOTE:PORT > LOCAL:PORT`, as `status` shows it
        flow: String,
        #[command(flatten)]
        at: At,
    },
    /// Remove the filters of killed guards (Linux before 6.6; later kernels remove them)
    Clean,
    /// Print the manual page
    #[command(hide = true)]
    Man,
}

#[derive(Debug, clap::Args)]
struct At {
    /// The network device at which data arrive
    #[arg(long, short, value_name = "IF")]
    interface: String,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

#[derive(Debug, clap::Args)]
struct RunArguments {
    #[command(flatten)]
    at: At,
    /// A policy with its default settings: service, rledbat, or cap (which needs --rate)
    #[arg(long, value_name = "NAME", conflicts_with = "config")]
    policy: Option<String>,
    /// Maximum rate of each sender under --policy cap, such as 20Mbps
    #[arg(long, value_name = "RATE")]
    rate: Option<String>,
    /// File with policies (TOML); SIGHUP reads it again
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// File with names of senders, in the format of /etc/hosts, for policies that group flows by name
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Learn names of senders from the DNS answers that pass the interface
    #[arg(long)]
    dns: bool,
    /// Do not modify windows; report what would be done
    #[arg(long)]
    dry_run: bool,
    /// Append each decision to this file as a JSON object on one line
    #[arg(long, value_name = "FILE")]
    log: Option<PathBuf>,
    /// Write metrics to this file every 5 s, for node_exporter's textfile collector
    #[arg(long, value_name = "FILE")]
    metrics: Option<PathBuf>,
    /// Serve metrics over HTTP at /metrics of this address, such as 127.0.0.1:9465
    #[arg(long, value_name = "ADDRESS:PORT")]
    metrics_listen: Option<SocketAddr>,
    /// Limit only flows of this host's sockets, by TCP_WINDOW_CLAMP in addition to rewritten windows
    #[arg(long)]
    clamp: bool,
    /// Attach by filters, as on Linux before 6.6; filters remain after kill -9
    #[arg(long, hide = true)]
    filters: bool,
}

fn main() -> ExitCode {
    perform(Arguments::parse().command).unwrap_or_else(|error| {
        eprintln!("error: {}", escape(&error.to_string(), &['\n']));
        error.hint().iter().for_each(|hint| eprintln!("\nhint: {}", escape(hint, &['\n'])));
        ExitCode::from(REFUSED)
    })
}

fn perform(command: Command) -> Result<ExitCode, GuardError> {
    match command {
        Command::Run(arguments) => return run(&arguments),
        Command::Status { at } => {
            let answer = parse(&ask(&Device::find(&at.interface)?, "status")?)?;
            print(&if at.json { terminal::json(&answer) } else { live::table(&shown::<Status>(answer)?) });
        }
        Command::Explain { flow, at } => {
            let answer = parse(&ask(&Device::find(&at.interface)?, &format!("explain {flow}"))?)?;
            let found: Vec<Explanation> = shown(answer.clone())?;
            if found.is_empty() {
                let hint = format!("`fairweir guard status --interface {}` shows them", at.interface);
                return Err(refused(format!("no flow of `{}` has `{flow}` in its name", at.interface), &hint));
            }
            print(&if at.json { terminal::json(&answer) } else { found.iter().map(live::explanation).collect() });
        }
        Command::Man => print(&manual()?),
        Command::Clean => print(&serde_json::json!({ "removed": clean()? }).to_string()),
    }
    Ok(ExitCode::SUCCESS)
}

fn run(arguments: &RunArguments) -> Result<ExitCode, GuardError> {
    let policy = match (&arguments.config, arguments.policy.as_deref(), &arguments.rate) {
        (Some(path), _, None) => Policy::File(path.clone()),
        (None, Some("cap"), Some(rate)) => Policy::Text(format!("[[cap]]\nrate = {rate:?}\n")),
        (None, Some("cap"), None) => {
            return Err(refused(
                "--policy cap: no rate is given",
                "such as --rate 20Mbps; or several rules with --config FILE",
            ));
        }
        (_, _, Some(rate)) => {
            let hint = "with --config, the file sets the rates";
            return Err(refused(format!("--rate {rate}: only --policy cap takes it"), hint));
        }
        (None, Some("service"), None) => Policy::Text("[service]\n".to_owned()),
        (None, Some("rledbat"), None) => Policy::Text("[[rledbat]]\n".to_owned()),
        (None, Some(name), None) => {
            let what = format!("no such policy: `{name}`");
            return Err(refused(what, "write service, rledbat or cap; other policies need --config FILE"));
        }
        (None, None, None) => {
            return Err(refused(
                "no policy is given",
                "use --policy service, or a file: --config policies/service.toml",
            ));
        }
    };
    let settings = Settings {
        interface: arguments.at.interface.clone(),
        policy,
        hosts: arguments.hosts.clone(),
        dns: arguments.dns,
        dry_run: arguments.dry_run,
        live: true,
        log: arguments.log.clone(),
        metrics: arguments.metrics.clone(),
        metrics_listen: arguments.metrics_listen,
        enforcement: if arguments.clamp { Enforcement::Clamp } else { Enforcement::Rewrite },
        attachment: if arguments.filters { Attachment::Filter } else { Attachment::Best },
    };
    let ending = daemon::run(&settings)?;
    if arguments.at.json {
        print(&terminal::json(&serde_json::json!(ending.status)));
    }
    Ok(if ending.is_interrupted { ExitCode::from(INTERRUPTED) } else { ExitCode::SUCCESS })
}

/// Returns the manual page: one section per command, from `--help`.
fn manual() -> Result<String, GuardError> {
    let mut page = Vec::new();
    let program = Arguments::command();
    let render = |page: &mut Vec<u8>| -> std::io::Result<()> {
        let man = clap_mangen::Man::new(program.clone()).section("1");
        man.render_title(page)?;
        man.render_name_section(page)?;
        man.render_description_section(page)?;
        for command in program.get_subcommands().filter(|command| !command.is_hide_set()) {
            let name = format!("fairweir-guard {}", command.get_name());
            let man = clap_mangen::Man::new(command.clone().bin_name(&name).display_name(&name));
            writeln!(page, ".SH {}", name.to_uppercase())?;
            man.render_synopsis_section(page)?;
            man.render_description_section(page)?;
            man.render_options_section(page)?;
        }
        Ok(())
    };
    let failed = |source| GuardError::from(SystemError { action: "render the manual page".into(), source });
    render(&mut page).map_err(failed)?;
    String::from_utf8(page).map_err(|e| failed(std::io::Error::other(e)))
}

/// Removes filters from every device without a running guard; returns the number removed.
fn clean() -> Result<usize, GuardError> {
    let mut removed = 0;
    for device in Device::all()? {
        if let Ok(_door) = ControlSocket::hold(&device) {
            removed += sweep(device.index);
        }
    }
    Ok(removed)
}

fn refused(what: impl Into<String>, hint: &str) -> GuardError {
    GuardError::Refused { what: what.into(), hint: hint.to_owned() }
}

fn parse(answer: &str) -> Result<Value, GuardError> {
    serde_json::from_str(answer).map_err(not_understood)
}

/// Parses an answer for display; other parties chose the names in it, so they are escaped.
fn shown<T: Serialize + DeserializeOwned>(answer: Value) -> Result<T, GuardError> {
    let answer: T = serde_json::from_value(answer).map_err(not_understood)?;
    escape_all(&answer).map_err(not_understood)
}

fn not_understood(error: serde_json::Error) -> GuardError {
    SystemError { action: "the guard's answer".into(), source: error.into() }.into()
}

fn print(text: &str) {
    // A write error is ignored: the reader is gone.
    let _ = writeln!(std::io::stdout().lock(), "{}", text.trim_end());
}
