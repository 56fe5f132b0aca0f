//! The senders of all flows: one thread, and one socket per flow.

use super::record::SenderRecord;
use super::sampler::{Gauge, Sampler, Timeline};
use super::socket::{bound, connect, set_notsent_lowat};
use super::wait::wait;
use crate::Clock;
use crate::tcp_info::TcpInfo;
use fairweir_scenario::App;
use fairweir_scenario::Source;
use fairweir_units::{Bytes, Dur, Time};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use socket2::Socket;
use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// Interval at which the stop flag is checked.
const STOP_CHECK: Dur = Dur::from_millis(20);
/// Interval at which a sender that has written all data checks whether they are all acknowledged. The emulator measures
/// the exact time.
const COMPLETION_CHECK: Dur = Dur::from_millis(5);
/// Maximum full segments written per call.
const WRITE_SEGMENTS: u64 = 64;

/// Plan of one sender.
#[derive(Clone, Debug)]
pub struct SenderPlan {
    /// Local address.
    pub local: SocketAddrV4,
    /// The receiver's address.
    pub remote: SocketAddrV4,
    /// The application's data.
    pub source: Source,
    /// Time at which the flow connects.
    pub start: Time,
    /// Time at which the flow stops writing; [`Time::NEVER`] if it never stops.
    pub stop: Time,
    /// Initial cwnd, used before the connection is established, segments.
    pub initial_cwnd: u64,
    /// Whether the congestion control paces; the kernel also computes a pacing rate for controllers that do not pace.
    pub is_paced: bool,
    /// Maximum unsent bytes in the socket.
    pub unsent_bytes: u32,
    /// Payload of a full packet, used before the connection is established, bytes.
    pub segment_bytes: u64,
}

/// Sets a new socket's congestion control; the first argument is the flow's number.
pub type Prepare<'a> = dyn Fn(usize, BorrowedFd<'_>) -> io::Result<()> + Sync + 'a;

/// An error of a flow.
#[derive(Debug, thiserror::Error)]
#[error("{action}: {source}")]
pub struct SenderError {
    /// The flow's number; `None` if the error concerns all flows.
    pub flow: Option<usize>,
    /// The attempted action.
    pub action: &'static str,
    /// The cause.
    pub source: io::Error,
}

/// Returns a function that converts an I/O error of `action` to a sender's error.
pub(super) fn failed(flow: Option<usize>, action: &'static str) -> impl Fn(io::Error) -> SenderError {
    move |source| SenderError { flow, action, source }
}

/// The senders of all flows.
pub struct Senders<'a> {
    epoll: Epoll,
    clock: Clock,
    timeline: Timeline,
    prepare: &'a Prepare<'a>,
    flows: Vec<Flow>,
    sampler: Sampler,
    zeros: Vec<u8>,
}

/// State of a flow.
#[derive(Debug)]
enum Phase {
    /// The flow's start time has not been reached.
    Waiting,
    /// The handshake is in progress.
    Connecting(Socket),
    /// The flow writes the application's data.
    Sending(Socket),
    /// All data is written but not yet acknowledged.
    Finishing(Socket),
    /// The flow is over: all data are acknowledged, or the connection is broken.
    Over,
}

#[derive(Debug)]
struct Flow {
    plan: SenderPlan,
    phase: Phase,
    /// Known once the connection is established, because it depends on the segment size.
    app: Option<App>,
    written: u64,
    next_look: Time,
}

impl<'a> Senders<'a> {
    /// Creates senders that execute `plan` according to `clock`. Call this function and [`Senders::run`] in the
    /// senders' network namespace.
    ///
    /// # Errors
    /// If the kernel refuses an epoll instance.
    pub fn new(
        plan: Vec<SenderPlan>,
        timeline: Timeline,
        clock: Clock,
        prepare: &'a Prepare<'a>,
    ) -> io::Result<Senders<'a>> {
        let gauges = plan.iter().map(|plan| Gauge::new(plan.initial_cwnd, plan.is_paced)).collect();
        Ok(Senders {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            clock,
            timeline,
            prepare,
            flows: plan.into_iter().map(Flow::new).collect(),
            sampler: Sampler::new(timeline, gauges),
            zeros: Vec::new(),
        })
    }

    /// Sends until the timeline ends or `stop` is set.
    ///
    /// # Errors
    /// If a socket cannot be created, or its congestion control is rejected. A broken connection is not an
    /// error; the record contains it.
    pub fn run(mut self, stop: &AtomicBool) -> Result<SenderRecord, SenderError> {
        let mut events = [EpollEvent::empty(); 64];
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            self.sampler.look(now, |index| self.flows[index].info());
            if now >= self.timeline.end {
                break;
            }
            for index in 0..self.flows.len() {
                if self.flows[index].deadline() <= now {
                    self.advance(index, now)?;
                }
            }
            let next = self.flows.iter().map(Flow::deadline).min().unwrap_or(Time::NEVER);
            let next = next.min(self.sampler.due());
            let count = wait(&self.epoll, &mut events, next.since(self.clock.now()).min(STOP_CHECK))
                .map_err(failed(None, "wait for the senders' sockets"))?;
            for event in &events[..count] {
                self.advance(event.data() as usize, self.clock.now())?;
            }
        }
        Ok(self.sampler.finish(|index| self.flows[index].info()))
    }

    /// Performs the pending action of flow `index`.
    fn advance(&mut self, index: usize, now: Time) -> Result<(), SenderError> {
        let (flow, gauge) = (&mut self.flows[index], &mut self.sampler.gauges[index]);
        match std::mem::replace(&mut flow.phase, Phase::Over) {
            Phase::Waiting => {
                let socket = bound(flow.plan.local).map_err(failed(Some(index), "make a socket"))?;
                (self.prepare)(index, socket.as_fd()).map_err(failed(Some(index), "set the congestion control"))?;
                let interest = EpollFlags::EPOLLOUT | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLET;
                set_notsent_lowat(&socket, flow.plan.unsent_bytes)
                    .and_then(|()| connect(&socket, flow.plan.remote))
                    .and_then(|()| Ok(self.epoll.add(&socket, EpollEvent::new(interest, index as u64))?))
                    .map_err(failed(Some(index), "connect"))?;
                flow.phase = Phase::Connecting(socket);
            }
            Phase::Connecting(socket) => {
                if let Ok(Some(e)) | Err(e) = socket.take_error() {
                    gauge.result.broken = Some(e.to_string());
                } else if socket.peer_addr().is_err() {
                    flow.phase = Phase::Connecting(socket);
                } else {
                    let handshake =
                        TcpInfo::read(socket.as_fd()).map_err(failed(Some(index), "read the connection's state"))?;
                    gauge.establish(now, handshake);
                    let mss = u64::from(handshake.snd_mss);
                    self.zeros.resize((WRITE_SEGMENTS * mss) as usize, 0);
                    flow.establish(self.timeline.packet, mss);
                    flow.send(socket, now, &self.zeros, gauge);
                }
            }
            Phase::Sending(socket) => flow.send(socket, now, &self.zeros, gauge),
            Phase::Finishing(socket) => flow.finish(socket, now, gauge),
            Phase::Over => {}
        }
        Ok(())
    }
}

impl Flow {
    fn new(plan: SenderPlan) -> Flow {
        Flow { phase: Phase::Waiting, app: None, written: 0, next_look: Time::NEVER, plan }
    }

    /// Returns the time of the next action that does not depend on an epoll event.
    fn deadline(&self) -> Time {
        match self.phase {
            Phase::Waiting => self.plan.start,
            Phase::Sending(_) | Phase::Finishing(_) => self.next_look,
            Phase::Connecting(_) | Phase::Over => Time::NEVER,
        }
    }

    fn establish(&mut self, packet: Bytes, mss: u64) {
        self.app = Some(App::new(self.plan.source.clone(), self.plan.start, self.plan.stop, packet, mss));
    }

    /// Writes the available data as far as the socket accepts them.
    fn send(&mut self, socket: Socket, now: Time, zeros: &[u8], gauge: &mut Gauge) {
        let Some(app) = &self.app else { return };
        let available = app.available(now, self.written);
        let mut is_blocked = false;
        while self.written < available {
            let length = (available - self.written).min(zeros.len() as u64) as usize;
            match socket.send_with_flags(&zeros[..length], libc::MSG_NOSIGNAL | libc::MSG_DONTWAIT) {
                Ok(count) => self.written += count as u64,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    is_blocked = true;
                    break;
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => {
                    gauge.result.broken = Some(e.to_string());
                    return;
                }
            }
        }
        if app.has_finished(self.written) || now >= self.plan.stop {
            // An error means that the connection is broken; the next reading of the connection reports the cause.
            let _ = socket.shutdown(Shutdown::Write);
            self.next_look = now + COMPLETION_CHECK;
            self.phase = Phase::Finishing(socket);
        } else {
            // If the socket is full, epoll reports when it becomes writable.
            self.next_look = if is_blocked { self.plan.stop } else { app.next_change(now, self.written) };
            self.phase = Phase::Sending(socket);
        }
    }

    /// Checks whether all data, which are already written, are acknowledged.
    fn finish(&mut self, socket: Socket, now: Time, gauge: &mut Gauge) {
        self.next_look = now + COMPLETION_CHECK;
        let Ok(info) = TcpInfo::read(socket.as_fd()) else { return };
        gauge.update(info);
        if !info.is_all_acknowledged() {
            self.phase = Phase::Finishing(socket);
        } else if let Ok(Some(e)) = socket.take_error() {
            gauge.result.broken = Some(e.to_string());
        } else {
            gauge.result.is_complete = self.app.as_ref().is_some_and(|app| app.has_finished(self.written));
        }
    }

    /// Returns the state of the flow's connection; `None` if there is no connection yet or any more.
    fn info(&self) -> Option<TcpInfo> {
        match &self.phase {
            Phase::Sending(socket) | Phase::Finishing(socket) => TcpInfo::read(socket.as_fd()).ok(),
            _ => None,
        }
    }
}
