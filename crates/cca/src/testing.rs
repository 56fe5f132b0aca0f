//! A test bench for unit tests: one flow over one ideal bottleneck, one ACK at a time.
//!
//! The path is a FIFO link of constant rate with a finite buffer in front and a constant propagation delay; every
//! packet is acknowledged at once. The transport is minimal but keeps [`Sender`] correct: packets are never renumbered
//! or resent (a lost packet's data would travel under a new number, as in QUIC), a packet is lost when one three later
//! is acknowledged, and all are lost when no further ACK can arrive. There is no proportional rate reduction. The
//! simulator's tests cover a complete transport.

use crate::{Ack, AckedPacket, CaState, Cause, Context, Controller, Loss, LostPacket, RateSample, Sender, Sent};
use fairweir_units::{Bytes, Dur, Rate, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use std::collections::VecDeque;

/// Packet size of the bench.
pub const MSS: Bytes = Bytes(1500);

/// Number of later packets acknowledged after which a packet is declared lost (RFC 5681 §3.2).
const DUPTHRESH: u64 = 3;

/// An ACK of one packet.
pub fn ack(sender: &Sender, rtt: Dur) -> Ack<'_> {
    Ack {
        acked: 1,
        cum_acked: 1,
        lost: 0,
        marked: 0,
        prior_inflight: sender.inflight() + 1,
        rtt: Some(rtt),
        newest: Some(sender.snd_una.saturating_sub(1)),
        newest_sent: Time::ZERO,
        rate: RateSample::default(),
        sender,
    }
}

/// Returns the error with which `algorithm` rejects `params`.
///
/// # Panics
/// If the algorithm accepts them.
pub fn refusal(algorithm: &crate::Algorithm, params: &serde_json::Value) -> String {
    let start = crate::Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 1 };
    (algorithm.build)(params, &start).expect_err("refused").to_string()
}

/// RTO floor (Linux `TCP_RTO_MIN`).
const MIN_RTO: Dur = Dur::from_millis(200);

/// The path.
#[derive(Clone, Debug)]
pub struct Path {
    /// Rate of the bottleneck.
    pub rate: Rate,
    /// Two-way propagation delay, transmission excluded.
    pub rtprop: Dur,
    /// Maximum number of packets that wait or are in transmission.
    pub buffer: u64,
    /// Queue in packets above which arrivals are marked.
    pub mark_above: Option<u64>,
    /// One packet in this many is lost before the bottleneck.
    pub lose_every: Option<u64>,
}

impl Path {
    /// Returns a path with a buffer of `buffer_bdp` bandwidth-delay products, without marks and other losses.
    pub fn droptail(mbps: u64, rtprop_ms: u64, buffer_bdp: u64) -> Path {
        let (rate, rtprop) = (Rate::from_mbps(mbps), Dur::from_millis(rtprop_ms));
        let buffer = ((rate * rtprop).packets(MSS) * buffer_bdp).max(2);
        Path { rate, rtprop, buffer, mark_above: None, lose_every: None }
    }
}

/// A packet in transit, with the data that `tcp_rate.c` stores when it is sent.
#[derive(Clone, Copy, Debug)]
struct InFlight {
    seq: u64,
    sent: Time,
    /// Arrival time of the packet's ACK; `None` if the packet was dropped.
    acked_at: Option<Time>,
    is_marked: bool,
    first_sent: Time,
    delivered: u64,
    delivered_at: Time,
}

/// One flow on one path.
#[derive(Debug)]
pub struct Bench {
    /// The algorithm under test.
    pub controller: Box<dyn Controller>,
    /// The current time.
    pub now: Time,
    /// The transport's state.
    pub sender: Sender,
    /// The path; may be changed between steps.
    pub path: Path,
    /// The RTT sample of the last ACK.
    pub rtt: Dur,
    /// Number of loss episodes so far, caused by (loss, mark, timeout).
    pub episodes: (u64, u64, u64),
    rng: ChaCha8Rng,
    link_free: Time,
    next_send: Time,
    in_flight: VecDeque<InFlight>,
    recover: u64,
    mark_round_end: u64,
    first_sent: Time,
    delivered_at: Time,
}

impl Bench {
    /// Creates a flow that has not sent its first packet.
    pub fn new(controller: Box<dyn Controller>, path: Path) -> Bench {
        Bench {
            controller,
            now: Time::ZERO,
            sender: Sender::new(MSS),
            path,
            rtt: Dur::ZERO,
            episodes: (0, 0, 0),
            rng: ChaCha8Rng::seed_from_u64(1),
            link_free: Time::ZERO,
            next_send: Time::ZERO,
            in_flight: VecDeque::new(),
            recover: 0,
            mark_round_end: 0,
            first_sent: Time::ZERO,
            delivered_at: Time::ZERO,
        }
    }

    /// Creates a flow with the algorithm `name` of the registry, `params` and an initial window of 10 packets.
    pub fn of(name: &str, params: &serde_json::Value, path: Path) -> Bench {
        let start = crate::Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 1 };
        Bench::new(crate::registry::build(name, params, &start).expect("a controller that builds"), path)
    }

    /// Returns cwnd, packets.
    pub fn cwnd(&self) -> u64 {
        self.controller.cwnd().packets(MSS)
    }

    /// Returns the internal variable `name`.
    ///
    /// # Panics
    /// If the algorithm does not emit it.
    pub fn telemetry(&self, name: &str) -> f64 {
        let mut found = None;
        self.controller.telemetry(&mut |n, v| {
            if n == name {
                found = Some(v);
            }
        });
        found.unwrap_or_else(|| panic!("no variable `{name}`"))
    }

    /// Runs until the clock reaches `end` and calls `each` after every ACK.
    pub fn run_until(&mut self, end: Time, mut each: impl FnMut(&Bench)) {
        while self.now < end {
            if self.step() {
                each(self);
            }
        }
    }

    /// Runs for `d` and returns the link's utilization in that time.
    pub fn utilization_for(&mut self, d: Dur) -> f64 {
        let (start, delivered) = (self.now, self.sender.delivered);
        self.run_until(start + d, |_| ());
        let could = self.path.rate * self.now.since(start);
        (MSS * (self.sender.delivered - delivered)).0 as f64 / could.0 as f64
    }

    /// Processes the next event: a packet leaves, an ACK arrives (returns true), or the timer expires.
    pub fn step(&mut self) -> bool {
        let next_ack = self.in_flight.iter().find_map(|p| p.acked_at);
        let has_room = self.sender.inflight() < self.controller.cwnd().packets(MSS).max(1);
        let send_at = self.next_send.max(self.now);
        if has_room && next_ack.is_none_or(|at| send_at <= at) {
            self.now = send_at;
            self.send();
            return false;
        }
        self.sender.is_cwnd_limited = self.sender.is_cwnd_limited || !has_room;
        match next_ack {
            Some(at) => {
                self.now = at;
                self.receive_ack();
                true
            }
            None => {
                self.now += MIN_RTO.max(self.sender.srtt * 2);
                self.time_out();
                false
            }
        }
    }

    fn send(&mut self) {
        let seq = self.sender.snd_nxt;
        if self.sender.packets_out() == 0 {
            (self.first_sent, self.delivered_at) = (self.now, self.now);
        }
        let transmission = MSS / self.path.rate;
        let waiting = self.link_free.since(self.now).as_nanos().div_ceil(transmission.as_nanos());
        let is_lost = self.path.lose_every.is_some_and(|n| seq % n == n - 1) || waiting >= self.path.buffer;
        if !is_lost {
            self.link_free = self.link_free.max(self.now) + transmission;
        }
        self.in_flight.push_back(InFlight {
            seq,
            sent: self.now,
            acked_at: (!is_lost).then_some(self.link_free + self.path.rtprop),
            is_marked: self.path.mark_above.is_some_and(|k| waiting > k),
            first_sent: self.first_sent,
            delivered: self.sender.delivered,
            delivered_at: self.delivered_at,
        });
        self.sender.snd_nxt += 1;
        if let Some(rate) = self.controller.pacing_rate() {
            self.next_send = self.next_send.max(self.now) + MSS / rate;
        }
        if self.controller.interests().sent {
            let mut cx = Context { now: self.now, rng: &mut self.rng };
            self.controller.on_send(&Sent { seq, is_retransmit: false, sender: &self.sender }, &mut cx);
        }
    }

    fn receive_ack(&mut self) {
        let prior_inflight = self.sender.inflight();
        let at = self.in_flight.iter().position(|p| p.acked_at.is_some()).expect("an ACK is due");
        let packet = self.in_flight.remove(at).expect("found above");
        self.rtt = self.now.since(packet.sent);
        self.sender.srtt =
            if self.sender.srtt == Dur::ZERO { self.rtt } else { self.sender.srtt * 7 / 8 + self.rtt / 8 };
        self.sender.min_rtt = self.sender.min_rtt.min(self.rtt);
        self.sender.delivered += 1;
        self.sender.delivered_ce += u64::from(packet.is_marked);
        self.delivered_at = self.now;
        self.first_sent = packet.sent;
        let interval = packet.sent.since(packet.first_sent).max(self.now.since(packet.delivered_at));
        let mut cx = Context { now: self.now, rng: &mut self.rng };
        let acked = AckedPacket { seq: packet.seq, sent: packet.sent, was_retransmitted: false, is_app_limited: false };
        if self.controller.interests().acked {
            self.controller.on_packet_acked(&acked, &mut cx);
        }
        let lost_before = self.sender.lost;
        let last_lost = self.declare_lost_below((packet.seq + 1).saturating_sub(DUPTHRESH));
        let lost = self.sender.lost - lost_before;
        self.settle_books(packet.seq);
        if last_lost.is_some_and(|seq| seq >= self.recover) {
            self.begin_episode(Cause::Dupack, prior_inflight);
        }
        if packet.is_marked && !self.controller.interests().own_ecn && packet.seq >= self.mark_round_end {
            self.mark_round_end = self.sender.snd_nxt;
            self.begin_episode(Cause::Ecn, prior_inflight);
        }
        let has_sample = self.controller.interests().rate_sample && interval >= self.sender.min_rtt;
        let ack = Ack {
            acked: 1,
            cum_acked: 1,
            lost,
            marked: u64::from(packet.is_marked),
            prior_inflight,
            rtt: Some(self.rtt),
            newest: Some(packet.seq),
            newest_sent: packet.sent,
            rate: RateSample {
                delivered: if has_sample { self.sender.delivered - packet.delivered } else { 0 },
                interval: if has_sample { interval } else { Dur::ZERO },
                prior_delivered: packet.delivered,
                is_app_limited: false,
            },
            sender: &self.sender,
        };
        self.controller.on_ack(&ack, &mut Context { now: self.now, rng: &mut self.rng });
        if self.sender.ca_state != CaState::Open && self.sender.snd_una >= self.recover {
            self.sender.ca_state = CaState::Open;
            self.controller.on_recovered(&self.sender, &mut Context { now: self.now, rng: &mut self.rng });
        }
        self.sender.is_cwnd_limited = false;
    }

    fn begin_episode(&mut self, cause: Cause, prior_inflight: u64) {
        let (state, count) = match cause {
            Cause::Dupack => (CaState::Recovery, &mut self.episodes.0),
            Cause::Ecn => (CaState::Cwr, &mut self.episodes.1),
            Cause::Timeout | Cause::PersistentCongestion => (CaState::Loss, &mut self.episodes.2),
        };
        *count += 1;
        let is_repeated = cause == Cause::Timeout && self.sender.ca_state == CaState::Loss;
        self.sender.ca_state = state;
        self.recover = self.sender.snd_nxt;
        let loss = Loss { cause, prior_inflight, is_repeated, sender: &self.sender };
        self.controller.on_loss(&loss, &mut Context { now: self.now, rng: &mut self.rng });
    }

    fn time_out(&mut self) {
        let prior_inflight = self.sender.inflight();
        self.declare_lost_below(self.sender.snd_nxt);
        self.settle_books(self.sender.snd_nxt);
        self.begin_episode(Cause::Timeout, prior_inflight);
    }

    /// The last of the packets below `seq` that are lost now, if any is.
    fn declare_lost_below(&mut self, seq: u64) -> Option<u64> {
        let mut last = None;
        while let Some(p) = self.in_flight.front().copied().filter(|p| p.seq < seq) {
            self.in_flight.pop_front();
            last = Some(p.seq);
            self.sender.lost += 1;
            if self.controller.interests().lost {
                let mut cx = Context { now: self.now, rng: &mut self.rng };
                self.controller.on_packet_lost(&LostPacket { seq: p.seq, sent: p.sent }, &mut cx);
            }
        }
        last
    }

    /// Marks everything up to `newest` as delivered or lost, except packets not yet declared lost.
    fn settle_books(&mut self, newest: u64) {
        let snd_nxt = self.sender.snd_nxt;
        self.sender.snd_una = self.in_flight.front().map_or(snd_nxt, |p| p.seq);
        let holes = self.in_flight.iter().take_while(|p| p.seq < newest).count() as u64;
        self.sender.sacked_out = (newest + 1).min(snd_nxt).saturating_sub(self.sender.snd_una) - holes;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn reno_fills_a_link_with_a_buffer_of_one_bdp() {
        let mut bench = Bench::of("reno", &Value::Null, Path::droptail(24, 40, 1));
        bench.run_until(Time::from_nanos(20_000_000_000), |b| {
            assert!(b.rtt >= b.path.rtprop + MSS / b.path.rate);
            assert!(b.sender.inflight() <= b.sender.snd_nxt);
        });
        assert!(bench.utilization_for(Dur::from_secs(60)) > 0.99);
        assert!(bench.episodes.0 > 5);
        assert_eq!(bench.episodes.2, 0);
    }

    #[test]
    fn a_tiny_window_that_is_lost_whole_times_out() {
        let mut bench = Bench::of("reno", &Value::Null, Path::droptail(24, 40, 1));
        bench.path.lose_every = Some(1);
        bench.run_until(Time::from_nanos(1_000_000_000), |_| panic!("nothing arrives"));
        assert!(bench.episodes.2 > 1);
        assert_eq!(bench.cwnd(), 1);
    }
}
