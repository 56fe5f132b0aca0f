//! The structs of `bpf/record.h` in Rust. A test compares their layout with that of the C compiler.

use serde::Serialize;
use std::fmt;
use std::mem::size_of;
use std::net::{Ipv4Addr, SocketAddrV4};

/// Maximum parameters in a record.
pub(super) const MAX_PARAMS: usize = 64;
/// `CC_RECORD_PARAMS`.
const PARAMS_KIND: u32 = 13;

/// A member of `tcp_congestion_ops`; the numbers are those of `enum cc_record_kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[repr(u32)]
#[allow(missing_docs)] // the kernel's names
pub enum Hook {
    Ssthresh = 1,
    CongAvoid,
    SetState,
    CwndEvent,
    InAckEvent,
    PktsAcked,
    MinTsoSegs,
    CongControl,
    UndoCwnd,
    SndbufExpand,
    Init,
    Release,
}

impl Hook {
    /// All hooks.
    pub const ALL: [Hook; 12] = [
        Hook::Ssthresh,
        Hook::CongAvoid,
        Hook::SetState,
        Hook::CwndEvent,
        Hook::InAckEvent,
        Hook::PktsAcked,
        Hook::MinTsoSegs,
        Hook::CongControl,
        Hook::UndoCwnd,
        Hook::SndbufExpand,
        Hook::Init,
        Hook::Release,
    ];

    /// Returns the member's name.
    pub fn name(self) -> &'static str {
        match self {
            Hook::Ssthresh => "ssthresh",
            Hook::CongAvoid => "cong_avoid",
            Hook::SetState => "set_state",
            Hook::CwndEvent => "cwnd_event",
            Hook::InAckEvent => "in_ack_event",
            Hook::PktsAcked => "pkts_acked",
            Hook::MinTsoSegs => "min_tso_segs",
            Hook::CongControl => "cong_control",
            Hook::UndoCwnd => "undo_cwnd",
            Hook::SndbufExpand => "sndbuf_expand",
            Hook::Init => "init",
            Hook::Release => "release",
        }
    }

    /// Returns whether the hook returns a number.
    pub(super) fn answers(self) -> bool {
        matches!(self, Hook::Ssthresh | Hook::UndoCwnd | Hook::MinTsoSegs | Hook::SndbufExpand)
    }

    /// Returns whether the kernel calls the hook for each ACK to set the window.
    pub(super) fn is_ack(self) -> bool {
        matches!(self, Hook::CongControl | Hook::CongAvoid)
    }
}

impl fmt::Display for Hook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// `struct cc_record_head`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Head {
    pub(super) kind: u32,
    pub(super) flow: u32,
    pub(super) seq: u64,
}

/// `struct cc_record_sample`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sample {
    pub(super) prior_mstamp: u64,
    pub(super) interval_us: i64,
    pub(super) rtt_us: i64,
    pub(super) prior_delivered: u32,
    pub(super) prior_delivered_ce: u32,
    pub(super) delivered: i32,
    pub(super) delivered_ce: i32,
    pub(super) losses: i32,
    pub(super) acked_sacked: u32,
    pub(super) prior_in_flight: u32,
    pub(super) last_end_seq: u32,
    pub(super) is_app_limited: u32,
    pub(super) is_retrans: u32,
    pub(super) is_ack_delayed: u32,
    pub(super) snd_interval_us: u32,
    pub(super) rcv_interval_us: u32,
    pub(super) pad: u32,
}

/// `struct cc_record_decision`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Decision {
    pub(super) sk_pacing_rate: u64,
    pub(super) sk_pacing_status: u32,
    pub(super) snd_cwnd: u32,
    pub(super) snd_cwnd_cnt: u32,
    pub(super) snd_cwnd_stamp: u32,
    pub(super) snd_ssthresh: u32,
    pub(super) app_limited: u32,
    pub(super) icsk_ca_priv: [u64; 13],
}

/// `struct cc_record_socket`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Socket {
    pub(super) sk_max_pacing_rate: u64,
    pub(super) tcp_mstamp: u64,
    pub(super) tcp_clock_cache: u64,
    pub(super) tcp_wstamp_ns: u64,
    pub(super) icsk_ca_state: u32,
    pub(super) icsk_retransmits: u32,
    pub(super) icsk_rto: u32,
    pub(super) ecn_flags: u32,
    pub(super) is_cwnd_limited: u32,
    pub(super) snd_cwnd_clamp: u32,
    pub(super) prior_cwnd: u32,
    pub(super) prior_ssthresh: u32,
    pub(super) mss_cache: u32,
    pub(super) snd_una: u32,
    pub(super) snd_nxt: u32,
    pub(super) write_seq: u32,
    pub(super) high_seq: u32,
    pub(super) srtt_us: u32,
    pub(super) mdev_us: u32,
    pub(super) rttvar_us: u32,
    pub(super) rtt_min: [[u32; 2]; 3],
    pub(super) packets_out: u32,
    pub(super) sacked_out: u32,
    pub(super) lost_out: u32,
    pub(super) retrans_out: u32,
    pub(super) max_packets_out: u32,
    pub(super) delivered: u32,
    pub(super) delivered_ce: u32,
    pub(super) lost: u32,
    pub(super) lsndtime: u32,
    pub(super) reordering: u32,
}

/// `struct cc_record`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Record {
    pub(super) head: Head,
    pub(super) local_ip4: u32,
    pub(super) remote_ip4: u32,
    pub(super) local_port: u32,
    pub(super) remote_port: u32,
    pub(super) now_ns: u64,
    pub(super) wall_ns: u64,
    pub(super) rand_state: u64,
    pub(super) returned: u64,
    pub(super) args: [u32; 2],
    pub(super) sample: Sample,
    pub(super) socket: Socket,
    pub(super) before: Decision,
    pub(super) after: Decision,
}

/// `struct cc_record_params`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(super) struct Params {
    pub(super) head: Head,
    pub(super) words: u64,
    pub(super) values: [u64; MAX_PARAMS],
}

/// A record of either kind.
pub(super) enum View {
    Hook(Hook, Record),
    Params(Params),
}

/// The two ends of a recorded connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Address {
    /// The sender's address.
    pub local: SocketAddrV4,
    /// The receiver's address.
    pub remote: SocketAddrV4,
}

impl Address {
    /// Returns the connection of a hook's record; `None` for other records.
    pub fn of(record: &[u8]) -> Option<Address> {
        let Ok(View::Hook(_, r)) = view(record) else { return None };
        let at = |ip: u32, port: u32| SocketAddrV4::new(Ipv4Addr::from(ip.to_ne_bytes()), port as u16);
        Some(Address { local: at(r.local_ip4, r.local_port), remote: at(r.remote_ip4, r.remote_port) })
    }
}

/// Parses a record.
pub(super) fn view(bytes: &[u8]) -> Result<View, String> {
    let kind = bytes.first_chunk().map(|word| u32::from_ne_bytes(*word)).ok_or("it is empty")?;
    if kind == PARAMS_KIND {
        // SAFETY: all bit patterns are valid for this struct of integers.
        let params: Params = unsafe { read(bytes) }?;
        return if params.words as usize <= MAX_PARAMS {
            Ok(View::Params(params))
        } else {
            Err(format!("{} parameters", params.words))
        };
    }
    let hook = Hook::ALL.into_iter().find(|hook| *hook as u32 == kind).ok_or_else(|| format!("kind {kind}"))?;
    // SAFETY: as above.
    Ok(View::Hook(hook, unsafe { read(bytes) }?))
}

/// # Safety
/// All bit patterns must be valid for `T`.
unsafe fn read<T: Copy>(bytes: &[u8]) -> Result<T, String> {
    if bytes.len() < size_of::<T>() {
        return Err(format!("{} bytes of {}", bytes.len(), size_of::<T>()));
    }
    // SAFETY: there are enough bytes, and the caller guarantees that any value is valid.
    Ok(unsafe { bytes.as_ptr().cast::<T>().read_unaligned() })
}
