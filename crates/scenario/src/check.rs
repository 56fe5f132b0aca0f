//! Rejects configurations that are inconsistent or contain numbers that a run cannot represent.

use crate::{Config, Crypto, FlowSpec, LinkSpec, Source};
use fairweir_path::{ConfigError, ElementConfig, check_dur, check_positive_dur, check_rate};
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate, Time};

/// Permitted packet sizes. A data packet must be larger than its headers; 65,535 bytes is the maximum of an IP packet.
const PACKET_BYTES: std::ops::RangeInclusive<u64> = 64..=65_535;
const ACK_BYTES: std::ops::RangeInclusive<u64> = 1..=65_535;

/// Maximum initial window in packets; it is sent in one event. A TCP window has at most 1 GiB (RFC 7323 §2.3).
const MAX_INITIAL_CWND: u64 = 1 << 20;

/// Maximum number of packets sent back to back.
const MAX_GSO: u64 = 1_000;

/// Maximum number of flows in a run: each takes 1 kB of memory and its own addresses in captures.
pub const MAX_FLOWS: usize = 100_000;

/// Maximum number of elements of a flow. Its random streams number them from 1 to 255 ([`crate::element_stream`]).
const MAX_ELEMENTS: usize = 255;

/// Maximum number of bytes in a run. Bytes are 64-bit numbers; half of the range is reserved for backlogs, bursts and
/// sums.
const MAX_BYTES_OF_RUN: Bytes = Bytes(1 << 63);

/// Maximum number of rows of the time series, flows and links together; they take about 6 GB of memory.
const MAX_ROWS: u64 = 100_000_000;

/// Checks that the scenario can be run.
///
/// # Errors
/// [`ConfigError::BadConfig`], naming the key.
pub fn check(config: &Config) -> Result<(), ConfigError> {
    check_run(config)?;
    for (index, link) in config.links.iter().enumerate() {
        check_link(config, link).map_err(|e| e.within(&format!("links.{index}")))?;
    }
    for (index, flow) in config.flows.iter().enumerate() {
        check_elements(flow)
            .and_then(|()| check_flow(config, flow))
            .map_err(|e| e.within(&format!("flows.{index}")))?;
    }
    Ok(())
}

/// Checks that the scenario sets nothing about the hosts of QUIC stacks, which other worlds do not have.
///
/// # Errors
/// [`ConfigError::BadConfig`], naming the key.
pub fn check_no_hosts(config: &Config) -> Result<(), ConfigError> {
    if config.host.wake != Dur::ZERO {
        return refuse(
            "host.wake",
            format!("only the world of QUIC stacks has hosts that wake at intervals: `{}`", config.host.wake),
            "run it with `--on quic`, or leave out `[host]`",
        );
    }
    if config.host.crypto != Crypto::Null {
        return refuse(
            "host.crypto",
            "only the world of QUIC stacks encrypts packets: `tls`",
            "run it with `--on quic`, or leave out `[host]`",
        );
    }
    Ok(())
}

fn refuse(key: &str, reason: impl Into<String>, hint: impl Into<String>) -> Result<(), ConfigError> {
    Err(ConfigError::new(key, reason, hint.into()))
}

fn check_run(config: &Config) -> Result<(), ConfigError> {
    let Config { duration, warmup, packet, ack, .. } = *config;
    check_positive_dur("duration", duration)?;
    if warmup >= duration {
        return refuse(
            "warmup",
            format!("must end before the run does: `{warmup}`"),
            format!("make it shorter than the duration, {duration}"),
        );
    }
    if !PACKET_BYTES.contains(&packet.0) {
        return refuse("packet", format!("must have 64 to 65535 bytes: `{packet}`"), "a full packet has 1500B");
    }
    if !ACK_BYTES.contains(&ack.0) {
        return refuse("ack", format!("must have 1 to 65535 bytes: `{ack}`"), "an ACK with timestamps has 52B");
    }
    if !(1..=MAX_FLOWS).contains(&config.flows.len()) {
        return refuse("flows", format!("must be 1 to {MAX_FLOWS}: `{}`", config.flows.len()), "use smaller counts");
    }
    config.interval.map_or(Ok(()), |interval| check_interval(config, interval))
}

fn check_interval(config: &Config, interval: Dur) -> Result<(), ConfigError> {
    check_positive_dur("interval", interval)?;
    let columns = (config.flows.len() + config.links.len()) as u64;
    let rows = (config.duration.as_nanos() / interval.as_nanos()).saturating_mul(columns);
    if rows > MAX_ROWS {
        let shortest = Dur::from_nanos((config.duration.as_nanos() / MAX_ROWS + 1).saturating_mul(columns));
        return refuse(
            "interval",
            format!("makes time series of {rows} rows, more than {MAX_ROWS}: `{interval}`"),
            format!("use {shortest} or longer, or simulate a shorter time"),
        );
    }
    Ok(())
}

fn check_link(config: &Config, link: &LinkSpec) -> Result<(), ConfigError> {
    link.hop.validate().map_err(|e| e.within("hop"))?;
    check_dur("delay", link.delay)?;
    let key = format!("hop.link.{}", link.hop.link.rate_key());
    let rate = link.hop.link.build().mean_rate(Time::ZERO, Time::ZERO + config.duration);
    check_bytes_of_run(&key, rate, config.duration)
}

/// Rejects a `rate` at which more bytes pass in `duration` than can be counted.
fn check_bytes_of_run(key: &str, rate: Rate, duration: Dur) -> Result<(), ConfigError> {
    if rate * duration >= MAX_BYTES_OF_RUN {
        return refuse(
            key,
            format!("carries more bytes in {duration} than a run counts, 2^63: `{rate}`"),
            format!("at this rate simulate {} s at most", (MAX_BYTES_OF_RUN / rate).as_nanos() / NANOS_PER_SEC),
        );
    }
    Ok(())
}

fn check_elements(flow: &FlowSpec) -> Result<(), ConfigError> {
    let sides: [(&str, &[ElementConfig]); 4] = [
        ("ingress", &flow.ingress),
        ("egress", &flow.egress),
        ("reverse", &flow.reverse),
        ("reverse_egress", &flow.reverse_egress),
    ];
    let mut elements = 0;
    for (side, its) in sides {
        for (k, element) in its.iter().enumerate() {
            element.validate().map_err(|e| e.within(&format!("{side}.{k}")))?;
        }
        elements += its.len();
        if elements > MAX_ELEMENTS {
            return refuse(
                side,
                format!("has too many elements, the maximum per flow is {MAX_ELEMENTS}: `{elements}`"),
                "merge consecutive delays into one",
            );
        }
    }
    Ok(())
}

fn check_flow(config: &Config, flow: &FlowSpec) -> Result<(), ConfigError> {
    check_way(config, flow)?;
    if flow.start >= Time::ZERO + config.duration {
        let hint = format!("start it before the end, {}", config.duration);
        return refuse("start", format!("must be before the end: `{}`", flow.start), hint);
    }
    if let Some(stop) = flow.stop.filter(|stop| *stop <= flow.start) {
        return refuse("stop", format!("must come after start: `{stop}`"), format!("it starts at {}", flow.start));
    }
    if flow.receiver.ack_every == 0 {
        return refuse("receiver.ack_every", "must be positive: `0`", "1 acknowledges every packet");
    }
    if flow.rwnd == Some(0) {
        return refuse("rwnd", "must be positive: `0`", "for an unlimited window leave it out");
    }
    if !(1..=MAX_INITIAL_CWND).contains(&flow.initial_cwnd) {
        let reason = format!("must be 1 to {MAX_INITIAL_CWND} packets: `{}`", flow.initial_cwnd);
        return refuse("initial_cwnd", reason, "10 packets are usual (RFC 6928)");
    }
    if !(1..=MAX_GSO).contains(&flow.gso) {
        let reason = format!("must be 1 to {MAX_GSO} packets: `{}`", flow.gso);
        return refuse("gso", reason, "1 sends every packet on its own");
    }
    for (key, time) in [
        ("forward_delay", flow.forward_delay),
        ("reverse_delay", flow.reverse_delay),
        ("processing", flow.processing),
        ("min_rto", flow.min_rto),
        ("receiver.ack_timer", flow.receiver.ack_timer),
        ("rtprop", flow.rtprop),
        ("oracle_rtprop", flow.oracle_rtprop.unwrap_or(Dur::ZERO)),
    ] {
        check_dur(key, time)?;
    }
    check_source(config, &flow.source).map_err(|e| e.within("source"))
}

fn check_way(config: &Config, flow: &FlowSpec) -> Result<(), ConfigError> {
    if flow.path.is_empty() {
        return refuse("path", "is empty: `[]`", "a flow passes at least one link");
    }
    for (key, path) in [("path", &flow.path), ("ack_path", &flow.ack_path)] {
        if let Some(link) = path.iter().find(|link| **link >= config.links.len()) {
            let hint = format!("links are numbered from 0 to {}", config.links.len().saturating_sub(1));
            return refuse(key, format!("names a link that does not exist: `{link}`"), hint);
        }
    }
    if flow.ack_path.is_empty() && !flow.reverse_egress.is_empty() {
        let reason =
            format!("follows the last hop of ack_path, which has none: `{}` elements", flow.reverse_egress.len());
        return refuse("reverse_egress", reason, "use `reverse`");
    }
    Ok(())
}

fn check_source(config: &Config, source: &Source) -> Result<(), ConfigError> {
    match *source {
        Source::Bulk => Ok(()),
        Source::Finite { bytes: Bytes(0) } => refuse("bytes", "must be positive: `0B`", "write a size such as \"1MB\""),
        Source::Finite { .. } => Ok(()),
        Source::Rate { rate } => {
            check_rate("rate", rate)?;
            check_bytes_of_run("rate", rate, config.duration)
        }
        Source::OnOff { on, off } => check_positive_dur("on", on).and_then(|()| check_positive_dur("off", off)),
    }
}
