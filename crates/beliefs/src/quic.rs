//! Converts a qlog's events to packets and their fates, as the connection's sender saw them.

use crate::packet::{Fate, Packet};
use crate::series::{Bins, Series};
use fairweir_capture::{QuicEvent, QuicWhat};
use std::collections::BTreeMap;

/// IPv4 and UDP headers of a QUIC packet, bytes. A qlog does not contain the IP version; IPv6 has 20 more bytes.
const HEADERS: u32 = 28;
/// For logs without packet_lost events: a packet is lost if a packet with a number larger by at least this was
/// acknowledged (RFC 9002 §6.1.1).
const REORDERING: u64 = 3;
/// A receiver that reports at most this ACK delay did not wait for a second packet, ns.
const PROMPT_NS: u64 = 1_000_000;

/// A connection's data in the direction that the log's writer sent.
#[derive(Debug)]
pub struct QuicFlow {
    /// Packets in send order.
    pub packets: Vec<Packet>,
    /// IP packets that were acknowledged, bytes.
    pub delivered_bytes: u64,
    numbers: BTreeMap<u64, usize>,
    largest_acked: Option<u64>,
    inflight: u64,
    series: Series,
}

impl QuicFlow {
    /// Creates a connection that begins at `now`, ns.
    pub fn new(now: u64) -> QuicFlow {
        QuicFlow {
            packets: Vec::new(),
            delivered_bytes: 0,
            numbers: BTreeMap::new(),
            largest_acked: None,
            inflight: 0,
            series: Series::new(now),
        }
    }

    /// Whether acknowledgements were logged.
    pub fn has_acks(&self) -> bool {
        self.largest_acked.is_some()
    }

    /// Returns the flow's time series.
    pub fn bins(&self) -> &Bins {
        self.series.bins()
    }

    /// Processes an event.
    pub fn add(&mut self, event: &QuicEvent) {
        match &event.what {
            QuicWhat::Sent { number, bytes } => self.send(event, *number, *bytes),
            QuicWhat::Acked { ranges, delay_ns } => self.acknowledge(event, ranges, *delay_ns),
            QuicWhat::Lost { number } => self.lose(*number),
            QuicWhat::Metrics { inflight_bytes: Some(bytes) } => self.series.on_inflight(event.time_ns, *bytes),
            QuicWhat::Metrics { inflight_bytes: None } => {}
        }
    }

    fn send(&mut self, event: &QuicEvent, number: u64, bytes: u32) {
        // packet numbers are not reused (RFC 9000 §12.3)
        if self.numbers.contains_key(&number) || self.largest_acked.is_some_and(|largest| number <= largest) {
            return;
        }
        self.numbers.insert(number, self.packets.len());
        self.inflight += u64::from(bytes);
        self.series.on_inflight(event.time_ns, self.inflight);
        let fate = Fate::Open;
        self.packets.push(Packet { sent: event.time_ns, bytes: bytes + HEADERS, frame: event.frame as u32, fate });
    }

    fn acknowledge(&mut self, event: &QuicEvent, ranges: &[(u64, u64)], delay: Option<u64>) {
        let covered: Vec<(u64, usize)> = ranges
            .iter()
            .filter(|(from, to)| from <= to)
            .flat_map(|&(from, to)| self.numbers.range(from..=to).map(|(&number, &index)| (number, index)))
            .collect();
        let Some(&(newest, _)) = covered.iter().max() else { return };
        self.largest_acked = self.largest_acked.max(Some(newest));
        let was_prompt = delay.map_or(covered.len() >= 2, |delay| delay <= PROMPT_NS);
        for (number, index) in covered {
            self.numbers.remove(&number);
            let packet = &mut self.packets[index];
            if packet.fate == Fate::Open {
                self.inflight = self.inflight.saturating_sub(u64::from(packet.bytes - HEADERS));
            }
            let is_prompt = was_prompt && number == newest;
            packet.fate = Fate::Acked { at: event.time_ns, frame: event.frame as u32, is_prompt };
            self.delivered_bytes += u64::from(packet.bytes);
            self.series.on_acked(event.time_ns, packet.rtt(), packet.bytes);
        }
    }

    /// Marks a packet as lost. The packet stays in the table, because it may still be acknowledged.
    fn lose(&mut self, number: u64) {
        if let Some(&index) = self.numbers.get(&number)
            && self.packets[index].fate == Fate::Open
        {
            self.packets[index].fate = Fate::Lost;
            self.inflight = self.inflight.saturating_sub(u64::from(self.packets[index].bytes - HEADERS));
        }
    }

    /// Processes the end of the log.
    pub fn finish(&mut self) {
        let Some(largest) = self.largest_acked else { return };
        for (&number, &index) in &self.numbers {
            if number + REORDERING <= largest && self.packets[index].fate == Fate::Open {
                self.packets[index].fate = Fate::Lost;
            }
        }
        self.numbers.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fates(whats: &[QuicWhat]) -> Vec<Fate> {
        let mut flow = QuicFlow::new(0);
        for (i, what) in whats.iter().enumerate() {
            let frame = i as u64 + 1;
            flow.add(&QuicEvent { frame, trace: 0, time_ns: frame * 1000, what: what.clone() });
        }
        flow.finish();
        flow.packets.iter().map(|packet| packet.fate).collect()
    }

    fn sent(number: u64) -> QuicWhat {
        QuicWhat::Sent { number, bytes: 1200 }
    }

    fn acked(ranges: &[(u64, u64)], delay_ms: u64) -> QuicWhat {
        QuicWhat::Acked { ranges: ranges.to_vec(), delay_ns: Some(delay_ms * 1_000_000) }
    }

    fn at(frame: u32, is_prompt: bool) -> Fate {
        Fate::Acked { at: u64::from(frame) * 1000, frame, is_prompt }
    }

    #[test]
    fn packets_are_acknowledged_once_and_the_newest_is_prompt() {
        let seen = fates(&[sent(1), sent(2), acked(&[(1, 2)], 0), sent(3), acked(&[(1, 3)], 20)]);
        assert_eq!(seen, [at(3, false), at(3, true), at(5, false)]);
    }

    #[test]
    fn losses_are_declared_or_overtaken_and_may_be_mistaken() {
        let declared = fates(&[sent(1), sent(2), QuicWhat::Lost { number: 1 }, acked(&[(2, 2)], 0)]);
        assert_eq!(declared, [Fate::Lost, at(4, true)]);
        let overtaken = fates(&[sent(1), sent(2), sent(3), sent(4), acked(&[(4, 4), (2, 2)], 0)]);
        assert_eq!(overtaken, [Fate::Lost, at(5, false), Fate::Open, at(5, true)]);
        let mistaken = fates(&[sent(1), QuicWhat::Lost { number: 1 }, acked(&[(1, 1)], 0)]);
        assert_eq!(mistaken, [at(3, true)]);
    }

    #[test]
    fn foreign_ranges_and_numbers_sent_twice_are_passed_over() {
        let seen = fates(&[sent(5), sent(5), acked(&[(9, 2), (90, 99)], 0), acked(&[(0, u64::MAX)], 0), sent(4)]);
        assert_eq!(seen, [at(4, true)]);
    }
}
