//! State of a connection from the kernel (`TCP_INFO`).
//!
//! The structure grows with the kernel: fields that an older kernel does not fill are zero, those that a newer one adds
//! are not read. Field names are `linux/tcp.h`'s without their prefix.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// `TCP_CLOSE` of `net/tcp_states.h`.
const STATE_CLOSED: u8 = 7;
/// `TCP_FIN_WAIT2`: all that was sent is acknowledged, the FIN as well.
const STATE_FIN_WAIT2: u8 = 5;
/// `TCP_TIME_WAIT`.
const STATE_TIME_WAIT: u8 = 6;

/// The layout of `struct tcp_info` up to what is used here (Linux 6.7 and later fill all of it).
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TcpInfo {
    /// A state of `net/tcp_states.h`.
    pub state: u8,
    /// Open, Disorder, CWR, Recovery, Loss: 0 to 4.
    pub ca_state: u8,
    /// Unanswered retransmission timeouts in a row.
    pub retransmits: u8,
    /// Unanswered window probes.
    pub probes: u8,
    /// Doublings of the RTO.
    pub backoff: u8,
    /// Timestamps 1, SACK 2, window scaling 4, ECN 8.
    pub options: u8,
    /// Window scales of both sides, four bits each.
    pub wscales: u8,
    /// Bit 0: `delivery_rate` was limited by the application.
    pub flags: u8,
    /// us.
    pub rto: u32,
    /// Delayed-ACK timer, us.
    pub ato: u32,
    /// Payload bytes of a full segment.
    pub snd_mss: u32,
    /// Estimate of the peer's MSS, bytes.
    pub rcv_mss: u32,
    /// Segments sent and not cumulatively acknowledged.
    pub unacked: u32,
    /// Of those, selectively acknowledged.
    pub sacked: u32,
    /// Of those, declared lost.
    pub lost: u32,
    /// Of those, retransmitted and not acknowledged.
    pub retrans: u32,
    /// Not used by the kernel any more.
    pub fackets: u32,
    /// ms ago.
    pub last_data_sent: u32,
    /// Not filled.
    pub last_ack_sent: u32,
    /// ms ago.
    pub last_data_recv: u32,
    /// ms ago.
    pub last_ack_recv: u32,
    /// Bytes.
    pub pmtu: u32,
    /// Bytes.
    pub rcv_ssthresh: u32,
    /// srtt, us.
    pub rtt: u32,
    /// us.
    pub rttvar: u32,
    /// Segments.
    pub snd_ssthresh: u32,
    /// Segments.
    pub snd_cwnd: u32,
    /// Bytes.
    pub advmss: u32,
    /// Segments.
    pub reordering: u32,
    /// us.
    pub rcv_rtt: u32,
    /// Bytes.
    pub rcv_space: u32,
    /// Segments retransmitted so far.
    pub total_retrans: u32,
    /// Bytes per second; all ones: no limit.
    pub pacing_rate: u64,
    /// Bytes per second; all ones: no limit.
    pub max_pacing_rate: u64,
    /// Payload cumulatively acknowledged.
    pub bytes_acked: u64,
    /// Payload.
    pub bytes_received: u64,
    /// Segments out, with ACKs.
    pub segs_out: u32,
    /// Segments in.
    pub segs_in: u32,
    /// Payload written and not yet sent.
    pub notsent_bytes: u32,
    /// us.
    pub min_rtt: u32,
    /// Segments with payload, in.
    pub data_segs_in: u32,
    /// Segments with payload, out, retransmissions included.
    pub data_segs_out: u32,
    /// Bytes per second.
    pub delivery_rate: u64,
    /// us.
    pub busy_time: u64,
    /// us.
    pub rwnd_limited: u64,
    /// us.
    pub sndbuf_limited: u64,
    /// Segments delivered, cumulatively or selectively acknowledged, each once.
    pub delivered: u32,
    /// Of those, reported as marked.
    pub delivered_ce: u32,
    /// Payload sent, retransmissions included.
    pub bytes_sent: u64,
    /// Payload retransmitted.
    pub bytes_retrans: u64,
    /// Segments that the peer received twice.
    pub dsack_dups: u32,
    /// Reordering events.
    pub reord_seen: u32,
    /// Segments received out of order.
    pub rcv_ooopack: u32,
    /// The peer's window, bytes.
    pub snd_wnd: u32,
    /// Own window, bytes.
    pub rcv_wnd: u32,
    /// Changes of the flow's hash.
    pub rehash: u32,
    /// Retransmission timeouts so far.
    pub total_rto: u16,
    /// Episodes of timeouts that were recovered from.
    pub total_rto_recoveries: u16,
    /// Time spent in them, ms.
    pub total_rto_time: u32,
}

impl TcpInfo {
    /// Reads the state of the connection behind `socket`.
    ///
    /// # Errors
    /// If it is not a TCP socket.
    pub fn read(socket: BorrowedFd<'_>) -> io::Result<TcpInfo> {
        let mut info = TcpInfo::default();
        let mut length = size_of::<TcpInfo>() as libc::socklen_t;
        // SAFETY: `info` is a plain structure of integers with room for `length` bytes; the kernel writes no more.
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

    /// Segments in the network, as the kernel counts them (`tcp_packets_in_flight`).
    pub fn inflight(&self) -> u32 {
        (self.unacked + self.retrans).saturating_sub(self.sacked + self.lost)
    }

    /// Segments declared lost so far. The kernel exports no such counter: it is the sum of retransmitted segments
    /// (including tail loss probes) and of lost segments not yet retransmitted.
    pub fn lost_so_far(&self) -> u64 {
        u64::from(self.total_retrans) + u64::from(self.lost.saturating_sub(self.retrans))
    }

    /// Whether the peer has acknowledged all data and the end of the stream.
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
        // Offsets of `linux/tcp.h`: a field too many or too few above would move these.
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
