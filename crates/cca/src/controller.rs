//! Inputs and decisions of a congestion controller.

use fairweir_units::{Bytes, Dur, Rate, Time};
use rand_chacha::ChaCha8Rng;
use std::fmt::Debug;

/// A congestion control algorithm on one connection.
///
/// The transport calls `on_*` in time order and reads [`cwnd`](Controller::cwnd) and
/// [`pacing_rate`](Controller::pacing_rate) after each call. Packets are full-sized (`sender.mss`) and numbered from 0.
pub trait Controller: Debug + Send {
    /// The handshake is over, which gave the first RTT sample; called before the first data. A flow without a handshake
    /// does not call it.
    fn on_established(&mut self, _sender: &Sender, _cx: &mut Context<'_>) {}

    /// Processes an ACK; also called for ACKs that deliver nothing new but declare losses.
    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>);

    /// A loss episode starts: once for each recovery, each ECN reaction (at most once per round), each timeout.
    fn on_loss(&mut self, loss: &Loss<'_>, cx: &mut Context<'_>);

    /// The episode is over: everything sent before it began is acknowledged.
    fn on_recovered(&mut self, _sender: &Sender, _cx: &mut Context<'_>) {}

    /// Data end an idle period of more than an RTO, and the transport reduces cwnd (RFC 2861). The transport does not
    /// call this for algorithms with [`Interests::own_recovery`]; the others may ignore it, and keep their window.
    fn on_restart(&mut self, _restart: &Restart<'_>, _cx: &mut Context<'_>) {}

    /// The last timeout was spurious, and the transport restores cwnd; this is called instead of
    /// [`on_recovered`](Controller::on_recovered). By default the episode ends as any other.
    fn on_undo(&mut self, undo: &Undo<'_>, cx: &mut Context<'_>) {
        self.on_recovered(undo.sender, cx);
    }

    /// A packet left; only if [`Interests::sent`].
    fn on_send(&mut self, _sent: &Sent<'_>, _cx: &mut Context<'_>) {}

    /// A packet was declared lost (each one, unlike [`on_loss`](Controller::on_loss)); only if [`Interests::lost`].
    fn on_packet_lost(&mut self, _lost: &LostPacket, _cx: &mut Context<'_>) {}

    /// A packet was delivered (each one, unlike [`on_ack`](Controller::on_ack)); only if [`Interests::acked`]. The
    /// packets of an ACK come before its losses, and its `on_ack` comes last. Without SACK a packet is reported when it is
    /// cumulatively acknowledged.
    fn on_packet_acked(&mut self, _acked: &AckedPacket, _cx: &mut Context<'_>) {}

    /// The maximum inflight.
    fn cwnd(&self) -> Bytes;

    /// The rate at which packets may be sent; `None` disables pacing.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// How paced packets are spaced; read when the rate changes.
    fn spacing(&self) -> Spacing {
        Spacing::Transport
    }

    /// When the next packet may leave, in [`Spacing::Departures`]; read after each packet sent, if
    /// [`Interests::sent`]. `None` or a time in the past: at once.
    fn next_departure(&self) -> Option<Time> {
        None
    }

    /// [`on_ack`](Controller::on_ack) and the decisions after it, in one call: the transport's hot path.
    fn answer(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) -> Decision {
        self.on_ack(ack, cx);
        Decision { cwnd: self.cwnd(), pacing_rate: self.pacing_rate() }
    }

    /// The slow-start threshold, if the algorithm has one; the transport uses it in proportional rate reduction.
    fn ssthresh(&self) -> Option<Bytes> {
        None
    }

    /// The optional calls that the algorithm needs; read once, at the start.
    fn interests(&self) -> Interests {
        Interests::default()
    }

    /// An error inside an external algorithm (Python, loaded C); it ends the run.
    fn fault(&mut self) -> Option<Fault> {
        None
    }

    /// Named internal variables for traces and plots, in a fixed order, named as in the literature.
    fn telemetry(&self, _emit: &mut dyn FnMut(&'static str, f64)) {}
}

/// How the packets of a paced flow are spaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Spacing {
    /// In the flow's bursts, each followed by its time at the rate.
    #[default]
    Transport,
    /// From a token bucket that is refilled at the rate that is current when a packet may leave (quinn, noq). When the
    /// bucket is empty, the transport's timer waits until it holds `resumes_with`; an ACK may come earlier and send what
    /// it holds then.
    Bucket {
        /// The most that it holds.
        capacity: Bytes,
        /// At most `capacity`.
        resumes_with: Bytes,
    },
    /// At the times that the algorithm computes: [`Controller::next_departure`] (s2n-quic).
    Departures,
}

/// Decisions of a controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    /// [`Controller::cwnd`].
    pub cwnd: Bytes,
    /// [`Controller::pacing_rate`].
    pub pacing_rate: Option<Rate>,
}

/// Optional calls and services, off by default because they cost time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Interests {
    /// Whether to call [`Controller::on_send`].
    pub sent: bool,
    /// Whether to call [`Controller::on_packet_lost`].
    pub lost: bool,
    /// Whether to call [`Controller::on_packet_acked`].
    pub acked: bool,
    /// Whether to fill [`Ack::rate`].
    pub rate_sample: bool,
    /// In recovery cwnd alone limits sending, as Linux does for algorithms with `cong_control`; otherwise the transport
    /// applies proportional rate reduction (RFC 9937) towards `ssthresh`.
    pub own_recovery: bool,
    /// The algorithm reacts to [`Ack::marked`] itself (Prague): the transport starts no episode for marks.
    pub own_ecn: bool,
    /// The receiver belongs to the algorithm, and reports which packets are marked (`TCP_CONG_NEEDS_ECN` in Linux, RFC
    /// 8257 §3.2). The simulator's ACKs always count marks; if the receiver delays ACKs, the flag determines when it
    /// acknowledges marks.
    pub exact_marks: bool,
    /// The algorithm meets the L4S requirements (RFC 9331 §4): the data packets of a flow with ECN carry ECT(1).
    pub l4s: bool,
    /// The rules of loss recovery that the transport follows.
    pub recovery: Recovery,
}

/// The rules by which the transport recovers from loss, and by which it reports loss to the controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Recovery {
    /// TCP, as Linux implements it: [`Controller::on_loss`] reports the start of an episode, and when the retransmission
    /// timer expires, all that was sent an RTT ago is lost ([`Cause::Timeout`]).
    #[default]
    Tcp,
    /// QUIC (RFC 9002): [`Controller::on_loss`] follows every batch of losses and every ACK that reports marks, and the
    /// algorithm decides which of them belong to one episode. When the timer expires (a PTO, §6.2), the two oldest packets
    /// outstanding are sent again and nothing is declared lost. The ACK that ends a period of persistent congestion (§7.6)
    /// reports [`Cause::PersistentCongestion`]. [`Cause::Timeout`] does not occur, and no proportional rate reduction is
    /// applied.
    ///
    /// **Deviations from RFC 9002**: losses are detected as in TCP; a retransmission has the number of the original; the
    /// timer starts again when the oldest packet outstanding is delivered or sent, not with every packet.
    Quic,
}

/// The state of loss recovery, by the kernel's names (`enum tcp_ca_state`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CaState {
    /// No sign of loss.
    #[default]
    Open,
    /// SACKs or duplicate ACKs, not yet enough to declare a loss.
    Disorder,
    /// cwnd was reduced after an ECN mark.
    Cwr,
    /// Fast retransmit.
    Recovery,
    /// Recovery from a retransmission timeout.
    Loss,
}

/// The transport's connection state. Counts are packets.
#[derive(Clone, Debug)]
pub struct Sender {
    /// Size of a packet as cwnd counts it, bytes.
    pub mss: Bytes,
    /// First packet not cumulatively acknowledged.
    pub snd_una: u64,
    /// Number of the next new packet.
    pub snd_nxt: u64,
    /// Packets SACKed above `snd_una`.
    pub sacked_out: u64,
    /// Packets declared lost and neither delivered nor cumulatively acknowledged since.
    pub lost_out: u64,
    /// Retransmitted and not yet acknowledged.
    pub retrans_out: u64,
    /// Delivered (cumulatively or by SACK) since the start, each packet once.
    pub delivered: u64,
    /// Delivered with a congestion-experienced mark.
    pub delivered_ce: u64,
    /// Packets declared lost since the start; one lost twice counts twice.
    pub lost: u64,
    /// Smoothed RTT (RFC 6298), zero before the first sample.
    pub srtt: Dur,
    /// Mean deviation of the RTT (RFC 6298).
    pub rttvar: Dur,
    /// Minimum RTT since the start; [`Dur::MAX`] before the first sample.
    pub min_rtt: Dur,
    /// State of loss recovery.
    pub ca_state: CaState,
    /// Whether cwnd, rather than the application or pacing, limited the sender in the last round.
    pub is_cwnd_limited: bool,
    /// The path's true two-way propagation delay, where the scenario grants the algorithm an oracle.
    pub oracle_rtprop: Option<Dur>,
}

impl Sender {
    /// Creates a connection that has sent nothing.
    pub fn new(mss: Bytes) -> Sender {
        Sender {
            mss,
            snd_una: 0,
            snd_nxt: 0,
            sacked_out: 0,
            lost_out: 0,
            retrans_out: 0,
            delivered: 0,
            delivered_ce: 0,
            lost: 0,
            srtt: Dur::ZERO,
            rttvar: Dur::ZERO,
            min_rtt: Dur::MAX,
            ca_state: CaState::Open,
            is_cwnd_limited: false,
            oracle_rtprop: None,
        }
    }
    /// Whether cwnd is being reduced after a loss or a mark (`tcp_in_cwnd_reduction`); loss-based algorithms then do
    /// not increase it.
    #[inline]
    pub fn is_reducing(&self) -> bool {
        matches!(self.ca_state, CaState::Cwr | CaState::Recovery)
    }
    /// Sent and not cumulatively acknowledged, packets.
    #[inline]
    pub fn packets_out(&self) -> u64 {
        self.snd_nxt - self.snd_una
    }
    /// Packets in flight as far as the sender knows (`tcp_packets_in_flight`).
    #[inline]
    pub fn inflight(&self) -> u64 {
        self.packets_out() + self.retrans_out - self.sacked_out - self.lost_out
    }
}

/// A delivery-rate sample as `net/ipv4/tcp_rate.c` defines it.
#[derive(Clone, Copy, Debug, Default)]
pub struct RateSample {
    /// Packets delivered over `interval`; 0 if there is no sample.
    pub delivered: u64,
    /// The longer of the send interval and the ACK interval; zero if there is no sample.
    pub interval: Dur,
    /// `Sender::delivered` when the newest acknowledged packet was sent; ends a round when it passes.
    pub prior_delivered: u64,
    /// Whether the sample was taken while application-limited.
    pub is_app_limited: bool,
}

impl RateSample {
    /// The delivery rate, if the sample is valid.
    pub fn delivery_rate(&self, mss: Bytes) -> Option<Rate> {
        (self.interval > Dur::ZERO && self.delivered > 0).then(|| mss * self.delivered / self.interval)
    }
}

/// An ACK, after the transport has updated its state. Counts are packets.
#[derive(Clone, Copy, Debug)]
pub struct Ack<'a> {
    /// Newly delivered: cumulatively acknowledged or SACKed, each packet once.
    pub acked: u64,
    /// Packets by which `snd_una` moved.
    pub cum_acked: u64,
    /// Packets newly declared lost.
    pub lost: u64,
    /// Newly delivered with a congestion-experienced mark.
    pub marked: u64,
    /// Packets in flight before this ACK.
    pub prior_inflight: u64,
    /// RTT of the newest packet acknowledged, if it was never retransmitted.
    pub rtt: Option<Dur>,
    /// The newest packet newly acknowledged (cumulatively or by SACK), if any.
    pub newest: Option<u64>,
    /// Time of that packet's last transmission.
    pub newest_sent: Time,
    /// Delivery rate; filled only if [`Interests::rate_sample`].
    pub rate: RateSample,
    /// The transport's state after this ACK.
    pub sender: &'a Sender,
}

impl Ack<'_> {
    /// Whether a loss-based algorithm may increase cwnd: cwnd is not being reduced, and `snd_una` moved
    /// (`tcp_may_raise_cwnd` of Linux's tcp_input.c on a path that does not reorder packets). ACKs with SACKs alone come
    /// between the loss and its detection; growth at such an ACK would overflow a full queue a second time.
    #[inline]
    pub fn may_raise_cwnd(&self) -> bool {
        self.cum_acked > 0 && !self.sender.is_reducing()
    }
}

/// Cause of a loss episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cause {
    /// Duplicate ACKs, SACK, or send times (RACK).
    Dupack,
    /// A congestion-experienced mark.
    Ecn,
    /// Retransmission timeout.
    Timeout,
    /// Everything sent during three probe timeouts was lost (RFC 9002 §7.6); only with [`Recovery::Quic`].
    PersistentCongestion,
}

/// A loss episode starts.
#[derive(Clone, Copy, Debug)]
pub struct Loss<'a> {
    /// Cause of the loss.
    pub cause: Cause,
    /// Packets in flight before the loss was declared.
    pub prior_inflight: u64,
    /// Whether ssthresh has already been reduced for these losses, and remains: a timeout that follows another one (RFC
    /// 5681 §3.1), and with the kernel's rules one that interrupts fast recovery (`tcp_enter_loss`). Only for
    /// [`Cause::Timeout`].
    pub is_repeated: bool,
    /// The transport's state.
    pub sender: &'a Sender,
}

/// Data are sent after an idle period; nothing is in flight, and cwnd is not being reduced.
#[derive(Clone, Copy, Debug)]
pub struct Restart<'a> {
    /// The window to continue with, at most the present one.
    pub cwnd: Bytes,
    /// The transport's state.
    pub sender: &'a Sender,
}

impl Restart<'_> {
    /// Returns the minimum of ssthresh after the restart, from the present `cwnd`, both in packets: slow start leads back
    /// to three quarters of the window (`tcp_current_ssthresh`).
    pub fn min_ssthresh(cwnd: u64) -> u64 {
        cwnd / 2 + cwnd / 4
    }
}

/// A timeout was spurious: packets or their ACKs were late, not lost.
#[derive(Clone, Copy, Debug)]
pub struct Undo<'a> {
    /// cwnd before the timeout; a present cwnd that is larger remains (`tcp_reno_undo_cwnd`).
    pub cwnd: Bytes,
    /// Minimum of ssthresh from now on: its value before the timeout, at least three quarters of cwnd
    /// (`tcp_current_ssthresh`); [`Bytes::MAX`] if the algorithm has no ssthresh.
    pub ssthresh: Bytes,
    /// The transport's state after the episode.
    pub sender: &'a Sender,
}

/// A packet was declared lost.
#[derive(Clone, Copy, Debug)]
pub struct LostPacket {
    /// Packet number.
    pub seq: u64,
    /// Time of its last transmission.
    pub sent: Time,
}

/// A packet was delivered: cumulatively acknowledged or SACKed.
#[derive(Clone, Copy, Debug)]
pub struct AckedPacket {
    /// Packet number.
    pub seq: u64,
    /// Time of its last transmission.
    pub sent: Time,
    /// Whether it was sent more than once: its RTT is ambiguous.
    pub was_retransmitted: bool,
    /// Whether the application limited the sender just before this ACK: cwnd had room, and there was nothing to send.
    pub is_app_limited: bool,
}

/// A packet was sent.
#[derive(Clone, Copy, Debug)]
pub struct Sent<'a> {
    /// Packet number.
    pub seq: u64,
    /// Whether it was sent before.
    pub is_retransmit: bool,
    /// The transport's state, with this packet in flight.
    pub sender: &'a Sender,
}

/// Inputs of a controller in addition to the event.
pub struct Context<'a> {
    /// The time of the event.
    pub now: Time,
    /// The flow's own random stream, seeded by the scenario.
    pub rng: &'a mut ChaCha8Rng,
}

/// A controller misbehaved: raised, returned NaN or a negative number, or set an excessive window.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Fault(pub String);
