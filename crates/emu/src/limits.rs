//! Rejects scenarios that the kernel world does not support; the error names the key.

use fairweir_program::Refusal;
use fairweir_scenario::{Config, Source};
use fairweir_units::Dur;

/// Maximum duration of a run, which takes real time.
const LONGEST: Dur = Dur::from_secs(3_600);
/// Maximum number of flows that two threads and one emulator can serve.
const MAX_FLOWS: usize = 240;
/// Linux `TCP_DELACK_MIN`, which no route or sysctl can change.
const DELAYED_ACK_TIMER: Dur = Dur::from_millis(40);

/// How packets are transferred between the namespaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Packets have their size on the wire.
    Mtu,
    /// Super-packets of at most this many segments, for rates that are too high for `Mtu`.
    Tso(u32),
}

/// Rejects unsupported scenarios; returns the number of packets in a burst of segmentation offload, which is the same
/// for all flows.
///
/// # Errors
/// If the scenario is not supported.
pub(crate) fn check(config: &Config, mode: Mode) -> Result<u32, Refusal> {
    fairweir_scenario::check(config).map_err(crate::EmuError::from)?;
    fairweir_scenario::check_no_hosts(config).map_err(crate::EmuError::from)?;
    if config.duration > LONGEST {
        return Err(Refusal::new(format!(
            "a run in real time of {} exceeds the limit of the kernel world",
            config.duration
        ))
        .at("duration")
        .hint(format!("write at most {LONGEST}, or run the scenario in the simulator")));
    }
    if config.flows.len() > MAX_FLOWS {
        return Err(Refusal::new(format!("{} flows are more than the kernel world supports", config.flows.len()))
            .at("flows")
            .hint(format!("write at most {MAX_FLOWS} flows, or run the scenario in the simulator")));
    }
    let burst = config.flows[0].gso;
    for (index, flow) in config.flows.iter().enumerate() {
        let key = |key: &str| format!("flows.{index}.{key}");
        if flow.oracle_rtprop.is_some() {
            return Err(Refusal::new("a real CCA does not know the true propagation delay")
                .at(key("oracle_rtprop"))
                .hint("leave it out, or run it in the simulator"));
        }
        if flow.receiver.ack_every > 2 {
            return Err(Refusal::new(format!(
                "Linux acknowledges every packet or every second one, not every {}th",
                flow.receiver.ack_every
            ))
            .at(key("receiver.ack_every"))
            .hint("1 or 2; more is for the simulator"));
        }
        if flow.receiver.ack_every == 2 && flow.receiver.ack_timer != DELAYED_ACK_TIMER {
            return Err(Refusal::new(format!(
                "Linux delays ACKs by up to {DELAYED_ACK_TIMER}, and this cannot be changed"
            ))
            .at(key("receiver.ack_timer"))
            .hint(format!("{DELAYED_ACK_TIMER}, or ack_every = 1")));
        }
        if flow.gso != burst && mode == Mode::Mtu {
            return Err(
                Refusal::new("segmentation offload is a setting of the device: all flows must agree").at(key("gso"))
            );
        }
    }
    Ok(u32::try_from(burst).unwrap_or(u32::MAX))
}

/// Rejects scenarios that iperf3 does not support.
///
/// # Errors
/// If the scenario is not supported.
pub(crate) fn check_iperf3(config: &Config) -> Result<(), Refusal> {
    for (index, flow) in config.flows.iter().enumerate() {
        let no = |key: &str, reason: &str| {
            Err(Refusal::new(reason).at(format!("flows.{index}.{key}")).hint("leave out `--traffic iperf3`"))
        };
        match flow.source {
            Source::OnOff { .. } => return no("source", "iperf3 does not pause"),
            // The iperf3 server exits when the client has written all data, whether or not they are acknowledged.
            Source::Finite { .. } => return no("source", "iperf3 ends a transfer before all of it has arrived"),
            Source::Bulk | Source::Rate { .. } => {}
        }
        if flow.rwnd.is_some() {
            return no("rwnd", "iperf3 does not limit its window");
        }
        if flow.params.as_object().is_some_and(|params| !params.is_empty()) {
            return no("params", "iperf3 chooses a controller by its name alone");
        }
    }
    Ok(())
}
