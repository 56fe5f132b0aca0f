//! The kernel world: real TCP connections between two network namespaces. TUN devices connect the namespaces to path
//! elements of [`fairweir_path`], which run in real time.
//!
//! [`Network`] creates the namespaces, and [`Emulator`] forwards the packets. File descriptors and threads of this
//! process own all resources, so that the resources are freed when the process ends for any reason.

mod accuracy;
pub mod address;
mod capture;
pub mod cca;
mod clock;
pub mod doctor;
mod emulator;
mod endpoints;
mod error;
mod frames;
pub mod guarding;
mod hosts;
mod limits;
mod meter;
mod namespace;
mod netlink;
mod network;
mod realtime;
mod record;
pub mod recording;
mod report;
mod steering;
pub mod tcp_info;
pub mod traffic;
mod tun;
mod wakeup;
mod watch;
mod wire;
pub mod world;

pub use capture::CaptureTo;
pub use clock::Clock;
pub use emulator::{Emulator, EmulatorOptions, Running};
pub use error::EmuError;
pub use fairweir_scenario::recorder::{FlowRecord, MeasuredSeries};
pub use namespace::Namespace;
pub use network::{Network, PacketMode, ReceiveWindows};
pub use realtime::EmulatorCpu;
pub use record::{Accuracy, Answers, EmulatorRecord, HostAnswers, ReleaseError};
