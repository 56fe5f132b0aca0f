//! QUIC's loss recovery (`Recovery::Quic`): batches of losses, probe timeouts, persistent congestion.

use crate::common::{PACKET, droptail, dumbbell, flow, infinite};
use fairweir_cca::{Ack, AckedPacket, Cause, Context, Controller, Interests, Loss, LostPacket, Recovery};
use fairweir_path::loss::BurstLossConfig;
use fairweir_path::{ElementConfig, loss::PeriodicLossConfig};
use fairweir_scenario::Config;
use fairweir_sim::run_with;
use fairweir_units::Bytes;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex};

/// An event as reported to the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Event {
    Acked(u64),
    Lost(u64),
    Losses(Cause),
    Ack,
}

/// A controller with a fixed window that records its events.
#[derive(Debug)]
struct Recorder {
    cwnd_pkts: u64,
    events: Arc<Mutex<Vec<Event>>>,
}

impl Recorder {
    fn note(&self, event: Event) {
        self.events.lock().expect("one thread").push(event);
    }
}

impl Controller for Recorder {
    fn on_packet_acked(&mut self, acked: &AckedPacket, _: &mut Context<'_>) {
        self.note(Event::Acked(acked.seq));
    }
    fn on_packet_lost(&mut self, lost: &LostPacket, _: &mut Context<'_>) {
        self.note(Event::Lost(lost.seq));
    }
    fn on_loss(&mut self, loss: &Loss<'_>, _: &mut Context<'_>) {
        self.note(Event::Losses(loss.cause));
    }
    fn on_ack(&mut self, _: &Ack<'_>, _: &mut Context<'_>) {
        self.note(Event::Ack);
    }
    fn cwnd(&self) -> Bytes {
        PACKET * self.cwnd_pkts
    }
    fn interests(&self) -> Interests {
        Interests { lost: true, acked: true, own_recovery: true, recovery: Recovery::Quic, ..Interests::default() }
    }
}

fn record(config: &Config, cwnd_pkts: u64) -> (Vec<Event>, u64) {
    let events = Arc::new(Mutex::new(Vec::new()));
    let build = |_: &_, _: &_| Ok(Box::new(Recorder { cwnd_pkts, events: Arc::clone(&events) }) as Box<dyn Controller>);
    let outcome = run_with(config, &build, &mut |_| ControlFlow::Continue(())).expect("a run");
    let timeouts = outcome.summary.flows[0].timeouts;
    (std::mem::take(&mut events.lock().expect("one thread")), timeouts)
}

#[test]
fn an_ack_reports_its_packets_then_its_losses_and_then_itself() {
    let mut one = flow("recorder", 40);
    one.ingress.push(ElementConfig::PeriodicLoss(PeriodicLossConfig { every: 50, first: None }));
    let (events, timeouts) = record(&dumbbell(48, infinite(), vec![one], 10, 0, 1), 30);
    assert_eq!(timeouts, 0);
    let batches: Vec<&[Event]> = events.split_inclusive(|e| *e == Event::Ack).collect();
    let rank = |e: &Event| match e {
        Event::Acked(_) => 0,
        Event::Lost(_) => 1,
        Event::Losses(_) => 2,
        Event::Ack => 3,
    };
    assert!(batches.iter().filter(|b| b.last() == Some(&Event::Ack)).all(|b| b.is_sorted_by_key(rank)));
    let losses = events.iter().filter(|e| **e == Event::Losses(Cause::Dupack)).count();
    let lost = events.iter().filter(|e| matches!(e, Event::Lost(_))).count();
    // Losses are 50 packets apart, more than a window, so each loss is a batch.
    assert!(lost > 100 && losses == lost, "{lost} lost in {losses} batches");
    assert!(!events.contains(&Event::Losses(Cause::Timeout)));
}

#[test]
fn a_lost_tail_is_probed_and_a_short_silence_is_not_persistent_congestion() {
    // With a window of 2, occasionally the whole window is lost; only a probe detects this.
    let mut one = flow("recorder", 40);
    let loss = BurstLossConfig {
        to_bad_per_billion: 20_000_000,
        to_good_per_billion: 1_000_000_000 / 3,
        in_good_per_billion: 0,
        in_bad_per_billion: 1_000_000_000,
    };
    one.ingress.push(ElementConfig::BurstLoss(loss));
    let (events, timeouts) = record(&dumbbell(48, droptail(100), vec![one], 60, 0, 1), 2);
    let count = |cause| events.iter().filter(|e| **e == Event::Losses(cause)).count() as u64;
    let persistent = count(Cause::PersistentCongestion);
    assert_eq!(count(Cause::Timeout), 0);
    assert!(timeouts > 10, "{timeouts} probe timeouts");
    // Persistent congestion requires three PTOs between the first and the last lost packet: the second probe timeout is
    // 3 PTOs after the first packet, the third 7 PTOs.
    assert!(persistent < timeouts / 3, "{persistent} of {timeouts}");
    let mut delivered: Vec<u64> =
        events.iter().filter_map(|e| if let Event::Acked(s) = e { Some(*s) } else { None }).collect();
    delivered.sort_unstable();
    assert!(delivered.windows(2).all(|w| w[0] + 1 == w[1]), "each packet is reported once");
}

#[test]
fn a_long_silence_is_persistent_congestion() {
    let mut one = flow("recorder", 40);
    let loss = BurstLossConfig {
        to_bad_per_billion: 5_000_000,
        to_good_per_billion: 60_000_000,
        in_good_per_billion: 0,
        in_bad_per_billion: 1_000_000_000,
    };
    one.ingress.push(ElementConfig::BurstLoss(loss));
    let (events, timeouts) = record(&dumbbell(48, droptail(100), vec![one], 600, 0, 1), 4);
    let persistent = events.iter().filter(|e| **e == Event::Losses(Cause::PersistentCongestion)).count();
    assert!(timeouts > 20 && persistent > 3, "{persistent} of {timeouts}");
}
