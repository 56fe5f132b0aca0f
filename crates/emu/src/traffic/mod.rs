//! Real TCP in the two namespaces: senders that play a scenario's sources, receivers that drain them.
//!
//! One thread serves all senders and one all receivers, both kept off the emulator's CPU. A flow is an ordinary
//! non-blocking socket; its congestion control is chosen before it connects. Connections are set up at the flow's start,
//! so a flow's data begin one RTT later than in the simulator, which has no handshake: what a record tells of a flow's
//! time counts from its first data packet.
//!
//! iperf3 can take their place ([`Clients`], [`Servers`]).
//!
//! What a flow has not sent yet waits in its socket, where it cannot be taken back: a flow that stops, or pauses, still
//! sends that rest. `TCP_NOTSENT_LOWAT` keeps it short.

mod app;
mod iperf3;
mod process;
mod receiver;
mod record;
mod sampler;
mod sender;
mod socket;
#[cfg(test)]
mod tests;
mod wait;

pub use iperf3::{Clients, Servers};
pub use receiver::{Listening, Receivers};
pub use record::{Connection, Counters, SenderRecord, SocketSeries};
pub use sampler::Timeline;
pub use sender::{Prepare, SenderError, SenderPlan, Senders};
