//! The structs of `bpf/native.h`, as Rust sees them; the layout is tested against the C compiler's.

use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};

/// `TCP_INFINITE_SSTHRESH`.
pub(super) const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// No pacing: the value of `sk_pacing_rate` until an algorithm sets it.
pub(super) const UNPACED: c_ulong = c_ulong::MAX;
/// `SK_PACING_NEEDED`.
pub(super) const PACING_NEEDED: u32 = 1;
/// `CA_EVENT_TX_START`: the first packet after idleness.
pub(super) const EVENT_TX_START: c_int = 0;
/// `CA_EVENT_COMPLETE_CWR`: the window is reduced.
pub(super) const EVENT_COMPLETE_CWR: c_int = 2;
/// `CA_EVENT_LOSS`: retransmission timeout.
pub(super) const EVENT_LOSS: c_int = 3;
/// `CA_ACK_SLOWPATH`.
pub(super) const ACK_SLOWPATH: u32 = 1;
/// `CA_ACK_ECE`.
pub(super) const ACK_ECE: u32 = 4;
/// Words of an algorithm's private state.
pub(super) const PRIV_WORDS: usize = 13;

/// `enum cc_unit`.
pub(super) mod unit {
    pub(in super::super) const NUMBER: u32 = 0;
    pub(in super::super) const FIXED: u32 = 1;
    pub(in super::super) const FLAG: u32 = 2;
    pub(in super::super) const US: u32 = 3;
    pub(in super::super) const PKTS: u32 = 4;
    pub(in super::super) const RATE: u32 = 5;
}

/// `struct sock`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct Sock {
    pub(super) sk_pacing_rate: c_ulong,
    pub(super) sk_max_pacing_rate: c_ulong,
    pub(super) sk_pacing_status: u32,
    pub(super) cc_oracle_us: u32,
    pub(super) cc_now: u64,
    pub(super) cc_wall: u64,
    pub(super) cc_rand_state: u64,
    pub(super) cc_param_values: *const u64,
}

/// `struct inet_connection_sock`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct InetConnectionSock {
    pub(super) sk: Sock,
    pub(super) icsk_ca_state: u8,
    pub(super) icsk_retransmits: u8,
    pub(super) icsk_rto: u32,
    pub(super) icsk_ca_priv: [u64; PRIV_WORDS],
}

/// `struct minmax`: samples of (t, v).
#[repr(C)]
#[derive(Debug)]
pub(super) struct Minmax {
    pub(super) s: [[u32; 2]; 3],
}

/// `struct tcp_sock`.
#[repr(C)]
#[derive(Debug)]
pub(super) struct TcpSock {
    pub(super) icsk: InetConnectionSock,
    pub(super) tcp_mstamp: u64,
    pub(super) tcp_clock_cache: u64,
    pub(super) tcp_wstamp_ns: u64,
    pub(super) snd_cwnd: u32,
    pub(super) snd_cwnd_cnt: u32,
    pub(super) snd_cwnd_clamp: u32,
    pub(super) snd_cwnd_stamp: u32,
    pub(super) snd_ssthresh: u32,
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
    pub(super) rtt_min: Minmax,
    pub(super) packets_out: u32,
    pub(super) sacked_out: u32,
    pub(super) lost_out: u32,
    pub(super) retrans_out: u32,
    pub(super) max_packets_out: u32,
    pub(super) delivered: u32,
    pub(super) delivered_ce: u32,
    pub(super) lost: u32,
    pub(super) app_limited: u32,
    pub(super) lsndtime: u32,
    pub(super) reordering: u32,
    pub(super) is_cwnd_limited: u8,
    pub(super) ecn_flags: u8,
}

/// `struct ack_sample`.
#[repr(C)]
pub(super) struct AckSample {
    pub(super) pkts_acked: u32,
    pub(super) rtt_us: i32,
    pub(super) in_flight: u32,
}

/// `struct rate_sample`.
#[repr(C)]
pub(super) struct RateSample {
    pub(super) prior_mstamp: u64,
    pub(super) prior_delivered: u32,
    pub(super) prior_delivered_ce: u32,
    pub(super) delivered: i32,
    pub(super) delivered_ce: i32,
    pub(super) interval_us: c_long,
    pub(super) snd_interval_us: u32,
    pub(super) rcv_interval_us: u32,
    pub(super) rtt_us: c_long,
    pub(super) losses: c_int,
    pub(super) acked_sacked: u32,
    pub(super) prior_in_flight: u32,
    pub(super) last_end_seq: u32,
    pub(super) is_app_limited: bool,
    pub(super) is_retrans: bool,
    pub(super) is_ack_delayed: bool,
}

/// A hook without further arguments.
pub(super) type Hook = unsafe extern "C" fn(*mut TcpSock);
/// A hook that answers with a number of packets.
type Asked = unsafe extern "C" fn(*mut TcpSock) -> u32;

/// `struct tcp_congestion_ops`. `struct sock *` is the start of a [`TcpSock`].
#[repr(C)]
pub(super) struct RawOps {
    pub(super) ssthresh: Option<Asked>,
    pub(super) cong_avoid: Option<unsafe extern "C" fn(*mut TcpSock, u32, u32)>,
    pub(super) set_state: Option<unsafe extern "C" fn(*mut TcpSock, u8)>,
    pub(super) cwnd_event: Option<unsafe extern "C" fn(*mut TcpSock, c_int)>,
    pub(super) in_ack_event: Option<unsafe extern "C" fn(*mut TcpSock, u32)>,
    pub(super) pkts_acked: Option<unsafe extern "C" fn(*mut TcpSock, *const AckSample)>,
    pub(super) min_tso_segs: Option<Asked>,
    pub(super) cong_control: Option<unsafe extern "C" fn(*mut TcpSock, u32, c_int, *const RateSample)>,
    pub(super) undo_cwnd: Option<Asked>,
    pub(super) sndbuf_expand: Option<Asked>,
    pub(super) init: Option<Hook>,
    pub(super) release: Option<Hook>,
    pub(super) flags: u32,
    pub(super) name: [c_char; 16],
    pub(super) owner: *const c_void,
}

/// `struct cc_param`.
#[repr(C)]
pub(super) struct RawParam {
    pub(super) name: *const c_char,
    pub(super) doc: *const c_char,
    pub(super) def: u64,
    pub(super) least: u64,
    pub(super) most: u64,
    pub(super) unit: u32,
}

// SAFETY: ops and tables are constants of compiled C; their pointers lead to code and to string literals.
unsafe impl Sync for RawOps {}
// SAFETY: as above.
unsafe impl Sync for RawParam {}

impl TcpSock {
    /// All zero, as the kernel allocates it.
    pub(super) fn zeroed() -> Box<TcpSock> {
        // SAFETY: every field is an integer or a raw pointer, for which zero bits are a value.
        unsafe { Box::<TcpSock>::new_zeroed().assume_init() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::mem::{offset_of, size_of};

    unsafe extern "C" {
        static fairweir_layout: [usize; 31];
        static fairweir_layout_len: usize;
    }

    #[test]
    fn structs_are_laid_out_as_the_c_compiler_does() {
        let rust = [
            size_of::<TcpSock>(),
            size_of::<RateSample>(),
            size_of::<AckSample>(),
            size_of::<RawOps>(),
            size_of::<RawParam>(),
            offset_of!(Sock, cc_oracle_us),
            offset_of!(Sock, cc_param_values),
            offset_of!(TcpSock, icsk.icsk_ca_state),
            offset_of!(TcpSock, icsk.icsk_ca_priv),
            offset_of!(TcpSock, tcp_mstamp),
            offset_of!(TcpSock, snd_cwnd),
            offset_of!(TcpSock, snd_ssthresh),
            offset_of!(TcpSock, snd_una),
            offset_of!(TcpSock, srtt_us),
            offset_of!(TcpSock, rtt_min),
            offset_of!(TcpSock, packets_out),
            offset_of!(TcpSock, delivered),
            offset_of!(TcpSock, lsndtime),
            offset_of!(TcpSock, is_cwnd_limited),
            offset_of!(RateSample, delivered),
            offset_of!(RateSample, interval_us),
            offset_of!(RateSample, rtt_us),
            offset_of!(RateSample, losses),
            offset_of!(RateSample, prior_in_flight),
            offset_of!(RateSample, is_app_limited),
            offset_of!(RawOps, cong_control),
            offset_of!(RawOps, init),
            offset_of!(RawOps, flags),
            offset_of!(RawOps, name),
            offset_of!(RawParam, def),
            offset_of!(RawParam, unit),
        ];
        // SAFETY: layout.c defines both; the length is checked before the array is read.
        let c = unsafe {
            assert_eq!(fairweir_layout_len, rust.len());
            fairweir_layout
        };
        assert_eq!(c, rust);
    }
}
