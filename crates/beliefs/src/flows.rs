//! Converts segments to flows: unwraps sequence numbers, splits super-packets and determines each packet's fate.

use crate::limits::{Ack, Data, Limits, Period, Terms};
use crate::packet::{Fate, Packet};
use crate::place::{Echoes, Handshake, Place, View, place};
use crate::series::{Bins, Series};
use fairweir_tcp::{Endpoint, Flags, Segment, sequence};
use serde::Serialize;
use std::collections::{BTreeMap, HashMap};

/// MSS assumed if no handshake was captured, bytes.
const USUAL_MSS: u32 = 1448;
/// Size of the timestamps option in each segment, bytes.
const TIMESTAMPS: u32 = 12;
/// An ACK of one packet that comes sooner than this after the previous ACK was not held by a delayed-ACK timer, ns. The
/// shortest known timer is Linux's TCP_DELACK_MIN of 40 ms; half of it is used because jitter may compress ACKs.
const SHORTEST_DELAYED_ACK_NS: u64 = 20_000_000;
/// A sequence number at least this far from the expected one belongs to another connection with the same ports, bytes.
const FARTHEST: i64 = 1 << 30;

/// Data in one direction of a connection.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Source.
    pub src: Endpoint,
    /// Destination.
    pub dst: Endpoint,
    /// Packets in send order.
    pub packets: Vec<Packet>,
    /// Frame number of the first packet.
    pub first_frame: u64,
    /// IP packets that were acknowledged, bytes.
    pub delivered_bytes: u64,
    /// Position of the capture on the path.
    pub(crate) place: Place,
    /// Whether acknowledgements were captured.
    pub has_acks: bool,
    limits: Limits,
    series: Series,
    mss: u32,
    newest_seq: Option<i64>,
    acked_to: Option<i64>,
    outstanding: BTreeMap<i64, Outstanding>,
    /// Minimum RTT of packets that were sent once, ns.
    rtt_min: Option<u64>,
    newest_ack: Option<u64>,
    echoes: Echoes,
}

#[derive(Clone, Copy, Debug)]
struct Outstanding {
    end: i64,
    index: usize,
    /// Index of the previous transmission of the same data.
    earlier: Option<usize>,
}

/// Maximum number of flows stored while reading, in each of two categories: the flows that delivered most and the flows
/// most recently active.
const MAX_HELD: usize = 4096;
/// Maximum number of handshakes stored.
const MAX_HANDSHAKES: usize = 1 << 16;
/// Maximum number of packets stored for all flows; each takes about 100 bytes while it is explained.
const MAX_PACKETS: usize = 1 << 24;

/// Counts of data that were not stored in detail, so that memory is bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// Number of flows smaller than the reported ones. A flow that was dropped and continued later counts again.
    pub flows: usize,
    /// Number of data packets in those flows.
    pub packets: usize,
    /// IP packets of those flows that were acknowledged, bytes.
    pub delivered_bytes: u64,
    /// Number of TCP segments that came after the maximum number of packets was stored.
    pub late_segments: u64,
}

/// All flows of a capture.
#[derive(Debug, Default)]
pub struct Flows {
    flows: Vec<Flow>,
    by_ends: HashMap<(Endpoint, Endpoint), usize>,
    handshakes: HashMap<(Endpoint, Endpoint), Handshake>,
    packets: usize,
    left_out: LeftOut,
}

impl Flows {
    /// Processes a segment: data for one direction, acknowledgement for the other.
    pub fn add(&mut self, segment: &Segment) {
        if self.packets >= MAX_PACKETS {
            self.left_out.late_segments += 1;
            return;
        }
        self.shake_hands(segment);
        if segment.flags.has(Flags::ACK)
            && let Some(&index) = self.by_ends.get(&(segment.dst, segment.src))
        {
            self.flows[index].acknowledge(segment);
        }
        if segment.payload > 0 && !segment.flags.has(Flags::SYN) {
            let ends = (segment.src.min(segment.dst), segment.src.max(segment.dst));
            let seen = self.handshakes.get(&ends).copied().unwrap_or_default();
            let index = *self.by_ends.entry((segment.src, segment.dst)).or_insert_with(|| {
                self.flows.push(Flow::new(segment, &seen));
                self.flows.len() - 1
            });
            let before = self.flows[index].packets.len();
            self.flows[index].send(segment);
            self.packets += self.flows[index].packets.len() - before;
            if self.flows.len() > 2 * MAX_HELD {
                self.forget();
            }
        }
    }

    /// Returns the `most` flows that delivered most, in the order of their first data, and the counts of the others.
    pub fn finish(mut self, most: usize) -> (Vec<Flow>, LeftOut) {
        let delivered: Vec<u64> = self.flows.iter().map(|flow| flow.delivered_bytes).collect();
        self.keep(largest(&delivered, most));
        for flow in &mut self.flows {
            flow.outstanding.clear();
            let ends = (flow.src.min(flow.dst), flow.src.max(flow.dst));
            flow.place = place(self.handshakes.get(&ends), &flow.echoes, flow.src, &flow.packets);
        }
        (self.flows, self.left_out)
    }

    /// Drops flows that are neither large nor recently active. A flow that becomes large is not small for long.
    fn forget(&mut self) {
        let delivered: Vec<u64> = self.flows.iter().map(|flow| flow.delivered_bytes).collect();
        let active: Vec<u64> = self.flows.iter().map(|f| f.packets.last().map_or(0, |packet| packet.sent)).collect();
        let (large, young) = (largest(&delivered, MAX_HELD / 2), largest(&active, MAX_HELD / 2));
        self.keep(large.iter().zip(young).map(|(&large, young)| large || young).collect());
    }

    fn keep(&mut self, is_kept: Vec<bool>) {
        let mut kept = is_kept.into_iter();
        let left_out = &mut self.left_out;
        let packets = &mut self.packets;
        self.flows.retain(|flow| {
            let stays = kept.next().unwrap_or(true);
            if !stays {
                left_out.flows += 1;
                left_out.packets += flow.packets.len();
                left_out.delivered_bytes += flow.delivered_bytes;
                *packets -= flow.packets.len();
            }
            stays
        });
        self.by_ends = self.flows.iter().enumerate().map(|(i, flow)| ((flow.src, flow.dst), i)).collect();
    }

    fn shake_hands(&mut self, segment: &Segment) {
        let ends = (segment.src.min(segment.dst), segment.src.max(segment.dst));
        if segment.flags.has(Flags::SYN) {
            self.handshakes.entry(ends).or_default().add(segment);
            if self.handshakes.len() > MAX_HANDSHAKES {
                let began = |seen: &Handshake| seen.syn.map_or(0, |(at, _)| at);
                let begins: Vec<u64> = self.handshakes.values().map(began).collect();
                let mut stays = largest(&begins, MAX_HANDSHAKES / 2).into_iter();
                let flows = &self.by_ends;
                self.handshakes.retain(|&(one, other), _| {
                    stays.next().unwrap_or(true)
                        || flows.contains_key(&(one, other))
                        || flows.contains_key(&(other, one))
                });
            }
        } else if let Some(seen) = self.handshakes.get_mut(&ends) {
            seen.add(segment);
        }
    }
}

/// Returns for each value whether it is among the `most` largest. Of equal values the first is preferred.
fn largest(values: &[u64], most: usize) -> Vec<bool> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(values[i]));
    let mut out = vec![false; values.len()];
    order.iter().take(most).for_each(|&i| out[i] = true);
    out
}

impl Flow {
    fn new(segment: &Segment, seen: &Handshake) -> Flow {
        let options = if segment.options.timestamps.is_some() { TIMESTAMPS } else { 0 };
        let mss = seen.mss.map_or(USUAL_MSS, |mss| u32::from(mss).saturating_sub(options)).max(1);
        let lag_ns = seen.lag_ns(segment.src);
        Flow {
            src: segment.src,
            dst: segment.dst,
            packets: Vec::new(),
            first_frame: segment.frame,
            delivered_bytes: 0,
            place: Place { view: View::Unknown, has_queue_ahead: false, round_trip_ns: 0 },
            has_acks: false,
            echoes: Echoes::default(),
            limits: Limits::new(Terms {
                mss,
                window_shift: seen.window_shift(segment.src),
                lag_ns,
                answer_ns: seen.answer_ns(segment.src),
            }),
            series: Series::new(segment.time.as_nanos()),
            mss,
            newest_seq: None,
            acked_to: None,
            outstanding: BTreeMap::new(),
            rtt_min: None,
            newest_ack: None,
        }
    }

    /// Returns the unwrapped sequence number: of all candidates, the one nearest to the expected number.
    fn unwrap(&self, seq: u32) -> i64 {
        self.newest_seq.map_or(i64::from(seq), |near| sequence::unwrap(seq, near))
    }

    fn send(&mut self, segment: &Segment) {
        self.echoes.on_data(segment);
        let start = self.unwrap(segment.seq);
        if self.newest_seq.is_some_and(|newest| (start - newest).abs() > FARTHEST) {
            return;
        }
        let end = start + i64::from(segment.payload);
        let headers = segment.ip_bytes - segment.payload;
        let sent = segment.time.as_nanos();
        let mut from = start;
        while from < end {
            let to = end.min(from + i64::from(self.mss));
            self.send_packet(
                from,
                to,
                Packet { sent, bytes: (to - from) as u32 + headers, frame: segment.frame as u32, fate: Fate::Open },
            );
            from = to;
        }
        let is_pushed = segment.flags.has(Flags::PSH);
        self.limits.on_data(&Data { at: sent, frame: segment.frame, start, end, is_pushed });
        self.series.on_inflight(sent, self.limits.inflight());
        self.newest_seq = Some(self.newest_seq.unwrap_or(start).max(end));
    }

    fn send_packet(&mut self, from: i64, to: i64, packet: Packet) {
        let again: Vec<i64> = self.outstanding.range(from..to).map(|(&start, _)| start).collect();
        let mut earlier = None;
        for start in again {
            if let Some(old) = self.outstanding.remove(&start) {
                self.packets[old.index].fate = Fate::Lost;
                earlier = Some(old.index).filter(|_| start == from && old.end == to);
            }
        }
        // this data was retransmitted after its acknowledgement, so the retransmission's arrival time is unknown
        if self.acked_to.is_none_or(|acked| to > acked) {
            self.outstanding.insert(from, Outstanding { end: to, index: self.packets.len(), earlier });
        }
        self.packets.push(packet);
    }

    fn acknowledge(&mut self, segment: &Segment) {
        let ack = self.unwrap(segment.ack);
        let Some(newest) = self.newest_seq else { return };
        // excludes keep-alives, and data sent before the capture began
        if ack > newest + 1 || (ack - newest).abs() > FARTHEST {
            return;
        }
        self.has_acks = true;
        self.echoes.on_ack(segment);
        let before = self.acked_to.unwrap_or(i64::MIN);
        let mut covered = Vec::new();
        if ack > before {
            covered.extend(self.outstanding.range(..ack).filter(|(_, o)| o.end <= ack).map(|(&start, _)| start));
            self.acked_to = Some(ack);
        }
        for (left, right) in segment.options.sack.iter() {
            let (left, right) = (self.unwrap(left), self.unwrap(right));
            if left < right && left >= ack {
                covered.extend(
                    self.outstanding.range(left..right).filter(|(_, o)| o.end <= right).map(|(&start, _)| start),
                );
            }
        }
        let at = segment.time.as_nanos();
        let follows_ack = self.newest_ack.is_some_and(|before| at.saturating_sub(before) < SHORTEST_DELAYED_ACK_NS);
        let is_prompt = covered.len() >= 2 || !segment.options.sack.is_empty() || follows_ack;
        let done: Vec<(usize, bool)> = covered.iter().filter_map(|start| self.arrived(*start, at)).collect();
        let newest = done.iter().map(|&(index, _)| index).max();
        for (index, is_certain) in done {
            let packet = &mut self.packets[index];
            self.delivered_bytes += u64::from(packet.bytes);
            let is_prompt = is_prompt && Some(index) == newest;
            let frame = segment.frame as u32;
            packet.fate = if is_certain { Fate::Acked { at, frame, is_prompt } } else { Fate::Resent { at, frame } };
            self.series.on_acked(at, packet.rtt(), packet.bytes);
        }
        if newest.is_some() {
            self.newest_ack = Some(at);
        }
        self.limits.on_ack(&Ack {
            at,
            ack,
            window: segment.window,
            is_news: newest.is_some(),
            rtt_min_ns: self.rtt_min,
        });
        if let Some(bytes) = self.limits.window() {
            self.series.on_window(at, bytes);
        }
    }

    /// Removes the outstanding packet with this first byte. Returns which transmission the ACK at time `at` (ns)
    /// acknowledges, and whether that is certain.
    ///
    /// An ACK that follows the retransmission much sooner than any other packet's RTT acknowledges the first
    /// transmission (as in RFC 3522). The retransmission was then spurious, and its delivery time is unknown.
    fn arrived(&mut self, start: i64, at: u64) -> Option<(usize, bool)> {
        let Outstanding { index, earlier, .. } = self.outstanding.remove(&start)?;
        let rtt = at.saturating_sub(self.packets[index].sent);
        match earlier {
            Some(first) if self.rtt_min.is_some_and(|least| rtt < least / 2) => Some((first, true)),
            Some(_) => Some((index, false)),
            None => {
                self.rtt_min = Some(self.rtt_min.map_or(rtt, |least| least.min(rtt)));
                Some((index, true))
            }
        }
    }

    /// Position of the capture.
    pub fn view(&self) -> View {
        self.place.view
    }

    /// Returns the flow's limiting factors over time.
    pub fn periods(&self) -> Vec<Period> {
        self.limits.clone().finish()
    }

    /// Returns the flow's time series.
    pub fn bins(&self) -> &Bins {
        self.series.bins()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_tcp::{Ecn, Options, Timestamps};
    use fairweir_units::Time;
    use std::net::Ipv4Addr;

    const MS: u64 = 1_000_000;

    fn end(last: u8) -> Endpoint {
        Endpoint { address: Ipv4Addr::new(10, 0, 0, last).into(), port: 5001 }
    }

    fn segment(ms: u64, from: u8, seq: u32, payload: u32, ack: u32) -> Segment {
        Segment {
            frame: 1,
            time: Time::from_nanos(ms * MS),
            src: end(from),
            dst: end(3 - from),
            seq,
            ack,
            flags: Flags::ACK,
            window: 1000,
            payload,
            ip_bytes: payload + 52,
            ecn: Ecn::NotEct,
            options: Options::default(),
        }
    }

    fn fates(segments: &[Segment]) -> Vec<Fate> {
        let mut flows = Flows::default();
        segments.iter().for_each(|s| flows.add(s));
        flows.finish(usize::MAX).0[0].packets.iter().map(|p| p.fate).collect()
    }

    fn acked(ms: u64, is_prompt: bool) -> Fate {
        Fate::Acked { at: ms * MS, frame: 1, is_prompt }
    }

    #[test]
    fn a_super_packet_is_cut_and_sequence_numbers_wrap() {
        let start = u32::MAX - 999;
        let sent = segment(0, 1, start, 3 * 1448, 7);
        let acks =
            [segment(10, 2, 7, 0, start.wrapping_add(2 * 1448)), segment(40, 2, 7, 0, start.wrapping_add(3 * 1448))];
        assert_eq!(fates(&[sent, acks[0], acks[1]]), [acked(10, false), acked(10, true), acked(40, false)]);
    }

    #[test]
    fn a_retransmitted_packet_was_lost_unless_acknowledged() {
        let data = |ms, n: u32| segment(ms, 1, n * 1000, 1000, 7);
        let mut sack = segment(10, 2, 7, 0, 0);
        sack.options.sack.push((1000, 3000));
        let seen = fates(&[data(0, 0), data(1, 1), data(2, 2), sack, data(11, 0), segment(20, 2, 7, 0, 3000)]);
        assert_eq!(seen, [Fate::Lost, acked(10, false), acked(10, true), Fate::Resent { at: 20 * MS, frame: 1 }]);
    }

    #[test]
    fn an_ack_too_soon_for_the_second_copy_is_the_firsts() {
        let data = |ms, n: u32| segment(ms, 1, n * 1000, 1000, 7);
        let ack = |ms, n: u32| segment(ms, 2, 7, 0, n * 1000);
        let seen = fates(&[data(0, 0), ack(40, 1), data(40, 1), data(80, 1), ack(90, 2), data(100, 2), ack(140, 3)]);
        assert_eq!(seen, [acked(40, false), acked(90, false), Fate::Open, acked(140, false)]);
    }

    #[test]
    fn a_copy_of_what_was_acknowledged_has_no_rtt() {
        let data = |ms, n: u32| segment(ms, 1, n * 1000, 1000, 7);
        let ack = |ms, n: u32| segment(ms, 2, 7, 0, n * 1000);
        let seen = fates(&[data(0, 0), data(1, 1), ack(40, 1), data(40, 0), ack(41, 2), data(42, 2), ack(82, 3)]);
        assert_eq!(seen, [acked(40, false), acked(41, true), Fate::Open, acked(82, false)]);
    }

    #[test]
    fn an_ack_close_behind_another_waited_for_no_timer() {
        let data = |ms, n: u32| segment(ms, 1, n * 1000, 1000, 7);
        let ack = |ms, n: u32| segment(ms, 2, 7, 0, n * 1000);
        let seen = fates(&[data(0, 0), data(1, 1), data(2, 2), ack(40, 1), ack(41, 2), ack(81, 3)]);
        assert_eq!(seen, [acked(40, false), acked(41, true), acked(81, false)]);
    }

    #[test]
    fn the_handshake_shows_where_the_capture_was_taken() {
        let at = |syn_ack: u64, last: u64| {
            let mut syn = segment(0, 1, 0, 0, 0);
            syn.flags = Flags::SYN;
            let mut answer = segment(syn_ack, 2, 0, 0, 1);
            answer.flags.set(Flags::SYN, true);
            let mut flows = Flows::default();
            for s in [syn, answer, segment(last, 1, 1, 0, 1), segment(last, 1, 1, 1000, 1)] {
                flows.add(&s);
            }
            flows.finish(usize::MAX).0[0].view()
        };
        assert_eq!([at(40, 40), at(0, 40), at(20, 40)], [View::Sender, View::Receiver, View::Between]);
    }

    /// A sender 40 ms from the receiver; each packet passes the capture `waits` ms after it was sent.
    fn seen_after(waits: u64) -> Flow {
        let stamps = |tsval, tsecr| Some(Timestamps { tsval, tsecr });
        let mut syn = segment(0, 1, 0, 0, 0);
        syn.flags = Flags::SYN;
        let mut answer = segment(40, 2, 0, 0, 1);
        answer.flags.set(Flags::SYN, true);
        let mut seen = vec![syn, answer, segment(40, 1, 1, 0, 1)];
        for n in 1..200 {
            let at = 100 + u64::from(n) * 3;
            let mut data = segment(at + waits, 1, n * 1000, 1000, 7);
            // ACKs also leave every 3 ms, with the time as their timestamp
            data.options.timestamps = stamps(at as u32, at as u32);
            let mut ack = segment(at + waits + 40, 2, 7, 0, (n + 1) * 1000);
            ack.options.timestamps = stamps((at + waits + 40) as u32, at as u32);
            seen.extend([data, ack]);
        }
        seen.sort_by_key(|s| s.time);
        let mut flows = Flows::default();
        seen.iter().for_each(|s| flows.add(s));
        flows.finish(usize::MAX).0.remove(0)
    }

    #[test]
    fn data_that_echo_old_timestamps_waited_before_the_capture() {
        assert_eq!([0, 20].map(|waits| seen_after(waits).view()), [View::Sender, View::Between]);
    }
}
