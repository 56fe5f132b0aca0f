//! The senders of all flows: one thread, one socket each.

use super::app::App;
use super::record::{Connection, Counters, Reading, SenderRecord, SeriesWriter};
use super::socket::{bound, connect, set_notsent_lowat};
use super::wait::wait;
use crate::Clock;
use crate::tcp_info::TcpInfo;
use fairweir_sim::Source;
use fairweir_units::{Bytes, Dur, Time};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use socket2::Socket;
use std::io;
use std::net::{Shutdown, SocketAddrV4};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicBool, Ordering};

/// How often the stop flag is looked at.
const STOP_CHECK: Dur = Dur::from_millis(20);
/// How often a sender that has written all looks whether all is acknowledged. When exactly it was is the emulator's to
/// say: this only notices.
const COMPLETION_CHECK: Dur = Dur::from_millis(5);
/// Full segments that one call writes.
const WRITE_SEGMENTS: u64 = 64;

/// What one sender does.
#[derive(Clone, Debug)]
pub struct SenderPlan {
    /// Own address.
    pub local: SocketAddrV4,
    /// The receiver's address.
    pub remote: SocketAddrV4,
    /// What the application has to send.
    pub source: Source,
    /// When it connects.
    pub start: Time,
    /// When it stops writing; [`Time::NEVER`] for never.
    pub stop: Time,
    /// cwnd before there is a connection, segments.
    pub initial_cwnd: u64,
    /// Does its congestion control pace? The kernel computes a rate for those that do not, too.
    pub is_paced: bool,
    /// Most bytes that wait unsent in the socket.
    pub unsent_bytes: u32,
}

/// When to look.
#[derive(Clone, Copy, Debug)]
pub struct Timeline {
    /// Counters count from here on.
    pub warmup: Time,
    /// The senders' work ends.
    pub end: Time,
    /// Of the time series.
    pub interval: Option<Dur>,
    /// Size of a full packet on the wire.
    pub packet: Bytes,
}

/// Chooses a fresh socket's congestion control; told the flow's number.
pub type Prepare<'a> = dyn Fn(usize, BorrowedFd<'_>) -> io::Result<()> + Sync + 'a;

/// What a flow could not do.
#[derive(Debug, thiserror::Error)]
#[error("{action}: {source}")]
pub struct SenderError {
    /// The flow's number; none if it concerns all.
    pub flow: Option<usize>,
    /// What was tried.
    pub action: &'static str,
    /// Why it failed.
    pub source: io::Error,
}

/// Names the step that an error belongs to.
fn failed(flow: Option<usize>, action: &'static str) -> impl Fn(io::Error) -> SenderError {
    move |source| SenderError { flow, action, source }
}

/// The senders of all flows.
pub struct Senders<'a> {
    epoll: Epoll,
    clock: Clock,
    timeline: Timeline,
    prepare: &'a Prepare<'a>,
    flows: Vec<Flow>,
    series: Option<SeriesWriter>,
    /// When the next interval ends.
    interval_ends: Time,
    is_warm: bool,
    zeros: Vec<u8>,
}

/// Where a flow stands.
#[derive(Debug)]
enum Phase {
    /// Its start is to come.
    Waiting,
    /// The handshake is under way.
    Connecting(Socket),
    /// It writes what its application has.
    Sending(Socket),
    /// All is written; what is on the way is not acknowledged yet.
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
    /// As the connection stood.
    handshake: TcpInfo,
    last: TcpInfo,
    base: Counters,
    result: Connection,
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
        let series = timeline.interval.map(|_| SeriesWriter::new(timeline.packet, plan.len()));
        Ok(Senders {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?,
            clock,
            timeline,
            prepare,
            flows: plan.into_iter().map(Flow::new).collect(),
            series,
            interval_ends: timeline.interval.map_or(Time::NEVER, |interval| Time::ZERO + interval),
            is_warm: false,
            zeros: Vec::new(),
        })
    }

    /// Sends until the timeline ends, or `stop` is set.
    ///
    /// # Errors
    /// If a socket cannot be made, or its congestion control is refused. A connection that breaks is no error: the
    /// record says so.
    pub fn run(mut self, stop: &AtomicBool) -> Result<SenderRecord, SenderError> {
        let mut events = [EpollEvent::empty(); 64];
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            self.look(now);
            if now >= self.timeline.end {
                break;
            }
            for index in 0..self.flows.len() {
                if self.flows[index].deadline() <= now {
                    self.advance(index, now)?;
                }
            }
            let next = self.flows.iter().map(Flow::deadline).min().unwrap_or(Time::NEVER);
            let next = next.min(self.interval_ends).min(self.timeline.end);
            let next = if self.is_warm { next } else { next.min(self.timeline.warmup) };
            let count = wait(&self.epoll, &mut events, next.since(self.clock.now()).min(STOP_CHECK))
                .map_err(failed(None, "wait for the senders' sockets"))?;
            for event in &events[..count] {
                self.advance(event.data() as usize, self.clock.now())?;
            }
        }
        Ok(self.finish())
    }

    /// Takes the counters at the warm-up's end, and closes intervals.
    fn look(&mut self, now: Time) {
        let is_warm = now >= self.timeline.warmup;
        let end = self.timeline.end;
        let is_interval_over = now >= self.interval_ends || (now >= end && self.series.is_some());
        if is_warm == self.is_warm && !is_interval_over {
            return;
        }
        self.flows.iter_mut().for_each(Flow::refresh);
        if is_warm && !self.is_warm {
            self.flows.iter_mut().for_each(|flow| flow.base = flow.counters());
            self.is_warm = true;
        }
        let (Some(series), Some(interval)) = (&mut self.series, self.timeline.interval) else { return };
        // A thread that was late closes all intervals that are over, with what it sees now.
        while self.interval_ends <= now.min(end) {
            series.push(self.interval_ends, self.flows.iter().map(Flow::reading));
            self.interval_ends += interval;
        }
        let last_end = Time::from_nanos(self.interval_ends.as_nanos() - interval.as_nanos());
        if now >= end && last_end < end {
            series.push(end, self.flows.iter().map(Flow::reading));
            self.interval_ends = Time::NEVER;
        }
    }

    /// Takes flow `index` a step further.
    fn advance(&mut self, index: usize, now: Time) -> Result<(), SenderError> {
        let flow = &mut self.flows[index];
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
                    flow.break_off(&e);
                } else if socket.peer_addr().is_err() {
                    flow.phase = Phase::Connecting(socket);
                } else {
                    flow.establish(&socket, now, self.timeline.packet)
                        .map_err(failed(Some(index), "read the connection's state"))?;
                    self.zeros.resize((WRITE_SEGMENTS * u64::from(flow.handshake.snd_mss)) as usize, 0);
                    flow.send(socket, now, &self.zeros);
                }
            }
            Phase::Sending(socket) => flow.send(socket, now, &self.zeros),
            Phase::Finishing(socket) => flow.finish(socket, now),
            Phase::Over => {}
        }
        Ok(())
    }

    fn finish(mut self) -> SenderRecord {
        self.flows.iter_mut().for_each(Flow::refresh);
        let flows =
            self.flows.into_iter().map(|flow| Connection { counted: flow.counters().since(&flow.base), ..flow.result });
        SenderRecord { flows: flows.collect(), series: self.series.map(SeriesWriter::finish) }
    }
}

impl Flow {
    fn new(plan: SenderPlan) -> Flow {
        Flow {
            phase: Phase::Waiting,
            app: None,
            written: 0,
            handshake: TcpInfo::default(),
            last: TcpInfo::default(),
            base: Counters::default(),
            result: Connection::default(),
            next_look: Time::NEVER,
            plan,
        }
    }

    /// When there is something to do without being told by epoll.
    fn deadline(&self) -> Time {
        match self.phase {
            Phase::Waiting => self.plan.start,
            Phase::Sending(_) | Phase::Finishing(_) => self.next_look,
            Phase::Connecting(_) | Phase::Over => Time::NEVER,
        }
    }

    fn establish(&mut self, socket: &Socket, now: Time, packet: Bytes) -> io::Result<()> {
        self.handshake = TcpInfo::read(socket.as_fd())?;
        self.last = self.handshake;
        self.result.established_at = Some(now);
        let mss = u64::from(self.handshake.snd_mss);
        self.app = Some(App::new(self.plan.source.clone(), self.plan.start, self.plan.stop, packet, mss));
        Ok(())
    }

    /// Writes what the application has and the socket takes.
    fn send(&mut self, socket: Socket, now: Time, zeros: &[u8]) {
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
                Err(e) => return self.break_off(&e),
            }
        }
        if app.has_finished(self.written) || now >= self.plan.stop {
            // Broken already: the next look at the connection says how.
            let _ = socket.shutdown(Shutdown::Write);
            self.next_look = now + COMPLETION_CHECK;
            self.phase = Phase::Finishing(socket);
        } else {
            // Of a socket that is full, epoll tells when it is not.
            self.next_look = if is_blocked { self.plan.stop } else { app.next_change(now, self.written) };
            self.phase = Phase::Sending(socket);
        }
    }

    /// All is written: is it acknowledged?
    fn finish(&mut self, socket: Socket, now: Time) {
        self.next_look = now + COMPLETION_CHECK;
        match TcpInfo::read(socket.as_fd()) {
            Ok(info) => self.last = info,
            Err(e) => return self.break_off(&e),
        }
        if !self.last.is_all_acknowledged() {
            self.phase = Phase::Finishing(socket);
        } else if let Ok(Some(e)) = socket.take_error() {
            self.break_off(&e);
        } else {
            self.result.is_complete = self.app.as_ref().is_some_and(|app| app.has_finished(self.written));
        }
    }

    fn break_off(&mut self, error: &io::Error) {
        self.result.broken = Some(error.to_string());
        self.phase = Phase::Over;
    }

    fn refresh(&mut self) {
        if let Phase::Sending(socket) | Phase::Finishing(socket) = &self.phase
            && let Ok(info) = TcpInfo::read(socket.as_fd())
        {
            self.last = info;
        }
    }

    fn counters(&self) -> Counters {
        Counters::new(&self.last, &self.handshake)
    }

    fn reading(&self) -> Reading {
        let info = &self.last;
        let is_connected = self.result.established_at.is_some();
        Reading {
            counters: self.counters(),
            cwnd: if is_connected { u64::from(info.snd_cwnd) } else { self.plan.initial_cwnd },
            inflight: u64::from(info.inflight()),
            pacing_rate: (self.plan.is_paced && is_connected && info.pacing_rate != u64::MAX)
                .then_some(info.pacing_rate),
        }
    }
}
