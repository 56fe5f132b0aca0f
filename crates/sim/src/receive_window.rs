//! The receive window and its autotuning (dynamic right-sizing), as in Linux 6.18.
//!
//! - The receive buffer has 128 KiB at first, and at most 32 MiB (`tcp_rmem`). A packet occupies its `truesize`, and the
//!   window is the fraction of the buffer that payload can fill (`scaling_ratio`, `tcp_measure_rcv_mss` of tcp_input.c).
//! - The first window is about half of the buffer (`tcp_select_initial_window` of tcp_output.c, `tcp_init_buffer_space`
//!   of tcp_input.c).
//! - Every packet raises `rcv_ssthresh` by two segments, up to the window that the buffer permits. A receiver that
//!   delays ACKs acknowledges such a packet at once (`tcp_grow_window`, [`crate::quick_acks`]).
//! - Once per RTT, the buffer grows to hold twice the data that the application has read in this RTT, plus an extra for
//!   their growth since the RTT before (`tcp_rcv_space_adjust`, `tcp_rcvbuf_grow`). A hole adds the data above it
//!   (`tcp_data_queue_ofo`).
//! - The receiver measures the RTT by the timestamps that the sender echoes (`tcp_rcv_rtt_measure_ts`,
//!   `tcp_rcv_rtt_update`).
//! - The advertised window never shrinks (`tcp_select_window`, `__tcp_select_window` of tcp_output.c).
//!
//! The application reads when at least 8 kB wait for it, as the kernel world's receivers do (crates/emu). It reads packet
//! by packet, and a measurement ends with the first packet of a batch, less the packets that still wait.
//!
//! **Deviations from Linux**: the application wakes without a delay, so that fewer packets wait; `truesize` is that of
//! packets from a TUN device, and the queue of packets out of order is not coalesced; timestamps are not rounded to ms,
//! so `tcp_rcv_rtt_measure` (the RTT without timestamps) is not needed; the window update after a read is part of the ACK
//! at the same instant (`tcp_cleanup_rbuf`); no pruning.

use fairweir_scenario::HEADER_BYTES;
use fairweir_units::{Bytes, Dur, Time};

/// Initial size of the receive buffer, bytes (`tcp_rmem[1]`).
const INITIAL_BUFFER: u64 = 131_072;
/// Maximum size of the receive buffer, bytes (`tcp_rmem[2]`, since Linux 6.16).
const MAX_BUFFER: u64 = 33_554_432;
/// Unit of the windows in ACKs, bytes: 2^`rcv_wscale` for `MAX_BUFFER`.
const WINDOW_UNIT: u64 = 1 << 10;
/// Fraction of the buffer that payload can fill before the first packet, in units of 2^-`RATIO_SHIFT`
/// (`TCP_DEFAULT_SCALING_RATIO`).
const INITIAL_RATIO: u64 = 1 << (RATIO_SHIFT - 1);
/// `TCP_RMEM_TO_WIN_SCALE`
const RATIO_SHIFT: u32 = 8;
/// Packets of the data that the first measurement must exceed (`TCP_INIT_CWND`).
const INITIAL_SPACE_PACKETS: u64 = 10;
/// Payloads up to this size, bytes, do not change the ratio (`TCP_MSS_DEFAULT`, the first `rcv_mss`).
const DEFAULT_MSS: u64 = 536;

/// Minimum data that the application reads, bytes: `SO_RCVLOWAT` of the kernel world's receivers.
const READ_BYTES: u64 = 8 << 10;

/// State of an autotuned receive window. Data are counted in bytes of payload.
#[derive(Debug)]
pub(crate) struct ReceiveWindow {
    /// Payload of a packet (`advmss`).
    mss: u64,
    /// Memory that a packet occupies in the receive buffer.
    truesize: u64,
    /// Fraction of the buffer that payload can fill, in units of 2^-`RATIO_SHIFT` (`scaling_ratio`).
    ratio: u64,
    /// `sk_rcvbuf`
    buffer: u64,
    /// Memory in use above which the application reads less than `READ_BYTES` (`tcp_epollin_ready`).
    pressure: u64,
    /// Payload for which the free memory has room below which the window is closed: a sixteenth of that of the buffer, at
    /// least a packet (`__tcp_select_window`).
    closed_below: u64,
    /// The window that the buffer permits (`window_clamp`).
    clamp: u64,
    /// Current limit of the window (`rcv_ssthresh`).
    ssthresh: u64,
    /// Number of the flow's first packet.
    first_packet: u64,
    /// Packets that arrived in order and that the application has not read.
    unread: u64,
    /// Time of the last packet in order, and `unread` then, before the application read.
    last: (Time, u64),
    /// Right edge of the window, from `first_packet` on (`rcv_wup` + `rcv_wnd`).
    edge: u64,
    /// `edge` in whole packets.
    edge_packets: u64,
    /// The packet after the last that arrived out of order.
    top: u64,
    /// Data read in the RTT before this one, if they were more than ever (`rcvq_space.space`).
    space: u64,
    /// Start of the current measurement: the next packet expected, and the time (`rcvq_space.seq`, `rcvq_space.time`).
    measured_from: Option<(u64, Time)>,
    /// Smoothed RTT, times 8 (`rcv_rtt_est.rtt_us`).
    rtt: Dur,
    /// Timestamp of the last RTT sample (`rcv_rtt_last_tsecr`).
    last_echo: Time,
}

impl ReceiveWindow {
    /// Creates the window of a flow whose packets have the size `packet` and are numbered from `first_packet`.
    pub(crate) fn new(packet: Bytes, first_packet: u64) -> ReceiveWindow {
        let mss = packet.0.saturating_sub(HEADER_BYTES).max(1);
        let full = (INITIAL_BUFFER * INITIAL_RATIO) >> RATIO_SHIFT;
        let offered = if full > mss { full / mss * mss } else { full };
        let clamp = if full > 2 * mss { (2 * mss).max(full - mss) } else { full };
        let ssthresh = offered.min(clamp);
        let mut window = ReceiveWindow {
            mss,
            truesize: truesize(packet.0),
            ratio: INITIAL_RATIO,
            buffer: 0,
            pressure: 0,
            closed_below: 0,
            clamp,
            ssthresh,
            first_packet,
            unread: 0,
            last: (Time::ZERO, 0),
            edge: offered,
            edge_packets: offered / mss,
            top: first_packet,
            space: ssthresh.min(INITIAL_SPACE_PACKETS * mss),
            measured_from: None,
            rtt: Dur::ZERO,
            last_echo: Time::ZERO,
        };
        window.set_buffer(INITIAL_BUFFER);
        if mss > DEFAULT_MSS {
            window.measure_ratio(offered);
        }
        window
    }

    /// Sets the size of the buffer, or computes its limits for a new ratio.
    fn set_buffer(&mut self, buffer: u64) {
        self.buffer = buffer;
        self.pressure = buffer - buffer / 8;
        self.closed_below = self.mss.max(self.window_of(buffer) >> 4);
    }

    /// Sets the ratio of payload to memory, which the first packet reveals, after a window of `offered` bytes.
    fn measure_ratio(&mut self, offered: u64) {
        self.ratio = ((self.mss << RATIO_SHIFT) / self.truesize).max(1);
        self.set_buffer(self.buffer);
        let clamp = self.window_of(self.buffer);
        self.ssthresh =
            if clamp < self.clamp { self.ssthresh.min(clamp) } else { self.ssthresh.max(offered.min(clamp)) };
        self.clamp = clamp;
        self.space = self.space.min(clamp);
    }

    /// Returns the window for `buffer` bytes of memory (`tcp_win_from_space`).
    fn window_of(&self, buffer: u64) -> u64 {
        (buffer * self.ratio) >> RATIO_SHIFT
    }

    /// Returns the number of packets that the first window permits.
    pub(crate) fn initial_packets(&self) -> u64 {
        self.edge_packets
    }

    /// Processes a packet that arrives at `at`, echoes the timestamp `echo`, puts `packets` in order and makes `rcv_nxt` the
    /// next packet expected, while `above` packets wait above a hole. Returns whether the window may grow; such a packet is
    /// acknowledged at once.
    pub(crate) fn on_in_order(&mut self, rcv_nxt: u64, packets: u64, above: u64, at: Time, echo: Time) -> bool {
        self.sample_rtt(at, echo);
        self.unread += packets;
        self.last = (at, self.unread);
        let occupied = (above + self.unread) * self.truesize;
        let grows = self.grow(occupied);
        if self.unread * self.mss >= READ_BYTES || occupied > self.pressure {
            self.adjust_space(rcv_nxt, above, at);
            self.unread = 0;
        }
        grows
    }

    /// Processes packet `seq`, which arrives out of order as one of `above` packets above the hole at `rcv_nxt`.
    pub(crate) fn on_out_of_order(&mut self, seq: u64, rcv_nxt: u64, above: u64, at: Time, echo: Time, sack: bool) {
        self.sample_rtt(at, echo);
        self.top = self.top.max(seq + 1);
        // Without SACK all duplicate ACKs must have the same window.
        if sack {
            self.grow((above - 1 + self.unread) * self.truesize);
        }
        self.grow_buffer(self.space, rcv_nxt, above);
    }

    /// Updates the smoothed RTT, if a packet echoes a new timestamp (`tcp_rcv_rtt_measure_ts`).
    fn sample_rtt(&mut self, at: Time, echo: Time) {
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let sample = at.since(echo);
        let is_minimum = self.rtt == Dur::ZERO || sample * 8 < self.rtt;
        // The timestamp may be old if the application reads late.
        if self.unread > 0 && !is_minimum {
            return;
        }
        self.rtt = if is_minimum { sample * 8 } else { self.rtt.saturating_sub(self.rtt / 8) + sample };
    }

    /// Raises the window's limit by two segments as far as the buffer permits, of which `used` bytes are occupied
    /// (`tcp_grow_window`); returns whether it did.
    fn grow(&mut self, used: u64) -> bool {
        if self.ssthresh >= self.clamp {
            return false;
        }
        let limit = self.clamp.min(self.window_of(self.buffer.saturating_sub(used)));
        let room = limit.saturating_sub(self.ssthresh);
        self.ssthresh += room.min(2 * self.mss);
        room > 0
    }

    /// Grows the buffer once per RTT, if the application has read more than in any RTT before. The application has read
    /// the first of the packets that wait (`tcp_rcv_space_adjust`).
    fn adjust_space(&mut self, rcv_nxt: u64, above: u64, at: Time) {
        let (seq, from) = *self.measured_from.get_or_insert((self.first_packet, at));
        if self.rtt == Dur::ZERO || at.since(from) < self.rtt / 8 {
            return;
        }
        let waiting = self.unread - 1;
        let read = rcv_nxt - waiting;
        let copied = (read - seq).saturating_sub(waiting) * self.mss;
        if copied > self.space {
            self.grow_buffer(copied, rcv_nxt, above);
        }
        self.measured_from = Some((read, at));
    }

    /// Grows the buffer for `copied` bytes per RTT, while `above` packets wait above a hole (`tcp_rcvbuf_grow`).
    fn grow_buffer(&mut self, copied: u64, rcv_nxt: u64, above: u64) {
        let twice = 2 * copied;
        let growth = twice * (copied - self.space) / self.space;
        self.space = copied;
        let beyond_hole = if above > 0 { self.top.saturating_sub(rcv_nxt) * self.mss } else { 0 };
        let window = twice + 2 * growth + beyond_hole;
        let buffer = ((window << RATIO_SHIFT) / self.ratio).min(MAX_BUFFER);
        if buffer > self.buffer {
            self.set_buffer(buffer);
            self.clamp = self.window_of(buffer);
        }
    }

    /// Chooses the window of an ACK that leaves at `at` for the packets below `cum`, while `above` packets wait above a
    /// hole; returns the number of packets from `cum` on that are in it.
    pub(crate) fn on_ack_sent(&mut self, cum: u64, above: u64, at: Time) -> u32 {
        let rcv_nxt = (cum - self.first_packet) * self.mss;
        let open = self.edge.saturating_sub(rcv_nxt);
        let arrived = if at == self.last.0 { self.last.1 } else { self.unread };
        let mut window = self.select(above + arrived).max(open);
        // An application that has read since sends an update if the window has doubled (tcp_cleanup_rbuf).
        if arrived > self.unread {
            let updated = self.select(above + self.unread).max(open);
            if updated >= 2 * window {
                window = updated;
            }
        }
        self.set_edge(rcv_nxt + window.next_multiple_of(WINDOW_UNIT));
        // Fewer than a buffer of `MAX_BUFFER` has.
        (self.first_packet + self.edge_packets).saturating_sub(cum) as u32
    }

    /// Moves the right edge of the window. Most ACKs move it by a packet or two, so that few need a division.
    #[inline]
    fn set_edge(&mut self, edge: u64) {
        self.edge = edge;
        let beyond = edge - self.edge_packets * self.mss;
        if beyond >= 2 * self.mss {
            self.edge_packets = edge / self.mss;
        } else if beyond >= self.mss {
            self.edge_packets += 1;
        }
    }

    /// Returns the window while `packets` occupy the buffer (`__tcp_select_window`).
    fn select(&self, packets: u64) -> u64 {
        let free = self.window_of(self.buffer.saturating_sub(packets * self.truesize));
        if free < self.closed_below { 0 } else { free.min(self.ssthresh) }
    }
}

/// Returns the memory that a packet of `packet` bytes from a TUN device occupies, bytes: its buffer with 64 bytes of
/// headroom and `skb_shared_info`, as large as the allocator rounds it, and `sk_buff`. The data of a packet that does
/// not fit in a page are in pages of their own (`tun_alloc_skb`). The kernel's ratios are 160 and 182 for packets of 1500
/// and 9000 B (tracepoint `tcp_rcvbuf_grow`).
fn truesize(packet: u64) -> u64 {
    const PAGE: u64 = 4096;
    const HEADROOM: u64 = 64;
    const SHARED_INFO: u64 = 320;
    const SK_BUFF: u64 = 256;
    /// `SKB_SMALL_HEAD_SIZE`
    const SMALL_HEAD: u64 = 704;
    if HEADROOM + packet < PAGE {
        let head = (HEADROOM + packet).next_multiple_of(64) + SHARED_INFO;
        return SK_BUFF + if head <= SMALL_HEAD { SMALL_HEAD } else { head.next_power_of_two() };
    }
    SK_BUFF + packet.next_multiple_of(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: Bytes = Bytes(1500);

    fn at(ms: u64) -> Time {
        Time::ZERO + Dur::from_millis(ms)
    }

    /// Passes RTTs of 100 ms with the given numbers of packets through a window: all packets of an RTT arrive at its
    /// start and are acknowledged at once. Returns the window after each RTT, packets.
    fn windows(window: &mut ReceiveWindow, rounds: &[u64]) -> Vec<u32> {
        let mut next = 0;
        (1..)
            .zip(rounds)
            .map(|(round, &packets)| {
                let mut last = 0;
                for _ in 0..packets {
                    next += 1;
                    window.on_in_order(next, 1, 0, at(100 * round), at(100 * (round - 1)));
                    last = window.on_ack_sent(next, 0, at(100 * round));
                }
                last
            })
            .collect()
    }

    #[test]
    fn the_first_window_is_linuxs() {
        // 65160 bytes: the window in the SYN-ACK of a Linux host with an MTU of 1500 B and timestamps.
        let window = ReceiveWindow::new(PACKET, 0);
        assert_eq!((window.edge, window.initial_packets()), (65_160, 45));
        // Half of the buffer, a ratio of 160/256 after the first packet: 81920 B.
        assert_eq!((window.ratio, window.clamp, window.space), (160, 81_920, 14_480));
    }

    #[test]
    fn the_window_follows_slow_start_an_rtt_late() {
        let seen = windows(&mut ReceiveWindow::new(PACKET, 0), &[10, 20, 40, 80, 160, 320]);
        // 80 kB less a batch at first. The second measurement ends with packet 12, the first that the application reads
        // after an RTT, and counts 2 packets; the third ends with packet 31 and counts 19.
        assert_eq!(seen, [53, 52, 103, 136, 447, 848]);
    }

    #[test]
    fn the_window_grows_only_with_the_data_per_rtt() {
        let mut window = ReceiveWindow::new(PACKET, 0);
        windows(&mut window, &[10, 20, 40, 80, 160, 160, 160]);
        let buffer = window.buffer;
        for next in 631..2231 {
            let round = 8 + (next - 631) / 160;
            window.on_in_order(next, 1, 0, at(100 * round), at(100 * (round - 1)));
        }
        assert_eq!(window.buffer, buffer);
        assert!(window.clamp / window.mss >= 2 * 160);
        assert!(!window.on_in_order(2231, 1, 0, at(2000), at(1900)), "an immediate ACK");
    }

    #[test]
    fn the_window_ends_at_the_maximum_of_the_buffer() {
        let mut window = ReceiveWindow::new(PACKET, 0);
        windows(&mut window, &[10, 100, 1000, 10_000, 20_000, 20_000, 20_000]);
        assert_eq!(window.buffer, MAX_BUFFER);
        assert_eq!(window.clamp, MAX_BUFFER * 160 / 256);
    }

    #[test]
    fn holes_do_not_shrink_the_window_and_enlarge_the_buffer() {
        let mut window = ReceiveWindow::new(PACKET, 0);
        windows(&mut window, &[10, 20]);
        let (edge, buffer) = (window.edge, window.buffer);
        for above in 1..=60 {
            window.on_out_of_order(30 + above, 30, above, at(300), at(200), true);
            window.on_ack_sent(30, above, at(300));
            assert!(window.edge >= edge);
        }
        assert!(window.buffer > buffer, "{} {buffer}", window.buffer);
    }

    #[test]
    fn a_window_that_a_hole_closed_is_open_when_the_application_has_read() {
        let mut window = ReceiveWindow::new(PACKET, 0);
        windows(&mut window, &[10, 20, 40, 80, 160]);
        let last = window.edge / window.mss;
        for seq in 311..last {
            window.on_out_of_order(seq, 310, seq - 310, at(600), at(500), true);
            window.on_ack_sent(310, seq - 310, at(600));
        }
        window.on_in_order(last, last - 310, 0, at(700), at(600));
        let packets = window.on_ack_sent(last, 0, at(700));
        assert!(packets >= 100, "{packets}");
    }

    #[test]
    fn truesizes_are_those_of_the_allocator() {
        assert_eq!([100, 600, 1500, 9000].map(truesize), [960, 1280, 2304, 12_544]);
    }
}
