//! Rejects scenarios that QUIC stacks do not support, naming the key.

use crate::endpoint::IP_UDP_BYTES;
use fairweir_program::Refusal;
use fairweir_scenario::{Config, FlowSpec};
use fairweir_units::Dur;

/// Minimum UDP payload of a QUIC path (RFC 9000 §14).
const MIN_PAYLOAD: u64 = 1_200;
/// Maximum interval of wake-ups.
const MAX_WAKE: Dur = Dur::from_secs(1);
/// Default of `min_rto` in scenarios.
const DEFAULT_MIN_RTO: Dur = Dur::from_millis(200);

/// Maximum size of a UDP payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PayloadBytes(pub(crate) u64);

/// Returns the UDP payload of a full packet of `config`, which [`check`] has accepted.
pub(crate) fn payload(config: &Config) -> PayloadBytes {
    PayloadBytes(config.packet.0 - IP_UDP_BYTES)
}

/// Rejects unsupported scenarios.
///
/// # Errors
/// If the scenario is not supported.
pub fn check(config: &Config) -> Result<(), Refusal> {
    fairweir_scenario::check(config)?;
    if config.host.wake > MAX_WAKE {
        return Err(Refusal::new(format!("the interval of wake-ups is at most {MAX_WAKE}: `{}`", config.host.wake))
            .at("host.wake")
            .hint("event loops wake every 1ms to 10ms"));
    }
    if config.packet.0 < MIN_PAYLOAD + IP_UDP_BYTES {
        let least = MIN_PAYLOAD + IP_UDP_BYTES;
        return Err(Refusal::new(format!("QUIC needs packets of at least {least} B: `{}`", config.packet))
            .at("packet")
            .hint("a full packet has 1500B"));
    }
    config.flows.iter().enumerate().try_for_each(|(index, flow)| {
        check_flow(flow).map_err(|refusal| match &refusal.key {
            Some(key) => Refusal { key: Some(format!("flows.{index}.{key}")), ..refusal },
            None => refusal,
        })
    })
}

fn check_flow(flow: &FlowSpec) -> Result<(), Refusal> {
    if flow.oracle_rtprop.is_some() {
        return Err(Refusal::new("a QUIC stack does not know the true propagation delay")
            .at("oracle_rtprop")
            .hint("leave it out, or run it in the simulator"));
    }
    if !flow.receiver.sack {
        return Err(Refusal::new("QUIC's ACKs always list what has arrived: `false`")
            .at("receiver.sack")
            .hint("leave it out, or run it in the simulator"));
    }
    if flow.min_rto != DEFAULT_MIN_RTO {
        return Err(Refusal::new(format!(
            "QUIC has no minimum retransmission timeout, but probes (RFC 9002 §6.2): `{}`",
            flow.min_rto
        ))
        .at("min_rto")
        .hint("leave it out, or run it in the simulator"));
    }
    Ok(())
}
