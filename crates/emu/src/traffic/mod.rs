//! Real TCP in the two namespaces: senders with a scenario's sources, receivers that drain them.
//!
//! One thread serves all senders and one all receivers, both kept off the emulator's CPU. A flow is an ordinary
//! non-blocking socket; its congestion control is chosen before it connects. Connections are set up at the flow's
//! start, so a flow's data starts one RTT later than in the simulator, which has no handshake: times of a flow count
//! from its first data packet.
//!
//! iperf3 can take their place ([`Clients`], [`Servers`]).
//!
//! Unsent data in a flow's socket cannot be withdrawn: a flow that stops or pauses still sends it. `TCP_NOTSENT_LOWAT`
//! limits it.

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
