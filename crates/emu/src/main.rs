//! `fairweir-kernel`: the kernel world as a separate program, because it needs root.
//!
//! `run` reads a [`fairweir_scenario::Config`] as JSON from stdin and prints one JSON document (see
//! [`fairweir_emu::world`]) on stdout. The other commands also print one JSON document. Lines `progress 0.25` on stderr
//! report progress. Exit code 0: success; 2: failure, and the last line on stderr is `{"error": {"message", "key",
//! "hint"}}`; 130: interrupted.

use clap::{Parser, Subcommand, ValueEnum};
use fairweir_emu::doctor;
use fairweir_emu::guarding::Guarding;
use fairweir_emu::world::{self, Ending, Mode, Traffic, WorldOptions};
use fairweir_emu::{CaptureTo, ReceiveWindows};
use fairweir_kernel::Source;
use fairweir_kernel::permanent::{self, Place};
use fairweir_program::{INTERRUPTED, Progress, Refusal, Signals, conclude, print, read_config};
use fairweir_tcp::Side;
use fairweir_units::Dur;
use serde_json::{Value, json};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::process::ExitCode;

/// Real TCP over an emulated network, and BPF congestion controllers.
#[derive(Debug, Parser)]
#[command(name = "fairweir-kernel", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run the configuration (JSON) on stdin; the result goes to stdout
    Run(RunArguments),
    /// Load a controller permanently: for every program on this machine, until it is unloaded
    Load(LoadArguments),
    /// Unload a controller that was loaded permanently
    Unload {
        /// Name shown by `list`
        name: String,
        /// Unload it even if it is the default of a network namespace
        #[arg(long)]
        force: bool,
    },
    /// Show the controllers that were loaded permanently
    List,
    /// Show or change the default parameters of flows
    Params {
        /// Name shown by `list`
        name: String,
        /// The parameters to change: a JSON object
        #[arg(value_name = "JSON", value_parser = object)]
        params: Option<Value>,
    },
    /// Report what works on this machine
    Doctor {
        /// Unload permanently loaded controllers, and restore the defaults
        #[arg(long)]
        clean: bool,
    },
}

#[derive(Debug, clap::Args)]
struct LoadArguments {
    /// Name of a controller in bpf/, or path of a .bpf.c file
    cca: String,
    /// Name for TCP_CONGESTION; default: the controller's own name
    #[arg(long)]
    name: Option<String>,
    /// Parameters: a JSON object
    #[arg(long, value_name = "JSON", default_value = "null", value_parser = object)]
    params: Value,
    /// Make it the default of new connections
    #[arg(long)]
    default: bool,
}

#[derive(Debug, clap::Args)]
struct RunArguments {
    /// Packets of their size on the wire (accurate), or super-packets (for 1 Gbps)
    #[arg(long, value_enum, default_value_t = ModeName::Mtu)]
    mode: ModeName,
    /// Program that generates the traffic
    #[arg(long, value_enum, default_value_t = TrafficName::Own)]
    traffic: TrafficName,
    /// Maximum number of segments of a super-packet
    #[arg(long, default_value_t = 44, value_parser = clap::value_parser!(u32).range(1..=44))]
    tso_segments: u32,
    /// Write the time series to this file instead of into the result
    #[arg(long, value_name = "FILE")]
    series: Option<PathBuf>,
    /// Record every call of the BPF controllers' hooks in this file, and replay the calls in the native build
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Measure the cost of the BPF controllers' hooks
    #[arg(long)]
    cost: bool,
    /// Receive window of flows for which the scenario sets none; default: autotuned if their transport has autotuning
    #[arg(long, value_enum)]
    receive_windows: Option<WindowsName>,
    /// Policies (TOML) of a guard at the receivers
    #[arg(long, value_name = "FILE", requires = "guard_program")]
    guard: Option<PathBuf>,
    /// Path of the guard's program, fairweir-guard
    #[arg(long, value_name = "FILE")]
    guard_program: Option<PathBuf>,
    /// Names of senders for the guard, in the format of /etc/hosts
    #[arg(long, value_name = "FILE")]
    guard_hosts: Option<PathBuf>,
    /// File to which the guard logs its decisions
    #[arg(long, value_name = "FILE")]
    guard_log: Option<PathBuf>,
    /// When interrupted, print the partial record
    #[arg(long)]
    keep_partial: bool,
    /// Maximum 99th percentile of the release error for a judged run, µs
    #[arg(long, value_name = "US")]
    budget_us: Option<u64>,
    /// Write a capture of all packets' headers to this file
    #[arg(long, value_name = "FILE")]
    pcap: Option<PathBuf>,
    /// Side of the network at which packets are captured
    #[arg(long, value_enum, default_value_t = SideName::Sender)]
    pcap_at: SideName,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum SideName {
    Sender,
    Receiver,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ModeName {
    Mtu,
    Tso,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TrafficName {
    Own,
    Iperf3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum WindowsName {
    Unlimited,
    Autotuned,
}

fn main() -> ExitCode {
    conclude(perform(Arguments::parse().command))
}

fn perform(command: Command) -> Result<ExitCode, Refusal> {
    let place = Place::system();
    let document = match command {
        Command::Run(arguments) => return run(&arguments),
        Command::Load(LoadArguments { cca, name, params, default }) => {
            json!(permanent::load(&place, &Source::find(&cca)?, name.as_deref(), &params, default)?)
        }
        Command::Unload { name, force } => json!(permanent::unload(&place, &name, force)?),
        Command::List => json!(permanent::list(&place)?),
        Command::Params { name, params } => permanent::params(&place, &name, &params.unwrap_or(Value::Null))?,
        Command::Doctor { clean } => {
            let undone = clean.then(|| permanent::clean(&place)).transpose()?;
            let left = permanent::list(&place).unwrap_or_default();
            json!({ "checks": doctor::examine(), "left": left, "undone": undone })
        }
    };
    print(&document).map(|()| ExitCode::SUCCESS)
}

/// Parses a JSON object or null.
fn object(text: &str) -> Result<Value, String> {
    match serde_json::from_str(text) {
        Ok(value @ (Value::Object(_) | Value::Null)) => Ok(value),
        Ok(_) => Err("expected a JSON object".to_owned()),
        Err(e) => Err(format!("invalid JSON: {e}")),
    }
}

fn run(arguments: &RunArguments) -> Result<ExitCode, Refusal> {
    let signals = Signals::block()?;
    let config = read_config()?;
    let options = WorldOptions {
        mode: match arguments.mode {
            ModeName::Mtu => Mode::Mtu,
            ModeName::Tso => Mode::Tso(arguments.tso_segments),
        },
        traffic: match arguments.traffic {
            TrafficName::Own => Traffic::Own,
            TrafficName::Iperf3 => Traffic::Iperf3,
        },
        series_file: arguments.series.clone(),
        record: arguments.record.clone(),
        cost: arguments.cost,
        windows: arguments.receive_windows.map(|name| match name {
            WindowsName::Unlimited => ReceiveWindows::Unlimited,
            WindowsName::Autotuned => ReceiveWindows::Autotuned,
        }),
        guarding: arguments.guard.clone().zip(arguments.guard_program.clone()).map(|(config, program)| Guarding {
            program,
            config,
            hosts: arguments.guard_hosts.clone(),
            log: arguments.guard_log.clone(),
        }),
        keep_partial: arguments.keep_partial,
        budget: arguments.budget_us.map(Dur::from_micros),
        capture: arguments.pcap.clone().map(|file| CaptureTo {
            file,
            side: match arguments.pcap_at {
                SideName::Sender => Side::Sender,
                SideName::Receiver => Side::Receiver,
            },
        }),
    };
    let mut progress = Progress::of(config.duration);
    let ending = world::play(&config, &options, &mut |at| {
        progress.report(at);
        if signals.has_come() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    })?;
    match ending {
        Ending::Complete(document) => print(&document).map(|()| ExitCode::SUCCESS),
        Ending::Interrupted(document) => {
            document.iter().try_for_each(print)?;
            Ok(ExitCode::from(INTERRUPTED))
        }
    }
}
