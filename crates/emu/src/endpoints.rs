//! Senders and receivers of a run: the plans derived from the configuration, and the two threads that execute them.

use crate::cca::Choice;
use crate::guarding::{Guarded, Guarding};
use crate::network::{DEVICE, ReceiveWindows};
use crate::traffic::{
    Clients, Listening, Receivers, SenderError, SenderPlan, SenderRecord, Senders, Servers, Timeline,
};
use crate::{Clock, EmulatorCpu, Network, address};
use fairweir_program::Refusal;
use fairweir_scenario::{Config, HEADER_BYTES, unsent};
use fairweir_units::Time;
use serde_json::Value;
use std::io;
use std::net::SocketAddrV4;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

/// Interval at which the thread of iperf3's servers checks the stop flag.
const STOP_CHECK: Duration = Duration::from_millis(20);
/// TCP's maximum window: 16 bits, scaled by 2^14.
const LARGEST_WINDOW_BYTES: u32 = 65_535 << 14;

/// Generator of a run's traffic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Traffic {
    /// The senders and receivers of this crate.
    Own,
    /// iperf3.
    Iperf3,
}

/// Data shared by both threads of a run's traffic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Endpoints<'a> {
    pub(crate) config: &'a Config,
    pub(crate) network: &'a Network,
    pub(crate) choice: &'a Choice,
    pub(crate) traffic: Traffic,
    pub(crate) stop: &'a AtomicBool,
    /// The guard that applies the receivers' policy, if any.
    pub(crate) guarding: Option<&'a Guarding>,
    /// The emulator's CPU, which senders and receivers avoid.
    pub(crate) emulator_cpu: EmulatorCpu,
}

impl Endpoints<'_> {
    /// Receives until `stop` is set; calls `ready` when senders may connect. Returns the guard's last status, if there
    /// is a guard.
    ///
    /// # Errors
    /// If listening or a later system call fails.
    pub(crate) fn receive(&self, ready: impl FnOnce()) -> Result<Option<Value>, Refusal> {
        self.emulator_cpu.avoid();
        self.network.receivers().join()?;
        let failed = |e: io::Error| Refusal::new(format!("receive: {e}"));
        let guarded = self.guarding.map(|guarding| Guarded::start(guarding, DEVICE)).transpose()?;
        match self.traffic {
            Traffic::Own => {
                let prepare = |flow: usize, socket: BorrowedFd<'_>| self.choice.apply_to_receiver(flow, socket);
                let receivers = Receivers::listen(&self.listening(), &prepare).map_err(failed)?;
                ready();
                receivers.run(self.stop).map_err(failed)?;
            }
            Traffic::Iperf3 => {
                let addresses: Vec<SocketAddrV4> = self.listening().iter().map(|at| at.address).collect();
                let _servers = Servers::listen(&addresses).map_err(without_iperf3)?;
                ready();
                while !self.stop.load(Ordering::Relaxed) {
                    thread::sleep(STOP_CHECK);
                }
            }
        }
        guarded.map(Guarded::stop).transpose()
    }

    /// Sends according to `clock` until the run ends or `stop` is set.
    ///
    /// # Errors
    /// If a sender cannot execute its plan.
    pub(crate) fn send(&self, clock: Clock) -> Result<SenderRecord, Refusal> {
        self.emulator_cpu.avoid();
        self.network.senders().join()?;
        let timeline = Timeline {
            warmup: Time::ZERO + self.config.warmup,
            end: Time::ZERO + self.config.duration,
            interval: self.config.interval,
            packet: self.config.packet,
        };
        let plans = self.plans();
        let sent = match self.traffic {
            Traffic::Own => {
                let prepare = |flow: usize, socket: BorrowedFd<'_>| self.choice.apply(flow, socket);
                let senders = Senders::new(plans, timeline, clock, &prepare)
                    .map_err(|e| Refusal::new(format!("start the senders: {e}")))?;
                senders.run(self.stop)
            }
            Traffic::Iperf3 => {
                let named = plans.into_iter().enumerate().map(|(i, plan)| (plan, self.choice.name(i).to_owned()));
                Clients::new(named.collect(), timeline, clock).run(self.stop)
            }
        };
        sent.map_err(|e| of_senders(&e, self.config))
    }

    fn listening(&self) -> Vec<Listening> {
        let flows = self.config.flows.iter().enumerate();
        flows
            .map(|(index, flow)| {
                let address = SocketAddrV4::new(address::receiver(index), address::PORT);
                match (flow.rwnd, self.network.windows) {
                    (Some(packets), _) => {
                        let bytes = packets.saturating_mul(self.segment_bytes());
                        Listening::limited(address, bytes.min(u64::from(LARGEST_WINDOW_BYTES)) as u32)
                    }
                    (None, ReceiveWindows::Unlimited) => Listening::unlimited(address),
                    (None, ReceiveWindows::Autotuned) => Listening::autotuned(address),
                }
            })
            .collect()
    }

    fn plans(&self) -> Vec<SenderPlan> {
        let flows = self.config.flows.iter().enumerate();
        flows
            .map(|(index, flow)| SenderPlan {
                local: SocketAddrV4::new(address::sender(index), 0),
                remote: SocketAddrV4::new(address::receiver(index), address::PORT),
                source: flow.source.clone(),
                start: flow.start,
                stop: flow.stop.unwrap_or(Time::NEVER),
                initial_cwnd: flow.initial_cwnd,
                is_paced: self.choice.is_paced(index),
                unsent_bytes: unsent(self.config, flow).0.min(u64::from(u32::MAX / 4)) as u32,
                segment_bytes: self.segment_bytes(),
            })
            .collect()
    }

    /// Returns the payload of a full packet.
    fn segment_bytes(&self) -> u64 {
        self.config.packet.0 - HEADER_BYTES
    }
}

fn without_iperf3(error: io::Error) -> Refusal {
    let refusal = Refusal::new(format!("iperf3's servers: {error}"));
    match error.kind() {
        io::ErrorKind::NotFound => {
            refusal.hint("install it (`apt-get install iperf3`), or leave out `--traffic iperf3`")
        }
        _ => refusal,
    }
}

/// Converts an error of the senders, with the flows' names from `config`.
fn of_senders(error: &SenderError, config: &Config) -> Refusal {
    match error.flow {
        Some(flow) => Refusal::new(format!("flow `{}`: {error}", config.flows[flow].id)),
        None => Refusal::new(error.to_string()),
    }
}
