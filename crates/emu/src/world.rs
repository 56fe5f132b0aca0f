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
//! - `cost`, where asked for: per BPF controller and hook `{"calls", "ns"}`;
//! - `interrupted: true` if the run was cut short and its part was to be kept.
//!
//! What is measured where: RTTs, throughput, sent and delivered packets by the emulator on the sender's side of the
//! network, alike for all controllers; cwnd, inflight, pacing rate, losses and timeouts by `TCP_INFO`.

use crate::address;
use crate::cca::Choice;
use crate::limits;
use crate::network::HEADER_BYTES;
use crate::refusal::Refusal;
use crate::report::{Document, SeriesTo};
use crate::traffic::{Listening, Receivers, SenderPlan, Senders, Timeline};
use crate::watch::Watch;
use crate::{Emulator, EmulatorOptions, Network, PacketMode};
use fairweir_sim::{Config, FlowSpec, Source};
use fairweir_units::{Dur, Rate, Time};
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use serde_json::Value;
use std::net::SocketAddrV4;
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{io, thread};

/// How often progress is told and an interrupt looked for: well under what a person notices.
/// Records of hooks are fetched as often.
const CHECK: Duration = Duration::from_millis(20);
/// What may wait unsent in a socket, as time at the rate of the path: a thread that is held up for long shall not make
/// a bulk flow application-limited, nor a burst of ACKs that opens the window at once.
const UNSENT: Dur = Dur::from_millis(100);
/// The same for flows that stop or pause, and then still send it.
const UNSENT_OF_STOPPING: Dur = Dur::from_millis(10);
/// TCP's own: 16 bits, scaled by 14.
const LARGEST_WINDOW_BYTES: u32 = 65_535 << 14;
/// At least a burst of super-packets.
const LEAST_UNSENT_BYTES: u64 = 64 << 10;

/// How a scenario is played.
#[derive(Clone, Debug)]
pub struct WorldOptions {
    /// How packets pass between the namespaces.
    pub mode: Mode,
    /// Where the series go.
    pub series_file: Option<PathBuf>,
    /// Is the record of an interrupted run kept?
    pub keep_partial: bool,
    /// Where every call of the BPF controllers' hooks is recorded, to be replayed natively.
    pub record: Option<PathBuf>,
    /// Is the time of the BPF controllers' programs taken?
    pub cost: bool,
    /// What the 99th percentile of the release error may be.
    pub budget: Option<Dur>,
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
    let choice = Choice::of(config, options.record.is_some())?;
    let about = Watch::start(&choice, options.record.as_deref(), options.cost)?;
    let mode = match options.mode {
        Mode::Mtu => PacketMode::Mtu { burst },
        Mode::Tso(segments) => PacketMode::Tso { segments },
    };
    let network = Network::new(config, mode)?;
    let emulator = Emulator::start(config, &network, EmulatorOptions { budget: options.budget })?;

    let timeline = Timeline {
        warmup: Time::ZERO + config.warmup,
        end: Time::ZERO + config.duration,
        interval: config.interval,
        packet: config.packet,
    };
    let stop = AtomicBool::new(false);
    let (sent, received, is_interrupted) = thread::scope(|scope| -> Result<_, Refusal> {
        let receivers = network
            .receivers()
            .enter(|| Receivers::listen(&listening(config)))?
            .map_err(|e| Refusal::new(format!("listen for the flows: {e}")))?;
        let stop = &stop;
        let receiving = scope.spawn(move || {
            keep_off_the_emulators_cpu();
            receivers.run(stop)
        });
        let clock = emulator.go();
        let (choice, network) = (&choice, &network);
        let sending = scope.spawn(move || {
            keep_off_the_emulators_cpu();
            network.senders().join()?;
            let prepare = |flow: usize, fd: std::os::fd::BorrowedFd<'_>| choice.apply(flow, fd);
            Senders::new(senders(config, choice), timeline, clock, &prepare)
                .map_err(|e| Refusal::new(format!("start the senders: {e}")))?
                .run(stop)
                .map_err(|e| Refusal::of_senders(&e, config))
        });
        let (mut is_interrupted, mut drained) = (false, Ok(()));
        while !(sending.is_finished() || receiving.is_finished() || is_interrupted || drained.is_err()) {
            thread::sleep(CHECK);
            drained = about.drain();
            is_interrupted = watch(clock.now()).is_break();
        }
        stop.store(true, Ordering::Relaxed);
        let (sent, received) = (join(sending), join(receiving));
        drained.map(|()| (sent, received, is_interrupted))
    })?;
    let measured = emulator.stop()?;
    let sent = sent?;
    received.map_err(|e: io::Error| Refusal::new(format!("receive: {e}")))?;
    if is_interrupted && !options.keep_partial {
        return Ok(Ending::Interrupted(None));
    }
    let to = options.series_file.as_deref().map_or(SeriesTo::Text, SeriesTo::File);
    let mut document = Document { config, measured: &measured, sent: &sent }.render(to)?;
    for (name, value) in about.finish()? {
        document[name] = value;
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

/// The emulator has the last CPU; where there is another, everything else shall use that.
fn keep_off_the_emulators_cpu() {
    let count = thread::available_parallelism().map_or(1, usize::from);
    let mut set = CpuSet::new();
    let is_complete = (0..count.saturating_sub(1)).all(|cpu| set.set(cpu).is_ok());
    if count > 1 && is_complete {
        // Only precision is lost if it is refused, and the release error shows that.
        let _ = sched_setaffinity(Pid::from_raw(0), &set);
    }
}

fn listening(config: &Config) -> Vec<Listening> {
    config
        .flows
        .iter()
        .enumerate()
        .map(|(index, flow)| Listening {
            address: SocketAddrV4::new(address::receiver(index), address::PORT),
            window: flow.rwnd.map(|packets| {
                let bytes = packets.saturating_mul(config.packet.0 - HEADER_BYTES);
                bytes.min(u64::from(LARGEST_WINDOW_BYTES)) as u32
            }),
        })
        .collect()
}

fn senders(config: &Config, choice: &Choice) -> Vec<SenderPlan> {
    config
        .flows
        .iter()
        .enumerate()
        .map(|(index, flow)| SenderPlan {
            local: SocketAddrV4::new(address::sender(index), 0),
            remote: SocketAddrV4::new(address::receiver(index), address::PORT),
            source: flow.source.clone(),
            start: flow.start,
            stop: flow.stop.unwrap_or(Time::NEVER),
            initial_cwnd: flow.initial_cwnd,
            is_paced: choice.is_paced(index),
            unsent_bytes: unsent_bytes(config, flow),
        })
        .collect()
}

fn unsent_bytes(config: &Config, flow: &FlowSpec) -> u32 {
    let end = Time::ZERO + config.duration;
    let rate = flow.path.iter().map(|&link| config.links[link].hop.link.build().mean_rate(Time::ZERO, end)).min();
    let ends_early = flow.stop.is_some() || matches!(flow.source, Source::OnOff { .. });
    let time = if ends_early { UNSENT_OF_STOPPING } else { UNSENT };
    let bytes = rate.unwrap_or(Rate::from_bytes_per_sec(0)) * time;
    bytes.0.clamp(LEAST_UNSENT_BYTES, u64::from(u32::MAX / 4)) as u32
}
