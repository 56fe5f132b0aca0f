//! Measurements of one flow at the sender's side of the network. They are the same for all controllers and independent
//! of a controller's own RTT estimate.

use crate::wire::View;
use etherparse::TcpHeaderSlice;
use fairweir_scenario::recorder::{Meter, Tally};
use fairweir_scenario::{Config, HEADER_BYTES};
use fairweir_tcp::{Intervals, sequence};
use fairweir_units::Time;
use std::collections::VecDeque;

/// Data that entered the network in one frame and is not yet covered by a cumulative ACK.
#[derive(Clone, Copy, Debug)]
struct Sent {
    /// Sequence numbers `[start, end)`, counted from the first data byte without wrapping.
    start: u64,
    end: u64,
    at: Time,
    packets: u32,
    /// Total bytes of the headers of all its packets.
    header_bytes: u32,
    /// Whether part of the data was retransmitted, which makes its RTT ambiguous (Karn's algorithm).
    is_ambiguous: bool,
}

/// The measured connection: the latest that the flow opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Connection {
    sender_port: u16,
    receiver_port: u16,
    /// The sequence number of the first data byte.
    origin: u32,
}

/// One flow's measurements.
#[derive(Debug)]
pub(crate) struct FlowMeter {
    /// Payload bytes of a full packet.
    packet_data: u64,
    connection: Option<Connection>,
    /// All data below this sequence number are covered by a cumulative ACK.
    una: u64,
    sent: VecDeque<Sent>,
    /// Data above `una` that SACK blocks cover.
    sacked: Intervals,
    pub(crate) tally: Tally,
}

impl Meter for FlowMeter {
    fn tally(&self) -> &Tally {
        &self.tally
    }

    fn tally_mut(&mut self) -> &mut Tally {
        &mut self.tally
    }
}

/// Creates the meters of the flows of `config`.
pub(crate) fn meters(config: &Config) -> Vec<FlowMeter> {
    config.flows.iter().map(|_| FlowMeter::new(config.packet.0 - HEADER_BYTES)).collect()
}

impl FlowMeter {
    /// Creates the meter of a flow whose full packets carry `packet_data` bytes.
    pub(crate) fn new(packet_data: u64) -> FlowMeter {
        FlowMeter {
            packet_data,
            connection: None,
            una: 0,
            sent: VecDeque::new(),
            sacked: Intervals::new(),
            tally: Tally::new(),
        }
    }

    /// Records that the sender sends `view` at `now`; returns the number of its first packet within the flow.
    pub(crate) fn on_send(&mut self, now: Time, view: &View<'_>) -> u64 {
        let Some(tcp) = &view.tcp else { return 0 };
        if tcp.syn() {
            self.open(tcp);
            return 0;
        }
        let ports = (tcp.source_port(), tcp.destination_port());
        let Some(origin) = self.origin_of(ports) else { return 0 };
        let sequence = tcp.sequence_number();
        let next = self.next();
        let start = unwrap(sequence.wrapping_sub(origin), next);
        let number = start / self.packet_data;
        if view.data_bytes == 0 {
            return number;
        }
        let end = start + u64::from(view.data_bytes);
        self.tally.first_sent.get_or_insert(now);
        self.tally.counts.sent += u64::from(view.packets);
        if start < next {
            self.tally.counts.retransmits += u64::from(view.packets);
            self.make_ambiguous(start, end);
        }
        if end > next {
            self.sent.push_back(Sent {
                start: start.max(next),
                end,
                at: now,
                packets: view.packets,
                header_bytes: (view.bytes - u64::from(view.data_bytes)) as u32,
                is_ambiguous: start < next,
            });
        }
        number
    }

    /// Processes an acknowledgement `view` that reaches the sender at `now`.
    pub(crate) fn on_ack(&mut self, now: Time, view: &View<'_>) {
        let Some(tcp) = &view.tcp else { return };
        let ports = (tcp.destination_port(), tcp.source_port());
        let Some(origin) = self.origin_of(ports).filter(|_| tcp.ack() && !tcp.syn()) else { return };
        let next = self.next();
        let place = |sequence: u32| unwrap(sequence.wrapping_sub(origin), next).min(next);
        let mut newest: Option<Sent> = None;
        let mut gains = Gains::default();
        for (start, end) in view.sacks().iter() {
            let (start, end) = (place(start).max(self.una), place(end));
            if start < end {
                let sent = &self.sent;
                self.sacked.insert(start, end, |start, end| gains.add(sent, start, end, &mut newest));
            }
        }
        let cumulative = place(tcp.acknowledgment_number());
        if cumulative > self.una {
            let sent = &self.sent;
            self.sacked.insert(self.una, cumulative, |start, end| gains.add(sent, start, end, &mut newest));
            self.sacked.forget_below(cumulative);
            self.una = cumulative;
            while self.sent.front().is_some_and(|sent| sent.end <= cumulative) {
                self.sent.pop_front();
            }
        }
        if gains.bytes > 0 {
            self.tally.last_delivered = Some(now);
            self.tally.counts.delivered += gains.packets;
            self.tally.counts.delivered_bytes += gains.bytes;
        }
        if let Some(newest) = newest.filter(|sent| !sent.is_ambiguous) {
            self.tally.rtt.record(now.since(newest.at));
        }
    }

    /// Counts `packets` data packets that reach the receiver with a CE mark.
    pub(crate) fn on_mark(&mut self, packets: u32) {
        self.tally.counts.marked += u64::from(packets);
    }

    /// Returns the sequence number after the last one sent.
    fn next(&self) -> u64 {
        self.sent.back().map_or(self.una, |sent| sent.end)
    }

    /// Starts to measure a newly opened connection in place of the previous one.
    fn open(&mut self, syn: &TcpHeaderSlice<'_>) {
        self.connection = Some(Connection {
            sender_port: syn.source_port(),
            receiver_port: syn.destination_port(),
            origin: syn.sequence_number().wrapping_add(1),
        });
        (self.una, self.sent, self.sacked) = (0, VecDeque::new(), Intervals::new());
    }

    /// Returns the sequence number at which the measured connection's data start; `None` for ports of another
    /// connection.
    fn origin_of(&self, (sender_port, receiver_port): (u16, u16)) -> Option<u32> {
        let connection = self.connection?;
        (connection.sender_port == sender_port && connection.receiver_port == receiver_port)
            .then_some(connection.origin)
    }

    fn make_ambiguous(&mut self, start: u64, end: u64) {
        let first = self.sent.partition_point(|sent| sent.end <= start);
        self.sent.range_mut(first..).take_while(|sent| sent.start < end).for_each(|sent| sent.is_ambiguous = true);
    }
}

/// Data that an ACK newly covers.
#[derive(Clone, Copy, Debug, Default)]
struct Gains {
    packets: u64,
    /// Bytes on the wire; a frame's headers are counted with the last byte of its data.
    bytes: u64,
}

impl Gains {
    /// Adds the newly covered data `[start, end)`. Sets `newest` to the latest sent of the fully covered frames.
    fn add(&mut self, sent: &VecDeque<Sent>, start: u64, end: u64, newest: &mut Option<Sent>) {
        self.bytes += end - start;
        let first = sent.partition_point(|sent| sent.end <= start);
        for sent in sent.range(first..).take_while(|sent| sent.end <= end) {
            self.packets += u64::from(sent.packets);
            self.bytes += u64::from(sent.header_bytes);
            if newest.is_none_or(|newest| newest.at <= sent.at) {
                *newest = Some(*sent);
            }
        }
    }
}

/// Returns the offset from the first data byte that has the low 32 bits `low` and is nearest to `near`, but at least 0.
fn unwrap(low: u32, near: u64) -> u64 {
    u64::try_from(sequence::unwrap(low, near as i64)).unwrap_or(u64::from(low))
}

#[cfg(test)]
mod record_tests;
#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::tests::{ack_packet, data_packet, data_packet_of, syn_packet};
    use fairweir_scenario::recorder::FlowCounts;

    const DATA: usize = 1000;

    fn ms(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    /// Creates a meter whose connection starts at `origin`.
    fn meter(origin: u32) -> FlowMeter {
        let mut meter = FlowMeter::new(DATA as u64);
        meter.on_send(ms(0), &View::new(&syn_packet(0, origin.wrapping_sub(1)), 0).unwrap());
        meter
    }

    fn send(meter: &mut FlowMeter, at: u64, sequence: u32) -> u64 {
        let packet = data_packet(0, sequence, DATA, 0);
        meter.on_send(ms(at), &View::new(&packet, 0).unwrap())
    }

    fn ack(meter: &mut FlowMeter, at: u64, number: u32, sacks: &[(u32, u32)]) {
        let packet = ack_packet(0, number, sacks);
        meter.on_ack(ms(at), &View::new(&packet, 0).unwrap());
    }

    fn rtts(meter: &FlowMeter) -> (u64, f64) {
        let (sum, samples) = meter.tally.rtt_total();
        (samples, sum.as_millis_f64())
    }

    #[test]
    fn an_rtt_lasts_from_entry_to_the_ack_that_newly_covers() {
        // The sequence numbers wrap within the test.
        let origin = 5000u32.wrapping_sub(6000);
        let at = |packet: u32| origin.wrapping_add(1000 * packet);
        let mut meter = meter(origin);
        assert_eq!((0..4).map(|k| send(&mut meter, u64::from(k), at(k))).collect::<Vec<_>>(), [0, 1, 2, 3]);
        ack(&mut meter, 20, at(1), &[]);
        assert_eq!(rtts(&meter), (1, 20.0));
        // The third packet is SACKed (RTT 18 ms), a duplicate ACK adds nothing, and then all packets are acknowledged
        // (RTT of the fourth: 19 ms).
        ack(&mut meter, 20, at(1), &[(at(2), at(3))]);
        ack(&mut meter, 21, at(1), &[(at(2), at(3))]);
        assert_eq!(rtts(&meter), (2, 38.0));
        ack(&mut meter, 22, at(4), &[]);
        assert_eq!(rtts(&meter), (3, 57.0));
        assert_eq!((meter.tally.counts.delivered, meter.tally.counts.delivered_bytes), (4, 4 * 1040));
        assert_eq!((meter.tally.first_sent, meter.tally.last_delivered), (Some(ms(0)), Some(ms(22))));
    }

    #[test]
    fn a_retransmitted_packet_gives_no_sample_and_is_delivered_once() {
        let mut meter = meter(0);
        assert_eq!((0..3).map(|k| send(&mut meter, 0, 1000 * k)).collect::<Vec<_>>(), [0, 1, 2]);
        ack(&mut meter, 10, 0, &[(1000, 3000)]);
        assert_eq!(rtts(&meter), (1, 10.0));
        assert_eq!(send(&mut meter, 11, 0), 0);
        ack(&mut meter, 20, 3000, &[]);
        ack(&mut meter, 21, 3000, &[(0, 1000)]);
        assert_eq!(rtts(&meter), (1, 10.0));
        assert_eq!(
            meter.tally.counts,
            FlowCounts { sent: 4, retransmits: 1, delivered: 3, delivered_bytes: 3120, marked: 0 }
        );
        assert!(meter.sent.is_empty());
    }

    #[test]
    fn other_connections_of_the_flow_do_not_count() {
        let mut meter = meter(0);
        let foreign = data_packet_of(40_001, 0, 77, DATA, 0);
        meter.on_send(ms(0), &View::new(&foreign, 0).unwrap());
        assert_eq!(meter.tally.counts, FlowCounts::default());
        send(&mut meter, 0, 0);
        ack(&mut meter, 5, 1000, &[]);
        assert_eq!((meter.tally.counts.sent, meter.tally.counts.delivered), (1, 1));
    }
}
