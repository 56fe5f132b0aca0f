//! One flow's packets as TCP would write them.
//!
//! The simulator counts packets; here they become bytes: sequence numbers from 1, 52 bytes of headers in each data packet,
//! timestamps in ms (RFC 7323 §4.3 for what is echoed), SACK blocks with the youngest first (RFC 2018 §4).
//!
//! **Fiction**: the simulator has no handshake. One is added before the flow starts, on an empty path, so that readers learn
//! MSS, window scale and SACK. ACKs are as long as their options make them, whatever the scenario charges for them.

use crate::wire::EPOCH;
use fairweir_capture::{Ecn, Endpoint, Flags, Options, SackBlocks, Segment, TimestampOption};
use fairweir_sim::{Config, FlowSpec};
use fairweir_units::{Dur, NANOS_PER_SEC, Time};
use std::collections::VecDeque;

/// IP's and TCP's headers with timestamps, bytes.
const HEADERS: u32 = 52;
/// What a SYN's headers take: 40 and 20 of options (MSS, SACK permitted, timestamps, window scale, padding).
const SYN_BYTES: u32 = 60;
/// A SACK option with its padding takes so many bytes and 8 a block; beside timestamps three blocks fit.
const SACK_BYTES: u32 = 4;
const SACK_BLOCKS: usize = 3;
/// RFC 7323 §2.3.
const MAX_SCALE: u8 = 14;

/// The two ends' state, as far as headers show it.
#[derive(Debug)]
pub(crate) struct Dialogue {
    sender: Endpoint,
    receiver: Endpoint,
    payload: u32,
    ecn: Ecn,
    has_sack: bool,
    scale: u8,
    window: u16,
    start: Time,
    rtprop: Dur,
    forward: Dur,
    /// Data packets on their way, by number; the first has `first_sent`.
    on_their_way: VecDeque<Option<(u64, Segment)>>,
    first_sent: u32,
    /// ACKs on their way, with their numbers.
    acks: VecDeque<(u32, Segment)>,
    /// TSvals of ACKs and when the sender gets them.
    echoes: VecDeque<(Time, u32)>,
    echo: u32,
    inbox: Inbox,
}

/// What the receiver has.
#[derive(Debug, Default)]
struct Inbox {
    /// Next packet expected.
    next: u64,
    /// Runs of packets beyond it, each with the one behind its last; the youngest first.
    beyond: Vec<(u64, u64)>,
    /// The last cumulative ACK, packets.
    acked: u64,
    /// RFC 7323's TS.Recent.
    recent: u32,
    has_mark: bool,
}

impl Inbox {
    fn take(&mut self, seq: u64, tsval: u32) {
        if seq <= self.acked && tsval.wrapping_sub(self.recent) as i32 >= 0 {
            self.recent = tsval;
        }
        if seq < self.next {
            return;
        }
        let (mut from, mut to) = (seq, seq + 1);
        self.beyond.retain(|&(first, behind)| {
            let touches = first <= to && behind >= from;
            if touches {
                (from, to) = (from.min(first), to.max(behind));
            }
            !touches
        });
        if from <= self.next {
            self.next = to;
        } else {
            self.beyond.insert(0, (from, to));
        }
    }
}

/// TCP's clock: ms.
fn ticks(at: Time) -> u32 {
    (at.as_nanos() / (NANOS_PER_SEC / 1000)) as u32
}

impl Dialogue {
    pub(crate) fn new(config: &Config, flow: &FlowSpec, sender: Endpoint, receiver: Endpoint) -> Dialogue {
        let payload = (config.packet.0 as u32).saturating_sub(HEADERS).max(1);
        let most = u64::from(u16::MAX) << MAX_SCALE;
        let room = flow.rwnd.map_or(most, |packets| packets.saturating_mul(u64::from(payload)).min(most));
        let scale = (0..MAX_SCALE).find(|scale| room >> scale <= u64::from(u16::MAX)).unwrap_or(MAX_SCALE);
        let start = EPOCH + flow.start.since(Time::ZERO);
        Dialogue {
            sender,
            receiver,
            payload,
            ecn: if flow.ecn { Ecn::Ect0 } else { Ecn::NotEct },
            has_sack: flow.receiver.sack,
            scale,
            window: room.div_ceil(1 << scale).min(u64::from(u16::MAX)) as u16,
            start,
            rtprop: flow.rtprop,
            forward: flow.forward_delay.min(flow.rtprop),
            on_their_way: VecDeque::new(),
            first_sent: 0,
            acks: VecDeque::new(),
            echoes: VecDeque::new(),
            echo: ticks(start),
            inbox: Inbox { recent: ticks(start), ..Inbox::default() },
        }
    }

    /// SYN, SYN-ACK and ACK, and when each of them passes the sender and the receiver.
    pub(crate) fn handshake(&self) -> [(Segment, Time, Time); 3] {
        let there = |left: Time| left + self.forward;
        let began = Time::from_nanos(self.start.as_nanos().saturating_sub(self.rtprop.as_nanos()));
        let answered = there(began);
        let syn_options = |at: Time, echo: u32| Options {
            mss: Some((self.payload + HEADERS - 40).min(u32::from(u16::MAX)) as u16),
            window_scale: Some(self.scale),
            sack_permitted: self.has_sack,
            timestamps: Some(TimestampOption { value: ticks(at), echo }),
            sack: SackBlocks::default(),
        };
        let syn = Segment {
            flags: Flags { syn: true, ..Flags::default() },
            ip_bytes: SYN_BYTES,
            options: syn_options(began, 0),
            ..self.of_sender(began)
        };
        let syn_ack = Segment {
            seq: 0,
            ack: 1,
            flags: Flags { syn: true, ack: true, ..Flags::default() },
            ip_bytes: SYN_BYTES,
            options: syn_options(answered, ticks(began)),
            ..self.of_receiver(answered)
        };
        let ack = Segment { seq: 1, payload: 0, ip_bytes: HEADERS, ..self.of_sender(self.start) };
        [(syn, began, answered), (syn_ack, self.start, answered), (ack, self.start, there(self.start))]
    }

    fn of_sender(&self, at: Time) -> Segment {
        Segment {
            frame: 0,
            time: at,
            src: self.sender,
            dst: self.receiver,
            seq: 0,
            ack: 1,
            flags: Flags { ack: true, ..Flags::default() },
            window: u16::MAX,
            payload: 0,
            ip_bytes: HEADERS,
            ecn: Ecn::NotEct,
            options: stamped(at, self.echo),
        }
    }

    fn of_receiver(&self, at: Time) -> Segment {
        Segment {
            frame: 0,
            time: at,
            src: self.receiver,
            dst: self.sender,
            seq: 1,
            ack: 1,
            flags: Flags { ack: true, ..Flags::default() },
            window: self.window,
            payload: 0,
            ip_bytes: HEADERS,
            ecn: Ecn::NotEct,
            options: stamped(at, self.inbox.recent),
        }
    }

    /// Packet `seq` leaves the sender.
    pub(crate) fn send(&mut self, seq: u64, at: Time) -> Segment {
        while let Some((_, tsval)) = self.echoes.pop_front_if(|(arrival, _)| *arrival <= at) {
            self.echo = tsval;
        }
        let segment = Segment {
            seq: self.byte(seq),
            payload: self.payload,
            ip_bytes: self.payload + HEADERS,
            ecn: self.ecn,
            ..self.of_sender(at)
        };
        self.on_their_way.push_back(Some((seq, segment)));
        segment
    }

    /// The copy with this number is on its way no more.
    pub(crate) fn take(&mut self, number: u32) -> Option<(u64, Segment)> {
        let copy = self.on_their_way.get_mut((number - self.first_sent) as usize)?.take();
        while self.on_their_way.pop_front_if(|copy| copy.is_none()).is_some() {
            self.first_sent += 1;
        }
        copy
    }

    /// The copy with this number reaches the receiver.
    pub(crate) fn receive(&mut self, number: u32, at: Time, is_marked: bool) -> Option<Segment> {
        let (seq, mut segment) = self.take(number)?;
        self.inbox.has_mark |= is_marked;
        self.inbox.take(seq, segment.options.timestamps.map_or(0, |stamps| stamps.value));
        segment.time = at;
        if is_marked {
            segment.ecn = Ecn::Ce;
        }
        Some(segment)
    }

    /// The receiver sends an ACK.
    pub(crate) fn acknowledge(&mut self, number: u32, cum: u64, at: Time) -> Segment {
        debug_assert_eq!(cum, self.inbox.next, "both count alike");
        let mut segment = self.of_receiver(at);
        segment.ack = self.byte(cum);
        segment.flags.ece = self.inbox.has_mark;
        if self.has_sack {
            for &(from, to) in self.inbox.beyond.iter().take(SACK_BLOCKS) {
                segment.options.sack.push((self.byte(from), self.byte(to)));
                segment.ip_bytes += 8;
            }
            segment.ip_bytes += if segment.options.sack.is_empty() { 0 } else { SACK_BYTES };
        }
        self.inbox.acked = cum;
        self.inbox.has_mark = false;
        self.acks.push_back((number, segment));
        segment
    }

    /// The ACK with this number reaches the sender; those before it that have not are lost.
    pub(crate) fn hear(&mut self, number: u32, at: Time) -> Option<Segment> {
        while self.acks.pop_front_if(|(other, _)| *other < number).is_some() {}
        let (_, mut segment) = self.acks.pop_front_if(|(other, _)| *other == number)?;
        self.echoes.push_back((at, segment.options.timestamps.map_or(0, |stamps| stamps.value)));
        segment.time = at;
        Some(segment)
    }

    fn byte(&self, packet: u64) -> u32 {
        packet.wrapping_mul(u64::from(self.payload)).wrapping_add(1) as u32
    }
}

fn stamped(at: Time, echo: u32) -> Options {
    Options { timestamps: Some(TimestampOption { value: ticks(at), echo }), ..Options::default() }
}
