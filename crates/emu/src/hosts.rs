//! The time that the hosts take to answer a packet, which adds to the RTT of the path.
//!
//! Both times count from the intended release of a packet, so that they include the emulator's own lateness, as the RTT
//! that TCP measures does.

use crate::record::{Answers, HostAnswers};
use crate::wire::View;
use fairweir_scenario::Histogram;
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Data packets per flow whose ACK is awaited. Linux acknowledges every second packet, so more are only awaited while
/// one is missing, and then they give no sample.
const MAX_AWAITED: usize = 64;
/// A longer answer waits for something else: for a second packet, an application or a pacing timer.
const MAX_ANSWER: Dur = Dur::from_millis(2);

/// One flow's packets that a host has yet to answer.
#[derive(Clone, Debug, Default)]
struct Unanswered {
    /// The sequence numbers after the data packets that the receiver has, with their release times.
    data: VecDeque<(u32, Time)>,
    /// The release time of the last ACK, if no data packet was sent since.
    ack: Option<Time>,
}

/// Times of the answers of receivers and senders.
#[derive(Debug)]
pub(crate) struct HostTimes {
    /// From the release of a data packet to the ACK that covers it as the last one.
    receiver: Histogram,
    /// From the release of an ACK to the next data packet.
    sender: Histogram,
    flows: Vec<Unanswered>,
}

impl HostTimes {
    pub(crate) fn new(flows: usize) -> HostTimes {
        HostTimes { receiver: Histogram::new(), sender: Histogram::new(), flows: vec![Unanswered::default(); flows] }
    }

    /// Returns the measured times.
    pub(crate) fn answers(&self) -> HostAnswers {
        HostAnswers { receiver: summary(&self.receiver), sender: summary(&self.sender) }
    }

    /// Notes that the data packet `view` leaves the path at the intended time `at`.
    pub(crate) fn data_released(&mut self, at: Time, view: &View<'_>) {
        let (Some(tcp), Some(flow)) = (&view.tcp, self.flows.get_mut(view.flow)) else { return };
        if view.data_bytes > 0 {
            flow.data.truncate(MAX_AWAITED - 1);
            flow.data.push_front((tcp.sequence_number().wrapping_add(view.data_bytes), at));
        }
    }

    /// Measures the answer of the receiver that sends the ACK `view` at `now`.
    pub(crate) fn ack_sent(&mut self, now: Time, view: &View<'_>) {
        let (Some(tcp), Some(flow)) = (&view.tcp, self.flows.get_mut(view.flow)) else { return };
        let acked = tcp.acknowledgment_number();
        if let Some(&(_, at)) = flow.data.iter().find(|(end, _)| *end == acked) {
            record(&mut self.receiver, now, at);
        }
        flow.data.retain(|(end, _)| (acked.wrapping_sub(*end) as i32) < 0);
    }

    /// Notes that an ACK of `flow` leaves the path at the intended time `at`.
    pub(crate) fn ack_released(&mut self, at: Time, flow: usize) {
        if let Some(flow) = self.flows.get_mut(flow) {
            flow.ack = Some(at);
        }
    }

    /// Measures the answer of the sender that sends data on `flow` at `now`.
    pub(crate) fn data_sent(&mut self, now: Time, flow: usize) {
        if let Some(at) = self.flows.get_mut(flow).and_then(|flow| flow.ack.take()) {
            record(&mut self.sender, now, at);
        }
    }
}

fn record(times: &mut Histogram, now: Time, at: Time) {
    let answer = now.since(at);
    if answer <= MAX_ANSWER {
        times.record(answer);
    }
}

fn summary(times: &Histogram) -> Answers {
    let (sum_ns, samples) = times.total();
    let us = |per_mille| times.quantile_ns(per_mille) / 1e3;
    Answers { samples, mean: sum_ns as f64 / 1e3 / samples.max(1) as f64, p50: us(500), p99: us(990) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::{ack_packet, data_packet};

    fn us(us: u64) -> Time {
        Time::from_nanos(us * 1_000)
    }

    fn deliver(times: &mut HostTimes, at: u64, sequence: u32) {
        times.data_released(us(at), &View::new(&data_packet(0, sequence, 1000, 0), 0).unwrap());
    }

    fn ack(times: &mut HostTimes, at: u64, number: u32) {
        times.ack_sent(us(at), &View::new(&ack_packet(0, number, &[]), 0).unwrap());
    }

    fn total_us(answers: Answers) -> (u64, f64) {
        (answers.samples, answers.mean * answers.samples as f64)
    }

    #[test]
    fn an_ack_answers_the_last_packet_that_it_covers() {
        let mut times = HostTimes::new(1);
        // The sequence numbers wrap.
        let first = u32::MAX - 500;
        for k in 0..4 {
            deliver(&mut times, 100 * k, first.wrapping_add(1000 * k as u32));
        }
        ack(&mut times, 130, first.wrapping_add(2000));
        assert_eq!(total_us(times.answers().receiver), (1, 30.0));
        // A duplicate ACK, one within a packet and one after a delayed-ACK timer measure nothing.
        ack(&mut times, 140, first.wrapping_add(2000));
        ack(&mut times, 310, first.wrapping_add(2500));
        ack(&mut times, 40_310, first.wrapping_add(4000));
        assert_eq!(total_us(times.answers().receiver), (1, 30.0));
        assert!(times.flows[0].data.is_empty());
        // Packets behind a hole are awaited, but not without end.
        (1..200).for_each(|k| deliver(&mut times, 50_000, first.wrapping_add(4000 + 1000 * k)));
        assert_eq!(times.flows[0].data.len(), MAX_AWAITED);
    }

    #[test]
    fn data_answers_the_last_ack() {
        let mut times = HostTimes::new(2);
        times.data_sent(us(0), 0);
        times.ack_released(us(10), 0);
        times.ack_released(us(20), 0);
        times.data_sent(us(45), 1);
        times.data_sent(us(50), 0);
        times.data_sent(us(60), 0);
        times.ack_released(us(70), 0);
        times.data_sent(us(2_071), 0);
        assert_eq!(total_us(times.answers().sender), (1, 30.0));
    }
}
