//! Real TCP traffic in the two namespaces: senders with a scenario's sources, and receivers that discard the data.
//!
//! One thread serves all senders and one thread serves all receivers; both run on other CPUs than the emulator, if
//! there are any. A flow is an ordinary non-blocking socket whose congestion control is selected before it connects. A
//! flow connects at its start time, so its data start one RTT later than those of a simulated flow without handshake;
//! times of a flow count from its first data packet.
//!
//! iperf3 can generate the traffic instead ([`Clients`], [`Servers`]).
//!
//! Unsent data in a socket cannot be withdrawn: a flow that stops or pauses still sends them. `TCP_NOTSENT_LOWAT`
//! limits their amount.

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
