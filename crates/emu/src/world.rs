//! Runs a scenario with the real TCP stack: checks the scenario, creates the namespaces, starts the emulator and the
//! traffic, and returns the record.
//!
//! # The result
//!
//! The result is one JSON document with the fields of [`fairweir_scenario::Summary`] (`flows`, `links`, `packets`, and
//! `events`, which is the number of frames that the emulator released) and the following fields:
//!
//! - `emulator`, an [`Accuracy`](crate::Accuracy): the percentiles of the release error, and whether the run is
//!   `judged`;
//! - `series`, if the configuration has an `interval`: `{"flows": {column: text}, "links": {column: text}}` with the
//!   columns of [`fairweir_scenario::Series`], each as base64 of its little-endian numbers. With a series file the
//!   numbers are written there one column after another, and `series` is `{"file", "flows": {column: [offset, bytes]},
//!   ...}`;
//! - `replay`, with a record file: per BPF controller the result of replaying the same ACKs in the native build of its
//!   source ([`recording`](crate::recording));
//! - `guard`, if a guard ran: its last status;
//! - `cost`, if requested: per BPF controller and hook `{"calls", "ns"}`;
//! - `interrupted: true` if the run was interrupted and a partial record was requested.
//!
//! Sources of the measurements: the emulator measures RTTs, throughput, and packets sent and delivered on the sender's
//! side of the network, equally for all controllers. `TCP_INFO` provides cwnd, inflight, pacing rate, losses and
//! timeouts.

use crate::cca::Choice;
use crate::endpoints::Endpoints;
pub use crate::endpoints::Traffic;
use crate::guarding::Guarding;
use crate::limits;
pub use crate::limits::Mode;
use crate::report::Document;
use crate::traffic::SenderRecord;
use crate::watch::Watch;
use crate::{CaptureTo, Emulator, EmulatorOptions, Network, PacketMode, ReceiveWindows};
use fairweir_program::{Refusal, SeriesTo};
use fairweir_scenario::Config;
use fairweir_units::{Dur, Time};
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// Interval at which progress is reported, an interrupt is checked for, and records of hooks are read: short enough to
/// be imperceptible.
const CHECK: Duration = Duration::from_millis(20);
/// Options of a run.
#[derive(Clone, Debug)]
pub struct WorldOptions {
    /// How packets are transferred between the namespaces.
    pub mode: Mode,
    /// Generator of the traffic.
    pub traffic: Traffic,
    /// File for the time series.
    pub series_file: Option<PathBuf>,
    /// Whether to return the record of an interrupted run.
    pub keep_partial: bool,
    /// File in which every call of the BPF controllers' hooks is recorded, for native replay.
    pub record: Option<PathBuf>,
    /// Whether the run time of BPF programs is measured.
    pub cost: bool,
    /// Receive windows of flows for which the scenario sets none; `None`: [`ReceiveWindows::of`] the scenario.
    pub windows: Option<ReceiveWindows>,
    /// The guard that applies the receivers' policy, if any.
    pub guarding: Option<Guarding>,
    /// Limit on the 99th percentile of the release error.
    pub budget: Option<Dur>,
    /// Destination of a capture of the packets' headers.
    pub capture: Option<CaptureTo>,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// Completed, with its record.
    Complete(Value),
    /// Interrupted, with the partial record if requested.
    Interrupted(Option<Value>),
}

/// Runs `config`; `watch` receives the time reached and can interrupt the run.
///
/// # Errors
/// If the scenario is unsupported, the system lacks a feature, or the run fails.
pub fn play(
    config: &Config,
    options: &WorldOptions,
    watch: &mut dyn FnMut(Time) -> ControlFlow<()>,
) -> Result<Ending, Refusal> {
    let burst = limits::check(config, options.mode)?;
    if options.traffic == Traffic::Iperf3 {
        limits::check_iperf3(config)?;
    }
    let mode = match options.mode {
        Mode::Mtu => PacketMode::Mtu { burst },
        Mode::Tso(segments) => PacketMode::Tso { segments },
    };
    let windows = options.windows.unwrap_or_else(|| ReceiveWindows::of(config));
    let network = Network::with_windows(config, mode, windows)?;
    let choice = Choice::of(config, options.record.is_some())?;
    if options.traffic == Traffic::Iperf3 {
        choice.check_iperf3(config)?;
    }
    let about = Watch::start(&choice, options.record.as_deref(), options.cost)?;
    if options.traffic == Traffic::Iperf3 {
        // iperf3's control connections are not reset; without this setting they would hold the namespaces for minutes.
        for namespace in [network.senders(), network.receivers()] {
            namespace.set_sysctl("ipv4/tcp_orphan_retries", "1")?;
            namespace.set_sysctl("ipv4/tcp_fin_timeout", "1")?;
        }
    }
    let emulator = Emulator::start(
        config,
        &network,
        EmulatorOptions { budget: options.budget, capture: options.capture.clone() },
    )?;

    let stop = AtomicBool::new(false);
    let emulator_cpu = emulator.cpu();
    let endpoints = Endpoints {
        config,
        network: &network,
        choice: &choice,
        traffic: options.traffic,
        stop: &stop,
        guarding: options.guarding.as_ref(),
        emulator_cpu,
    };
    let (sent, received, is_interrupted) = thread::scope(|scope| {
        let (is_ready, ready) = mpsc::channel();
        let receiving = scope.spawn(move || {
            endpoints.receive(move || {
                // Sending cannot fail: the receiving end of the channel exists as long as this thread.
                let _ = is_ready.send(());
            })
        });
        if ready.recv().is_err() {
            // The receiving thread ended with an error before it was ready.
            return (Ok(SenderRecord::default()), join(receiving), Ok(false));
        }
        let clock = emulator.go();
        let sending = scope.spawn(move || endpoints.send(clock));
        let mut is_interrupted = Ok(false);
        while !(sending.is_finished() || receiving.is_finished() || !matches!(is_interrupted, Ok(false))) {
            thread::sleep(CHECK);
            is_interrupted = about.drain().map(|()| watch(clock.now()).is_break());
        }
        stop.store(true, Ordering::Relaxed);
        (join(sending), join(receiving), is_interrupted)
    });
    let guard = received?;
    let (sent, is_interrupted) = (sent?, is_interrupted?);
    let mut measured = emulator.stop()?;
    measured.accuracy.also_requires(&choice.skipped());
    if is_interrupted && !options.keep_partial {
        return Ok(Ending::Interrupted(None));
    }
    let to = options.series_file.as_deref().map_or(SeriesTo::Text, SeriesTo::File);
    let mut document = Document { config, measured: &measured, sent: &sent }.render(to)?;
    for (name, value) in about.finish()? {
        document[name] = value;
    }
    if let Some(status) = guard {
        document["guard"] = status;
    }
    if is_interrupted {
        document["interrupted"] = Value::Bool(true);
        return Ok(Ending::Interrupted(Some(document)));
    }
    Ok(Ending::Complete(document))
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, T>) -> T {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
