//! The structs of `bpf/native.h` in Rust. A test compares their layout with that of the C compiler.

use std::ffi::{c_char, c_int, c_long, c_ulong, c_void};

/// `TCP_INFINITE_SSTHRESH`.
pub(crate) const INFINITE_SSTHRESH: u32 = 0x7fff_ffff;
/// No pacing: the value of `sk_pacing_rate` until an algorithm sets it.
pub(crate) const UNPACED: c_ulong = c_ulong::MAX;
/// `SK_PACING_NEEDED`.
pub(crate) const PACING_NEEDED: u32 = 1;
/// `CA_EVENT_TX_START`: the first packet is sent after the flow was idle.
pub(crate) const EVENT_TX_START: c_int = 0;
/// `CA_EVENT_CWND_RESTART`: cwnd is reduced after an idle period.
pub(crate) const EVENT_CWND_RESTART: c_int = 1;
/// `CA_EVENT_COMPLETE_CWR`: the reduction of the window is complete.
pub(crate) const EVENT_COMPLETE_CWR: c_int = 2;
/// `CA_EVENT_LOSS`: retransmission timeout.
pub(crate) const EVENT_LOSS: c_int = 3;
/// `CA_ACK_SLOWPATH`.
pub(crate) const ACK_SLOWPATH: u32 = 1;
/// `CA_ACK_ECE`.
pub(crate) const ACK_ECE: u32 = 4;
/// Number of words of an algorithm's private state.
pub(crate) const PRIV_WORDS: usize = 13;

/// `enum cc_unit`.
pub(crate) mod unit {
    pub(crate) const NUMBER: u32 = 0;
    pub(crate) const FIXED: u32 = 1;
    pub(crate) const FLAG: u32 = 2;
    pub(crate) const US: u32 = 3;
    pub(crate) const PKTS: u32 = 4;
    pub(crate) const RATE: u32 = 5;
}

/// `struct sock`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Sock {
    pub(crate) sk_pacing_rate: c_ulong,
    pub(crate) sk_max_pacing_rate: c_ulong,
    pub(crate) sk_pacing_status: u32,
    pub(crate) cc_oracle_us: u32,
    pub(crate) cc_now: u64,
    pub(crate) cc_wall: u64,
    pub(crate) cc_rand_state: u64,
    pub(crate) cc_param_values: *const u64,
}

/// `struct inet_connection_sock`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct InetConnectionSock {
    pub(crate) sk: Sock,
    pub(crate) icsk_ca_state: u8,
    pub(crate) icsk_retransmits: u8,
    pub(crate) icsk_rto: u32,
    pub(crate) icsk_ca_priv: [u64; PRIV_WORDS],
}

/// `struct minmax`: samples of (t, v).
#[repr(C)]
#[derive(Debug)]
pub(crate) struct Minmax {
    pub(crate) s: [[u32; 2]; 3],
}

/// `struct tcp_sock`.
#[repr(C)]
#[derive(Debug)]
pub(crate) struct TcpSock {
    pub(crate) icsk: InetConnectionSock,
    pub(crate) tcp_mstamp: u64,
    pub(crate) tcp_clock_cache: u64,
    pub(crate) tcp_wstamp_ns: u64,
    pub(crate) snd_cwnd: u32,
    pub(crate) snd_cwnd_cnt: u32,
    pub(crate) snd_cwnd_clamp: u32,
    pub(crate) snd_cwnd_stamp: u32,
    pub(crate) snd_ssthresh: u32,
    pub(crate) prior_cwnd: u32,
    pub(crate) prior_ssthresh: u32,
    pub(crate) mss_cache: u32,
    pub(crate) snd_una: u32,
    pub(crate) snd_nxt: u32,
    pub(crate) write_seq: u32,
    pub(crate) high_seq: u32,
    pub(crate) srtt_us: u32,
    pub(crate) mdev_us: u32,
    pub(crate) rttvar_us: u32,
    pub(crate) rtt_min: Minmax,
    pub(crate) packets_out: u32,
    pub(crate) sacked_out: u32,
    pub(crate) lost_out: u32,
    pub(crate) retrans_out: u32,
    pub(crate) max_packets_out: u32,
    pub(crate) delivered: u32,
    pub(crate) delivered_ce: u32,
    pub(crate) lost: u32,
    pub(crate) app_limited: u32,
    pub(crate) lsndtime: u32,
    pub(crate) reordering: u32,
    pub(crate) is_cwnd_limited: u8,
    pub(crate) ecn_flags: u8,
}

/// `struct ack_sample`.
#[repr(C)]
pub(crate) struct AckSample {
    pub(crate) pkts_acked: u32,
    pub(crate) rtt_us: i32,
    pub(crate) in_flight: u32,
}

/// `struct rate_sample`.
#[repr(C)]
pub(crate) struct RateSample {
    pub(crate) prior_mstamp: u64,
    pub(crate) prior_delivered: u32,
    pub(crate) prior_delivered_ce: u32,
    pub(crate) delivered: i32,
    pub(crate) delivered_ce: i32,
    pub(crate) interval_us: c_long,
    pub(crate) snd_interval_us: u32,
    pub(crate) rcv_interval_us: u32,
    pub(crate) rtt_us: c_long,
    pub(crate) losses: c_int,
    pub(crate) acked_sacked: u32,
    pub(crate) prior_in_flight: u32,
    pub(crate) last_end_seq: u32,
    pub(crate) is_app_limited: bool,
    pub(crate) is_retrans: bool,
    pub(crate) is_ack_delayed: bool,
}

/// A hook without further arguments.
pub(crate) type Hook = unsafe extern "C" fn(*mut TcpSock);
/// A hook that returns a number of packets.
type Asked = unsafe extern "C" fn(*mut TcpSock) -> u32;

/// `struct tcp_congestion_ops`. `struct sock *` is the start of a [`TcpSock`].
#[repr(C)]
pub(crate) struct RawOps {
    pub(crate) ssthresh: Option<Asked>,
    pub(crate) cong_avoid: Option<unsafe extern "C" fn(*mut TcpSock, u32, u32)>,
    pub(crate) set_state: Option<unsafe extern "C" fn(*mut TcpSock, u8)>,
    pub(crate) cwnd_event: Option<unsafe extern "C" fn(*mut TcpSock, c_int)>,
    pub(crate) in_ack_event: Option<unsafe extern "C" fn(*mut TcpSock, u32)>,
    pub(crate) pkts_acked: Option<unsafe extern "C" fn(*mut TcpSock, *const AckSample)>,
    pub(crate) min_tso_segs: Option<Asked>,
    pub(crate) cong_control: Option<unsafe extern "C" fn(*mut TcpSock, u32, c_int, *const RateSample)>,
    pub(crate) undo_cwnd: Option<Asked>,
    pub(crate) sndbuf_expand: Option<Asked>,
    pub(crate) init: Option<Hook>,
    pub(crate) release: Option<Hook>,
    pub(crate) flags: u32,
    pub(crate) name: [c_char; 16],
    pub(crate) owner: *const c_void,
}

/// `struct cc_param`.
#[repr(C)]
pub(crate) struct RawParam {
    pub(crate) name: *const c_char,
    pub(crate) doc: *const c_char,
    pub(crate) def: u64,
    pub(crate) least: u64,
    pub(crate) most: u64,
    pub(crate) unit: u32,
}

// SAFETY: ops and tables are constants of compiled C; their pointers lead to code and to string literals.
unsafe impl Sync for RawOps {}
// SAFETY: as above.
unsafe impl Sync for RawParam {}

impl TcpSock {
    /// Returns a zeroed connection, as the kernel allocates it.
    pub(crate) fn zeroed() -> Box<TcpSock> {
        // SAFETY: every field is an integer or a raw pointer, for which all bits zero is a valid value.
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
