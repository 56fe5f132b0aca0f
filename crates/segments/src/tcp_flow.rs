//! Segments of one simulated flow, as TCP would send them.
//!
//! The simulator counts packets; here they are converted to bytes: sequence numbers from 1, 52 bytes of headers in each
//! data packet, timestamps in ms (echoed according to RFC 7323 §4.3), SACK blocks with the most recent first (RFC 2018
//! §4).
//!
//! **Synthetic**: ideal hosts have no handshake. A handshake on an empty path is added before the flow starts, so that
//! readers know the MSS, the window scale and whether SACK is permitted. The last ACK of a simulated handshake
//! ([`Mechanism::Handshake`]), which does not pass the path, arrives as on an empty path. The size of an ACK is computed from
//! its options, not from the scenario's `ack` size.

use fairweir_scenario::{Config, FlowSpec, HEADER_BYTES, Mechanism, PacketEvent};
use fairweir_tcp::sequence::distance;
use fairweir_tcp::{Ecn, Endpoint, Flags, Intervals, Options, SackBlocks, Segment, Side, Timestamps};
use fairweir_units::{Dur, NANOS_PER_SEC, Time};
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
    asks_for_ecn: bool,
    has_sack: bool,
    scale: u8,
    /// The latest segment of each end, from which the end's next segment is derived.
    of_sender: Segment,
    of_receiver: Segment,
    /// Delay of data on an empty path.
    forward_delay: Dur,
    greeting: Vec<Segment>,
    first_syn: Option<Time>,
    /// Times of each SYN that arrived: at which it left, and at which it arrived.
    answered: Vec<(Time, Time)>,
    is_established: bool,
    /// Window of a SYN-ACK, bytes.
    first_window: u16,
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
    ecn: Ecn,
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
        let window = room.div_ceil(1 << scale).min(u64::from(u16::MAX)) as u16;
        let receiver = Endpoint { address: receiver_address(), port: RECEIVER_PORT };
        let mut made = TcpFlow {
            side,
            payload,
            asks_for_ecn: flow.ecn,
            has_sack: flow.receiver.sack,
            scale,
            of_sender: bare(sender, receiver, u16::MAX),
            of_receiver: Segment { seq: 1, ..bare(receiver, sender, window) },
            forward_delay: flow.forward_delay.min(flow.rtprop),
            greeting: Vec::new(),
            first_syn: None,
            answered: Vec::new(),
            is_established: false,
            first_window: room.min(u64::from(u16::MAX)) as u16,
            on_their_way: VecDeque::new(),
            first_sent: 0,
            acks: VecDeque::new(),
            echoes: VecDeque::new(),
            echo: 0,
            inbox: Inbox::default(),
        };
        if !flow.transport.has(Mechanism::Handshake) {
            made.greet(stamp(flow.start), flow.rtprop);
        }
        made
    }

    /// Returns the bytes of data in a packet.
    pub fn payload(&self) -> u32 {
        self.payload
    }

    /// Returns the segments of the synthetic handshake, as captured at this side; none if the run simulates handshakes.
    pub fn greeting(&mut self) -> Vec<Segment> {
        std::mem::take(&mut self.greeting)
    }

    /// Makes a handshake on an empty path that ends at `start`, in the capture's time.
    fn greet(&mut self, start: Time, rtprop: Dur) {
        let sent = Time::from_nanos(start.as_nanos().saturating_sub(rtprop.as_nanos()));
        let answered = sent + self.forward_delay;
        let steps = [self.send_syn(sent), self.answer_syn(sent, answered), self.hear_syn_ack(sent, start)];
        self.greeting = steps.concat();
    }

    /// Processes an event of a simulated handshake, in the run's time. Returns the segments that the event makes visible
    /// at this side, in the capture's time; none if it is an event of data.
    pub fn shake_hands(&mut self, event: PacketEvent) -> Vec<Segment> {
        match event {
            PacketEvent::SynSent { at, .. } => self.send_syn(stamp(at)),
            PacketEvent::SynArrived { sent, at, .. } => self.answer_syn(stamp(sent), stamp(at)),
            PacketEvent::SynAckArrived { sent, at, .. } => self.hear_syn_ack(stamp(sent), stamp(at)),
            _ => Vec::new(),
        }
    }

    fn send_syn(&mut self, at: Time) -> Vec<Segment> {
        self.first_syn.get_or_insert(at);
        self.seen_at(Side::Sender, |flow| vec![flow.syn(at, at)])
    }

    fn answer_syn(&mut self, sent: Time, at: Time) -> Vec<Segment> {
        self.answered.push((sent, at));
        self.seen_at(Side::Receiver, |flow| vec![flow.syn(sent, at), flow.syn_ack(at, at)])
    }

    fn hear_syn_ack(&mut self, sent: Time, at: Time) -> Vec<Segment> {
        let answered = self.answered.iter().find(|(of, _)| *of == sent).map_or(at, |(_, answered)| *answered);
        let mut segments = self.seen_at(Side::Sender, |flow| vec![flow.syn_ack(answered, at)]);
        if !std::mem::replace(&mut self.is_established, true) {
            self.echo = ticks(answered);
            self.inbox.recent = ticks(at);
            let timestamps = Timestamps { tsval: ticks(at), tsecr: self.echo };
            let time = if self.side == Side::Sender { at } else { at + self.forward_delay };
            let options = Options { timestamps: Some(timestamps), ..Options::default() };
            segments.push(Segment { time, seq: 1, options, ..self.of_sender });
        }
        segments
    }

    fn seen_at(&self, side: Side, segments: impl FnOnce(&TcpFlow) -> Vec<Segment>) -> Vec<Segment> {
        if self.side == side { segments(self) } else { Vec::new() }
    }

    /// Whether the SYN that the receiver answered first is the first one; only that asks for ECN.
    fn has_asked_for_ecn(&self) -> bool {
        self.answered.first().is_some_and(|(sent, _)| Some(*sent) == self.first_syn)
    }

    /// Returns the SYN that left at `sent`, captured at `at`.
    fn syn(&self, sent: Time, at: Time) -> Segment {
        let mut flags = Flags::SYN;
        flags.set(Flags::ECE.and(Flags::CWR), self.asks_for_ecn && Some(sent) == self.first_syn);
        self.offer(self.of_sender, flags, at, Timestamps { tsval: ticks(sent), tsecr: 0 })
    }

    /// Returns the SYN-ACK that left at `sent`, captured at `at`. Its window is not scaled (RFC 7323 §2.2).
    fn syn_ack(&self, sent: Time, at: Time) -> Segment {
        let mut flags = Flags::SYN.and(Flags::ACK);
        flags.set(Flags::ECE, self.asks_for_ecn && self.has_asked_for_ecn());
        let echo = self.answered.first().map_or(0, |(sent, _)| ticks(*sent));
        let offer = self.offer(self.of_receiver, flags, at, Timestamps { tsval: ticks(sent), tsecr: echo });
        Segment { window: self.first_window, ..offer }
    }

    fn offer(&self, end: Segment, flags: Flags, time: Time, timestamps: Timestamps) -> Segment {
        let options = Options {
            mss: Some((self.payload + HEADERS - 40).min(u32::from(u16::MAX)) as u16),
            window_scale: Some(self.scale),
            sack_permitted: self.has_sack,
            timestamps: Some(timestamps),
            sack: SackBlocks::default(),
        };
        Segment { time, seq: 0, flags, ip_bytes: SYN_BYTES, options, ..end }
    }

    /// Processes an event of one of the flow's packets, in the run's time. Returns the segment that the event makes
    /// visible at this side, in the capture's time; [`TcpFlow::shake_hands`] processes handshakes.
    pub fn observe(&mut self, event: PacketEvent) -> Option<&Segment> {
        match event {
            PacketEvent::SynSent { .. } | PacketEvent::SynArrived { .. } | PacketEvent::SynAckArrived { .. } => None,
            PacketEvent::Sent { seq, at, ecn, .. } => {
                let sent = self.send(seq, at, codepoint(ecn));
                (self.side == Side::Sender).then(|| self.data(sent, at, sent.ecn))
            }
            PacketEvent::Dropped { number, .. } => {
                self.take(number);
                None
            }
            PacketEvent::Arrived { number, at, is_marked, .. } => {
                let sent = self.receive(number, is_marked)?;
                let ecn = if is_marked { Ecn::Ce } else { sent.ecn };
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
    fn send(&mut self, seq: u64, at: Time, ecn: Ecn) -> Sent {
        while let Some((_, tsval)) = self.echoes.pop_front_if(|(arrival, _)| *arrival <= at) {
            self.echo = tsval;
        }
        let sent = Sent { seq, timestamps: Timestamps { tsval: ticks(stamp(at)), tsecr: self.echo }, ecn };
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

fn codepoint(ecn: fairweir_path::Ecn) -> Ecn {
    match ecn {
        fairweir_path::Ecn::NotEct => Ecn::NotEct,
        fairweir_path::Ecn::Ect0 => Ecn::Ect0,
        fairweir_path::Ecn::Ect1 => Ecn::Ect1,
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
