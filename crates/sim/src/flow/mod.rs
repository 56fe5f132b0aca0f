//! One flow: sender, route, receiver, application.
//!
//! The sender follows Linux where a controller can observe the difference: SACK scoreboard with loss detection in time
//! order (RACK, RFC 8985) or duplicate ACKs alone, one reduction per episode, proportional rate reduction (RFC 9937),
//! retransmission timeout with back-off (RFC 6298), pacing, delivery-rate samples.
//!
//! A scenario's `transport` adds mechanisms, each in its own file: the handshake ([`handshake`]), tail loss probes
//! ([`tail_probe`]), restart after idle ([`idle_restart`]), undo of spurious timeouts ([`undo`]),
//! RTT samples by timestamps ([`timestamps`]), gaps that follow late packets ([`pacer`]), the kernel's rules of when
//! ssthresh is reduced ([`recovery`]), the kernel's RTT estimator ([`rtt_estimator`]).
//!
//! **Deviation from Linux**: windows, rates and RTT count whole packets of one size, headers included.

mod ack;
mod autosizing;
mod handshake;
mod idle_restart;
mod jiffies;
mod lost_queue;
mod pacer;
mod probe;
mod rate_sampler;
mod recovery;
mod rtt_estimator;
mod send;
mod send_window;
mod source;
mod tail_probe;
mod timers;
mod timestamps;
mod undo;

use crate::net::Net;
use crate::quick_acks::{Echo, QuickAcks};
use crate::receive_window::ReceiveWindow;
use crate::route::Route;
use crate::sack_compression::SackCompression;
use crate::watch::Watch;
use crate::window::Window;
use fairweir_cca::{Context, Controller, Decision, Interests, Sender};
use fairweir_scenario::Histogram;
use fairweir_scenario::{Config, FlowSpec, HEADER_BYTES, Mechanism};
use fairweir_units::{Bytes, Dur, Time};
use handshake::Handshake;
use pacer::Pacer;
use probe::Silence;
use rand_chacha::ChaCha8Rng;
use rate_sampler::RateSampler;
use recovery::Recovery;
use rtt_estimator::RttEstimator;
use send_window::SendWindow;
use source::AppSource;
use tail_probe::TailProbe;
use timers::Timers;
use undo::Undo;

/// A controller that sets a larger cwnd ends the run. The kernel counts packets in 32 bits, all of which an
/// application-limited FRCC uses, and a packet has at most 2^16 bytes.
const ABSURD_CWND: u64 = 1 << 48;
/// State that the sender stores for a packet in flight. [`RateSampler`] has more, for controllers that want rate samples.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Time of the last transmission.
    sent: Time,
    /// `delivered` when the packet was sent, modulo 2^32; unambiguous because fewer than 2^32 packets are outstanding
    /// ([`send_window::MAX_OUTSTANDING`]).
    delivered: u32,
    flags: u32,
}

impl Record {
    const SACKED: u32 = 1;
    /// Declared lost and not retransmitted since.
    const LOST: u32 = 2;
    /// Retransmitted, and the retransmission is outstanding.
    const RETRANS: u32 = 4;
    /// Retransmitted at least once: its RTT is ambiguous (Karn).
    const EVER_RETRANS: u32 = 8;
    const APP_LIMITED: u32 = 16;

    #[inline]
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// Counters that summaries and time series read.
#[derive(Clone, Debug)]
pub(crate) struct FlowStats {
    pub(crate) rtt: Histogram,
    pub(crate) sent: u64,
    pub(crate) retransmits: u64,
    pub(crate) timeouts: u64,
    /// Packets that were declared lost, and not sent again before the undo of a timeout withdrew this.
    pub(crate) withdrawn: u64,
}

impl FlowStats {
    pub(crate) fn new() -> FlowStats {
        FlowStats { rtt: Histogram::new(), sent: 0, retransmits: 0, timeouts: 0, withdrawn: 0 }
    }
}

/// Reason why a run ended early: the flow's controller misbehaved.
#[derive(Clone, Debug)]
pub(crate) struct Misbehaviour(pub(crate) String);

/// The receiver's state as read by the sender ([`crate::item::AckItem`]).
#[derive(Debug, Default)]
struct SeenAcks {
    log: u32,
    ce: u32,
}

#[derive(Debug)]
pub(crate) struct Flow {
    sender: Sender,
    cc: Box<dyn Controller>,
    interests: Interests,
    /// Whether records of delivered packets must be read, because the controller wants a rate sample or a report of
    /// each packet.
    reads_records: bool,
    mss: u64,
    window: SendWindow,
    pacer: Pacer,
    rate: RateSampler,
    seen: SeenAcks,
    recovery: Recovery,
    timers: Timers,
    silence: Silence,
    tail_probe: TailProbe,
    undo: Undo,
    /// Whether retransmitted data give RTT samples.
    has_timestamps: bool,
    /// The smallest window after an idle period, packets; `None` if idle periods do not reduce cwnd.
    restart_window: Option<u64>,
    handshake: Handshake,
    /// When the data start: at the start, or with the SYN-ACK.
    first_data_at: Time,
    records: Window<Record>,
    pub(crate) route: Route,
    source: AppSource,
    rng: ChaCha8Rng,
    misbehaviour: Option<Misbehaviour>,
    pub(crate) stats: FlowStats,
    pub(crate) completed_at: Option<Time>,
}

impl Flow {
    /// A flow that numbers its packets from `first_packet`.
    pub(crate) fn new(
        config: &Config,
        spec: &FlowSpec,
        first_packet: u64,
        cc: Box<dyn Controller>,
        route: Route,
        rng: ChaCha8Rng,
    ) -> Flow {
        let mut sender = Sender::new(config.packet);
        sender.oracle_rtprop = spec.oracle_rtprop;
        (sender.snd_una, sender.snd_nxt, sender.delivered) = (first_packet, first_packet, first_packet);
        let interests = cc.interests();
        let mut flow = Flow {
            sender,
            interests,
            reads_records: interests.rate_sample || interests.acked,
            cc,
            mss: config.packet.0,
            window: SendWindow::new(spec.rwnd, first_packet),
            pacer: Pacer::new(spec.gso),
            rate: RateSampler::new(interests.rate_sample),
            seen: SeenAcks::default(),
            recovery: Recovery::new(spec.receiver.sack, spec.ecn && !interests.own_ecn, first_packet),
            timers: Timers::new(spec, interests.recovery),
            silence: Silence::default(),
            tail_probe: TailProbe::new(spec, interests.recovery == fairweir_cca::Recovery::Tcp),
            undo: Undo::new(false),
            has_timestamps: false,
            restart_window: None,
            handshake: Handshake::new(false, spec.start),
            first_data_at: spec.start,
            records: Window::new(),
            route,
            source: AppSource::new(config, spec, first_packet),
            rng,
            misbehaviour: None,
            stats: FlowStats::new(),
            completed_at: None,
        };
        if spec.receiver.ack_every > 1 && flow.has(spec, Mechanism::QuickAcks) {
            let echo = spec.ecn.then_some(if interests.exact_marks { Echo::Marks } else { Echo::Signal });
            let mut quick_acks = QuickAcks::new(spec.rwnd, spec.rtprop, spec.min_rto, echo);
            if spec.rwnd.is_none() && !flow.has(spec, Mechanism::Autotuning) {
                quick_acks.grow_until_read(config.packet.0.saturating_sub(HEADER_BYTES), first_packet);
            }
            flow.route.receiver.quick_acks = Some(quick_acks);
            flow.recovery.examines_marks |= spec.ecn;
            flow.announce_data_end();
        }
        if spec.rwnd.is_none() && flow.has(spec, Mechanism::Autotuning) {
            let window = ReceiveWindow::new(config.packet, first_packet);
            flow.window.rwnd = window.initial_packets();
            flow.route.receiver.window = Some(Box::new(window));
        }
        if spec.receiver.ack_every > 1 && spec.receiver.sack && flow.has(spec, Mechanism::SackCompression) {
            flow.route.receiver.sack_compression = Some(Box::new(SackCompression::new(spec.rtprop)));
        }
        flow.handshake = Handshake::new(flow.has(spec, Mechanism::Handshake), spec.start);
        if flow.has(spec, Mechanism::Autosizing) {
            flow.pacer.autosize();
        }
        if flow.has(spec, Mechanism::PacingCredit) {
            flow.pacer.grant_credit();
        }
        flow.has_timestamps = flow.has(spec, Mechanism::Timestamps);
        flow.timers.has_jiffies = flow.has(spec, Mechanism::Jiffies);
        flow.timers.estimator = flow.has(spec, Mechanism::RttEstimator).then(|| RttEstimator::new(spec.min_rto));
        flow.recovery.has_kernel_rules = flow.has(spec, Mechanism::LossRecovery);
        flow.recovery.to_retransmit.is_lowest_first = flow.recovery.has_kernel_rules;
        flow.undo = Undo::new(flow.has(spec, Mechanism::Undo));
        flow.restart_window = flow.restart_window(spec);
        flow.read_controller();
        flow
    }

    /// Returns whether the hosts of `spec` have `mechanism`; QUIC has none of TCP's.
    fn has(&self, spec: &FlowSpec, mechanism: Mechanism) -> bool {
        self.interests.recovery == fairweir_cca::Recovery::Tcp && spec.transport.has(mechanism)
    }

    /// Reports to the receiver which packet ends the data that the application has provided.
    fn announce_data_end(&mut self) {
        if let Some(quick_acks) = &mut self.route.receiver.quick_acks {
            quick_acks.set_data_end(self.source.limit());
        }
    }

    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }
    /// Returns the number of the first packet plus the packets delivered, each counted once. Without SACK the sender's
    /// own count has some twice, as in Linux.
    pub(crate) fn delivered(&self) -> u64 {
        let Sender { snd_una, sacked_out, delivered, .. } = self.sender;
        if self.recovery.sack { delivered } else { self.recovery.delivered.max(snd_una + sacked_out) }
    }
    pub(crate) fn cwnd(&self) -> Bytes {
        Bytes(self.window.cwnd)
    }
    /// Returns the pacing rate in bytes per second, or `None` if the controller does not pace.
    pub(crate) fn pacing_rate(&self) -> Option<u64> {
        (self.pacer.rate > 0).then_some(self.pacer.rate)
    }
    pub(crate) fn start(&self) -> Time {
        self.timers.start
    }
    pub(crate) fn stop(&self) -> Time {
        self.timers.stop
    }
    /// Returns the time from the first data to the completion of a finite transfer, if it is complete.
    pub(crate) fn completion(&self) -> Option<Dur> {
        self.completed_at.map(|at| at.since(self.first_data_at))
    }
    /// Returns the time of the flow's first event.
    pub(crate) fn first_event(&self) -> Time {
        self.timers.wake_at
    }

    /// Handles one ACK or the timers due at `now`. `is_ack` comes from the schedule.
    #[inline]
    pub(crate) fn on_event<W: Watch>(&mut self, now: Time, is_ack: bool, net: &mut Net<W>) {
        if is_ack && let Some(ack) = self.route.acks.pop() {
            self.on_ack(&ack, now, net);
        } else {
            self.on_other_event(now, net);
        }
        if self.tail_probe.is_enabled && !self.wakes_before_tail_probe(now) {
            self.wake_for_tail_probe(now);
        }
        let next_ack = self.route.acks.front().map_or(Time::NEVER, |ack| ack.at);
        let next_timer = self.pacer.due_at.min(self.timers.wake_at).min(self.route.receiver.deadline());
        net.schedule.set_flow(self.route.flow_leaf, next_ack.min(next_timer), next_ack <= next_timer);
    }

    /// Handles a timer, or the first ACK after an idle period.
    #[inline(never)]
    fn on_other_event<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        match self.route.acks.pop_if(|ack| ack.at <= now) {
            Some(ack) => self.on_ack_now(&ack, now, net),
            None => self.on_timer(now, net),
        }
    }

    #[inline(always)]
    fn on_timer<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        if self.pacer.due_at <= now {
            self.pacer.due_at = Time::NEVER;
            self.pump(now, net);
        } else {
            self.on_wake(now, net);
        }
    }

    /// Handles the slow timers; each is checked against its own deadline.
    #[cold]
    fn on_wake<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        self.route.check_ack_timer(now, net);
        if now < self.timers.start {
            self.timers.wake_at = self.timers.start;
            return;
        }
        if self.handshake.is_pending {
            return self.check_handshake(now, net);
        }
        if !self.timers.has_started {
            self.timers.has_started = true;
            self.rate.restart(now);
            self.timers.rto_base = now;
        }
        if now >= self.timers.stop {
            self.source.close(self.sender.snd_nxt);
        }
        let prior_limit = self.source.limit();
        self.source.advance(now, self.sender.snd_nxt);
        self.announce_data_end();
        if let Some(window) = self.restart_window
            && self.source.limit() > prior_limit
        {
            self.restart_after_idle(window, now);
        }
        if self.recovery.reorder_deadline <= now {
            self.on_reorder_timeout(now);
        }
        if self.tail_probe.is_enabled {
            self.check_tail_probe(now, net);
        }
        if self.timers.rto_expiry(&self.sender) <= now {
            match self.interests.recovery {
                fairweir_cca::Recovery::Tcp => self.on_timeout(now),
                fairweir_cca::Recovery::Quic => self.on_probe_timeout(now, net),
            }
        }
        self.pump_now(now, net);
        self.timers.wake_at = self
            .timers
            .rto_expiry(&self.sender)
            .min(self.recovery.reorder_deadline)
            .min(self.source.next_change())
            .min(if now < self.timers.stop { self.timers.stop } else { Time::NEVER });
    }

    /// Reads the controller's decisions after a call; an excessive cwnd ends the run.
    #[inline]
    fn read_controller(&mut self) {
        self.apply_decision(Decision { cwnd: self.cc.cwnd(), pacing_rate: self.cc.pacing_rate() });
    }

    #[inline]
    fn apply_decision(&mut self, decision: Decision) {
        if decision.cwnd.0 != self.window.cwnd {
            self.set_cwnd(decision.cwnd.0);
        }
        let pacing_rate = decision.pacing_rate.map_or(0, |rate| rate.bytes_per_sec().max(1));
        if pacing_rate != self.pacer.rate {
            self.pacer.set_rate(pacing_rate, self.sender.min_rtt, self.mss);
            self.set_spacing();
        }
    }

    #[inline(never)]
    fn set_spacing(&mut self) {
        self.pacer.set_spacing(self.cc.spacing(), self.mss);
    }

    fn set_cwnd(&mut self, cwnd: u64) {
        self.window.cwnd = cwnd;
        if cwnd == 0 || cwnd > ABSURD_CWND {
            self.reject_cwnd();
        }
        self.window.cwnd_pkts = (self.window.cwnd / self.mss).max(1);
    }

    #[cold]
    fn reject_cwnd(&mut self) {
        let reason = match self.cc.fault() {
            Some(fault) => fault.0,
            None => format!("asked for a cwnd of {} bytes", self.window.cwnd),
        };
        self.window.cwnd = self.mss;
        self.misbehaviour.get_or_insert(Misbehaviour(reason));
    }

    /// Returns the controller's misbehavior that ends the run, if any.
    #[inline]
    pub(crate) fn misbehaviour(&self) -> Option<&Misbehaviour> {
        self.misbehaviour.as_ref()
    }

    #[inline]
    fn context<'a>(now: Time, rng: &'a mut ChaCha8Rng) -> Context<'a> {
        Context { now, rng }
    }
}
