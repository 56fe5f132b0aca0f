//! The senders of all flows: one thread, one socket each.

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
/// Interval at which a sender that has written all data checks whether all is acknowledged. The emulator measures the
/// exact time.
const COMPLETION_CHECK: Dur = Dur::from_millis(5);
/// Full segments written per call.
const WRITE_SEGMENTS: u64 = 64;

/// Plan of one sender.
#[derive(Clone, Debug)]
pub struct SenderPlan {
    /// Own address.
    pub local: SocketAddrV4,
    /// The receiver's address.
    pub remote: SocketAddrV4,
    /// Data that the application sends.
    pub source: Source,
    /// Time at which it connects.
    pub start: Time,
    /// Time at which it stops writing; [`Time::NEVER`] for never.
    pub stop: Time,
    /// cwnd before the connection is established, segments.
    pub initial_cwnd: u64,
    /// Whether its congestion control paces; the kernel computes a pacing rate also for controllers that do not pace.
    pub is_paced: bool,
    /// Maximum unsent bytes in the socket.
    pub unsent_bytes: u32,
    /// Payload of a full packet, for use before the connection is established.
    pub segment_bytes: u64,
}

/// Sets a new socket's congestion control; the argument is the flow's number.
pub type Prepare<'a> = dyn Fn(usize, BorrowedFd<'_>) -> io::Result<()> + Sync + 'a;

/// An error of a flow.
#[derive(Debug, thiserror::Error)]
#[error("{action}: {source}")]
pub struct SenderError {
    /// The flow's number; `None` if it concerns all.
    pub flow: Option<usize>,
    /// The attempted action.
    pub action: &'static str,
    /// The cause.
    pub source: io::Error,
}

/// Names the step that an error belongs to.
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
    /// Its start is in the future.
    Waiting,
    /// The handshake is in progress.
    Connecting(Socket),
    /// It writes the application's data.
    Sending(Socket),
    /// All data is written but not yet acknowledged.
    Finishing(Socket),
    /// Over: all acknowledged, or broken.
    Over,
}

#[derive(Debug)]
struct Flow {
    plan: SenderPlan,
    phase: Phase,
    /// Known with the connection: it depends on the segment's size.
    app: Option<App>,
    written: u64,
    next_look: Time,
}

impl<'a> Senders<'a> {
    /// Senders that follow `plan` by `clock`; call it, and [`Senders::run`], in the senders' network namespace.
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

    /// Sends until the timeline ends, or `stop` is set.
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

    /// Advances flow `index`.
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

    /// Time of the next action without an epoll event.
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

    /// Writes available data as far as the socket accepts it.
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
            // Already broken: the next reading of the connection reports how.
            let _ = socket.shutdown(Shutdown::Write);
            self.next_look = now + COMPLETION_CHECK;
            self.phase = Phase::Finishing(socket);
        } else {
            // For a full socket, epoll reports when it is writable.
            self.next_look = if is_blocked { self.plan.stop } else { app.next_change(now, self.written) };
            self.phase = Phase::Sending(socket);
        }
    }

    /// All data are written: check whether they are acknowledged.
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

    /// State of its connection; `None` before and after.
    fn info(&self) -> Option<TcpInfo> {
        match &self.phase {
            Phase::Sending(socket) | Phase::Finishing(socket) => TcpInfo::read(socket.as_fd()).ok(),
            _ => None,
        }
    }
}
