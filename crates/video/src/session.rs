//! A session: camera, encoder, sender, network and receiver, which run on one virtual clock.

use crate::config::{Config, TAIL};
use crate::encoder::{Encoder, Job, Quality, TableEncoder};
use crate::metrics::{self, Fate, FrameRecord, Metrics};
use crate::network::{self, Network};
use crate::outgoing::{Group, Outgoing, Sizes, Stage};
use crate::receiver::Receiver;
use crate::senders::{Ack, Coding, Decision, Recovery, Sender};
use crate::table::{Coded, Table};
use fairweir_path::ConfigError;
use fairweir_units::{Dur, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::Serialize;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Number of the encoder's random stream; the network's streams have the numbers 1, 2, ...
const ENCODER_STREAM: u64 = 1 << 32;

/// Reasons why a session fails.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SessionError {
    /// The configuration is rejected.
    #[error(transparent)]
    BadConfig(#[from] ConfigError),
    /// A live encoder failed.
    #[error("the encoder failed: {0}")]
    Encoder(String),
    /// The caller stopped the session.
    #[error("interrupted at {at}")]
    Interrupted {
        /// Time on the virtual clock.
        at: Time,
    },
}

/// Result of a session.
#[derive(Clone, Debug, Serialize)]
pub struct Outcome {
    /// Delay, quality and frame rate.
    pub metrics: Metrics,
    /// Rates, losses and repair.
    pub traffic: Traffic,
    /// Every frame captured, if requested.
    pub frames: Vec<FrameRecord>,
    /// Every decision of the sender, if requested and available.
    pub decisions: Vec<Decision>,
    /// Every packet in order of sending, if requested.
    pub packets: Vec<PacketRecord>,
    /// Every group of frames, if packets are requested.
    pub groups: Vec<GroupRecord>,
}

/// A packet that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct PacketRecord {
    /// Number of its group.
    pub group: u32,
    /// Number of packets of the group sent before this one. A packet is data if this is below the group's `message`,
    /// otherwise repair.
    pub index: u32,
    /// Time at which it was sent, ms.
    pub sent_ms: f64,
    /// Time of its arrival, which may be after the end of the session, ms; `None` if it was lost.
    pub arrived_ms: Option<f64>,
}

/// Frames that were sent together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct GroupRecord {
    /// Its frames, from the oldest to the newest.
    pub frames: Vec<u32>,
    /// Number of packets that suffice to restore the frames.
    pub message: u32,
    /// Number of packets sent or to be sent.
    pub total: u32,
}

/// Packets sent and arrived in the measured time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Traffic {
    /// Rate of arrivals at the receiver by bytes on the wire, Mbps.
    pub delivered_mbps: f64,
    /// `delivered_mbps` divided by the mean rate of the link.
    pub link_use: f64,
    /// Fraction of the sent packets that never arrived.
    pub loss: f64,
    /// Fraction of the sent packets that were repair packets or retransmissions.
    pub repair: f64,
    /// Number of frames whose reference is not the previous coded frame.
    pub recoveries: u64,
}

/// Runs a session with frames coded from a table.
///
/// # Errors
/// See [`SessionError`].
pub fn play(
    config: &Config,
    table: Table,
    progress: &mut dyn FnMut(Time) -> ControlFlow<()>,
) -> Result<Outcome, SessionError> {
    let mut rng = ChaCha8Rng::seed_from_u64(config.seed);
    rng.set_stream(ENCODER_STREAM);
    let mut encoder = TableEncoder::new(table, config.miss(), rng);
    play_with(config, &mut encoder, progress)
}

/// Runs a session with frames coded by any encoder.
///
/// # Errors
/// See [`SessionError`].
pub fn play_with(
    config: &Config,
    encoder: &mut dyn Encoder,
    progress: &mut dyn FnMut(Time) -> ControlFlow<()>,
) -> Result<Outcome, SessionError> {
    config.validate()?;
    let sender = config.sender.build(&config.network, config.encode_ns)?;
    Session::new(config, encoder, sender).play(progress)
}

/// The kinds of events, in the order in which simultaneous events are processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Arrival,
    Acknowledgement,
    Coded,
    Capture,
    Timer,
    Packet,
}

struct Session<'a> {
    config: &'a Config,
    encoder: &'a mut dyn Encoder,
    sender: Box<dyn Sender>,
    outgoing: Outgoing,
    network: Network,
    receiver: Receiver,
    /// Packets in transit: their arrival time, number and group.
    flying: VecDeque<(Time, usize, u32)>,
    /// Acknowledgements in transit: their arrival time, the packet's number and the packet's arrival time.
    acks: VecDeque<(Time, usize, Time)>,
    /// The frame in the encoder: the time at which coding ends, its number, and its coded versions (`None` if it is
    /// skipped).
    coding: Option<(Time, u32, Option<Trials>)>,
    next_capture: Time,
    captured: u32,
    arrived: Tally,
    decisions: Vec<Decision>,
    packets: Vec<PacketRecord>,
    /// Number of packets sent, by group; only counted if `packets` is set.
    sent_of: Vec<u32>,
}

/// A frame coded at one or two qualities from one reference.
#[derive(Clone, Copy, Debug)]
struct Trials {
    reference: Option<u32>,
    coded: [Option<Coded>; 2],
}

/// Counts of packets in the measured time.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    bytes: f64,
    sent: u64,
    lost: u64,
}

impl<'a> Session<'a> {
    fn new(config: &'a Config, encoder: &'a mut dyn Encoder, sender: Box<dyn Sender>) -> Session<'a> {
        let sizes = Sizes { payload: config.payload_bytes as f64, header: config.header_bytes as f64 };
        Session {
            config,
            encoder,
            sender,
            outgoing: Outgoing::new(config.frame_interval(), sizes),
            network: Network::new(&config.network, config.seed),
            receiver: Receiver::new(config.decode_ns),
            flying: VecDeque::new(),
            acks: VecDeque::new(),
            coding: None,
            next_capture: Time::ZERO,
            captured: 0,
            arrived: Tally::default(),
            decisions: Vec::new(),
            packets: Vec::new(),
            sent_of: Vec::new(),
        }
    }

    fn play(mut self, progress: &mut dyn FnMut(Time) -> ControlFlow<()>) -> Result<Outcome, SessionError> {
        const PROGRESS: Dur = Dur::from_secs(1);
        let end = self.config.end();
        let mut next_progress = Time::ZERO;
        loop {
            let (at, event) = self.next();
            if at >= end {
                break;
            }
            self.outgoing.now = at;
            if at >= next_progress {
                next_progress = at.after(PROGRESS);
                if progress(at).is_break() {
                    return Err(SessionError::Interrupted { at });
                }
            }
            match event {
                Event::Arrival => self.arrive(at),
                Event::Acknowledgement => self.acknowledge(),
                Event::Coded => self.finish_coding(),
                Event::Capture => self.capture()?,
                Event::Timer => self.sender.on_timer(&mut self.outgoing),
                Event::Packet => self.send_packet(at),
            }
            if self.config.explain
                && let Some(decision) = self.sender.take_decision()
            {
                self.decisions.push(decision);
            }
        }
        Ok(self.finish())
    }

    fn next(&self) -> (Time, Event) {
        [
            (self.flying.front().map_or(Time::NEVER, |f| f.0), Event::Arrival),
            (self.acks.front().map_or(Time::NEVER, |a| a.0), Event::Acknowledgement),
            (self.coding.as_ref().map_or(Time::NEVER, |c| c.0), Event::Coded),
            (self.next_capture, Event::Capture),
            (self.sender.next_timer(), Event::Timer),
            (self.outgoing.next_packet_at(), Event::Packet),
        ]
        .into_iter()
        .min()
        .expect("six candidates")
    }

    fn capture(&mut self) -> Result<(), SessionError> {
        self.captured += 1;
        // Computed from the number of frames, so that rounding errors do not accumulate.
        self.next_capture = Time::ZERO.after(Dur::from_secs_f64(f64::from(self.captured) / self.config.fps));
        let frame = self.outgoing.capture();
        let coding = self.sender.on_frame(&mut self.outgoing);
        let reference = match self.sender.recovery() {
            Recovery::Retransmit => self.outgoing.last_coded(),
            Recovery::Reference => self.outgoing.reference(),
            Recovery::Acknowledged => self.outgoing.acknowledged_reference(),
        };
        let mut code = |quality| self.encoder.encode(&Job { frame, reference, quality }).map_err(SessionError::Encoder);
        let coded = match coding {
            Coding::Skip => None,
            Coding::Code(quality) => Some([Some(code(quality)?), None]),
            Coding::Try(a, b) => Some([Some(code(a)?), Some(code(b)?)]),
        };
        let trials = coded.map(|coded| Trials { reference, coded });
        self.coding = Some((self.outgoing.now.after(self.config.encode_ns), frame, trials));
        Ok(())
    }

    fn finish_coding(&mut self) {
        let (_, frame, trials) = self.coding.take().expect("called when a frame is coded");
        let chosen = trials.and_then(|Trials { reference, coded }| match coded {
            [Some(a), Some(b)] => Some((reference, [a, b][self.sender.choose(&self.outgoing, &[a, b])?.min(1)])),
            [one, _] => Some((reference, one?)),
        });
        match chosen {
            None => self.outgoing.skip(frame),
            Some((reference, coded)) => self.outgoing.coded(frame, reference, coded),
        }
        self.sender.on_ready(&mut self.outgoing);
    }

    fn send_packet(&mut self, now: Time) {
        let (seq, group) = self.outgoing.send_packet();
        let bytes = self.outgoing.ledger.packet(seq).size * self.outgoing.sizes.full();
        let counts = now >= Time::ZERO.after(self.config.from_ns);
        self.arrived.sent += u64::from(counts);
        let fate = self.network.send(now, bytes);
        match fate {
            network::Fate::Arrives(at) => self.flying.push_back((at, seq, group)),
            network::Fate::Lost => self.arrived.lost += u64::from(counts),
        }
        if self.config.packets {
            self.record_packet(now, group, fate);
        }
    }

    fn record_packet(&mut self, now: Time, group: u32, fate: network::Fate) {
        self.sent_of.resize(self.outgoing.groups().len(), 0);
        let sent = &mut self.sent_of[group as usize];
        let arrived_ms = match fate {
            network::Fate::Arrives(at) => Some(ms(at)),
            network::Fate::Lost => None,
        };
        self.packets.push(PacketRecord { group, index: *sent, sent_ms: ms(now), arrived_ms });
        *sent += 1;
    }

    fn arrive(&mut self, now: Time) {
        let (_, seq, id) = self.flying.pop_front().expect("called when a packet arrives");
        if now >= Time::ZERO.after(self.config.from_ns) {
            self.arrived.bytes += self.outgoing.ledger.packet(seq).size * self.outgoing.sizes.full();
        }
        self.receiver.arrive(now, id, &self.outgoing.groups()[id as usize], self.outgoing.frames());
        if let network::Fate::Arrives(at) = self.network.acknowledge(now) {
            self.acks.push_back((at, seq, now));
        }
    }

    fn acknowledge(&mut self) {
        let (_, seq, arrived) = self.acks.pop_front().expect("called when an acknowledgement arrives");
        let lost = self.outgoing.acknowledge(seq);
        let packet = *self.outgoing.ledger.packet(seq);
        for seq in lost.clone() {
            let group = self.outgoing.ledger.packet(seq).group;
            if self.sender.recovery() == Recovery::Retransmit {
                self.outgoing.send_more(group, 1);
            } else {
                self.outgoing.check_group(group);
            }
        }
        let ack =
            Ack { seq, group: packet.group, size: packet.size, sent: packet.at, arrived, lost: lost.len() as u32 };
        self.sender.on_ack(&mut self.outgoing, &ack);
    }

    fn finish(self) -> Outcome {
        let Session { config, encoder, outgoing, receiver, network, arrived, decisions, packets, .. } = self;
        let mut records: Vec<FrameRecord> = (0..outgoing.frames().len() as u32)
            .map(|i| {
                let frame = outgoing.frames()[i as usize];
                let received = receiver.frame(i);
                let group = match frame.stage {
                    Stage::Sent(group) => Some(&outgoing.groups()[group as usize]),
                    _ => None,
                };
                let fate = match frame.stage {
                    _ if received.shown.is_some() => Fate::Shown,
                    _ if received.decoded.is_some() => Fate::Late,
                    Stage::Skipped => Fate::Skipped,
                    Stage::Dropped => Fate::Dropped,
                    Stage::Sent(_) if frame.is_broken => Fate::Lost,
                    Stage::Sent(_) | Stage::Waiting | Stage::Captured => Fate::Pending,
                };
                FrameRecord {
                    captured_ms: ms(frame.captured),
                    fate,
                    sent_ms: group.map(|g| ms(g.handed)),
                    shown_ms: received.shown.map(ms),
                    bytes: frame.coded.map_or(0.0, |c| c.bytes),
                    message: group.map_or(0, |g| g.message),
                    total: group.map_or(0, |g| g.total),
                    distance: frame.reference.map_or(0, |r| i - r),
                    ssim_db: 0.0,
                }
            })
            .collect();
        let own = |i: usize| outgoing.frames()[i].coded.map_or(0.0, |c| c.ssim);
        metrics::fill_display(&mut records, own, encoder);
        let from = Time::ZERO.after(config.from_ns);
        let until = config.duration_ns.saturating_sub(TAIL);
        let counted: Vec<FrameRecord> = records
            .iter()
            .filter(|r| r.captured_ms >= ms(from) && r.captured_ms <= until.as_millis_f64())
            .copied()
            .collect();
        let secs = config.end().since(from).as_secs_f64();
        let delivered_bps = arrived.bytes * 8.0 / secs;
        let (messages, totals) =
            outgoing.groups().iter().fold((0, 0), |(m, t), g| (m + u64::from(g.message), t + u64::from(g.total)));
        let share = |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        Outcome {
            metrics: Metrics::of(&counted, config.fps),
            traffic: Traffic {
                delivered_mbps: delivered_bps / 1e6,
                link_use: delivered_bps / network.mean_bps(from, config.end()).max(1.0),
                loss: share(arrived.lost, arrived.sent),
                repair: share(totals - messages, totals),
                recoveries: outgoing.recoveries,
            },
            frames: if config.frames { records } else { Vec::new() },
            decisions,
            packets,
            groups: if config.packets { outgoing.groups().iter().map(GroupRecord::of).collect() } else { Vec::new() },
        }
    }
}

impl GroupRecord {
    fn of(group: &Group) -> GroupRecord {
        GroupRecord { frames: group.frames.clone(), message: group.message, total: group.total }
    }
}

fn ms(time: Time) -> f64 {
    time.as_secs_f64() * 1e3
}

impl Quality {
    /// Returns a target size of `bytes`, but at least one byte.
    pub fn target(bytes: f64) -> Quality {
        Quality::Target(bytes.max(1.0))
    }
}
