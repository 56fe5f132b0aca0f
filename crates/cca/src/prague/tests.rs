use super::*;
use crate::testing::{MSS, ack, refusal};
use crate::{CaState, Sender};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

const START: Start = Start { mss: MSS, initial_cwnd: Bytes(15_000), oracle_rtprop: None, first_packet: 0, seed: 1 };

/// A flow whose packets are acknowledged one by one, `rtt` after they were sent; it is limited by cwnd.
struct Feed {
    prague: Prague,
    sender: Sender,
    now: Time,
    rtt: Dur,
    rng: ChaCha8Rng,
}

impl Feed {
    fn new(rtt: Dur, params: Params) -> Feed {
        let sender = Sender { snd_nxt: 10, is_cwnd_limited: true, srtt: rtt, min_rtt: rtt, ..Sender::new(MSS) };
        let prague = Prague::new(&START, params);
        Feed { prague, sender, now: Time::ZERO, rtt, rng: ChaCha8Rng::seed_from_u64(1) }
    }

    fn cwnd(&self) -> u64 {
        self.prague.window.cwnd_pkts
    }

    /// cwnd with the fraction of a packet.
    fn exact(&self) -> f64 {
        self.cwnd() as f64 + self.prague.carry as f64 / ONE as f64
    }

    /// Leaves slow start with `pkts`.
    fn settle_at(&mut self, pkts: u64) {
        (self.prague.window.cwnd_pkts, self.prague.window.ssthresh_pkts) = (pkts, pkts);
        self.sender.snd_nxt = self.sender.snd_una + pkts;
    }

    /// One packet is acknowledged; the packets that cwnd permits follow.
    fn ack(&mut self, is_marked: bool) {
        self.now += self.rtt / self.cwnd();
        self.sender.snd_una += 1;
        self.sender.delivered += 1;
        let event = Ack { marked: u64::from(is_marked), ..ack(&self.sender, self.rtt) };
        self.prague.on_ack(&event, &mut Context { now: self.now, rng: &mut self.rng });
        self.sender.snd_nxt = self.sender.snd_nxt.max(self.sender.snd_una + self.cwnd());
    }

    fn lose(&mut self, cause: Cause) {
        let loss = Loss { cause, prior_inflight: self.sender.inflight(), is_repeated: false, sender: &self.sender };
        self.prague.on_loss(&loss, &mut Context { now: self.now, rng: &mut self.rng });
    }
}

fn feed(rtt_ms: u64) -> Feed {
    Feed::new(Dur::from_millis(rtt_ms), Params::default())
}

#[test]
fn the_average_decays_by_a_sixteenth_a_round_towards_the_marked_fraction() {
    let mut feed = feed(40);
    feed.settle_at(100);
    feed.prague.has_seen_mark = true;
    // RFC 8257 §3.3 step 6, by hand, from a = 1 with F = 1/4: a = 1/4 + 3/4 (15/16)^n
    for round in 1..=30 {
        (feed.prague.delivered, feed.prague.marked) = (80, 20);
        let sender = feed.sender.clone();
        feed.prague.end_round(&sender, feed.now);
        let (found, expected) = (feed.prague.alpha() as f64 / ONE as f64, 0.25 + 0.75 * (15.0f64 / 16.0).powi(round));
        assert!((found - expected).abs() < 2e-5, "round {round}: {found}, not {expected}");
    }
}

#[test]
fn the_average_stays_at_one_until_the_first_mark() {
    let mut feed = feed(40);
    (0..1000).for_each(|_| feed.ack(false));
    assert_eq!((feed.prague.alpha(), feed.prague.rounds), (ONE, 0));
}

#[test]
fn a_mark_takes_half_of_the_average_of_the_window_once_a_round_packet_by_packet() {
    let mut feed = feed(40);
    feed.settle_at(100);
    feed.prague.upscaled_alpha = (ONE << 4) / 5;
    // a = 0.2: 10 packets of 100; growth by 1/cwnd per packet without a mark
    feed.ack(true);
    assert_eq!(feed.cwnd(), 99);
    assert!((feed.exact() - 90.0).abs() < 1e-4, "{}", feed.exact());
    feed.ack(true);
    assert_eq!(feed.cwnd(), 98);
    assert!((feed.exact() - 90.0).abs() < 1e-4, "a second mark in the round: {}", feed.exact());
    (0..8).for_each(|_| feed.ack(false));
    // By hand: 98 to 91 packets, each ACK adds the inverse.
    let grown: f64 = (91..=98).map(|w| 1.0 / f64::from(w)).sum();
    assert!((feed.exact() - 90.0 - grown).abs() < 1e-4, "{}", feed.exact());
}

#[test]
fn independent_marks_give_the_window_of_a_scalable_controller() {
    // Growth is (1 - p) / W per packet. A reduction of p W / 2 comes every W + 1/p packets: after a round the next mark is
    // 1/p packets away. So x = p W solves x^2 = 2 (1 - p) (x + 1).
    for p in [0.02, 0.05, 0.1, 0.2] {
        let mut feed = feed(40);
        feed.settle_at(30);
        let (mut sum, count) = (0.0, 400_000);
        for _ in 0..count {
            let is_marked = feed.rng.random_bool(p);
            feed.ack(is_marked);
            sum += feed.exact();
        }
        let (mean, q) = (sum / f64::from(count), 1.0 - p);
        let law = (q + (q * q + 2.0 * q).sqrt()) / p;
        assert!((mean / law - 1.0).abs() < 0.05, "p {p}: {mean}, law {law}");
    }
}

#[test]
fn after_the_transition_growth_falls_with_the_square_of_a_short_rtt() {
    let growth = |rtt_ms: u64, transition_rounds: u64| {
        let mut feed = Feed::new(Dur::from_millis(rtt_ms), Params { transition_rounds, ..Params::default() });
        feed.settle_at(100);
        (0..600).for_each(|_| feed.ack(false));
        let (before, window) = (feed.exact(), feed.cwnd());
        (0..window).for_each(|_| feed.ack(false));
        feed.exact() - before
    };
    assert!((growth(10, 500) - 1.0).abs() < 0.01, "{}", growth(10, 500));
    // (10 / 25)^2
    assert!((growth(10, 0) - 0.16).abs() < 0.01, "{}", growth(10, 0));
    assert!((growth(25, 0) - 1.0).abs() < 0.01, "{}", growth(25, 0));
}

#[test]
fn after_the_transition_marks_within_a_virtual_rtt_cause_one_reduction() {
    let reductions = |transition_rounds: u64| {
        let mut feed = Feed::new(Dur::from_millis(5), Params { transition_rounds, ..Params::default() });
        feed.settle_at(1000);
        feed.prague.upscaled_alpha = 1 << 14;
        let mut seen = 0;
        let mut last = feed.prague.reduced;
        // 10 rounds of 5 ms, ten marks in each
        for i in 0..10_000 {
            feed.ack(i % 100 == 0);
            seen += u32::from(feed.prague.reduced != last);
            last = feed.prague.reduced;
        }
        seen
    };
    let (each_round, per_virtual_rtt) = (reductions(500), reductions(0));
    assert!((9..=12).contains(&each_round), "{each_round}");
    assert!((2..=3).contains(&per_virtual_rtt), "{per_virtual_rtt}");
}

#[test]
fn a_loss_halves_the_window_and_a_timeout_starts_again() {
    let mut feed = feed(40);
    feed.settle_at(100);
    feed.sender.ca_state = CaState::Recovery;
    feed.lose(Cause::Dupack);
    (0..60).for_each(|_| feed.ack(false));
    assert_eq!((feed.cwnd(), feed.prague.window.ssthresh_pkts), (50, 50));
    feed.sender.ca_state = CaState::Loss;
    (feed.sender.lost_out, feed.sender.snd_nxt) = (feed.sender.packets_out() - 3, feed.sender.snd_nxt);
    feed.lose(Cause::Timeout);
    assert_eq!((feed.cwnd(), feed.prague.window.ssthresh_pkts), (4, 25));
    feed.ack(false);
    assert_eq!(feed.cwnd(), 5);
}

#[test]
fn the_window_is_paced_over_an_rtt_and_twice_as_fast_in_slow_start() {
    let mut feed = feed(40);
    feed.ack(false);
    // 11 packets of 1500 B in 20 ms
    assert_eq!(feed.prague.pacing_rate(), Some(Rate::from_bytes_per_sec(825_000)));
    feed.settle_at(100);
    feed.ack(false);
    assert_eq!(feed.prague.pacing_rate(), Some(Rate::from_bytes_per_sec(3_750_000)));
}

#[test]
fn the_window_has_at_least_two_packets() {
    let mut feed = feed(40);
    feed.settle_at(3);
    (0..100).for_each(|_| feed.ack(true));
    assert_eq!(feed.cwnd(), 2);
}

#[test]
fn bad_parameters_are_named() {
    for (params, word) in [
        (json!({"shift_g": 11}), "shift_g"),
        (json!({"virtual_rtt": "2h"}), "virtual_rtt"),
        (json!({"alpha": 1}), "alpha"),
    ] {
        assert!(refusal(&ALGORITHM, &params).contains(word), "{params}");
    }
}
