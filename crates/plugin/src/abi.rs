//! The structs of `include/fairweir_cc.h`; their layout is tested against the C compiler's.

use std::ffi::{c_char, c_void};

/// `FW_CC_ABI`.
pub const ABI: u32 = 1;
/// `FW_CC_NONE`.
pub const NONE: u64 = u64::MAX;
/// The function that a plug-in exports, without the version of the interface.
pub const SYMBOL_STEM: &str = "fairweir_cc_v";
/// The function that a plug-in for this interface exports.
pub const SYMBOL: &str = "fairweir_cc_v1";

/// Units of a parameter (`fw_cc_param.unit`).
pub mod unit {
    /// `FW_CC_NUMBER`.
    pub const NUMBER: u64 = 0;
    /// `FW_CC_INTEGER`.
    pub const INTEGER: u64 = 1;
    /// `FW_CC_FLAG`.
    pub const FLAG: u64 = 2;
    /// `FW_CC_TIME`.
    pub const TIME: u64 = 3;
    /// `FW_CC_RATE`.
    pub const RATE: u64 = 4;
}

/// Causes of a congestion event (`fw_cc_congestion.cause`).
pub mod cause {
    /// `FW_CC_LOST`.
    pub const LOST: u64 = 0;
    /// `FW_CC_MARKED`.
    pub const MARKED: u64 = 1;
    /// `FW_CC_TIMEOUT`.
    pub const TIMEOUT: u64 = 2;
    /// `FW_CC_PERSISTENT`.
    pub const PERSISTENT: u64 = 3;
}

/// Optional calls and services (`fw_cc.wants`).
pub mod wants {
    /// `FW_CC_WANTS_SENT`.
    pub const SENT: u64 = 1;
    /// `FW_CC_WANTS_ACKED`.
    pub const ACKED: u64 = 1 << 1;
    /// `FW_CC_WANTS_LOST`.
    pub const LOST: u64 = 1 << 2;
    /// `FW_CC_WANTS_RATE`.
    pub const RATE: u64 = 1 << 3;
    /// `FW_CC_WANTS_MARKS`.
    pub const MARKS: u64 = 1 << 4;
    /// `FW_CC_WANTS_PRR`.
    pub const PRR: u64 = 1 << 5;
    /// `FW_CC_WANTS_QUIC`.
    pub const QUIC: u64 = 1 << 6;
    /// `FW_CC_WANTS_EXACT_MARKS`.
    pub const EXACT_MARKS: u64 = 1 << 7;
    /// `FW_CC_WANTS_L4S`.
    pub const L4S: u64 = 1 << 8;
    /// All bits that have a meaning.
    pub const ALL: u64 = (1 << 9) - 1;
}

/// `struct fw_cc_param`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Param {
    pub name: *const c_char,
    pub doc: *const c_char,
    pub unit: u64,
    pub def: f64,
    pub min: f64,
    pub max: f64,
}

/// `struct fw_cc_start`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Start {
    pub mss: u64,
    pub initial_cwnd: u64,
    pub seed: u64,
    pub oracle_rtprop: u64,
    pub params: *const f64,
}

/// `struct fw_cc_conn`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Conn {
    pub now: u64,
    pub mss: u64,
    pub first_unacked: u64,
    pub next_packet: u64,
    pub inflight: u64,
    pub sacked: u64,
    pub lost_out: u64,
    pub retrans_out: u64,
    pub delivered: u64,
    pub delivered_ce: u64,
    pub lost: u64,
    pub srtt: u64,
    pub rttvar: u64,
    pub min_rtt: u64,
    pub state: u32,
    pub cwnd_limited: u32,
}

/// `struct fw_cc_sent`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub packet: u64,
    pub retransmission: u64,
}

/// `struct fw_cc_acked_packet`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct AckedPacket {
    pub packet: u64,
    pub sent_at: u64,
    pub retransmitted: u64,
    pub app_limited: u64,
}

/// `struct fw_cc_lost_packet`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct LostPacket {
    pub packet: u64,
    pub sent_at: u64,
}

/// `struct fw_cc_ack`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    pub acked: u64,
    pub cum_acked: u64,
    pub lost: u64,
    pub marked: u64,
    pub prior_inflight: u64,
    pub rtt: u64,
    pub newest_packet: u64,
    pub newest_sent_at: u64,
    pub rate_delivered: u64,
    pub rate_interval: u64,
    pub rate_prior_delivered: u64,
    pub rate_app_limited: u64,
}

/// `struct fw_cc_congestion`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Congestion {
    pub cause: u64,
    pub prior_inflight: u64,
    pub repeated: u64,
}

/// `struct fw_cc_decision`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Decision {
    pub cwnd: u64,
    pub pacing_rate: u64,
    pub ssthresh: u64,
}

/// `struct fw_cc`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Cc {
    pub abi: u32,
    pub size: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub params: *const Param,
    pub param_count: u64,
    pub wants: u64,
    pub create: Option<unsafe extern "C" fn(*const Start) -> *mut c_void>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    pub on_ack: Option<unsafe extern "C" fn(*mut c_void, *const Conn, *const Ack)>,
    pub on_congestion: Option<unsafe extern "C" fn(*mut c_void, *const Conn, *const Congestion)>,
    pub decide: Option<unsafe extern "C" fn(*const c_void, *mut Decision)>,
    pub on_sent: Option<unsafe extern "C" fn(*mut c_void, *const Conn, *const Sent)>,
    pub on_packet_acked: Option<unsafe extern "C" fn(*mut c_void, *const Conn, *const AckedPacket)>,
    pub on_packet_lost: Option<unsafe extern "C" fn(*mut c_void, *const Conn, *const LostPacket)>,
    pub on_recovered: Option<unsafe extern "C" fn(*mut c_void, *const Conn)>,
    pub fault: Option<unsafe extern "C" fn(*const c_void) -> *const c_char>,
    pub telemetry_names: *const *const c_char,
    pub telemetry_count: u64,
    pub telemetry: Option<unsafe extern "C" fn(*const c_void, *mut f64)>,
}
