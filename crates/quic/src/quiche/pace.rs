//! When datagrams leave.
//!
//! quiche does not hold packets back: [`quiche::Connection::send`] returns a packet whenever cwnd has room. The
//! application asks beforehand when the next packet may leave, waits if that is too far ahead, and else gives the time
//! to the network (`SO_TXTIME`). `SendInfo::at` of a packet is no substitute: with BBRv2 it is the time of the packet
//! after it, and nothing bounds how far ahead it lies, so that cwnd is spent on packets which wait in the host.
//!
//! The rules are those of Cloudflare's own event loop, tokio-quiche. Only BBRv2 is paced: quiche's Reno and CUBIC ask for
//! every departure at once.

use quiche::Connection;
use std::time::Instant;

/// Part of the time that a packet may lie ahead after which the application asks again.
const ASK_AGAIN: f32 = 0.8;

/// What the application does with the next packet.
#[derive(Debug)]
pub(super) enum Pace {
    /// Sends it, to leave at that time or, without one, at once.
    Send(Option<Instant>),
    /// Asks again at that time.
    Wait(Instant),
}

/// Decides about the first packet of a batch, and returns what says whether another packet leaves together with it.
pub(super) fn begin(connection: &Connection, now: Instant) -> (Pace, impl Fn(&Connection) -> bool + use<>) {
    let is_paced = connection.gcongestion_enabled() == Some(true) && connection.pacing_enabled();
    let first = if is_paced { connection.get_next_release_time() } else { None };
    let release = first.as_ref().and_then(|first| first.time(now));
    let ahead = connection.max_release_into_future();
    let pace = match release {
        Some(at) if at.duration_since(now) >= ahead => Pace::Wait(now + ahead.mul_f32(ASK_AGAIN)),
        release => Pace::Send(release),
    };
    let leaves_too = move |connection: &Connection| match (&first, connection.get_next_release_time()) {
        (Some(first), Some(next)) => next.can_burst() || next.time_eq(first, now),
        _ => true,
    };
    (pace, leaves_too)
}
