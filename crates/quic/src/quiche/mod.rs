//! quiche: a whole QUIC stack without sockets, but with a clock: it calls `Instant::now` wherever it needs the time.
//!
//! It runs in a program whose clock and entropy are those of [`crate::ambient`], once a process. The settings are
//! quiche's defaults but for datagrams, which are as large as the scenario's packets allow, and flow control, which never
//! limits unless the scenario has a receive window. TLS is BoringSSL's ([`tls`]). When datagrams leave is the
//! application's duty ([`pace`]).

mod end;
mod gauge;
mod pace;
mod tls;

use crate::ambient;
use crate::clock::instant;
use crate::endpoint::Ends;
use crate::limits::{PayloadBytes, payload};
use end::{End, Role};
use fairweir_program::Refusal;
use fairweir_scenario::{App, Config, FlowSpec};
use fairweir_units::Time;
use quiche::PROTOCOL_VERSION;

/// The version that this program contains.
pub(crate) const VERSION: &str = "0.30.0";

/// Names of the controllers, without the stack's; quiche calls `bbr2` so, too, and means BBRv2.
pub(crate) const CONTROLLERS: [&str; 3] = ["reno", "cubic", "bbr2"];

/// A window that never limits.
const UNLIMITED: u64 = 1 << 40;
/// Maximum number of streams: an application that pauses opens another one.
const STREAMS: u64 = 1 << 40;

/// Returns both ends of flow number `flow`, whose sender has quiche's controller `name`; `None` if there is none of that
/// name.
///
/// # Errors
/// If the scenario asks for what quiche does not have, or quiche refuses a setting.
pub(crate) fn ends(config: &Config, flow: usize, name: &str) -> Result<Option<Ends>, Refusal> {
    if !CONTROLLERS.contains(&name) {
        return Ok(None);
    }
    let spec = &config.flows[flow];
    refuse(spec).map_or(Ok(()), |(key, refusal)| Err(refusal.at(format!("flows.{flow}.{key}"))))?;
    let failed = |error: String| Refusal::new(format!("quiche: {error}"));
    let size = payload(config);
    let identity = tls::Identity::new().map_err(|e| failed(e.to_string()))?;
    let settings = || -> Result<quiche::Config, Refusal> {
        let context = identity.context().map_err(|e| failed(e.to_string()))?;
        settings(context, spec, size, name).map_err(|e| failed(e.to_string()))
    };
    let app =
        App::new(spec.source.clone(), spec.start, spec.stop.unwrap_or(Time::NEVER), config.packet, stream_bytes(size));
    // It is time zero, and the clock shows it: from here on instants are those that quiche reads.
    ambient::set(Time::ZERO);
    instant(Time::ZERO);
    let is_gauged = config.interval.is_some();
    let number = 2 * flow as u64;
    Ok(Some(Ends {
        sender: Box::new(End::new(settings()?, Role::sender(app, spec.start), number, spec.gso, is_gauged)),
        receiver: Box::new(End::new(settings()?, Role::receiver(), number + 1, spec.gso, false)),
    }))
}

/// Returns the key of `spec` that quiche cannot serve, and why.
fn refuse(spec: &FlowSpec) -> Option<(&'static str, Refusal)> {
    if spec.ecn {
        let refusal = Refusal::new(format!("quiche has no ECN: `{}`", spec.cca));
        return Some(("ecn", refusal.hint("leave it out, or choose another stack")));
    }
    if spec.receiver.ack_every > 1 {
        let refusal = Refusal::new(format!("quiche decides alone how often it acknowledges: `{}`", spec.cca));
        return Some(("receiver.ack_every", refusal.hint("leave it out, or choose another stack")));
    }
    None
}

/// Stream data that any datagram of `size` can carry, at least: short header with connection ID and packet number, tag,
/// header of a STREAM frame.
fn stream_bytes(PayloadBytes(size): PayloadBytes) -> u64 {
    const OVERHEAD: u64 = 1 + 16 + 4 + 16 + (1 + 8 + 8 + 2);
    size - OVERHEAD
}

fn settings(
    context: boring::ssl::SslContextBuilder,
    spec: &FlowSpec,
    PayloadBytes(size): PayloadBytes,
    name: &str,
) -> Result<quiche::Config, quiche::Error> {
    let mut config = quiche::Config::with_boring_ssl_ctx_builder(PROTOCOL_VERSION, context)?;
    config.set_application_protos(&[b"fairweir"])?;
    config.verify_peer(false);
    config.set_cc_algorithm_name(name)?;
    config.set_initial_congestion_window_packets(usize::try_from(spec.initial_cwnd).unwrap_or(usize::MAX));
    config.set_max_send_udp_payload_size(size as usize);
    config.set_max_recv_udp_payload_size(size as usize);
    let window = spec.rwnd.map_or(UNLIMITED, |packets| (packets * size).min(UNLIMITED));
    config.set_initial_max_data(window);
    config.set_initial_max_stream_data_uni(window);
    config.set_max_connection_window(window);
    config.set_max_stream_window(window);
    config.set_initial_max_streams_uni(STREAMS);
    Ok(config)
}
