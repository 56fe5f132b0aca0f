//! The kernel's rules of when ssthresh is reduced (`tcp_enter_loss` and `tcp_fastretrans_alert` of tcp_input.c), and the order
//! of retransmissions.

use crate::common::{PACKET, droptail, dumbbell, flow, run};
use fairweir_cca::{Ack, CaState, Cause, Context, Controller, Loss, Sender};
use fairweir_path::jitter::AckAggregationConfig;
use fairweir_path::{ElementConfig, loss::IidLossConfig};
use fairweir_scenario::Mechanism;
use fairweir_sim::run_with;
use fairweir_units::{Bytes, Dur, Rate, Time};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// The start of an episode.
#[derive(Clone, Copy, Debug)]
struct Start {
    cause: Cause,
    is_repeated: bool,
    /// State before it.
    state: CaState,
    /// Whether all data sent before the previous episode are acknowledged.
    is_past_previous: bool,
    /// Whether data were acknowledged since the last timeout.
    has_progress: bool,
}

/// A controller that records the starts of episodes. Its window is inflight + 1 after a timeout, and grows to 8 packets.
#[derive(Debug)]
struct Recorder {
    starts: Arc<Mutex<Vec<Start>>>,
    cwnd_pkts: u64,
    state: CaState,
    high_seq: u64,
    una_at_timeout: u64,
}

impl Controller for Recorder {
    fn on_loss(&mut self, loss: &Loss<'_>, _: &mut Context<'_>) {
        let Sender { snd_una, snd_nxt, ca_state, .. } = *loss.sender;
        self.starts.lock().expect("one thread").push(Start {
            cause: loss.cause,
            is_repeated: loss.is_repeated,
            state: self.state,
            is_past_previous: snd_una >= self.high_seq,
            has_progress: snd_una > self.una_at_timeout,
        });
        if loss.cause == Cause::Timeout {
            self.una_at_timeout = snd_una;
            self.cwnd_pkts = loss.sender.inflight() + 1;
        }
        (self.state, self.high_seq) = (ca_state, snd_nxt);
    }
    fn on_ack(&mut self, ack: &Ack<'_>, _: &mut Context<'_>) {
        self.state = ack.sender.ca_state;
        self.cwnd_pkts = (self.cwnd_pkts + ack.acked).min(8);
    }
    fn on_recovered(&mut self, sender: &Sender, _: &mut Context<'_>) {
        self.state = sender.ca_state;
    }
    fn cwnd(&self) -> Bytes {
        PACKET * self.cwnd_pkts
    }
}

/// Returns the episodes of a flow that loses 30 % of its packets.
fn episodes(mechanisms: &[Mechanism]) -> Vec<Start> {
    let mut one = flow("recorder", 40);
    one.transport = mechanisms.iter().copied().collect();
    one.ingress.push(ElementConfig::IidLoss(IidLossConfig { per_billion: 300_000_000 }));
    let starts = Arc::new(Mutex::new(Vec::new()));
    let build = |_: &_, _: &_| {
        let starts = Arc::clone(&starts);
        let recorder = Recorder { starts, cwnd_pkts: 8, state: CaState::Open, high_seq: 0, una_at_timeout: 0 };
        Ok(Box::new(recorder) as Box<dyn Controller>)
    };
    run_with(&dumbbell(48, droptail(100), vec![one], 600, 0, 1), &build, &mut |_| ControlFlow::Continue(()))
        .expect("a run");
    std::mem::take(&mut starts.lock().expect("one thread"))
}

/// Returns the timeouts among `starts`, at least 100.
fn timeouts(starts: &[Start]) -> Vec<Start> {
    let timeouts: Vec<Start> = starts.iter().filter(|s| s.cause == Cause::Timeout).copied().collect();
    assert!(timeouts.len() > 100, "{}", timeouts.len());
    timeouts
}

#[test]
fn a_timeout_reduces_once_per_episode_and_again_after_progress() {
    let starts = episodes(&[Mechanism::LossRecovery]);
    let mut kinds = [0; 4];
    for timeout in timeouts(&starts) {
        let reduces = match timeout.state {
            CaState::Open | CaState::Disorder => true,
            CaState::Loss => timeout.has_progress || timeout.is_past_previous,
            CaState::Cwr | CaState::Recovery => timeout.is_past_previous,
        };
        assert_eq!(timeout.is_repeated, !reduces, "{timeout:?}");
        kinds[usize::from(timeout.state == CaState::Loss) * 2 + usize::from(reduces)] += 1;
    }
    assert!(kinds.iter().all(|&count| count > 0), "{kinds:?}");
}

#[test]
fn a_lost_retransmission_after_a_timeout_starts_an_episode() {
    let from_loss = |starts: Vec<Start>| {
        starts.iter().filter(|s| s.cause == Cause::Dupack && s.state == CaState::Loss && !s.is_past_previous).count()
    };
    assert_eq!(from_loss(episodes(&[])), 0);
    let count = from_loss(episodes(&[Mechanism::LossRecovery]));
    assert!(count > 20, "{count}");
}

#[test]
fn on_ideal_hosts_only_a_timeout_that_follows_another_is_repeated() {
    for timeout in timeouts(&episodes(&[])) {
        assert_eq!(timeout.is_repeated, timeout.state == CaState::Loss, "{timeout:?}");
    }
}

/// Returns the losses that a flow of Reno detects and the drops of its queue, with ACKs that arrive several at a time.
fn detected_and_dropped(mechanisms: &[Mechanism]) -> (u64, u64) {
    let mut one = flow("reno", 5);
    one.transport = mechanisms.iter().copied().collect();
    one.reverse.push(ElementConfig::AckAggregation(AckAggregationConfig {
        hold: Dur::from_millis(2),
        rate: Rate::from_mbps(50),
        burst_rate: Rate::from_mbps(2000),
        smooth: Time::ZERO,
        opportunity: Bytes(1504),
    }));
    let summary = run(&dumbbell(50, droptail(40), vec![one], 20, 0, 1)).expect("a run").summary;
    (summary.flows[0].lost_pkts, summary.links[0].drops)
}

#[test]
fn several_acks_at_one_instant_do_not_declare_a_retransmission_lost() {
    let (detected, dropped) = detected_and_dropped(&[Mechanism::LossRecovery]);
    assert!(dropped > 50, "{dropped}");
    assert_eq!(detected, dropped);
    let (detected, dropped) = detected_and_dropped(&[]);
    assert!(detected > dropped, "the path no longer shows what the rule prevents: {detected} {dropped}");
}

/// A controller with a window of 30 packets, which records the maximum number of packets from `snd_una` on that are sent.
#[derive(Debug)]
struct Overload {
    spread: Arc<Mutex<u64>>,
}

impl Controller for Overload {
    fn on_loss(&mut self, _: &Loss<'_>, _: &mut Context<'_>) {}
    fn on_ack(&mut self, ack: &Ack<'_>, _: &mut Context<'_>) {
        let mut spread = self.spread.lock().expect("one thread");
        *spread = (*spread).max(ack.sender.packets_out());
    }
    fn cwnd(&self) -> Bytes {
        PACKET * 30
    }
    fn interests(&self) -> fairweir_cca::Interests {
        fairweir_cca::Interests { own_recovery: true, ..fairweir_cca::Interests::default() }
    }
}

/// Returns the maximum number of packets that a flow has outstanding which overloads a queue of 8 packets for 20 s.
fn spread(mechanisms: &[Mechanism]) -> u64 {
    let mut one = flow("overload", 3);
    one.transport = mechanisms.iter().copied().collect();
    let spread = Arc::new(Mutex::new(0));
    let build = |_: &_, _: &_| Ok(Box::new(Overload { spread: Arc::clone(&spread) }) as Box<dyn Controller>);
    run_with(&dumbbell(5, droptail(8), vec![one], 20, 0, 1), &build, &mut |_| ControlFlow::Continue(()))
        .expect("a run");
    *spread.lock().expect("one thread")
}

#[test]
fn the_lowest_lost_packet_is_retransmitted_first() {
    let (with, without) = (spread(&[Mechanism::LossRecovery]), spread(&[]));
    assert!(with < 500 && without > 10 * with, "{with} {without}");
}
