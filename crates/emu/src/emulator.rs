//! The emulator: a thread that reads packets from each of the two namespaces, delays them by the configured network,
//! and writes them to the other namespace.
//!
//! The thread sleeps until a device has a packet or a packet is due. It runs under SCHED_FIFO on a CPU that it chooses.
//! It does not spin, because the kernel throttles a spinning SCHED_FIFO thread for about 50 ms per second. Writing a
//! packet runs the receiving TCP before the write returns, so the receiver's response can be read at once.

use crate::accuracy::{Lateness, default_budget};
use crate::capture::{Capture, CaptureTo, Passage};
use crate::clock::thread_cpu_time;
use crate::frames::Frames;
use crate::hosts::HostTimes;
use crate::meter::{FlowMeter, meters};
use crate::realtime::{EmulatorCpu, Placement};
use crate::tun::Tun;
use crate::wakeup::{Rhythm, Stop, Woken, sleep};
use crate::wire::{View, mark_ce};
use crate::{Clock, EmuError, EmulatorRecord, Network};
use fairweir_path::Direction;
use fairweir_scenario::Config;
use fairweir_scenario::recorder::Recorder;
use fairweir_scenario::relay::{Item, Relay, Release, packet};
use fairweir_units::{Dur, During, Time};
use nix::errno::Errno;
use std::io;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, OnceLock};
use std::thread::{Builder, JoinHandle};

/// Maximum packets read from a device before the clock is read again.
const READ_BATCH: usize = 16;
/// Options of the emulator.
#[derive(Clone, Debug, Default)]
pub struct EmulatorOptions {
    /// Limit on the 99th percentile of the release error. Default: 5 % of the minimum rtprop, but at least 0.2 ms and
    /// at most 1 ms.
    pub budget: Option<Dur>,
    /// Capture of the packets' headers, if requested.
    pub capture: Option<CaptureTo>,
}

/// Starts emulators.
#[derive(Debug)]
pub struct Emulator;

/// A running emulator; dropping the value stops it.
#[derive(Debug)]
pub struct Running {
    thread: Option<JoinHandle<Result<EmulatorRecord, EmuError>>>,
    cpu: EmulatorCpu,
    stop: Arc<Stop>,
    go: Sender<Clock>,
    clock: OnceLock<Clock>,
}

impl Emulator {
    /// Starts the thread that forwards the packets of `network`. Packets wait until [`Running::go`] is called.
    ///
    /// # Errors
    /// If the scenario is unsupported, or if a system call fails.
    pub fn start(config: &Config, network: &Network, options: EmulatorOptions) -> Result<Running, EmuError> {
        fairweir_scenario::check(config)?;
        let stop = Arc::new(Stop::new()?);
        let placement = Placement::find().during(|| "look for a CPU".into())?;
        let cpu = placement.cpu;
        if let Some(others) = cpu.others() {
            // Steering only improves accuracy: without it, the run continues and the release error shows the effect.
            let _ = network.steer(&others);
        }
        let frame_bytes = network.sender_tun.frame_bytes(config.packet.0 as usize);
        let worker = Worker {
            senders: network.sender_tun.try_clone()?,
            receivers: network.receiver_tun.try_clone()?,
            relay: Relay::new(config).without_processing(),
            recorder: Recorder::new(config, meters(config)),
            frames: Frames::new(frame_bytes),
            lateness: Lateness::new(),
            hosts: HostTimes::new(config.flows.len()),
            clock: Clock::starting_at(u64::MAX),
            rhythm: Rhythm::new(),
            placement,
            stop: stop.clone(),
            budget: options.budget.unwrap_or_else(|| default_budget(config)),
            mode: network.mode.name(),
            capture: options.capture.as_ref().map(Capture::start).transpose()?,
        };
        let (go, gone) = channel();
        let thread = Builder::new()
            .name("emulator".into())
            .spawn(move || worker.run(&gone))
            .during(|| "start the emulator's thread".into())?;
        Ok(Running { thread: Some(thread), cpu, stop, go, clock: OnceLock::new() })
    }
}

impl Running {
    /// Starts the clock: packets are forwarded, and the flows' start times count from now. Later calls return the same
    /// clock.
    pub fn go(&self) -> Clock {
        *self.clock.get_or_init(|| {
            let clock = Clock::starting_now();
            // Sending fails only if the thread has failed; `stop` returns the reason.
            let _ = self.go.send(clock);
            clock
        })
    }

    /// Returns the emulator's CPU, which the caller's other threads should avoid ([`EmulatorCpu::avoid`]).
    pub fn cpu(&self) -> EmulatorCpu {
        self.cpu
    }

    /// Returns whether the emulator has failed; [`Running::stop`] returns the reason.
    pub fn has_failed(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Stops the emulator and returns its measurements. Packets after the scenario's duration are not counted. If the
    /// run is stopped earlier, the measurements cover the time until then.
    ///
    /// # Errors
    /// If a device failed.
    pub fn stop(mut self) -> Result<EmulatorRecord, EmuError> {
        self.join()
    }

    fn join(&mut self) -> Result<EmulatorRecord, EmuError> {
        self.go();
        let thread = self.thread.take().expect("the emulator is stopped once");
        self.stop.set()?;
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.thread.is_some() && !std::thread::panicking() {
            let _ = self.join();
        }
    }
}

/// The emulator's thread.
#[derive(Debug)]
struct Worker {
    senders: Tun,
    receivers: Tun,
    relay: Relay,
    recorder: Recorder<FlowMeter>,
    frames: Frames,
    lateness: Lateness,
    hosts: HostTimes,
    clock: Clock,
    rhythm: Rhythm,
    placement: Placement,
    stop: Arc<Stop>,
    budget: Dur,
    mode: &'static str,
    capture: Option<Capture>,
}

impl Worker {
    fn run(mut self, go: &Receiver<Clock>) -> Result<EmulatorRecord, EmuError> {
        let not_granted = self.placement.take();
        // Receiving fails only if the emulator was dropped before its start.
        self.clock = go.recv().unwrap_or_else(|_| Clock::starting_now());
        if let Some(capture) = &mut self.capture {
            capture.go();
        }
        let cpu = thread_cpu_time();
        self.relay_until_stopped().during(|| "move packets between the TUN devices".into())?;
        let end = self.clock.now();
        let cpu_time = thread_cpu_time().saturating_sub(cpu);
        let cpu_fraction = cpu_time.as_secs_f64() / end.as_secs_f64().max(f64::MIN_POSITIVE);
        let recorded = self.recorder.finish(end, &self.relay);
        self.capture.map(Capture::finish).transpose()?;
        let mut accuracy = self.lateness.judge(self.budget, self.mode, cpu_fraction, &not_granted);
        accuracy.stalls_us.truncate(recorded.end.as_nanos().div_ceil(Dur::from_secs(1).as_nanos()) as usize);
        accuracy.host_us = self.hosts.answers();
        Ok(EmulatorRecord {
            accuracy,
            flows: recorded.flows,
            links: recorded.links,
            delivered_pkts: recorded.delivered_pkts,
            series: recorded.series,
            end: recorded.end,
        })
    }

    fn relay_until_stopped(&mut self) -> io::Result<()> {
        let mut woken = Woken::UNKNOWN;
        while !self.stop.is_set() {
            self.release_due()?;
            let [senders, receivers] = woken.has_packets;
            if senders {
                self.read_from(Direction::Data)?;
            }
            if receivers {
                self.read_from(Direction::Ack)?;
            }
            woken = self.sleep()?;
        }
        Ok(())
    }

    /// Sleeps until a packet arrives or the next one is due; does not sleep if that is too soon to be worthwhile.
    fn sleep(&mut self) -> Result<Woken, Errno> {
        let next = self.relay.next_event().min(self.recorder.due());
        let now_ns = self.clock.monotonic_ns(self.clock.now());
        let due_ns = if next.is_set() { self.clock.monotonic_ns(next) } else { u64::MAX };
        let Some(alarm_ns) = self.rhythm.alarm(now_ns, due_ns) else { return Ok(Woken::UNKNOWN) };
        let woken = sleep([&self.senders, &self.receivers], &self.stop, now_ns, alarm_ns)?;
        let awake = self.clock.now();
        self.rhythm.slept(now_ns, self.clock.monotonic_ns(awake), woken);
        if let Some(late_by) = woken.late_by {
            self.lateness.woken(late_by, awake);
        }
        Ok(woken)
    }

    /// Processes all events of the network up to `now`.
    fn catch_up(&mut self, now: Time) {
        while self.recorder.due() <= now {
            let due = self.recorder.due();
            self.relay.advance(due);
            self.recorder.close(due, &mut self.relay);
        }
        self.relay.advance(now);
        while let Some(frame) = self.relay.next_lost() {
            self.frames.release(frame);
        }
    }

    /// Writes all packets that are due. After each packet, reads the receiver's responses.
    fn release_due(&mut self) -> io::Result<()> {
        loop {
            let now = self.clock.now();
            self.catch_up(now);
            let Some(release) = self.relay.next_release(now, now + self.rhythm.grain()) else { return Ok(()) };
            self.release(&release, now);
            self.frames.release(release.frame);
            let answers = match release.item.direction {
                Direction::Data => Direction::Ack,
                Direction::Ack => Direction::Data,
            };
            self.read_from(answers)?;
        }
    }

    fn release(&mut self, release: &Release, now: Time) {
        let (item, frame) = (&release.item, self.frames.get_mut(release.frame));
        let header_bytes = self.senders.header_bytes();
        let tun = match item.direction {
            Direction::Data => &self.receivers,
            Direction::Ack => &self.senders,
        };
        self.lateness.released(release.at, now);
        let meter = &mut self.recorder.meters[item.flow];
        match item.direction {
            Direction::Data => {
                if item.is_marked {
                    mark_ce(&mut frame[header_bytes..]);
                    meter.on_mark(item.packets);
                }
                if let Some(view) = View::new(frame, header_bytes) {
                    self.hosts.data_released(release.at, &view);
                }
            }
            Direction::Ack => {
                if let Some(view) = View::new(frame, header_bytes) {
                    meter.on_ack(now, &view);
                }
                self.hosts.ack_released(release.at, item.flow);
            }
        }
        if let Some(capture) = &mut self.capture {
            capture.note(now, Passage::Delivered(item.direction), &frame[header_bytes..]);
        }
        if tun.write(frame).is_err() {
            self.lateness.strays += 1;
        }
    }

    /// Reads the packets that wait at a device, up to one batch, and sends them into the network.
    fn read_from(&mut self, direction: Direction) -> io::Result<()> {
        for _ in 0..READ_BATCH {
            let frame = self.frames.take();
            let tun = match direction {
                Direction::Data => &self.senders,
                Direction::Ack => &self.receivers,
            };
            let Some(length) = tun.read(self.frames.buffer(frame))? else {
                self.frames.release(frame);
                break;
            };
            self.frames.keep(frame, length);
            let now = self.clock.now();
            self.catch_up(now);
            if let Some(capture) = &mut self.capture {
                let header_bytes = self.senders.header_bytes();
                let packet = self.frames.get_mut(frame).get(header_bytes..).unwrap_or_default();
                capture.note(now, Passage::Sent(direction), packet);
            }
            let Some(view) = View::new(self.frames.get_mut(frame), self.senders.header_bytes()) else {
                self.lateness.strays += 1;
                self.frames.release(frame);
                continue;
            };
            let Some(meter) = self.recorder.meters.get_mut(view.flow) else {
                self.lateness.strays += 1;
                self.frames.release(frame);
                continue;
            };
            let number = match direction {
                Direction::Data => {
                    self.hosts.data_sent(now, view.flow);
                    meter.on_send(now, &view)
                }
                Direction::Ack => {
                    self.hosts.ack_sent(now, &view);
                    0
                }
            };
            let packet = packet(number, view.bytes, now, view.ecn);
            let item = Item::new(view.flow, direction, packet, view.packets);
            self.relay.arrive(now, frame, item);
            while let Some(lost) = self.relay.next_lost() {
                self.frames.release(lost);
            }
        }
        Ok(())
    }
}
