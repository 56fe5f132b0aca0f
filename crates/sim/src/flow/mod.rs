//! One flow: sender, route, receiver, application.
//!
//! The sender follows Linux where a controller can observe the difference: SACK scoreboard with loss detection in time
//! order (RACK, RFC 8985) or duplicate ACKs alone, one reduction per episode, proportional rate reduction (RFC 6937),
//! retransmission timeout with back-off (RFC 6298), pacing, delivery-rate samples.
//!
//! **Deviations from Linux**: windows, rates and RTT count whole packets of one size, headers included; no
//! tail-loss probe, no undo of spurious retransmissions, no cwnd restart after idle.

mod ack;
mod recovery;
mod send;
mod source;

use crate::net::Net;
use crate::ring::Ring;
use crate::route::Route;
use crate::watch::Watch;
use crate::window::Window;
use fairweir_cca::{Context, Controller, Decision, Interests, Sender};
use fairweir_scenario::Histogram;
use fairweir_scenario::{Config, FlowSpec};
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Time};
use rand_chacha::ChaCha8Rng;
use source::AppSource;

/// No reasonable cwnd exceeds this; a controller that sets a larger one ends the run. The kernel counts packets in 32
/// bits, of which an application-limited FRCC uses all; a packet has at most 2^16 bytes.
const ABSURD_CWND: u64 = 1 << 48;
/// Maximum number of packets a flow may have outstanding (5 s at 10 Gbps); bounds memory.
const MAX_OUTSTANDING: u64 = 1 << 22;

/// State that the sender keeps for a packet in flight.
#[derive(Clone, Copy, Debug, Default)]
struct Record {
    /// Time of the last transmission.
    sent: Time,
    /// `first_tx_mstamp`: start of the sample's send phase.
    first_sent: Time,
    /// `delivered_mstamp` when it was sent.
    delivered_at: Time,
    /// `delivered` when it was sent, modulo 2^32; unambiguous because fewer packets than that are outstanding
    /// ([`MAX_OUTSTANDING`]).
    delivered: u32,
    flags: u32,
}

impl Record {
    const SACKED: u32 = 1;
    /// Declared lost and not retransmitted since.
    const LOST: u32 = 2;
    /// Retransmitted, and that copy is outstanding.
    const RETRANS: u32 = 4;
    /// Retransmitted at least once: its RTT is ambiguous (Karn).
    const EVER_RETRANS: u32 = 8;
    const APP_LIMITED: u32 = 16;

    #[inline]
    fn has(&self, flag: u32) -> bool {
        self.flags & flag != 0
    }
}

/// Proportional rate reduction (RFC 6937), while cwnd is being reduced.
#[derive(Clone, Copy, Debug)]
struct RateReduction {
    /// Current limit on packets in flight.
    window: u64,
    ssthresh: u64,
    prior_cwnd: u64,
    delivered: u64,
    out: u64,
}

/// Counters that summaries and time series read.
#[derive(Clone, Debug)]
pub(crate) struct FlowStats {
    pub(crate) rtt: Histogram,
    pub(crate) sent: u64,
    pub(crate) retransmits: u64,
    pub(crate) timeouts: u64,
}

impl FlowStats {
    pub(crate) fn new() -> FlowStats {
        FlowStats { rtt: Histogram::new(), sent: 0, retransmits: 0, timeouts: 0 }
    }
}

/// Reason why a run ended early: the flow's controller misbehaved.
#[derive(Clone, Debug)]
pub(crate) struct Misbehaviour(pub(crate) String);

#[derive(Debug)]
pub(crate) struct Flow {
    sender: Sender,
    cc: Box<dyn Controller>,
    interests: Interests,
    /// The controller's decisions, read after each call.
    cwnd: u64,
    /// `cwnd` in whole packets, at least one: with a smaller window the flow would stop for ever.
    cwnd_pkts: u64,
    /// Bytes per second; 0 disables pacing.
    pacing_rate: u64,
    /// Transmission time of a packet at `pacing_rate`, ns.
    pacing_gap: u64,
    mss: u64,
    next_send: Time,
    /// Packets that may still leave in this burst.
    burst: u64,
    gso: u64,
    rwnd: u64,
    /// Limit on packet numbers from an observer's ACKs, if any.
    edge: Option<u64>,
    records: Window<Record>,
    pub(crate) route: Route,
    source: AppSource,

    // Delivery rate (tcp_rate.c).
    first_sent: Time,
    delivered_at: Time,
    /// `delivered` up to which samples are application-limited; 0 if none.
    app_limited: u64,

    // ACK processing.
    log_read: u32,
    ce_seen: u32,
    /// `snd_nxt` when sending last stopped at cwnd.
    cwnd_limited_at: u64,
    max_out: u64,
    max_out_until: u64,

    // Loss recovery.
    sack: bool,
    reacts_to_marks: bool,
    /// The episode ends when `snd_una` reaches this.
    high_seq: u64,
    rack_sent: Time,
    rack_seq: u64,
    rack_rtt: Dur,
    /// RACK has examined all original transmissions below this number.
    rack_scanned_to: u64,
    /// Retransmissions in the order they were sent.
    retransmitted: Ring<(u64, Time)>,
    /// Packets to retransmit.
    to_retransmit: Ring<u64>,
    reduction: Option<RateReduction>,
    reorder_deadline: Time,

    // Timers.
    min_rto: Dur,
    backoff: u32,
    /// Start of the retransmission timer.
    rto_base: Time,
    /// Earliest time at which a slow timer might be due; never later than the actual one.
    wake_at: Time,
    pacing_at: Time,
    start: Time,
    stop: Time,
    has_started: bool,

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
            cc,
            cwnd: 0,
            cwnd_pkts: 1,
            pacing_rate: 0,
            pacing_gap: 0,
            mss: config.packet.0,
            next_send: Time::ZERO,
            burst: 0,
            gso: spec.gso.max(1),
            rwnd: spec.rwnd.unwrap_or(MAX_OUTSTANDING).min(MAX_OUTSTANDING),
            edge: None,
            records: Window::new(),
            route,
            source: AppSource::new(&spec.source, spec.start, config.packet, first_packet),
            first_sent: Time::ZERO,
            delivered_at: Time::ZERO,
            app_limited: 0,
            log_read: 0,
            ce_seen: 0,
            cwnd_limited_at: first_packet,
            max_out: 0,
            max_out_until: first_packet,
            sack: spec.receiver.sack,
            reacts_to_marks: spec.ecn && !interests.own_ecn,
            high_seq: first_packet,
            rack_sent: Time::ZERO,
            rack_seq: 0,
            rack_rtt: Dur::ZERO,
            rack_scanned_to: first_packet,
            retransmitted: Ring::new(),
            to_retransmit: Ring::new(),
            reduction: None,
            reorder_deadline: Time::NEVER,
            min_rto: spec.min_rto,
            backoff: 0,
            rto_base: Time::ZERO,
            wake_at: spec.start,
            pacing_at: Time::NEVER,
            start: spec.start,
            stop: spec.stop.unwrap_or(Time::NEVER),
            has_started: false,
            rng,
            misbehaviour: None,
            stats: FlowStats::new(),
            completed_at: None,
        };
        flow.read_controller();
        flow
    }

    pub(crate) fn sender(&self) -> &Sender {
        &self.sender
    }
    pub(crate) fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }
    /// Returns the pacing rate in bytes per second, or `None` if the controller does not pace.
    pub(crate) fn pacing_rate(&self) -> Option<u64> {
        (self.pacing_rate > 0).then_some(self.pacing_rate)
    }
    pub(crate) fn start(&self) -> Time {
        self.start
    }
    pub(crate) fn stop(&self) -> Time {
        self.stop
    }
    /// Time of the flow's first event.
    pub(crate) fn first_event(&self) -> Time {
        self.wake_at
    }

    /// Handles one ACK or the timers due at `now`. `is_ack` comes from the schedule.
    #[inline]
    pub(crate) fn on_event<W: Watch>(&mut self, now: Time, is_ack: bool, net: &mut Net<W>) {
        if is_ack && let Some(ack) = self.route.acks.pop() {
            self.on_ack(&ack, now, net);
        } else {
            self.on_other_event(now, net);
        }
        let next_ack = self.route.acks.front().map_or(Time::NEVER, |ack| ack.at);
        let next_timer = self.pacing_at.min(self.wake_at).min(self.route.receiver.deadline());
        net.schedule.set_flow(self.route.flow_leaf, next_ack.min(next_timer), next_ack <= next_timer);
    }

    /// A timer, or the first ACK after an idle period.
    #[inline(never)]
    fn on_other_event<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        match self.route.acks.pop_if(|ack| ack.at <= now) {
            Some(ack) => self.on_ack_now(&ack, now, net),
            None => self.on_timer(now, net),
        }
    }

    #[inline(always)]
    fn on_timer<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        if self.pacing_at <= now {
            self.pacing_at = Time::NEVER;
            self.pump(now, net);
        } else {
            self.on_wake(now, net);
        }
    }

    /// Slow timers, each checked against its own deadline.
    #[cold]
    fn on_wake<W: Watch>(&mut self, now: Time, net: &mut Net<W>) {
        self.route.check_ack_timer(now, net);
        if now < self.start {
            self.wake_at = self.start;
            return;
        }
        if !self.has_started {
            self.has_started = true;
            self.first_sent = now;
            self.delivered_at = now;
            self.rto_base = now;
        }
        if now >= self.stop {
            self.source.close(self.sender.snd_nxt);
        }
        self.source.advance(now, self.sender.snd_nxt);
        if self.reorder_deadline <= now {
            self.on_reorder_timeout(now);
        }
        if self.rto_deadline() <= now {
            self.on_timeout(now);
        }
        self.pump_now(now, net);
        self.wake_at = self
            .rto_deadline()
            .min(self.reorder_deadline)
            .min(self.source.next_change())
            .min(if now < self.stop { self.stop } else { Time::NEVER });
    }

    /// Moves `wake_at` forward to `deadline` if that is earlier.
    #[inline]
    fn wake_by(&mut self, deadline: Time) {
        self.wake_at = self.wake_at.min(deadline);
    }

    /// Reads the controller's decisions after a call; an excessive cwnd ends the run.
    #[inline]
    fn read_controller(&mut self) {
        self.apply_decision(Decision { cwnd: self.cc.cwnd(), pacing_rate: self.cc.pacing_rate() });
    }

    #[inline]
    fn apply_decision(&mut self, decision: Decision) {
        if decision.cwnd.0 != self.cwnd {
            self.set_cwnd(decision.cwnd.0);
        }
        let pacing_rate = decision.pacing_rate.map_or(0, |rate| rate.bytes_per_sec().max(1));
        if pacing_rate != self.pacing_rate {
            self.set_pacing_rate(pacing_rate);
        }
    }

    #[inline(never)]
    fn set_pacing_rate(&mut self, pacing_rate: u64) {
        self.pacing_rate = pacing_rate;
        self.pacing_gap = (self.mss * NANOS_PER_SEC).checked_div(pacing_rate).unwrap_or(0);
    }

    fn set_cwnd(&mut self, cwnd: u64) {
        self.cwnd = cwnd;
        if cwnd == 0 || cwnd > ABSURD_CWND {
            self.reject_cwnd();
        }
        self.cwnd_pkts = (self.cwnd / self.mss).max(1);
    }

    #[cold]
    fn reject_cwnd(&mut self) {
        let reason = match self.cc.fault() {
            Some(fault) => fault.0,
            None => format!("asked for a cwnd of {} bytes", self.cwnd),
        };
        self.cwnd = self.mss;
        self.misbehaviour.get_or_insert(Misbehaviour(reason));
    }

    /// Returns why the run cannot continue, if it cannot.
    #[inline]
    pub(crate) fn misbehaviour(&self) -> Option<&Misbehaviour> {
        self.misbehaviour.as_ref()
    }

    #[inline]
    fn context<'a>(now: Time, rng: &'a mut ChaCha8Rng) -> Context<'a> {
        Context { now, rng }
    }
}
