//! Refuses configurations that contradict themselves.

use crate::{Config, FlowSpec, SimError, Source};
use fairweir_units::{Dur, Time};

/// The data packet must hold its own headers.
const MIN_PACKET_BYTES: u64 = 64;

/// Of an IP packet.
const MAX_PACKET_BYTES: u64 = 65_535;

/// A year, as for the elements of a path: sums of such times fit into 64 bits.
const MAX_TIME: Dur = Dur::from_secs(366 * 86_400);

/// Most packets of an initial window, which leaves in one event; a TCP window has no more (RFC 7323 §2.3: 1 GiB).
const MAX_INITIAL_CWND: u64 = 1 << 20;

/// Most packets that leave back to back.
const MAX_GSO: u64 = 1_000;

/// Is this a scenario that can be played?
///
/// # Errors
/// [`SimError::BadConfig`], naming the key.
pub fn check(config: &Config) -> Result<(), SimError> {
    let bad = |key: &str, reason: &str| Err(refused(key.into(), reason.into()));
    if config.duration == Dur::ZERO {
        return bad("duration", "must be positive");
    }
    if config.warmup >= config.duration {
        return bad("warmup", "must end before the run does");
    }
    if config.duration > MAX_TIME {
        return bad("duration", "must be at most a year");
    }
    if !(MIN_PACKET_BYTES..=MAX_PACKET_BYTES).contains(&config.packet.0) {
        return bad("packet", "must have 64 to 65535 bytes");
    }
    if !(1..=MAX_PACKET_BYTES).contains(&config.ack.0) {
        return bad("ack", "must have 1 to 65535 bytes");
    }
    if config.interval == Some(Dur::ZERO) {
        return bad("interval", "must be positive");
    }
    if config.flows.is_empty() {
        return bad("flows", "nobody sends");
    }
    for (index, link) in config.links.iter().enumerate() {
        link.hop.validate().map_err(|e| refused(format!("links.{index}.hop.{}", e.key), e.reason))?;
        if link.delay > MAX_TIME {
            return bad(&format!("links.{index}.delay"), "must be at most a year");
        }
    }
    for (index, flow) in config.flows.iter().enumerate() {
        for (side, elements) in [
            ("ingress", &flow.ingress),
            ("egress", &flow.egress),
            ("reverse", &flow.reverse),
            ("reverse_egress", &flow.reverse_egress),
        ] {
            for (k, element) in elements.iter().enumerate() {
                element.validate().map_err(|e| refused(format!("flows.{index}.{side}.{k}.{}", e.key), e.reason))?;
            }
        }
        check_flow(config, flow).map_err(|(key, reason)| refused(format!("flows.{index}.{key}"), reason.into()))?;
    }
    Ok(())
}

fn refused(key: String, reason: String) -> SimError {
    SimError::BadConfig { key, reason }
}

fn check_flow(config: &Config, flow: &FlowSpec) -> Result<(), (&'static str, &'static str)> {
    if flow.path.is_empty() {
        return Err(("path", "needs at least one link"));
    }
    if flow.path.iter().any(|&link| link >= config.links.len()) {
        return Err(("path", "names a link that does not exist"));
    }
    if flow.ack_path.iter().any(|&link| link >= config.links.len()) {
        return Err(("ack_path", "names a link that does not exist"));
    }
    if flow.ack_path.is_empty() && !flow.reverse_egress.is_empty() {
        return Err(("reverse_egress", "comes after the last hop of ack_path, and there is none: use reverse"));
    }
    if flow.start >= Time::ZERO + config.duration {
        return Err(("start", "the flow never starts"));
    }
    if flow.stop.is_some_and(|stop| stop <= flow.start) {
        return Err(("stop", "must come after start"));
    }
    if flow.receiver.ack_every == 0 {
        return Err(("receiver.ack_every", "must be at least 1"));
    }
    if !(1..=MAX_INITIAL_CWND).contains(&flow.initial_cwnd) {
        return Err(("initial_cwnd", "must be 1 to 1048576 packets"));
    }
    if !(1..=MAX_GSO).contains(&flow.gso) {
        return Err(("gso", "must be 1 to 1000 packets"));
    }
    for (key, time) in [
        ("forward_delay", flow.forward_delay),
        ("reverse_delay", flow.reverse_delay),
        ("min_rto", flow.min_rto),
        ("receiver.ack_timer", flow.receiver.ack_timer),
        ("rtprop", flow.rtprop),
        ("oracle_rtprop", flow.oracle_rtprop.unwrap_or(Dur::ZERO)),
    ] {
        if time > MAX_TIME {
            return Err((key, "must be at most a year"));
        }
    }
    match flow.source {
        Source::Finite { bytes } if bytes.0 == 0 => Err(("source.bytes", "must be positive")),
        Source::Rate { rate } if rate.bytes_per_sec() == 0 => Err(("source.rate", "must be positive")),
        Source::OnOff { on, off } if on == Dur::ZERO || off == Dur::ZERO => {
            Err(("source", "on and off must be positive"))
        }
        _ => Ok(()),
    }
}
