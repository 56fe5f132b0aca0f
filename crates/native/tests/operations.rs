//! Applies random operations to every registered controller. For any behavior of the network, a window must be at least
//! one packet and a pacing rate positive, and nothing may panic or overflow. The code of QUIC stacks may panic, for example
//! by an overflow at terabits per second; the flow must then end with a fault that names the controller.

use fairweir_cca::{
    Ack, AckedPacket, CaState, Cause, Context, Controller, Interests, Loss, LostPacket, RateSample, Restart, Sender,
    Sent, Start,
};
use fairweir_native::registry;
use fairweir_units::{Bytes, Dur, Rate, Time};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::collections::VecDeque;

const MSS: Bytes = Bytes(1500);

/// Maximum packets in flight in the model, for any cwnd.
const MAX_OUTSTANDING: usize = 4000;

/// No window reaches this after the few packets that a case sends, bytes.
const ABSURD_CWND: Bytes = Bytes(1 << 45);

/// Every controller in the list, and a controller file.
fn names() -> impl Iterator<Item = &'static str> {
    let files = [concat!(env!("CARGO_MANIFEST_DIR"), "/../../controllers/bulk.json")];
    registry::algorithms().map(|algorithm| algorithm.name).chain(files)
}

/// Events at a sender.
#[derive(Clone, Debug)]
enum Op {
    /// Packets are sent.
    Send(u16),
    /// The oldest packets are acknowledged.
    Ack { n: u16, path: Signals },
    /// Packets are acknowledged selectively, except the first one and `hole` after it.
    Sack { n: u16, hole: u16, path: Signals },
    /// The oldest packets are declared lost.
    Lose(u16),
    /// The retransmission timer expires.
    Timeout,
    /// The loss episode ends.
    Recover,
    /// A mark arrives for a controller that leaves marks to the transport.
    Mark,
    /// Time passes.
    Wait(Dur),
}

/// Content of an ACK.
#[derive(Clone, Debug)]
struct Signals {
    rtt: Option<Dur>,
    is_marked: bool,
    is_app_limited: bool,
    is_cwnd_limited: bool,
    has_rate: bool,
}

fn durations() -> impl Strategy<Value = Dur> {
    prop_oneof![
        3 => (1u64..100_000).prop_map(Dur::from_nanos),
        6 => (100u64..400_000).prop_map(Dur::from_micros),
        1 => (1u64..4_000).prop_map(Dur::from_secs),
    ]
}

fn signals() -> impl Strategy<Value = Signals> {
    (
        prop::option::weighted(0.9, durations()),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.2),
        prop::bool::weighted(0.8),
        prop::bool::weighted(0.9),
    )
        .prop_map(|(rtt, is_marked, is_app_limited, is_cwnd_limited, has_rate)| Signals {
            rtt,
            is_marked,
            is_app_limited,
            is_cwnd_limited,
            has_rate,
        })
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let few = || prop_oneof![4 => 1u16..4, 2 => 1u16..100, 1 => 1u16..3000];
    let op = prop_oneof![
        8 => few().prop_map(Op::Send),
        10 => (few(), signals()).prop_map(|(n, path)| Op::Ack { n, path }),
        3 => (few(), few(), signals()).prop_map(|(n, hole, path)| Op::Sack { n, hole, path }),
        2 => few().prop_map(Op::Lose),
        1 => Just(Op::Timeout),
        2 => Just(Op::Recover),
        1 => Just(Op::Mark),
        6 => durations().prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 1..200)
}

#[derive(Clone, Copy, Debug)]
struct Packet {
    sent: Time,
    delivered_at_send: u64,
    is_sacked: bool,
    is_lost: bool,
}

/// A sender with consistent state, over an arbitrary network.
struct Model {
    name: String,
    controller: Box<dyn Controller>,
    interests: Interests,
    sender: Sender,
    packets: VecDeque<Packet>,
    now: Time,
    rng: ChaCha8Rng,
}

impl Model {
    fn new(name: &str, seed: u64) -> Model {
        Model::with(name, &Value::Null, None, seed)
    }

    fn with(name: &str, params: &Value, oracle_rtprop: Option<Dur>, seed: u64) -> Model {
        let start = Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop, first_packet: 0, seed };
        let controller = registry::build(name, params, &start).expect("valid parameters");
        Model {
            name: name.to_owned(),
            interests: controller.interests(),
            controller,
            sender: Sender::new(MSS),
            packets: VecDeque::new(),
            now: Time::ZERO,
            rng: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    fn play(&mut self, op: &Op) {
        match op {
            Op::Send(n) => (0..*n).for_each(|_| self.send()),
            Op::Ack { n, path } => {
                let n = usize::from(*n).min(self.packets.len());
                self.acknowledge(0..n, path);
            }
            Op::Sack { n, hole, path } => {
                let from = (1 + usize::from(*hole)).min(self.packets.len());
                let to = (from + usize::from(*n)).min(self.packets.len());
                self.acknowledge(from..to, path);
            }
            Op::Lose(n) => self.lose(usize::from(*n)),
            Op::Timeout => {
                let prior_inflight = self.sender.inflight();
                self.mark_lost(usize::MAX);
                self.begin_episode(Cause::Timeout, prior_inflight);
            }
            Op::Recover => self.recover(),
            Op::Mark if !self.interests.own_ecn && self.sender.ca_state == CaState::Open => {
                self.begin_episode(Cause::Ecn, self.sender.inflight());
            }
            Op::Mark => {}
            Op::Wait(d) => {
                self.now += *d;
                self.restart();
            }
        }
    }

    fn send(&mut self) {
        if self.packets.len() >= MAX_OUTSTANDING {
            return;
        }
        let seq = self.sender.snd_nxt;
        self.sender.snd_nxt += 1;
        let delivered_at_send = self.sender.delivered;
        self.packets.push_back(Packet { sent: self.now, delivered_at_send, is_sacked: false, is_lost: false });
        if self.interests.sent {
            let sent = Sent { seq, is_retransmit: false, sender: &self.sender };
            self.controller.on_send(&sent, &mut Context { now: self.now, rng: &mut self.rng });
        }
    }

    /// Processes the arrival of the packets `range` (indices above `snd_una`); if it starts at 0, the ACK is
    /// cumulative.
    fn acknowledge(&mut self, range: std::ops::Range<usize>, path: &Signals) {
        if range.is_empty() {
            return;
        }
        let prior_inflight = self.sender.inflight();
        let (first, last) = (range.start, range.end - 1);
        let newest = self.packets[last];
        let mut acked = 0;
        if self.interests.acked {
            for index in range.clone().filter(|&index| !self.packets[index].is_sacked) {
                let packet = AckedPacket {
                    seq: self.sender.snd_una + index as u64,
                    sent: self.packets[index].sent,
                    was_retransmitted: false,
                    is_app_limited: path.is_app_limited,
                };
                self.controller.on_packet_acked(&packet, &mut Context { now: self.now, rng: &mut self.rng });
            }
        }
        for p in self.packets.range_mut(range) {
            acked += u64::from(!p.is_sacked);
            self.sender.lost_out -= u64::from(p.is_lost && !p.is_sacked);
            self.sender.sacked_out += u64::from(!p.is_sacked);
            p.is_sacked = true;
            p.is_lost = false;
        }
        let newest_seq = self.sender.snd_una + last as u64;
        let cum_acked = if first == 0 { last as u64 + 1 } else { 0 };
        self.packets.drain(..cum_acked as usize);
        self.sender.snd_una += cum_acked;
        self.sender.sacked_out -= cum_acked;
        let marked = if path.is_marked { acked } else { 0 };
        self.sender.delivered += acked;
        self.sender.delivered_ce += marked;
        self.sender.is_cwnd_limited = path.is_cwnd_limited;
        if let Some(rtt) = path.rtt {
            self.sender.min_rtt = self.sender.min_rtt.min(rtt);
            self.sender.srtt = if self.sender.srtt == Dur::ZERO { rtt } else { self.sender.srtt * 7 / 8 + rtt / 8 };
        }
        let has_rate = self.interests.rate_sample && path.has_rate;
        let ack = Ack {
            acked,
            cum_acked,
            lost: 0,
            marked,
            prior_inflight,
            rtt: path.rtt,
            newest: Some(newest_seq),
            newest_sent: newest.sent,
            rate: RateSample {
                delivered: if has_rate { self.sender.delivered - newest.delivered_at_send } else { 0 },
                interval: if has_rate { self.now.since(newest.sent) } else { Dur::ZERO },
                prior_delivered: newest.delivered_at_send,
                is_app_limited: path.is_app_limited,
            },
            sender: &self.sender,
        };
        self.controller.on_ack(&ack, &mut Context { now: self.now, rng: &mut self.rng });
    }

    fn lose(&mut self, n: usize) {
        let prior_inflight = self.sender.inflight();
        let lost = self.mark_lost(n);
        if lost == 0 {
            return;
        }
        if matches!(self.sender.ca_state, CaState::Open | CaState::Disorder | CaState::Cwr) {
            self.begin_episode(Cause::Dupack, prior_inflight);
        }
        // an ACK that delivers nothing new but declares the losses
        let ack = Ack {
            acked: 0,
            cum_acked: 0,
            lost,
            marked: 0,
            prior_inflight,
            rtt: None,
            newest: None,
            newest_sent: self.now,
            rate: RateSample::default(),
            sender: &self.sender,
        };
        self.controller.on_ack(&ack, &mut Context { now: self.now, rng: &mut self.rng });
    }

    fn mark_lost(&mut self, n: usize) -> u64 {
        let mut lost = 0;
        for i in 0..n.min(self.packets.len()) {
            let p = &mut self.packets[i];
            if p.is_sacked || p.is_lost {
                continue;
            }
            p.is_lost = true;
            let packet = LostPacket { seq: self.sender.snd_una + i as u64, sent: p.sent };
            lost += 1;
            self.sender.lost += 1;
            self.sender.lost_out += 1;
            if self.interests.lost {
                self.controller.on_packet_lost(&packet, &mut Context { now: self.now, rng: &mut self.rng });
            }
        }
        lost
    }

    fn begin_episode(&mut self, cause: Cause, prior_inflight: u64) {
        let is_repeated = cause == Cause::Timeout && self.sender.ca_state == CaState::Loss;
        self.sender.ca_state = match cause {
            Cause::Dupack => CaState::Recovery,
            Cause::Ecn => CaState::Cwr,
            Cause::Timeout | Cause::PersistentCongestion => CaState::Loss,
        };
        let loss = Loss { cause, prior_inflight, is_repeated, sender: &self.sender };
        self.controller.on_loss(&loss, &mut Context { now: self.now, rng: &mut self.rng });
    }

    fn recover(&mut self) {
        if self.sender.ca_state != CaState::Open {
            self.sender.ca_state = CaState::Open;
            self.controller.on_recovered(&self.sender, &mut Context { now: self.now, rng: &mut self.rng });
        }
    }

    /// Ends an idle period of two RTOs, if nothing is in flight and the transport controls recovery.
    fn restart(&mut self) {
        if self.sender.packets_out() == 0 && self.sender.ca_state == CaState::Open && !self.interests.own_recovery {
            let cwnd = Bytes((self.controller.cwnd().0 / 4).max(MSS.0));
            let restart = Restart { cwnd, sender: &self.sender };
            self.controller.on_restart(&restart, &mut Context { now: self.now, rng: &mut self.rng });
        }
    }

    /// Returns whether the controller can go on.
    fn check(&mut self) -> Result<bool, String> {
        if let Some(fault) = self.controller.fault() {
            let is_panic_of_stack =
                self.name.contains('/') && fault.0.starts_with(&format!("{} panicked: ", self.name));
            return if is_panic_of_stack { Ok(false) } else { Err(format!("fault: {fault}")) };
        }
        let cwnd = self.controller.cwnd();
        if cwnd < MSS || cwnd > ABSURD_CWND {
            return Err(format!("cwnd is {cwnd}"));
        }
        if self.controller.pacing_rate() == Some(Rate::ZERO) {
            return Err("pacing_rate is zero".into());
        }
        if self.controller.ssthresh() == Some(Bytes::ZERO) {
            return Err("ssthresh is zero".into());
        }
        Ok(true)
    }

    /// Plays `ops` until the end, or until the code of a stack panics.
    fn play_all(&mut self, ops: &[Op]) -> Result<(), String> {
        for (i, op) in ops.iter().enumerate() {
            self.play(op);
            if !self.check().map_err(|e| format!("{} after operation {i}, {op:?}: {e}", self.name))? {
                break;
            }
        }
        Ok(())
    }
}

/// Returns parameters at the ends of their ranges.
fn extremes() -> Vec<(&'static str, Value)> {
    vec![
        ("reno", json!({"byte_counting": false})),
        ("cubic", json!({"c": 1000.0, "beta": 0.999, "hystart": "linux"})),
        ("cubic", json!({"c": 1000.0, "beta": 0.001, "counting": "linux"})),
        ("cubic", json!({"beta": 0.999, "counting": "linux"})),
        ("cubic", json!({"c": 1e-9, "beta": 0.001, "fast_convergence": false, "friendliness": false})),
        ("dctcp", json!({"shift_g": 0, "initial_alpha": 0.0})),
        ("dctcp", json!({"shift_g": 10})),
        (
            "bbr",
            json!({"quanta_pkts": 1_000_000, "startup_gain": 10.0, "probe_up_gain": 10.0, "probe_down_gain": 10.0,
                "cruise_gain": 10.0, "cwnd_gain": 10.0, "pacing_margin_percent": 0, "bw_window_rounds": 1,
                "min_rtt_window": "1ns", "first_phase": 7}),
        ),
        (
            "bbr",
            json!({"quanta_pkts": 0, "startup_gain": 1.01, "probe_up_gain": 1.0, "probe_down_gain": 0.01,
                "cruise_gain": 0.1, "cwnd_gain": 0.1, "pacing_margin_percent": 50, "bw_window_rounds": 1000,
                "probe_rtt_duration": "0s", "round_to_even": false}),
        ),
        (
            "bbr3",
            json!({"quanta_pkts": 0, "startup_pacing_gain": 10.0, "startup_cwnd_gain": 10.0, "cwnd_gain": 10.0,
                "loss_thresh": 0.0, "beta": 0.9, "headroom": 0.9, "probe_wait": "0s", "probe_wait_random": "0s",
                "probe_max_rounds": 1, "probe_rtt_interval": "0s", "min_rtt_window": "0s", "ecn_max_rtt": "1h"}),
        ),
        (
            "bbr3",
            json!({"quanta_pkts": 1_000_000, "startup_pacing_gain": 1.01, "startup_cwnd_gain": 1.0, "cwnd_gain": 0.5,
                "loss_thresh": 0.5, "beta": 0.01, "headroom": 0.0, "probe_rtt_cwnd_gain": 1.0,
                "probe_rtt_duration": "0s"}),
        ),
        ("aimd_delay", json!({"threshold": "1ns", "beta": 0.999})),
        ("aimd_delay", json!({"threshold": "1h", "beta": 0.001})),
        (
            "swift",
            json!({"base_target": "1h", "fs_range": "1h", "fs_min_pkts": 1e-6, "fs_max_pkts": 1e12, "ai_pkts": 1000.0,
                "beta": 1.0, "max_mdf": 0.999, "min_cwnd_pkts": 1.0}),
        ),
        ("swift", json!({"fs_range": "1ns", "fs_min_pkts": 1e6, "fs_max_pkts": 1e7, "min_cwnd_pkts": 1e-6})),
        ("fast", json!({"alpha_pkts": 1e6, "gamma": 1.0, "update_rounds": 1})),
        ("fast", json!({"alpha_pkts": 1e-6, "gamma": 1e-6, "update_rounds": 100})),
        (
            "ledbat",
            json!({"target": "1ns", "allowed_increase_pkts": 1000.0, "base_history_min": 1, "slow_start": false}),
        ),
        ("ledbat", json!({"target": "1h", "gain": 1e-6, "base_history_min": 60, "current_filter": 1000})),
        ("tfrc", json!({"intervals": 2})),
        ("tfrc", json!({"intervals": 64})),
        ("prague", json!({"shift_g": 0, "virtual_rtt": "1h", "transition_rounds": 0})),
        ("prague", json!({"shift_g": 10, "virtual_rtt": "1ns", "transition_rounds": 1})),
        ("poseidon", json!({"p": "1ns", "k": "1h", "m": 1.0, "largest_step": 1000.0})),
        ("poseidon", json!({"p": "1h", "rate_max": "1000000Gbps", "rate_min": "8bps", "m": 1e-9})),
        ("pcc_vivace", json!({"min_rate": "8bps", "initial_rate": "8bps", "min_pkts_per_rtt": 0.0})),
        (
            "pcc_proteus",
            json!({"mode": "scavenger", "eps": 0.999, "interval_rtts": 1e-6, "interval_min_pkts": 2,
                "deviation_coefficient": 1e9, "latency_coefficient": 1e9, "initial_rate": "1Gbps"}),
        ),
        (
            "pcc_proteus",
            json!({"mode": "hybrid", "threshold": "8bps", "eps": 1e-6, "interval_rtts": 1000.0, "rate_exponent": 0.0,
                "min_rate": "8bps", "initial_rate": "8bps", "min_pkts_per_rtt": 0.0, "tolerates_noise": false}),
        ),
        ("gcc", json!({"start_rate": "8bps", "min_rate": "8bps", "max_rate": "8bps"})),
        ("gcc", json!({"start_rate": "10Gbps", "min_rate": "1Gbps", "max_rate": "10Gbps", "uses_loss": false})),
        (
            "verus",
            json!({"epoch": "1us", "delta1": "1ns", "delta2": "1h", "ratio": 1.0, "beta": 0.001,
                "slow_start_delay": "1ns"}),
        ),
        ("verus", json!({"epoch": "1h", "delta1": "1h", "ratio": 1e6, "beta": 0.999, "slow_start_delay": "1h"})),
        ("sprout", json!({"quantile": 0.999, "target_ticks": 7})),
        ("sprout", json!({"quantile": 0.001, "target_ticks": 1})),
        ("scream", json!({"target_low": "1ns", "target_high": "1ns", "gain": 1000.0, "resume_after": "1ns"})),
        ("scream", json!({"target_low": "1h", "target_high": "1h", "gain": 1e-9, "compensates": false})),
        ("contract", json!({"exponent": 20.0, "c0": "1000000Gbps", "s0": "1h", "largest_step": 1000.0})),
        ("contract", json!({"exponent": 0.05, "c0": "8bps", "s0": "1ns", "statistic": "max"})),
        ("contract", json!({"function": "exponential", "dynamics": "delay_ratio", "s0": "1ns", "statistic": "latest"})),
        ("contract", json!({"function": "logarithmic", "dynamics": "rate_ratio", "s0": "1h", "largest_step": 1000.0})),
        ("contract", json!({"function": "linear", "dynamics": "delay_ratio", "update_rounds": 1, "statistic": "mean"})),
        ("cc_qdel", json!({"d": 8.0})),
        ("cc_probe_slow", json!({"k": 0.25, "alpha": 1, "d": 0.01})),
        ("cc_probe_slow", json!({"k": 64.0, "alpha": 10_000, "loss_share": 1.0, "d": 8.0})),
    ]
}

proptest! {
    #[test]
    fn extreme_parameters_survive_too(ops in ops(), seed in any::<u64>(), oracle in prop::option::of(durations())) {
        for (name, params) in extremes() {
            let mut model = Model::with(name, &params, oracle, seed);
            model.play_all(&ops).map_err(|e| TestCaseError::fail(format!("{params}: {e}")))?;
        }
    }

    #[test]
    fn every_controller_survives_every_network(ops in ops(), seed in any::<u64>()) {
        for name in names() {
            let mut model = Model::new(name, seed);
            model.play_all(&ops).map_err(TestCaseError::fail)?;
            model.controller.telemetry(&mut |_, _| ());
        }
    }

    #[test]
    fn the_same_operations_give_the_same_decisions(ops in ops(), seed in any::<u64>()) {
        for name in names() {
            let (mut a, mut b) = (Model::new(name, seed), Model::new(name, seed));
            for op in &ops {
                a.play(op);
                b.play(op);
                prop_assert_eq!(a.controller.cwnd(), b.controller.cwnd(), "{}", name);
                prop_assert_eq!(a.controller.pacing_rate(), b.controller.pacing_rate(), "{}", name);
            }
        }
    }
}

/// quinn-proto 0.11.19, `congestion/bbr/mod.rs`, line 562: a bandwidth (46 packets in a nanosecond) times 13 s overflows.
#[cfg(debug_assertions)]
#[test]
fn a_panic_of_a_stack_ends_its_flow_with_a_fault() {
    let path = Signals { rtt: None, is_marked: false, is_app_limited: false, is_cwnd_limited: false, has_rate: false };
    let ack = || Op::Ack { n: 1, path: path.clone() };
    let ops = [
        Op::Send(1),
        ack(),
        Op::Wait(Dur::from_nanos(1)),
        Op::Send(46),
        ack(),
        Op::Wait(Dur::from_secs(13)),
        ack(),
        Op::Send(1),
        ack(),
    ];
    let mut model = Model::new("quinn/bbr", 0);
    model.play_all(&ops).expect("a fault of the stack is allowed");
    let fault = model.controller.fault().expect("the stack panicked");
    assert_eq!(fault.0, "quinn/bbr panicked: attempt to multiply with overflow (congestion/bbr/mod.rs:562)");
    assert_eq!(model.controller.cwnd(), Bytes::ZERO, "the transport reads the fault of a window of zero");
}

#[test]
fn every_controller_takes_its_own_defaults_and_refuses_unknown_keys() {
    let start = Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 1 };
    for algorithm in registry::algorithms() {
        let defaults = (algorithm.defaults)();
        assert!(defaults.is_object(), "{}: {defaults}", algorithm.name);
        if let Err(e) = registry::build(algorithm.name, &defaults, &start) {
            panic!("{} refuses its defaults: {e}", algorithm.name);
        }
        let error = registry::build(algorithm.name, &json!({"no_such_parameter": 1}), &start).expect_err("refused");
        assert!(error.to_string().contains("no_such_parameter"), "{}: {error}", algorithm.name);
        assert!(error.to_string().contains(algorithm.name), "{error}");
    }
}

#[test]
fn names_are_unique_and_every_one_has_a_summary() {
    let mut names: Vec<_> = registry::algorithms().map(|a| a.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
    assert!(registry::algorithms().all(|a| !a.summary.is_empty() && !a.summary.ends_with('.')));
}
