//! Departure times of datagrams.
//!
//! quiche does not delay packets: [`quiche::Connection::send`] returns a packet whenever cwnd has room. Before it, the
//! application reads the release time of the next packet, waits if that time is too late, and otherwise passes the time
//! to the network (`SO_TXTIME`). `SendInfo::at` of a packet cannot replace this: with BBRv2 it is the time of the
//! following packet and has no upper bound, so that cwnd would be used by packets that wait in the host.
//!
//! The rules are those of Cloudflare's own event loop, tokio-quiche. Only BBRv2 is paced: quiche's Reno and CUBIC request
//! that each packet leaves immediately.

use quiche::Connection;
use std::time::Instant;

/// After this fraction of the maximum release time, the application asks again.
const ASK_AGAIN: f32 = 0.8;

/// The application's decision about the next packet.
#[derive(Debug)]
pub(super) enum Pace {
    /// Send it; it leaves at this time, or immediately if there is none.
    Send(Option<Instant>),
    /// Ask again at this time.
    Wait(Instant),
}

/// Decides about the first packet of a batch. The function returned decides whether another packet leaves with it.
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
