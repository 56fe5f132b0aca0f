//! A scenario played by the real TCP stack: checks, namespaces, emulator, traffic, record.
//!
//! # The result
//!
//! One JSON document: the fields of [`fairweir_sim::Summary`] (`flows`, `links`, `packets`, `events`, which here are
//! the frames that the emulator released), and beside them
//!
//! - `emulator`: [`Accuracy`](crate::Accuracy): the release error's percentiles, and whether the run is `judged`;
//! - `series`, if the configuration has an `interval`: `{"flows": {column: text}, "links": {column: text}}` with the
//!   columns of [`fairweir_sim::Series`], each as base64 of its little-endian numbers. With a series file the numbers
//!   are written there one column after another, and `series` is `{"file", "flows": {column: [offset, bytes]}, ...}`;
//! - `replay`, with a record file: per BPF controller what the native build of its source made of the same ACKs
//!   ([`recording`](crate::recording));
//! - `guard`, if there was one: its last status;
//! - `cost`, where asked for: per BPF controller and hook `{"calls", "ns"}`;
//! - `interrupted: true` if the run was cut short and its part was to be kept.
//!
//! What is measured where: RTTs, throughput, sent and delivered packets by the emulator on the sender's side of the
//! network, alike for all controllers; cwnd, inflight, pacing rate, losses and timeouts by `TCP_INFO`.

use crate::cca::Choice;
use crate::guarding::Guarding;
use crate::limits;
use crate::parties::Parties;
pub use crate::parties::Traffic;
use crate::refusal::Refusal;
use crate::report::{Document, SeriesTo};
use crate::traffic::SenderRecord;
use crate::watch::Watch;
use crate::{CaptureTo, Emulator, EmulatorOptions, Network, PacketMode, ReceiveWindows};
use fairweir_sim::Config;
use fairweir_units::{Dur, Time};
use serde_json::Value;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How often progress is told and an interrupt looked for: well under what a person notices.
/// Records of hooks are fetched as often.
const CHECK: Duration = Duration::from_millis(20);
/// How a scenario is played.
#[derive(Clone, Debug)]
pub struct WorldOptions {
    /// How packets pass between the namespaces.
    pub mode: Mode,
    /// Who makes the traffic.
    pub traffic: Traffic,
    /// Where the series go.
    pub series_file: Option<PathBuf>,
    /// Is the record of an interrupted run kept?
    pub keep_partial: bool,
    /// Where every call of the BPF controllers' hooks is recorded, to be replayed natively.
    pub record: Option<PathBuf>,
    /// Is the time of the BPF controllers' programs taken?
    pub cost: bool,
    /// What receivers advertise where the scenario does not say.
    pub windows: ReceiveWindows,
    /// Who holds the flows to a policy of the receivers.
    pub guarding: Option<Guarding>,
    /// What the 99th percentile of the release error may be.
    pub budget: Option<Dur>,
    /// Where a capture of the packets' headers goes.
    pub capture: Option<CaptureTo>,
}

/// How packets pass between the namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Packets of the wire's size.
    Mtu,
    /// Super-packets of so many segments at most: for rates that the accurate mode cannot hold.
    Tso(u32),
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq)]
pub enum Ending {
    /// At its duration.
    Complete(Value),
    /// Before; with what there was, if that is kept.
    Interrupted(Option<Value>),
}

/// Plays `config`; `watch` is told the time reached and breaks the run off.
///
/// # Errors
/// What this world cannot do, what the system lacks, or what failed on the way.
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
    let network = Network::with_windows(config, mode, options.windows)?;
    let choice = Choice::of(config, options.record.is_some())?;
    let about = Watch::start(&choice, options.record.as_deref(), options.cost)?;
    if options.traffic == Traffic::Iperf3 {
        // Its control connections, which nobody resets, shall not hold the namespaces for minutes.
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
    let parties = Parties {
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
            parties.receive(move || {
                // The one who waits is there as long as this thread is.
                let _ = is_ready.send(());
            })
        });
        if ready.recv().is_err() {
            // It ended without being ready: with an error.
            return (Ok(SenderRecord::default()), join(receiving), Ok(false));
        }
        let clock = emulator.go();
        let sending = scope.spawn(move || parties.send(clock));
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
    let measured = emulator.stop()?;
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
