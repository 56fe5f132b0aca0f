//! iperf3 as the traffic generator, for comparison with the senders and receivers of this crate.
//!
//! Each flow has one server and one client, child processes that are killed when the thread that started them ends. The
//! client's data socket is duplicated, so that its `TCP_INFO` can be read and the connection is reset after the client
//! is killed.
//!
//! iperf3 selects the congestion control only by name, and opens two connections per flow; the control connection adds
//! a few packets to the network. Flows are bulk or rate-limited.

use super::process::Process;
use super::record::SenderRecord;
use super::sampler::{Gauge, Sampler, Timeline};
use super::sender::{SenderError, SenderPlan, failed};
use crate::Clock;
use crate::tcp_info::TcpInfo;
use fairweir_scenario::Source;
use fairweir_units::{Dur, Time};
use std::net::SocketAddrV4;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;
use std::{fs, io};

/// Name of the program.
const IPERF3: &str = "iperf3";
/// Interval at which children and connections are polled.
const LOOK: Dur = Dur::from_millis(10);
/// Time within which the servers must listen.
const TIMEOUT: Dur = Dur::from_secs(10);
/// Minimum bytes that identify a data connection; a control connection sends fewer before it ends.
const CONTROL_BYTES: u64 = 4 << 10;
/// `TCP_LISTEN` in the format of /proc/net/tcp.
const LISTENING: &str = "0A";

/// The servers of all flows; dropping the value ends the servers.
#[derive(Debug)]
pub struct Servers {
    _processes: Vec<Process>,
}

impl Servers {
    /// Listens at `addresses`, in the network namespace of the calling thread. The thread must outlive the servers.
    ///
    /// # Errors
    /// If iperf3 is not installed or does not listen.
    pub fn listen(addresses: &[SocketAddrV4]) -> io::Result<Servers> {
        let start = |address: &SocketAddrV4| {
            let (host, port) = (address.ip().to_string(), address.port().to_string());
            let arguments = ["--server", "--one-off", "--bind", &host, "--port", &port].map(str::to_owned);
            Process::start(IPERF3, &arguments)
        };
        let processes = addresses.iter().map(start).collect::<io::Result<_>>()?;
        let mut waited = Dur::ZERO;
        while listeners()? < addresses.len() {
            if waited > TIMEOUT {
                return Err(io::Error::other("iperf3's servers do not listen"));
            }
            pause(LOOK);
            waited += LOOK;
        }
        Ok(Servers { _processes: processes })
    }
}

/// Returns the number of listening sockets in this thread's network namespace.
fn listeners() -> io::Result<usize> {
    let table = fs::read_to_string("/proc/thread-self/net/tcp")?;
    Ok(table.lines().skip(1).filter(|line| line.split_whitespace().nth(3) == Some(LISTENING)).count())
}

fn pause(time: Dur) {
    sleep(Duration::from_nanos(time.as_nanos()));
}

/// The clients of all flows.
#[derive(Debug)]
pub struct Clients {
    timeline: Timeline,
    clock: Clock,
    flows: Vec<Client>,
    sampler: Sampler,
}

#[derive(Debug)]
struct Client {
    plan: SenderPlan,
    /// `TCP_CONGESTION` name of the flow's controller.
    cca: String,
    process: Option<Process>,
    data: Option<OwnedFd>,
    is_over: bool,
}

impl Clients {
    /// Creates clients that execute `plan` according to `clock`, each with the congestion control named next to its
    /// plan.
    pub fn new(plan: Vec<(SenderPlan, String)>, timeline: Timeline, clock: Clock) -> Clients {
        let gauges = plan.iter().map(|(plan, _)| Gauge::new(plan.initial_cwnd, plan.is_paced)).collect();
        let client = |(plan, cca)| Client { plan, cca, process: None, data: None, is_over: false };
        Clients {
            timeline,
            clock,
            flows: plan.into_iter().map(client).collect(),
            sampler: Sampler::new(timeline, gauges),
        }
    }

    /// Sends until the timeline ends or `stop` is set. Must be called in the senders' network namespace.
    ///
    /// # Errors
    /// If iperf3 cannot be started.
    pub fn run(mut self, stop: &AtomicBool) -> Result<SenderRecord, SenderError> {
        while !stop.load(Ordering::Relaxed) {
            let now = self.clock.now();
            self.sampler.look(now, |index| self.flows[index].info());
            if now >= self.timeline.end {
                break;
            }
            for (index, (client, gauge)) in self.flows.iter_mut().zip(&mut self.sampler.gauges).enumerate() {
                client.advance(now, &self.timeline, gauge).map_err(failed(Some(index), "run iperf3"))?;
            }
            pause(self.sampler.due().since(self.clock.now()).min(LOOK));
        }
        Ok(self.sampler.finish(|index| self.flows[index].info()))
    }
}

impl Client {
    fn advance(&mut self, now: Time, timeline: &Timeline, gauge: &mut Gauge) -> io::Result<()> {
        if self.is_over || now < self.plan.start {
            return Ok(());
        }
        let Some(process) = &mut self.process else {
            self.process = Some(Process::start(IPERF3, &self.arguments(timeline))?);
            return Ok(());
        };
        if self.data.is_none() {
            self.data = data_among(process.connections(self.plan.remote));
            if self.data.is_some() {
                // Use the kernel's count after a handshake, because the handshake is noticed too late to read the
                // count.
                gauge.establish(now, TcpInfo { delivered: 1, ..TcpInfo::default() });
            }
        }
        let ended = process.ended()?;
        if ended.is_none() && now < self.plan.stop {
            return Ok(());
        }
        if let Some(info) = self.info() {
            gauge.update(info);
        }
        if let (Some(status), Some(process)) = (ended, &mut self.process) {
            // A client that ends before it is stopped has failed.
            gauge.result.broken = Some(process.failure_text(status));
        }
        self.is_over = true;
        self.process = None;
        self.data = None;
        Ok(())
    }

    /// Returns the client's arguments. The client is killed at the flow's stop and at the run's end, so its own timer
    /// is not used.
    fn arguments(&self, timeline: &Timeline) -> Vec<String> {
        let SenderPlan { local, remote, source, start, segment_bytes, .. } = &self.plan;
        let mut arguments: Vec<String> = ["--client", &remote.ip().to_string()].map(str::to_owned).into();
        let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        add("--port", remote.port().to_string());
        add("--bind", local.ip().to_string());
        add("--congestion", self.cca.clone());
        add("--time", (timeline.end.since(*start).as_secs_f64().ceil() as u64 + 1).to_string());
        if let Source::Rate { rate } = source {
            add("--length", segment_bytes.to_string());
            add("--bitrate", rate.mul_ratio(*segment_bytes, timeline.packet.0).bits_per_sec().to_string());
        }
        arguments
    }

    /// Returns the state of the client's data connection.
    fn info(&self) -> Option<TcpInfo> {
        self.data.as_ref().and_then(|fd| TcpInfo::read(fd.as_fd()).ok())
    }
}

/// Returns the data connection: the one that has sent more than a control connection does.
fn data_among(connections: Vec<OwnedFd>) -> Option<OwnedFd> {
    let sent = |fd: &OwnedFd| TcpInfo::read(fd.as_fd()).map_or(0, |info| info.bytes_sent);
    connections.into_iter().filter(|fd| sent(fd) > CONTROL_BYTES).max_by_key(sent)
}
