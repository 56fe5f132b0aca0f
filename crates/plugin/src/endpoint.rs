//! The structs of `include/fairweir_endpoint.h`; their layout is tested against the C compiler's.

use std::ffi::{c_char, c_void};

/// `FW_ENDPOINT_ABI`.
pub const ABI: u32 = 1;
/// `FW_ENDPOINT_NONE`.
pub const NONE: u64 = u64::MAX;
/// The function that a plug-in exports, without the version of the interface.
pub const SYMBOL_STEM: &str = "fairweir_endpoint_v";
/// The function that a plug-in for this interface exports.
pub const SYMBOL: &str = "fairweir_endpoint_v1";

/// Roles of an end (`fw_endpoint_start.role`).
pub mod role {
    /// `FW_ENDPOINT_SENDER`.
    pub const SENDER: u64 = 0;
    /// `FW_ENDPOINT_RECEIVER`.
    pub const RECEIVER: u64 = 1;
}

/// The ECN field of a datagram.
pub mod ecn {
    /// `FW_ENDPOINT_NOT_ECT`.
    pub const NOT_ECT: u64 = 0;
    /// `FW_ENDPOINT_ECT`.
    pub const ECT: u64 = 1;
    /// `FW_ENDPOINT_CE`.
    pub const CE: u64 = 2;
}

/// `struct fw_endpoint_start`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Start {
    pub role: u64,
    pub seed: u64,
    pub max_payload: u64,
    pub initial_cwnd: u64,
    pub recv_window: u64,
    pub ack_every: u64,
}

/// `struct fw_endpoint_datagram`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Datagram {
    pub payload: *mut u8,
    pub capacity: u64,
    pub length: u64,
    pub ecn: u64,
    pub depart_at: u64,
}

/// `struct fw_endpoint_state`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct State {
    pub cwnd: u64,
    pub inflight: u64,
    pub pacing_rate: u64,
    pub lost: u64,
    pub timeouts: u64,
    pub sent_bytes: u64,
    pub acked_bytes: u64,
    pub read_bytes: u64,
    pub established: u64,
}

/// `struct fw_endpoint`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct Endpoint {
    pub abi: u32,
    pub size: u32,
    pub name: *const c_char,
    pub version: *const c_char,
    pub create: Option<unsafe extern "C" fn(*const Start) -> *mut c_void>,
    pub destroy: Option<unsafe extern "C" fn(*mut c_void)>,
    pub offer: Option<unsafe extern "C" fn(*mut c_void, u64, u64)>,
    pub receive: Option<unsafe extern "C" fn(*mut c_void, u64, *const u8, u64, u64)>,
    pub timeout: Option<unsafe extern "C" fn(*mut c_void, u64)>,
    pub send: Option<unsafe extern "C" fn(*mut c_void, u64, *mut Datagram) -> u64>,
    pub deadline: Option<unsafe extern "C" fn(*mut c_void, u64) -> u64>,
    pub state: Option<unsafe extern "C" fn(*mut c_void, *mut State)>,
    pub fault: Option<unsafe extern "C" fn(*mut c_void) -> *const c_char>,
}
