//! The two network namespaces of a run, one for senders and one for receivers, with a TUN device in each.

use crate::EmuError;
use crate::address::{MAX_FLOWS, receiver, sender};
use crate::namespace::Namespace;
use crate::netlink::{LinkSettings, Metrics, Netlink};
use crate::steering::steer;
use crate::tun::Tun;
use fairweir_path::ConfigError;
use fairweir_scenario::{Config, FlowSpec, HEADER_BYTES, Mechanism};
use nix::sched::CpuSet;

/// Name of the device in both namespaces.
pub(crate) const DEVICE: &str = "path";
/// Packets that may wait for the emulator: more than all windows together, so that no packet is dropped before it
/// enters the path.
const TX_QUEUE_PACKETS: u32 = 200_000;
/// Maximum bytes of a socket's buffers; the scenario's windows are the effective limits.
const BUFFER_BYTES: u64 = 512 << 20;
/// Linux's minimum, initial and maximum size of the autotuned receive buffer, bytes.
const AUTOTUNED_BUFFER: &str = "4096 131072 33554432";
/// Initial size of a sender's buffer; the kernel increases it with the window.
const INITIAL_SEND_BUFFER_BYTES: u64 = 1 << 20;
/// Initial receive window, packets: large enough not to limit the sender.
const INITIAL_RWND: u32 = 65_535;
/// TCP with all its options, including timestamps, needs packets larger than this, bytes.
const MIN_MTU: u64 = 576;

/// How packets are transferred between the namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PacketMode {
    /// One packet on the wire at a time: the accurate mode.
    Mtu {
        /// Maximum packets that TCP sends at once, as in [`FlowSpec::gso`].
        burst: u32,
    },
    /// Super-packets of up to `segments` packets, which queues store, mark and drop as a whole: the fast mode.
    Tso {
        /// Maximum number of segments; at most 44 of 1500 B fit.
        segments: u32,
    },
}

impl PacketMode {
    /// Returns the mode's name in records.
    pub fn name(self) -> &'static str {
        match self {
            PacketMode::Mtu { .. } => "mtu",
            PacketMode::Tso { .. } => "tso",
        }
    }

    fn segments(self) -> u32 {
        match self {
            PacketMode::Mtu { burst } => burst,
            PacketMode::Tso { segments } => segments,
        }
    }
}

/// Receive windows of flows for which the scenario sets none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ReceiveWindows {
    /// Larger than any sender's window, from the first packet on.
    #[default]
    Unlimited,
    /// Linux's autotuned windows, as on an ordinary host.
    Autotuned,
}

impl ReceiveWindows {
    /// Returns the windows that `config` asks for: autotuned ones, if a flow without a window of its own has
    /// [`Mechanism::Autotuning`]. The receive buffers are a setting of all flows.
    pub fn of(config: &Config) -> ReceiveWindows {
        let is_autotuned = |flow: &FlowSpec| flow.rwnd.is_none() && flow.transport.has(Mechanism::Autotuning);
        if config.flows.iter().any(is_autotuned) { ReceiveWindows::Autotuned } else { ReceiveWindows::Unlimited }
    }
}

/// Two namespaces, connected by a TUN device in each.
#[derive(Debug)]
pub struct Network {
    senders: Namespace,
    receivers: Namespace,
    pub(crate) sender_tun: Tun,
    pub(crate) receiver_tun: Tun,
    pub(crate) mode: PacketMode,
    pub(crate) windows: ReceiveWindows,
}

impl Network {
    /// Creates the network for the flows of `config`: addresses, routes with each flow's settings, sysctls.
    ///
    /// # Errors
    /// If the scenario is unsupported, or a system call fails.
    pub fn new(config: &Config, mode: PacketMode) -> Result<Network, EmuError> {
        Network::with_windows(config, mode, ReceiveWindows::Unlimited)
    }

    /// Creates the network as [`Network::new`] does, with receivers that advertise `windows`.
    ///
    /// # Errors
    /// If the scenario is unsupported, or a system call fails.
    pub fn with_windows(config: &Config, mode: PacketMode, windows: ReceiveWindows) -> Result<Network, EmuError> {
        let has_sack = check(config)?;
        let (senders, receivers) = (Namespace::new()?, Namespace::new()?);
        for namespace in [&senders, &receivers] {
            set_sysctls(namespace, has_sack)?;
        }
        let receiver_metrics = match windows {
            ReceiveWindows::Unlimited => unlimited_receiver_metrics,
            ReceiveWindows::Autotuned => {
                receivers.set_sysctl("ipv4/tcp_rmem", AUTOTUNED_BUFFER)?;
                receiver_metrics
            }
        };
        let plan = Plan { config, mode };
        let sender_tun = senders.enter(|| plan.lay(sender, receiver, sender_metrics))??;
        let receiver_tun = receivers.enter(|| plan.lay(receiver, sender, receiver_metrics))??;
        Ok(Network { senders, receivers, sender_tun, receiver_tun, mode, windows })
    }

    /// Lets the CPUs `cpus` run the TCP processing of packets that leave the emulator.
    pub(crate) fn steer(&self, cpus: &CpuSet) -> Result<(), EmuError> {
        for namespace in [&self.senders, &self.receivers] {
            namespace.enter(|| steer(DEVICE, cpus))??;
        }
        Ok(())
    }

    /// Returns the senders' namespace.
    pub fn senders(&self) -> &Namespace {
        &self.senders
    }

    /// Returns the receivers' namespace.
    pub fn receivers(&self) -> &Namespace {
        &self.receivers
    }
}

/// Rejects settings that no route or sysctl can express; returns whether the flows use SACK.
fn check(config: &Config) -> Result<bool, EmuError> {
    fairweir_scenario::check(config)?;
    let no = |key: String, reason: &str, hint: &'static str| Err(ConfigError::new(key, reason, hint).into());
    if config.flows.len() > MAX_FLOWS {
        let reason = format!("{} flows, but addresses for only {MAX_FLOWS}", config.flows.len());
        return no("flows".into(), &reason, "use fewer flows, or run the scenario in the simulator");
    }
    if !(MIN_MTU..=65_535).contains(&config.packet.0) {
        let reason = format!("the kernel takes packets of {MIN_MTU} to 65535 B: `{}`", config.packet);
        return no("packet".into(), &reason, "other sizes are for the simulator");
    }
    let has_sack = config.flows[0].receiver.sack;
    for (index, flow) in config.flows.iter().enumerate() {
        if flow.receiver.sack != has_sack {
            return no(
                format!("flows.{index}.receiver.sack"),
                "SACK is a setting of all flows: they must agree",
                "use the same value for all flows, or run it in the simulator",
            );
        }
        if flow.receiver.ack_every > 2 {
            return no(
                format!("flows.{index}.receiver.ack_every"),
                "Linux acknowledges every packet (1) or every second one (2)",
                "other counts are for the simulator",
            );
        }
    }
    Ok(has_sack)
}

fn set_sysctls(namespace: &Namespace, has_sack: bool) -> Result<(), EmuError> {
    let receive_buffers = format!("4096 {BUFFER_BYTES} {BUFFER_BYTES}");
    let send_buffers = format!("4096 {INITIAL_SEND_BUFFER_BYTES} {BUFFER_BYTES}");
    for (key, value) in [
        ("ipv4/tcp_sack", if has_sack { "1" } else { "0" }),
        // Without this, a finished connection passes its RTT and ssthresh to the next one.
        ("ipv4/tcp_no_metrics_save", "1"),
        ("ipv4/tcp_rmem", &receive_buffers),
        ("ipv4/tcp_wmem", &send_buffers),
        // Disable the rate limit of ACKs that answer out-of-window packets; it protects against attacks on the
        // internet.
        ("ipv4/tcp_invalid_ratelimit", "0"),
        ("ipv6/conf/all/disable_ipv6", "1"),
        ("ipv6/conf/default/disable_ipv6", "1"),
    ] {
        namespace.set_sysctl(key, value)?;
    }
    Ok(())
}

/// The settings of one side's device, addresses and routes.
struct Plan<'a> {
    config: &'a Config,
    mode: PacketMode,
}

impl Plan<'_> {
    /// Creates the device in the calling thread's network namespace, with its addresses and routes.
    fn lay(
        &self,
        own: fn(usize) -> std::net::Ipv4Addr,
        other: fn(usize) -> std::net::Ipv4Addr,
        metrics: fn(&Config, &FlowSpec) -> Metrics,
    ) -> Result<Tun, EmuError> {
        let tun = Tun::new(DEVICE, matches!(self.mode, PacketMode::Tso { .. }))?;
        let mut netlink = Netlink::open()?;
        let settings = LinkSettings {
            mtu: self.config.packet.0 as u32,
            txqueuelen: TX_QUEUE_PACKETS,
            gso_max_segs: self.mode.segments().max(1),
        };
        netlink.configure(DEVICE, settings)?;
        for (index, flow) in self.config.flows.iter().enumerate() {
            netlink.add_address(DEVICE, own(index))?;
            netlink.add_route(DEVICE, other(index), own(index), metrics(self.config, flow))?;
        }
        Ok(tun)
    }
}

fn sender_metrics(_config: &Config, flow: &FlowSpec) -> Metrics {
    Metrics {
        initcwnd: Some(clamp(flow.initial_cwnd)),
        // The kernel uses whole milliseconds, and zero would disable the minimum.
        rto_min_ms: Some(clamp(flow.min_rto.as_nanos().div_ceil(1_000_000).max(1))),
        ecn: flow.ecn,
        ..Metrics::default()
    }
}

fn unlimited_receiver_metrics(config: &Config, flow: &FlowSpec) -> Metrics {
    let initrwnd = flow.rwnd.map_or(INITIAL_RWND, |packets| clamp(packets).min(INITIAL_RWND));
    Metrics { initrwnd: Some(initrwnd), ..receiver_metrics(config, flow) }
}

fn receiver_metrics(config: &Config, flow: &FlowSpec) -> Metrics {
    Metrics {
        window: flow.rwnd.map(|packets| clamp(packets.saturating_mul(config.packet.0 - HEADER_BYTES))),
        quickack: flow.receiver.ack_every == 1,
        ecn: flow.ecn,
        ..Metrics::default()
    }
}

fn clamp(value: u64) -> u32 {
    value.min(u64::from(u32::MAX)) as u32
}
