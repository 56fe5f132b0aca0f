//! The kernel's state of a TCP connection (`TCP_INFO`).
//!
//! The structure grows with the kernel: fields that an older kernel does not fill are zero, and fields that a newer
//! kernel adds are not read. Field names are those of `linux/tcp.h` without their prefix.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `TCP_CLOSE` of `net/tcp_states.h`.
const STATE_CLOSED: u8 = 7;
/// `TCP_FIN_WAIT2`: all data and the FIN are acknowledged.
const STATE_FIN_WAIT2: u8 = 5;
/// `TCP_TIME_WAIT`.
const STATE_TIME_WAIT: u8 = 6;

/// The layout of `struct tcp_info` up to the last field used here (Linux 6.7 and later fill all of these fields).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// A state defined in `net/tcp_states.h`.
    pub state: u8,
    /// 0 to 4: Open, Disorder, CWR, Recovery, Loss.
    pub ca_state: u8,
    /// Consecutive retransmission timeouts without a response.
    pub retransmits: u8,
    /// Window probes without a response.
    pub probes: u8,
    /// Number of times that the RTO was doubled.
    pub backoff: u8,
    /// Negotiated options, a bit mask: timestamps 1, SACK 2, window scaling 4, ECN 8.
    pub options: u8,
    /// Window scales of both endpoints, four bits each.
    pub wscales: u8,
    /// Bit 0: the application limited `delivery_rate`.
    pub flags: u8,
    /// Retransmission timeout, µs.
    pub rto: u32,
    /// Delayed-ACK timer, µs.
    pub ato: u32,
    /// Payload bytes of a full segment.
    pub snd_mss: u32,
    /// Estimate of the peer's MSS, bytes.
    pub rcv_mss: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// Segments selectively acknowledged, among `unacked`.
    pub sacked: u32,
    /// Segments declared lost, among `unacked`.
    pub lost: u32,
    /// Segments retransmitted and not acknowledged, among `unacked`.
    pub retrans: u32,
    /// The kernel no longer uses this field.
    pub fackets: u32,
    /// Time since data were last sent, ms.
    pub last_data_sent: u32,
    /// The kernel does not fill this field.
    pub last_ack_sent: u32,
    /// Time since data were last received, ms.
    pub last_data_recv: u32,
    /// Time since an ACK was last received, ms.
    pub last_ack_recv: u32,
    /// Path MTU, bytes.
    pub pmtu: u32,
    /// Receive window threshold, bytes.
    pub rcv_ssthresh: u32,
    /// Smoothed RTT, µs.
    pub rtt: u32,
    /// RTT variation, µs.
    pub rttvar: u32,
    /// Slow-start threshold, segments.
    pub snd_ssthresh: u32,
    /// Congestion window, segments.
    pub snd_cwnd: u32,
    /// Advertised MSS, bytes.
    pub advmss: u32,
    /// Reordering distance, segments.
    pub reordering: u32,
    /// RTT estimated by the receiver, µs.
    pub rcv_rtt: u32,
    /// Receive buffer space by which the kernel autotunes the window, bytes.
    pub rcv_space: u32,
    /// Segments retransmitted so far.
    pub total_retrans: u32,
    /// Pacing rate, bytes/s; all bits set if there is no limit.
    pub pacing_rate: u64,
    /// Maximum pacing rate, bytes/s; all bits set if there is no limit.
    pub max_pacing_rate: u64,
    /// Payload cumulatively acknowledged, bytes.
    pub bytes_acked: u64,
    /// Payload received, bytes.
    pub bytes_received: u64,
    /// Segments sent, including pure ACKs.
    pub segs_out: u32,
    /// Segments received.
    pub segs_in: u32,
    /// Payload written and not yet sent, bytes.
    pub notsent_bytes: u32,
    /// Minimum RTT, µs.
    pub min_rtt: u32,
    /// Segments with payload received.
    pub data_segs_in: u32,
    /// Segments with payload sent, including retransmissions.
    pub data_segs_out: u32,
    /// Delivery rate, bytes/s.
    pub delivery_rate: u64,
    /// Time in which data were outstanding, µs.
    pub busy_time: u64,
    /// Time in which the receive window limited sending, µs.
    pub rwnd_limited: u64,
    /// Time in which the send buffer limited sending, µs.
    pub sndbuf_limited: u64,
    /// Segments delivered (cumulatively or selectively acknowledged), each counted once.
    pub delivered: u32,
    /// Delivered segments that were reported as CE-marked.
    pub delivered_ce: u32,
    /// Payload sent, including retransmissions, bytes.
    pub bytes_sent: u64,
    /// Payload retransmitted, bytes.
    pub bytes_retrans: u64,
    /// Segments that the peer received twice.
    pub dsack_dups: u32,
    /// Reordering events.
    pub reord_seen: u32,
    /// Segments received out of order.
    pub rcv_ooopack: u32,
    /// The peer's advertised window, bytes.
    pub snd_wnd: u32,
    /// The local advertised window, bytes.
    pub rcv_wnd: u32,
    /// Number of times that the flow's hash, and thus possibly its path, was changed.
    pub rehash: u32,
    /// Retransmission timeouts so far.
    pub total_rto: u16,
    /// Timeout episodes that ended with a recovery.
    pub total_rto_recoveries: u16,
    /// Time spent in timeout episodes, ms.
    pub total_rto_time: u32,
}

impl TcpInfo {
    /// Reads the state of the connection behind `socket`.
    ///
    /// # Errors
    /// If `socket` is not a TCP socket.
    pub fn read(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
        let mut info = TcpInfo::default();
        let mut length = size_of::<TcpInfo>() as libc::socklen_t;
        // SAFETY: `info` is a plain structure of integers with room for `length` bytes; the kernel writes at most
        // `length`.
        let status = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        if status == 0 { Ok(info) } else { Err(io::Error::last_os_error()) }
    }

    /// Returns the number of segments in the network, as the kernel counts them (`tcp_packets_in_flight`).
    pub fn inflight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }

    /// Returns the number of segments declared lost so far. The kernel does not export this counter, so it is computed:
    /// retransmitted segments (including tail loss probes) plus lost segments that are not yet retransmitted.
    pub fn lost_so_far(&self) -> u64 {
        u64::from(self.total_retrans) + u64::from(self.lost.saturating_sub(self.retrans))
    }

    /// Returns whether the peer has acknowledged all data and the FIN.
    pub fn is_all_acknowledged(&self) -> bool {
        matches!(self.state, STATE_FIN_WAIT2 | STATE_TIME_WAIT | STATE_CLOSED) && self.unacked == 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn traffic_over_loopback_is_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&[0; 1000]).unwrap();
        receiver.read_exact(&mut [0; 1000]).unwrap();
        let info = TcpInfo::read(sender.as_fd()).unwrap();
        assert_eq!(info.bytes_sent, 1000);
        assert_eq!(info.data_segs_out, 1);
        assert!((10..=11).contains(&info.snd_cwnd) && info.snd_mss > 0, "{info:?}");
        assert_eq!(TcpInfo::read(receiver.as_fd()).unwrap().bytes_received, 1000);
        assert!(!info.is_all_acknowledged());
    }

    #[test]
    fn counters_stand_where_the_kernel_puts_them() {
        // Offsets in `linux/tcp.h`: a missing or an extra field above would change them.
        assert_eq!(std::mem::offset_of!(TcpInfo, delivered), 192);
        assert_eq!(std::mem::offset_of!(TcpInfo, total_rto), 240);
    }

    #[test]
    fn a_lost_segment_counts_once_however_often_one_looks() {
        let before = TcpInfo { unacked: 5, lost: 2, ..TcpInfo::default() };
        let after = TcpInfo { retrans: 2, total_retrans: 2, ..before };
        assert_eq!((before.lost_so_far(), after.lost_so_far()), (2, 2));
        assert_eq!((before.inflight(), after.inflight()), (3, 5));
    }
}
