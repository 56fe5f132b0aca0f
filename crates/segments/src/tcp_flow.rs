//! Segments of one simulated flow, as TCP would send them.
//!
//! The simulator counts packets; here they are converted to bytes: sequence numbers from 1, 52 bytes of headers in each
//! data packet, timestamps in ms (echoed according to RFC 7323 §4.3), SACK blocks with the most recent first (RFC 2018
//! §4).
//!
//! **Synthetic**: the simulator has no handshake. A handshake on an empty path is added before the flow starts, so that
//! readers know the MSS, the window scale and whether SACK is permitted. The size of an ACK is computed from its
//! options, not from the scenario's `ack` size.

use fairweir_scenario::{Config, FlowSpec, HEADER_BYTES, PacketEvent};
use fairweir_tcp::sequence::distance;
use fairweir_tcp::{Ecn, Endpoint, Flags, Intervals, Options, SackBlocks, Segment, Side, Timestamps};
use fairweir_units::{NANOS_PER_SEC, Time};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr};

/// Time of the run's start in captures, ns since 1970. It is not zero, so that handshakes before the start have
/// positive times.
pub const EPOCH: Time = Time::from_nanos(1_000_000_000 * NANOS_PER_SEC);
/// Size of the IP and TCP headers with timestamps, bytes; a simulated packet's size includes them.
pub const HEADERS: u32 = HEADER_BYTES as u32;
/// Size of a SYN's headers, bytes: 40, and 20 of options (MSS, SACK permitted, timestamps, window scale, padding).
const SYN_BYTES: u32 = 60;
/// Size of a SACK option with padding, without its blocks, bytes; each block adds 8 bytes. With timestamps three blocks
/// fit.
const SACK_BYTES: u32 = 4;
const SACK_BLOCKS: usize = 3;
const RECEIVER_PORT: u16 = 5001;
/// Maximum window scale (RFC 7323 §2.3).
const MAX_SCALE: u8 = 14;

/// Returns the address of the host that receives the data of all flows.
pub fn receiver_address() -> IpAddr {
    Ipv4Addr::new(10, 128, 0, 1).into()
}

/// The state of both ends, as far as headers show it, and the view from one side.
#[derive(Debug)]
pub struct TcpFlow {
    side: Side,
    payload: u32,
    ecn: Ecn,
    has_sack: bool,
    scale: u8,
    /// The latest segment of each end, from which the end's next segment is derived.
    of_sender: Segment,
    of_receiver: Segment,
    /// Time at which the SYN leaves, and time at which it arrives, in the capture's time.
    began: Time,
    answered: Time,
    start: Time,
    /// Data packets in transit, by number; the first has number `first_sent`.
    on_their_way: VecDeque<Option<Sent>>,
    first_sent: u64,
    acks: VecDeque<Ack>,
    /// TSvals of ACKs, each with the time at which the sender receives it.
    echoes: VecDeque<(Time, u32)>,
    echo: u32,
    inbox: Inbox,
}

/// A data packet in transit.
#[derive(Clone, Copy, Debug)]
struct Sent {
    seq: u64,
    timestamps: Timestamps,
}

/// An ACK in transit.
#[derive(Clone, Copy, Debug)]
struct Ack {
    number: u64,
    cum: u64,
    timestamps: Timestamps,
    has_mark: bool,
    sack: SackBlocks,
}

/// The receiver's state.
#[derive(Debug, Default)]
struct Inbox {
    /// Next packet expected.
    next: u64,
    /// Out-of-order packets.
    above: Intervals,
    /// The first packet of each out-of-order range; the range that changed last is first (RFC 2018 §4).
    latest: Vec<u64>,
    /// The last cumulative ACK, packets.
    acked: u64,
    /// RFC 7323's TS.Recent.
    recent: u32,
    has_mark: bool,
}

impl Inbox {
    fn take(&mut self, seq: u64, tsval: u32) {
        if seq <= self.acked && distance(self.recent, tsval) >= 0 {
            self.recent = tsval;
        }
        if seq < self.next {
            return;
        }
        let (from, to) = self.above.insert(seq, seq + 1, |_, _| ());
        self.latest.retain(|first| !(from..to).contains(first));
        if from <= self.next {
            self.next = to;
            self.above.forget_below(to);
        } else {
            self.latest.insert(0, from);
        }
    }

    /// Returns the ranges of out-of-order packets, the most recent first.
    fn ranges(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        self.latest.iter().filter_map(|&first| self.above.containing(first))
    }
}

/// Converts the run's time to the capture's time.
pub(crate) fn stamp(at: Time) -> Time {
    EPOCH + at.since(Time::ZERO)
}

/// Returns TCP's timestamp for a time, ms.
fn ticks(at: Time) -> u32 {
    (at.as_nanos() / (NANOS_PER_SEC / 1000)) as u32
}

impl TcpFlow {
    /// Creates the TCP connection of `flow`'s data from `sender`, captured at `side`.
    pub fn new(config: &Config, flow: &FlowSpec, sender: Endpoint, side: Side) -> TcpFlow {
        let payload = (config.packet.0 as u32).saturating_sub(HEADERS).max(1);
        let most = u64::from(u16::MAX) << MAX_SCALE;
        let room = flow.rwnd.map_or(most, |packets| packets.saturating_mul(u64::from(payload)).min(most));
        let scale = (0..MAX_SCALE).find(|scale| room >> scale <= u64::from(u16::MAX)).unwrap_or(MAX_SCALE);
        let start = stamp(flow.start);
        let began = Time::from_nanos(start.as_nanos().saturating_sub(flow.rtprop.as_nanos()));
        let answered = began + flow.forward_delay.min(flow.rtprop);
        let window = room.div_ceil(1 << scale).min(u64::from(u16::MAX)) as u16;
        let receiver = Endpoint { address: receiver_address(), port: RECEIVER_PORT };
        TcpFlow {
            side,
            payload,
            ecn: if flow.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            has_sack: flow.receiver.sack,
            scale,
            of_sender: bare(sender, receiver, u16::MAX),
            of_receiver: Segment { seq: 1, ..bare(receiver, sender, window) },
            began,
            answered,
            start,
            on_their_way: VecDeque::new(),
            first_sent: 0,
            acks: VecDeque::new(),
            echoes: VecDeque::new(),
            echo: ticks(answered),
            inbox: Inbox { recent: ticks(start), ..Inbox::default() },
        }
    }

    /// Returns the bytes of data in a packet.
    pub fn payload(&self) -> u32 {
        self.payload
    }

    /// Returns SYN, SYN-ACK and ACK, as captured at this side.
    pub fn handshake(&self) -> [Segment; 3] {
        let seen = |at_sender: Time, at_receiver: Time| match self.side {
            Side::Sender => at_sender,
            Side::Receiver => at_receiver,
        };
        let behind = self.start + self.answered.since(self.began);
        let [began, answered, start] = [self.began, self.answered, self.start].map(ticks);
        let offer = |end: Segment, is_answer: bool, time: Time, timestamps: Timestamps| Segment {
            time,
            seq: 0,
            flags: if is_answer { Flags::SYN.and(Flags::ACK) } else { Flags::SYN },
            ip_bytes: SYN_BYTES,
            options: Options {
                mss: Some((self.payload + HEADERS - 40).min(u32::from(u16::MAX)) as u16),
                window_scale: Some(self.scale),
                sack_permitted: self.has_sack,
                timestamps: Some(timestamps),
                sack: SackBlocks::default(),
            },
            ..end
        };
        let echoing = |tsval: u32, tsecr: u32| Timestamps { tsval, tsecr };
        let syn = offer(self.of_sender, false, seen(self.began, self.answered), echoing(began, 0));
        let syn_ack = offer(self.of_receiver, true, seen(self.start, self.answered), echoing(answered, began));
        let options = Options { timestamps: Some(echoing(start, answered)), ..Options::default() };
        let ack = Segment { time: seen(self.start, behind), seq: 1, options, ..self.of_sender };
        [syn, syn_ack, ack]
    }

    /// Processes an event of one of the flow's packets, in the run's time. Returns the segment that the event makes
    /// visible at this side, in the capture's time.
    pub fn observe(&mut self, event: PacketEvent) -> Option<&Segment> {
        match event {
            PacketEvent::Sent { seq, at, .. } => {
                let sent = self.send(seq, at);
                (self.side == Side::Sender).then(|| self.data(sent, at, self.ecn))
            }
            PacketEvent::Dropped { number, .. } => {
                self.take(number);
                None
            }
            PacketEvent::Arrived { number, at, is_marked, .. } => {
                let sent = self.receive(number, is_marked)?;
                let ecn = if is_marked { Ecn::Ce } else { self.ecn };
                (self.side == Side::Receiver).then(|| self.data(sent, at, ecn))
            }
            PacketEvent::AckSent { number, cum, at, .. } => {
                let ack = self.acknowledge(number, cum, at);
                (self.side == Side::Receiver).then(|| self.ack(&ack, at))
            }
            PacketEvent::AckDropped { .. } => None,
            PacketEvent::AckArrived { number, at, .. } => {
                let ack = self.hear(number, at)?;
                (self.side == Side::Sender).then(|| self.ack(&ack, at))
            }
        }
    }

    /// The sender sends packet `seq`.
    fn send(&mut self, seq: u64, at: Time) -> Sent {
        while let Some((_, tsval)) = self.echoes.pop_front_if(|(arrival, _)| *arrival <= at) {
            self.echo = tsval;
        }
        let sent = Sent { seq, timestamps: Timestamps { tsval: ticks(stamp(at)), tsecr: self.echo } };
        self.on_their_way.push_back(Some(sent));
        sent
    }

    /// Removes the copy with this number, which is no longer in transit.
    fn take(&mut self, number: u64) -> Option<Sent> {
        if number != self.first_sent {
            return self.on_their_way.get_mut((number - self.first_sent) as usize)?.take();
        }
        let sent = self.on_their_way.pop_front()?;
        self.first_sent += 1;
        while self.on_their_way.pop_front_if(|sent| sent.is_none()).is_some() {
            self.first_sent += 1;
        }
        sent
    }

    /// Processes the arrival of the copy with this number at the receiver.
    fn receive(&mut self, number: u64, is_marked: bool) -> Option<Sent> {
        let sent = self.take(number)?;
        self.inbox.has_mark |= is_marked;
        self.inbox.take(sent.seq, sent.timestamps.tsval);
        Some(sent)
    }

    /// The receiver sends an ACK.
    fn acknowledge(&mut self, number: u64, cum: u64, at: Time) -> Ack {
        debug_assert_eq!(cum, self.inbox.next, "both count alike");
        let mut sack = SackBlocks::default();
        if self.has_sack {
            for (from, to) in self.inbox.ranges().take(SACK_BLOCKS) {
                sack.push((self.byte(from), self.byte(to)));
            }
        }
        let timestamps = Timestamps { tsval: ticks(stamp(at)), tsecr: self.inbox.recent };
        let ack = Ack { number, cum, timestamps, has_mark: std::mem::take(&mut self.inbox.has_mark), sack };
        self.inbox.acked = cum;
        self.acks.push_back(ack);
        ack
    }

    /// Processes the arrival of the ACK with this number at the sender. Earlier ACKs that have not arrived are lost.
    fn hear(&mut self, number: u64, at: Time) -> Option<Ack> {
        while self.acks.pop_front_if(|other| other.number < number).is_some() {}
        let ack = self.acks.pop_front_if(|other| other.number == number)?;
        self.echoes.push_back((at, ack.timestamps.tsval));
        Some(ack)
    }

    fn data(&mut self, sent: Sent, at: Time, ecn: Ecn) -> &Segment {
        let seq = self.byte(sent.seq);
        let segment = &mut self.of_sender;
        segment.time = stamp(at);
        segment.seq = seq;
        segment.payload = self.payload;
        segment.ip_bytes = self.payload + HEADERS;
        segment.ecn = ecn;
        segment.options.timestamps = Some(sent.timestamps);
        segment
    }

    fn ack(&mut self, ack: &Ack, at: Time) -> &Segment {
        let blocks = ack.sack.iter().count() as u32;
        let cum = self.byte(ack.cum);
        let segment = &mut self.of_receiver;
        segment.time = stamp(at);
        segment.ack = cum;
        segment.flags.set(Flags::ECE, ack.has_mark);
        segment.ip_bytes = HEADERS + if blocks > 0 { SACK_BYTES + 8 * blocks } else { 0 };
        segment.options.timestamps = Some(ack.timestamps);
        segment.options.sack = ack.sack;
        segment
    }

    fn byte(&self, packet: u64) -> u32 {
        packet.wrapping_mul(u64::from(self.payload)).wrapping_add(1) as u32
    }
}

/// Returns an ACK without options and payload.
fn bare(src: Endpoint, dst: Endpoint, window: u16) -> Segment {
    Segment {
        frame: 0,
        time: EPOCH,
        src,
        dst,
        seq: 0,
        ack: 1,
        flags: Flags::ACK,
        window,
        payload: 0,
        ip_bytes: HEADERS,
        ecn: Ecn::NotEct,
        options: Options::default(),
    }
}
