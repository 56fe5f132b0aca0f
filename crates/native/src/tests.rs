//! The native interface: the kernel's order of calls, users' sources, rejections, and each algorithm's formulas for
//! single ACKs.

use super::{list, load};
use crate::abi::{RawOps, TcpSock};
use crate::controller::NativeController;
use crate::module::Module;
use crate::registry;
use fairweir_cca::testing::{Bench, MSS, Path};
use fairweir_cca::{
    Ack, BuildError, CaState, Cause, Context, Controller, Loss, RateSample, Restart, Sender, Sent, Start, Undo,
};
use fairweir_units::{Bytes, Dur, Rate, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde_json::{Value, json};
use std::fs;
use std::path::PathBuf;

fn start() -> Start {
    Start { mss: MSS, initial_cwnd: MSS * 10, oracle_rtprop: None, first_packet: 0, seed: 7 }
}

fn built(name: &str, params: &Value) -> Box<dyn Controller> {
    registry::build(name, params, &start()).expect("a controller that builds")
}

/// One connection whose events the test generates.
struct Hand {
    cc: Box<dyn Controller>,
    sender: Sender,
    now: Time,
    rng: ChaCha8Rng,
}

impl Hand {
    fn new(cc: Box<dyn Controller>) -> Hand {
        let mut sender = Sender::new(MSS);
        sender.is_cwnd_limited = true;
        Hand { cc, sender, now: Time::ZERO, rng: ChaCha8Rng::seed_from_u64(1) }
    }
    fn of(name: &str, params: &Value) -> Hand {
        Hand::new(built(name, params))
    }
    fn cwnd(&self) -> u64 {
        self.cc.cwnd().packets(MSS)
    }
    fn ssthresh(&self) -> Option<u64> {
        self.cc.ssthresh().filter(|s| *s != Bytes::MAX).map(|s| s.packets(MSS))
    }
    /// Sends a window of packets.
    fn send(&mut self) {
        self.sender.snd_nxt = self.sender.snd_una + self.cwnd();
    }
    /// Acknowledges `acked` packets `rtt_ms` after they were sent.
    fn ack(&mut self, acked: u64, rtt_ms: u64) {
        self.now += Dur::from_millis(1);
        let prior_delivered = self.sender.delivered;
        self.sender.snd_una += acked;
        self.sender.snd_nxt = self.sender.snd_nxt.max(self.sender.snd_una);
        self.sender.delivered += acked;
        let rtt = Dur::from_millis(rtt_ms);
        self.sender.srtt = rtt;
        self.sender.min_rtt = self.sender.min_rtt.min(rtt);
        let ack = Ack {
            acked,
            cum_acked: acked,
            lost: 0,
            marked: 0,
            prior_inflight: self.sender.inflight() + acked,
            rtt: Some(rtt),
            newest: Some(self.sender.snd_una - 1),
            newest_sent: self.now - rtt,
            rate: RateSample { delivered: acked, interval: rtt, prior_delivered, is_app_limited: false },
            sender: &self.sender,
        };
        self.cc.on_ack(&ack, &mut Context { now: self.now, rng: &mut self.rng });
    }
    fn lose(&mut self, cause: Cause) {
        let is_repeated = cause == Cause::Timeout && self.sender.ca_state == CaState::Loss;
        self.sender.ca_state = match cause {
            Cause::Dupack => CaState::Recovery,
            Cause::Ecn => CaState::Cwr,
            Cause::Timeout | Cause::PersistentCongestion => {
                self.sender.lost_out = self.sender.packets_out();
                CaState::Loss
            }
        };
        let loss = Loss { cause, prior_inflight: self.sender.inflight(), is_repeated, sender: &self.sender };
        self.cc.on_loss(&loss, &mut Context { now: self.now, rng: &mut self.rng });
    }
    /// Continues with `cwnd` packets after an idle period.
    fn restart(&mut self, cwnd: u64) {
        let restart = Restart { cwnd: MSS * cwnd, sender: &self.sender };
        self.cc.on_restart(&restart, &mut Context { now: self.now, rng: &mut self.rng });
    }
    /// Restores `cwnd` packets after a spurious timeout, and an ssthresh of at least `ssthresh` packets.
    fn undo(&mut self, cwnd: u64, ssthresh: u64) {
        self.sender.ca_state = CaState::Open;
        self.sender.lost_out = 0;
        let undo = Undo { cwnd: MSS * cwnd, ssthresh: MSS * ssthresh, sender: &self.sender };
        self.cc.on_undo(&undo, &mut Context { now: self.now, rng: &mut self.rng });
    }
    fn recover(&mut self) {
        self.sender.ca_state = CaState::Open;
        self.sender.lost_out = 0;
        self.cc.on_recovered(&self.sender, &mut Context { now: self.now, rng: &mut self.rng });
    }
}

/// A source in a directory that is removed when the value is dropped.
struct Source {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

fn source(name: &str, text: &str) -> Source {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join(name);
    fs::write(&path, text).expect("a file");
    Source { _directory: directory, path }
}

fn refusal(name: &str, text: &str) -> (String, String) {
    match load(&source(name, text).path) {
        Err(BuildError::BadSource { reason, hint, .. }) => (reason, hint),
        other => panic!("{other:?} is not a refusal"),
    }
}

/// Counts calls in the digits of cwnd, so that the window shows which calls occurred, and in which order.
const RECORDER: &str = r#"
#include "tcp.h"
#define RECORDER_PARAMS(P) P(first_pkts, "first", CC_PKTS, 1, 1, 9, "digit to start with")
CC_PARAMS(recorder, RECORDER_PARAMS);
static void note(struct sock *sk, u32 digit) { tcp_sk(sk)->snd_cwnd = tcp_sk(sk)->snd_cwnd * 10 + digit; }
SEC("struct_ops/r_init") void BPF_PROG(r_init, struct sock *sk) { tcp_sk(sk)->snd_cwnd = cc_params(sk)->first_pkts; }
SEC("struct_ops/r_ss") u32 BPF_PROG(r_ss, struct sock *sk) { note(sk, 2); return tcp_sk(sk)->snd_cwnd; }
SEC("struct_ops/r_st") void BPF_PROG(r_st, struct sock *sk, u8 state) { note(sk, 3); }
SEC("struct_ops/r_pa") void BPF_PROG(r_pa, struct sock *sk, const struct ack_sample *s) { note(sk, 4); }
SEC("struct_ops/r_undo") u32 BPF_PROG(r_undo, struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
CC_CONG_CONTROL(r_cc, sk, rs) { note(sk, 5); }
SEC(".struct_ops") struct tcp_congestion_ops recorder = {
	.init = (void *)r_init, .ssthresh = (void *)r_ss, .set_state = (void *)r_st, .pkts_acked = (void *)r_pa,
	.undo_cwnd = (void *)r_undo, .cong_control = (void *)r_cc, .name = "recorder",
};
CC_LICENSE("GPL");
"#;

#[test]
fn hooks_are_called_in_the_kernels_order_once_an_episode() {
    let file = source("recorder.bpf.c", RECORDER);
    let mut hand = Hand::new(load(&file.path).expect("it compiles").build(&Value::Null, &start()).expect("it builds"));
    assert_eq!(hand.cwnd(), 1, "init saw the parameter's default");
    hand.sender.snd_nxt = 5;
    hand.ack(1, 10);
    assert_eq!(hand.cwnd(), 145, "pkts_acked, cong_control");
    hand.lose(Cause::Dupack);
    hand.ack(1, 10);
    assert_eq!(hand.cwnd(), 1_452_345, "ssthresh, set_state, then the ACK");
    hand.recover();
    assert_eq!(hand.cwnd(), 14_523_453, "set_state(Open); the window is the algorithm's own");
}

/// Notes the connection's counters at `CA_EVENT_TX_START` in the digits of cwnd.
const WITNESS: &str = r#"
#include "tcp.h"
SEC("struct_ops/w_ss") u32 BPF_PROG(w_ss, struct sock *sk) { return 2; }
SEC("struct_ops/w_ev") void BPF_PROG(w_ev, struct sock *sk, enum tcp_ca_event event) {
	struct tcp_sock *tp = tcp_sk(sk);
	if (event == CA_EVENT_TX_START)
		tp->snd_cwnd = 100 * (tp->snd_nxt / 1500) + 10 * tp->packets_out + tp->retrans_out;
}
SEC("struct_ops/w_ca") void BPF_PROG(w_ca, struct sock *sk, u32 ack, u32 acked) { }
SEC("struct_ops/w_un") u32 BPF_PROG(w_un, struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
SEC(".struct_ops") struct tcp_congestion_ops witness = {
	.ssthresh = (void *)w_ss, .cwnd_event = (void *)w_ev, .cong_avoid = (void *)w_ca, .undo_cwnd = (void *)w_un,
	.name = "witness",
};
CC_LICENSE("GPL");
"#;

#[test]
fn a_transmission_starts_before_its_packet_counts() {
    assert_eq!(MSS, Bytes(1500));
    let file = source("witness.bpf.c", WITNESS);
    let cc = load(&file.path).expect("it compiles").build(&Value::Null, &start()).expect("it builds");
    let Hand { mut cc, mut sender, now, mut rng } = Hand::new(cc);
    (sender.snd_una, sender.snd_nxt) = (4, 5);
    cc.on_send(&Sent { seq: 4, is_retransmit: false, sender: &sender }, &mut Context { now, rng: &mut rng });
    assert_eq!(cc.cwnd().packets(MSS), 400);
    sender.retrans_out = 1;
    sender.lost_out = 1;
    cc.on_send(&Sent { seq: 4, is_retransmit: true, sender: &sender }, &mut Context { now, rng: &mut rng });
    assert_eq!(cc.cwnd().packets(MSS), 510);
}

#[test]
fn an_undone_timeout_restores_the_window() {
    for name in ["wcc_ai", "vegas", "highspeed"] {
        let mut hand = Hand::of(name, &Value::Null);
        hand.send();
        hand.ack(hand.cwnd(), 20);
        let before = hand.cwnd();
        hand.send();
        hand.lose(Cause::Timeout);
        assert_eq!(hand.cwnd(), 1, "{name}");
        hand.undo(before, 3 * before);
        assert_eq!((hand.cwnd(), hand.ssthresh()), (before, Some(3 * before)), "{name}");
    }
}

#[test]
fn a_timeout_sets_cwnd_to_what_is_in_flight_plus_one_and_reduces_once() {
    let mut hand = Hand::of("wcc_ai", &Value::Null);
    for _ in 0..3 {
        hand.send();
        hand.ack(hand.cwnd(), 20);
    }
    hand.send();
    let before = hand.cwnd();
    hand.lose(Cause::Timeout);
    assert_eq!((hand.cwnd(), hand.ssthresh()), (1, Some(before / 2)));
    hand.lose(Cause::Timeout);
    assert_eq!((hand.cwnd(), hand.ssthresh()), (1, Some(before / 2)), "another one that brought nothing");
    hand.sender.lost_out = 0;
    hand.ack(1, 20);
    assert_eq!(hand.cwnd(), 2, "slow start in Loss");
}

/// Returns the value of a skipped call: the previous content of the stack.
unsafe extern "C" fn skipped_ssthresh(_: *mut TcpSock) -> u32 {
    0x8110_410b
}

unsafe extern "C" fn skipped_set_state(_: *mut TcpSock, _: u8) {}

/// Returns a connection with the algorithm `name`, for which the kernel skips the calls at the start of an episode.
fn with_skipped_calls(name: &str, is_state_skipped: bool) -> Hand {
    let module: &Module = list::BUILTIN.iter().find(|b| b.name == name).map(|b| &**b.module).expect("it is in bpf/");
    let set_state = if is_state_skipped { Some(skipped_set_state as _) } else { module.ops.set_state };
    let ops = Box::leak(Box::new(RawOps { ssthresh: Some(skipped_ssthresh), set_state, ..*module.ops }));
    let mut module = module.clone();
    module.ops = ops;
    Hand::new(Box::new(NativeController::new(&module, &Value::Null, &start()).expect("it builds")))
}

#[test]
fn an_ssthresh_that_the_kernel_skipped_is_made_good() {
    for (name, cause) in ["vegas", "multcp", "ewtcp", "wcc_ai", "wcc_md"]
        .into_iter()
        .flat_map(|name| [Cause::Dupack, Cause::Ecn, Cause::Timeout].map(|cause| (name, cause)))
    {
        let play = |mut hand: Hand| {
            hand.send();
            hand.ack(8, 20);
            hand.send();
            hand.lose(cause);
            // A second timeout without progress is not a new episode.
            if cause == Cause::Timeout {
                hand.lose(cause);
                hand.sender.lost_out = 0;
            }
            let entered = hand.ssthresh();
            hand.ack(1, 20);
            (entered, hand.ssthresh())
        };
        let sound = play(Hand::of(name, &Value::Null));
        assert_eq!(sound, (Some(9), Some(9)), "{name}: half of 18");
        assert_eq!(play(with_skipped_calls(name, false)), sound, "{name}, {cause:?}");
        let (_, after_an_ack) = play(with_skipped_calls(name, true));
        assert_eq!(after_an_ack, sound.1, "{name}, {cause:?}: no call of that ACK came through");
    }
}

/// `srtt_us` counts eighths of a microsecond in 32 bits, so it is at most 536 s.
#[test]
fn an_rtt_beyond_the_kernels_field_is_the_longest_there_is() {
    let text = RECORDER.replace("note(sk, 5);", "tcp_sk(sk)->snd_cwnd = (tcp_sk(sk)->srtt_us >> 3) / 1000000;");
    let source = source("recorder.bpf.c", &text);
    let mut hand =
        Hand::new(load(&source.path).expect("a controller").build(&Value::Null, &start()).expect("it builds"));
    for (rtt_s, expected) in [(100, 100), (600, 536), (86_400, 536)] {
        hand.send();
        hand.ack(1, rtt_s * 1000);
        assert_eq!(hand.cwnd(), expected, "{rtt_s} s");
    }
}

/// When the MTU of a path shrinks, the connection enters Loss without a loss; the window at the last loss is then not
/// meaningful.
#[test]
fn an_episode_without_a_loss_keeps_ssthresh() {
    let tp = |prior_ssthresh: u32| {
        let mut tp = TcpSock::zeroed();
        (tp.prior_cwnd, tp.prior_ssthresh, tp.snd_cwnd, tp.snd_ssthresh) = (40, prior_ssthresh, 100, 75);
        tp
    };
    let set_state = list::BUILTIN.iter().find(|b| b.name == "vegas").and_then(|b| b.module.ops.set_state);
    let set_state = set_state.expect("vegas has one");
    for (prior_ssthresh, expected) in [(0, 75), (30, 20)] {
        let mut tp = tp(prior_ssthresh);
        // SAFETY: C compiled against bpf/tcp.h gets the connection it was compiled for.
        unsafe { set_state(&mut *tp, CaState::Loss as u8) }
        assert_eq!(tp.snd_ssthresh, expected);
    }
}

#[test]
fn no_growth_in_a_reduction_and_cwnd_is_ssthresh_after_it() {
    for cause in [Cause::Dupack, Cause::Ecn] {
        let mut hand = Hand::of("wcc_ai", &Value::Null);
        hand.send();
        hand.ack(10, 20);
        hand.send();
        hand.lose(cause);
        hand.ack(3, 20);
        assert_eq!(hand.ssthresh(), Some(10));
        hand.recover();
        assert_eq!(hand.cwnd(), 10);
    }
}

#[test]
fn a_window_that_is_not_used_does_not_grow() {
    let mut hand = Hand::of("wcc_ai", &Value::Null);
    hand.send();
    hand.ack(10, 20);
    let grown = hand.cwnd();
    hand.sender.is_cwnd_limited = false;
    hand.sender.snd_nxt = hand.sender.snd_una + 2;
    hand.ack(1, 20);
    assert_eq!((grown, hand.cwnd()), (20, 20));
}

#[test]
fn weights_set_increase_and_decrease() {
    // (cca, A, B) at weight 2.5.
    for (cca, a, b) in [("multcp", 2.5, 0.2), ("ewtcp", 6.25, 0.5), ("wcc_ai", 2.5, 0.5), ("wcc_md", 1.0, 0.2)] {
        let mut hand = Hand::of(cca, &json!({"weight": 2.5}));
        for _ in 0..4 {
            hand.send();
            hand.ack(hand.cwnd(), 20);
        }
        assert_eq!(hand.cwnd(), 160);
        hand.send();
        hand.lose(Cause::Dupack);
        hand.recover();
        let reduced = hand.cwnd();
        assert!((reduced as f64 - 160.0 * (1.0 - b)).abs() <= 1.0, "{cca}: {reduced}");
        let rounds = 8;
        for _ in 0..rounds {
            hand.send();
            for _ in 0..hand.cwnd() {
                hand.ack(1, 20);
            }
        }
        let grown = (hand.cwnd() - reduced) as f64;
        assert!((grown - a * f64::from(rounds)).abs() <= 2.0, "{cca}: {grown} in {rounds} rounds");
    }
}

#[test]
fn after_an_idle_period_the_window_is_smaller_and_ssthresh_is_three_quarters_of_it() {
    for name in ["reno", "cubic", "dctcp", "vegas"] {
        let mut hand = Hand::of(name, &Value::Null);
        hand.send();
        hand.lose(Cause::Dupack);
        hand.recover();
        let before = hand.cwnd();
        hand.restart(2);
        assert_eq!((hand.cwnd(), hand.ssthresh()), (2, Some(before)), "{name}: ssthresh does not fall");
        hand.restart(1);
        assert_eq!((hand.cwnd(), hand.ssthresh()), (1, Some(before)), "{name}");
    }
    let mut hand = Hand::of("vegas", &Value::Null);
    hand.restart(3);
    assert_eq!((hand.cwnd(), hand.ssthresh()), (3, None), "slow start has not ended yet");
}

#[test]
fn vegas_holds_between_alpha_and_beta_and_steps_by_one_outside() {
    let mut hand = Hand::of("vegas", &Value::Null);
    hand.send();
    hand.lose(Cause::Dupack); // leaves slow start, at 5
    hand.recover();
    let round = |hand: &mut Hand, rtt_ms: u64| {
        let before = hand.cwnd();
        hand.send();
        // The round ends when a packet beyond those outstanding at its start is acknowledged.
        for _ in 0..before + 1 {
            hand.ack(1, rtt_ms);
        }
        hand.cwnd() as i64 - before as i64
    };
    round(&mut hand, 40);
    assert_eq!(round(&mut hand, 40), 1, "nothing queues");
    while hand.cwnd() < 20 {
        round(&mut hand, 40);
    }
    assert_eq!(round(&mut hand, 46), 0, "20 * 6 / 46 = 2.6 packets queue");
    assert_eq!(round(&mut hand, 52), 0, "20 * 12 / 52 = 4.6: whole packets, as in Linux");
    assert_eq!(round(&mut hand, 56), -1, "20 * 16 / 56 = 5.7");
}

#[test]
fn copa_rests_at_one_by_delta_packets() {
    let mut bench = Bench::new(built("copa", &json!({"delta": 0.25})), Path::droptail(24, 40, 100));
    bench.run_until(Time::ZERO + Dur::from_secs(20), |_| ());
    let (mut rtt_ns, mut acks) = (0, 0);
    bench.run_until(Time::ZERO + Dur::from_secs(40), |b| {
        rtt_ns += b.rtt.as_nanos();
        acks += 1;
    });
    let packet_ns = (MSS / Rate::from_mbps(24)).as_nanos();
    let queued = (rtt_ns / acks - Dur::from_millis(40).as_nanos()) as f64 / packet_ns as f64 - 1.0;
    assert!((3.0..6.0).contains(&queued), "{queued} packets queue");
}

#[test]
fn frcc_alone_keeps_theta_of_delay() {
    let mut bench = Bench::new(built("frcc", &Value::Null), Path::droptail(48, 50, 100));
    bench.run_until(Time::ZERO + Dur::from_secs(20), |_| ());
    let mut near = 0;
    let mut acks = 0;
    bench.run_until(Time::ZERO + Dur::from_secs(29), |b| {
        near += u64::from((b.rtt.as_millis_f64() - 60.25).abs() < 1.5);
        acks += 1;
    });
    // The other RTTs are those of probes: one slot of six, with its ramp and drain.
    assert!(near * 10 > acks * 6, "{near} of {acks} RTTs within 1.5 ms of R + theta");
    bench.run_until(Time::ZERO + Dur::from_millis(30_050), |_| ());
    assert_eq!(bench.cwnd(), 4, "all flows drain the queue at 30 s");
}

#[test]
fn expo_follows_its_curve_by_a_and_b() {
    let mut hand = Hand::of("expo", &json!({"mu_minus": "8Mbps", "a": "1Mbps", "b": 0.5}));
    let mbps = |hand: &Hand| hand.cc.pacing_rate().expect("it paces").as_mbps_f64();
    hand.now = Time::ZERO + Dur::from_secs(1);
    hand.ack(1, 20);
    assert_eq!(mbps(&hand), 9.0, "empty queue: far below 8 Mbps 2^10");
    hand.ack(1, 20);
    assert_eq!(mbps(&hand), 9.0, "once per Rm");
    // At q = 95 ms the rate of the curve is 8 Mbps sqrt(2) = 11.3 Mbps.
    for expected in [10.0, 11.0, 12.0, 6.0, 7.0] {
        hand.now += Dur::from_millis(20);
        hand.ack(1, 115);
        assert!((mbps(&hand) - expected).abs() < 1e-4, "{} Mbps, not {expected}", mbps(&hand));
    }
    // Above Rmax the curve continues: at q = 120 ms its rate is 2 Mbps.
    for expected in [3.5, 1.75, 2.75, 1.375] {
        hand.now += Dur::from_millis(20);
        hand.ack(1, 140);
        assert!((mbps(&hand) - expected).abs() < 1e-4, "{} Mbps, not {expected}", mbps(&hand));
    }
}

#[test]
fn a_source_is_found_by_its_path_and_compiled_once() {
    let file = source("recorder.bpf.c", RECORDER);
    let name = file.path.to_str().expect("UTF-8");
    let cc = registry::build(name, &json!({"first": 3}), &start()).expect("it builds");
    assert_eq!(cc.cwnd().packets(MSS), 3);
    let loaded = load(&file.path).expect("it compiles");
    assert_eq!(loaded.name(), "recorder");
    assert_eq!(loaded.defaults(), json!({"first": 1}));
    assert_eq!(loaded.param_docs().collect::<Vec<_>>(), [("first", "digit to start with")]);
    let wrong = registry::build(name, &json!({"first": 10}), &start()).map(|_| ()).unwrap_err();
    assert_eq!(wrong.to_string(), "parameters of `recorder`: `first` must be from 1 to 9: 10");
    // A changed source is a different algorithm with the same name.
    fs::write(&file.path, RECORDER.replace("CC_PKTS, 1,", "CC_PKTS, 2,")).expect("a file");
    assert_eq!(load(&file.path).expect("it compiles").defaults(), json!({"first": 2}));
}

#[test]
fn every_shipped_source_loads_like_a_users_source() {
    let bpf = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    for name in ["copa", "expo", "frcc", "vegas"] {
        let loaded = load(&bpf.join(format!("{name}.bpf.c"))).expect("it compiles");
        let builtin = registry::algorithms().find(|a| a.name == name).expect("it is in the list");
        assert_eq!((loaded.name(), loaded.defaults()), (name, (builtin.defaults)()));
    }
}

#[test]
fn an_unknown_controller_is_rejected_with_a_hint() {
    let (reason, hint) = refusal("broken.bpf.c", "#include \"tcp.h\"\nint x = nonsense;\n");
    assert!(reason.contains("broken.bpf.c:2") && reason.contains("nonsense"), "{reason}");
    assert!(hint.contains("tcp.h"));

    let (reason, _) = refusal("floats.bpf.c", "#include \"nowhere.h\"\n");
    assert!(reason.contains("nowhere.h"), "{reason}");

    let (reason, hint) = refusal("empty.bpf.c", "#include \"tcp.h\"\n");
    assert!(reason.contains("no `struct tcp_congestion_ops`") && hint.contains("SEC(\".struct_ops\")"), "{reason}");

    let (reason, _) = refusal("half.bpf.c", &RECORDER.replace(".undo_cwnd = (void *)r_undo, ", ""));
    assert_eq!(reason, "`recorder` has no undo_cwnd");

    let shared = RECORDER.replace("static void note", "int calls;\nstatic void note").replace("note(sk, 5)", "calls++");
    let (reason, hint) = refusal("shared.bpf.c", &shared);
    assert_eq!(reason, "`calls` is a variable that all flows would share");
    assert!(hint.contains("inet_csk_ca"));

    let (reason, _) = refusal("undefined.bpf.c", &RECORDER.replace("note(sk, 5)", "extern int far(void); far()"));
    assert!(reason.contains("far"), "{reason}");

    let (reason, _) = refusal("waimd.bpf.c", include_str!("../../../bpf/waimd.bpf.c"));
    assert_eq!(reason, "there are several congestion controllers: ewtcp, multcp, wcc_ai, wcc_md");

    let missing = load(&PathBuf::from("/nowhere/mine.bpf.c")).unwrap_err();
    assert!(missing.to_string().contains("/nowhere/mine.bpf.c") && fairweir_units::Hint::hint(&missing).is_some());
}

/// Creates a file that messages must not disclose, outside of the folders of all sources.
fn secret() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let path = folder.path().join("shadow");
    fs::write(&path, "root:hunter2:20000:0\n").expect("a file");
    (folder, path)
}

#[test]
fn messages_of_the_compiler_show_no_other_file() {
    let (_folder, secret) = secret();
    let path = secret.display();
    let (reason, hint) = refusal("include.bpf.c", &format!("#include \"{path}\"\n"));
    assert_eq!(
        reason,
        format!("it includes `{path}`, which is neither in the folder of the source nor a system header")
    );
    assert!(hint.contains("the folder of the source"));
    for text in [
        format!("#define FILE \"{path}\"\n#include FILE\n"),
        format!("#inc\\\nlude \"{path}\"\n#include \"missing.h\"\n"),
        format!("#line 1 \"{path}\"\nint x = ;\n"),
        format!("# 1 \"{path}\"\nint x = ;\n"),
        format!("int y = ;\n#line 1 \"{path}\"\n#error here\n"),
        format!("asm(\".include \\\"{path}\\\"\");\n"),
    ] {
        let (reason, _) = refusal("leak.bpf.c", &text);
        assert!(!reason.contains("hunter2"), "{text}: {reason}");
    }
    let link = source("linked.bpf.c", "#include \"own.h\"\n");
    std::os::unix::fs::symlink(&secret, link.path.with_file_name("own.h")).expect("a link");
    let refused = load(&link.path).expect_err("a link to another file").to_string();
    assert!(refused.contains("own.h") && !refused.contains("hunter2"), "{refused}");
}

#[test]
fn messages_of_the_compiler_show_the_users_own_lines() {
    let (reason, _) = refusal("typo.bpf.c", "#include \"tcp.h\"\nint window = twelve;\n");
    assert!(reason.contains("int window = twelve;") && reason.contains("typo.bpf.c:2"), "{reason}");
    let with_own_header = source("own.bpf.c", &RECORDER.replace("#include \"tcp.h\"", "#include \"own.h\""));
    fs::write(with_own_header.path.with_file_name("own.h"), "#include \"tcp.h\"\n").expect("a file");
    load(&with_own_header.path).expect("a header next to the source is included");
}

#[test]
fn one_of_several_is_chosen_by_the_files_name() {
    let file = source("wcc_md.bpf.c", include_str!("../../../bpf/waimd.bpf.c"));
    assert_eq!(load(&file.path).expect("it compiles").name(), "wcc_md");
}

#[test]
fn random_numbers_and_uptime_come_from_the_seed() {
    let play = |seed: u64| {
        let start = Start { seed, ..start() };
        let cc = registry::build("frcc", &Value::Null, &start).expect("a controller that builds");
        let mut bench = Bench::new(cc, Path::droptail(48, 50, 100));
        let mut rtts = Vec::new();
        bench.run_until(Time::ZERO + Dur::from_secs(12), |b| rtts.push(b.rtt));
        rtts
    };
    assert_eq!(play(1), play(1));
    assert_ne!(play(1), play(2));
}

/// A source in the style of the kernel's BPF self-tests: their headers, kfuncs, helpers without a socket, bit-fields,
/// HZ.
const KERNEL_STYLE: &str = r#"
#include "vmlinux.h"
#include "bpf_tracing_net.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
char _license[] SEC("license") = "GPL";
#define clamp(val, lo, hi) min((typeof(val))max(val, lo), hi)
extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
extern void tcp_cong_avoid_ai(struct tcp_sock *tp, __u32 w, __u32 acked) __ksym;
extern unsigned long CONFIG_HZ __kconfig;
static int step = 2;
static __u64 div64_u64(__u64 a, __u64 b) { return a / b; }
SEC("struct_ops") void BPF_PROG(k_init, struct sock *sk) { *(__u32 *)inet_csk_ca(sk) = tcp_jiffies32; }
SEC("struct_ops") void BPF_PROG(k_avoid, struct sock *sk, __u32 ack, __u32 acked)
{
	struct tcp_sock *tp = tcp_sk(sk);
	__u32 waited = tcp_jiffies32 - *(__u32 *)inet_csk_ca(sk);
	if (tcp_in_slow_start(tp) && !tcp_slow_start(tp, acked))
		return;
	if (BPF_CORE_READ_BITFIELD(inet_csk(sk), icsk_ca_state) == TCP_CA_Open)
		tp->snd_cwnd += step * div64_u64(waited, CONFIG_HZ) + (bpf_ktime_get_ns() ? 0 : 1000);
}
SEC("struct_ops") __u32 BPF_PROG(k_ssthresh, struct sock *sk) { return clamp(tcp_sk(sk)->snd_cwnd / 2, 2U, 5U); }
SEC("struct_ops") __u32 BPF_PROG(k_undo, struct sock *sk) { return tcp_sk(sk)->snd_cwnd; }
SEC(".struct_ops.link") struct tcp_congestion_ops kernelish = {
	.init = (void *)k_init, .cong_avoid = (void *)k_avoid, .ssthresh = (void *)k_ssthresh,
	.undo_cwnd = (void *)k_undo, .name = "bpf_kernelish",
};
"#;

#[test]
fn a_source_with_the_kernels_headers_loads_unchanged() {
    let file = source("kernelish.bpf.c", KERNEL_STYLE);
    let mut hand = Hand::new(load(&file.path).expect("it compiles").build(&Value::Null, &start()).expect("it builds"));
    hand.send();
    hand.lose(Cause::Dupack);
    hand.recover();
    assert_eq!(hand.cwnd(), 5);
    hand.now = Time::ZERO + Dur::from_millis(3_000);
    hand.ack(1, 20);
    assert_eq!(hand.cwnd(), 5 + 2 * 3, "2 for each second since init");
}
