//! The receiver's side of rate control, as a library without I/O: packets are its input, measurements its output.
//!
//! # The interface
//!
//! Every source of packets (a BPF program, a capture, the simulator) describes each packet by a [`Packet`]: addresses
//! from the view of the *receiver of the data* (`local` is the managed host, also behind a gateway), the header's
//! fields, and sizes. A super-packet of GRO is one summary with `segs` above 1. Departing pure ACKs are needed too:
//! their timestamps give the RTT, and responses to them prove that a peer's address is not spoofed.
//!
//! ```
//! use fairweir_guard::{Limits, Plan, Row, Table};
//! # use fairweir_guard::{FlowKey, Packet};
//! # use fairweir_tcp::{Direction, Flags};
//! # use fairweir_units::Time;
//! # let packet = Packet {
//! #     at: Time::ZERO,
//! #     flow: FlowKey::new("10.0.0.1:5001".parse().unwrap(), "192.0.2.1:443".parse().unwrap(), 0),
//! #     direction: Direction::Incoming, flags: Flags::ACK, seq: 0, ack: 0, window: 0,
//! #     timestamps: None, payload: 1448, wire: 1514, segs: 1, wscale: None,
//! # };
//! let plan = Plan::new(["rtt_ratio.window8", "loss_event_rate.intervals8"].map(|name| name.parse().unwrap()));
//! let mut table = Table::new(Limits::default(), [7; 16], plan);
//! let mut row = Row::for_plan(table.plan());
//! if let Some(id) = table.observe(&packet) {
//!     table.fill(id, &mut row); // as often as wanted: costs nothing where it is not asked for
//! }
//! ```
//!
//! [`Table`] finds the flow and tracks its state. [`Monitor`] measures it. A [`Plan`] selects which of the 209
//! [`Feature`]s are computed, and a [`Row`] contains their values. A [`policy`] decides the window of each flow, with a
//! reason. The time, the hash key and all limits are arguments.
//!
//! **Source**: Canel et al., "Cooperative Rate Control for the Internet", CMU-CS-24-129; RFC 5348 for loss events.
#![forbid(unsafe_code)]

mod features;
mod flow;
mod measure;
mod model;
mod pace;
mod packet;
pub mod policy;
mod trees;
mod window;

pub use features::{Alpha, Feature, IntervalStat, ParseError, Plan, Raw, Row, Smoothed, WindowStat, catalogue};
pub use flow::{Counts, Flow, FlowId, Limits, Table};
pub use measure::{Holes, LossEvents, Monitor, Revealed, RttMeter, Window};
pub use model::Model;
pub use pace::Pace;
pub use packet::{FlowKey, Packet};
pub use trees::{Trees, TreesError};
pub use window::{Advertised, Promise, WindowTarget};
