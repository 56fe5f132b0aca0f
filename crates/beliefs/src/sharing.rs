//! Finds flows that share a bottleneck, and merges their records into one record, as if a single sender had sent all
//! packets.
//!
//! Packets that enter a FIFO at the same time wait equally long. For packets sent at the same time, the RTTs of two
//! flows that share a queue therefore differ by the difference of their propagation delays, at any queue length. If
//! they do not share a queue, the difference of the two queues is added. After the difference of propagation delays is
//! subtracted, the flows' packets are one arrival process, and their acknowledgements one service process. All
//! inferences for one flow (thesis sections 4.1.1 and A.2) then hold for the link. As in the CBR-delay model,
//! propagation is assumed to follow the queue.

use crate::packet::{Fate, Packet};

/// Maximum number of flows that are compared with each other; those that delivered most are chosen.
const MAX_COMPARED: usize = 24;
/// Minimum number of RTT samples of a flow that is compared.
const SAMPLES: usize = 24;
/// Maximum number of times at which two flows are compared.
const MAX_TIMES: usize = 2000;
/// An RTT between two samples is interpolated if they are at most this far apart, ns.
const NEIGHBOURS_NS: u64 = 100_000_000;
/// Maximum number of packets searched for a neighboring sample.
const MAX_STEPS: usize = 256;
/// Two flows share a queue if the variation of their RTTs' difference is at most this fraction of the RTTs' variation.
const COMMON: f64 = 0.35;
/// Minimum variation of RTTs for a comparison, ns.
const MIN_VARIATION_NS: f64 = 1_000_000.0;
/// The range of a quantity is measured from this quantile to the quantile 1 - TAIL.
const TAIL: f64 = 0.05;

/// Flows that share a bottleneck.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Index of each flow, with its propagation delay in excess of the group's minimum, ns.
    pub members: Vec<(usize, u64)>,
}

/// Groups flows by shared bottleneck. A flow that shares no bottleneck forms a group of its own. Flows within a group
/// are in the order of `flows`.
pub fn groups(flows: &[&[Packet]]) -> Vec<Group> {
    let mut ranked: Vec<usize> = (0..flows.len()).filter(|&i| samples(flows[i]) >= SAMPLES).collect();
    ranked.sort_by_key(|&i| std::cmp::Reverse(flows[i].len()));
    ranked.truncate(MAX_COMPARED);
    // for each flow: its group, and its offset from the group's first flow, ns
    let mut place: Vec<(usize, f64)> = (0..flows.len()).map(|i| (i, 0.0)).collect();
    for (n, &i) in ranked.iter().enumerate() {
        for &j in &ranked[..n] {
            if place[i].0 == place[j].0 {
                continue;
            }
            let Some(offset) = common(flows[j], flows[i]) else { continue };
            // the RTTs of i exceed those of j by `offset`
            let shift = place[j].1 + offset - place[i].1;
            let (from, to) = (place[i].0, place[j].0);
            for flow in place.iter_mut().filter(|flow| flow.0 == from) {
                *flow = (to, flow.1 + shift);
            }
        }
    }
    let mut out: Vec<Group> = Vec::new();
    for root in 0..flows.len() {
        let members: Vec<(usize, f64)> =
            place.iter().enumerate().filter(|(_, flow)| flow.0 == root).map(|(i, flow)| (i, flow.1)).collect();
        let least = members.iter().map(|&(_, offset)| offset).fold(f64::INFINITY, f64::min);
        if !members.is_empty() {
            out.push(Group { members: members.iter().map(|&(i, offset)| (i, (offset - least) as u64)).collect() });
        }
    }
    out.sort_by_key(|group| group.members[0].0);
    out
}

fn is_sample(packet: &Packet) -> bool {
    matches!(packet.fate, Fate::Acked { is_prompt: true, .. })
}

fn samples(packets: &[Packet]) -> usize {
    packets.iter().filter(|packet| is_sample(packet)).take(SAMPLES).count()
}

/// Returns the RTTs of the second flow minus those of the first, ns; `None` if there is no evidence of a shared queue.
fn common(one: &[Packet], other: &[Packet]) -> Option<f64> {
    let (from, to) = (one.first()?.sent.max(other.first()?.sent), one.last()?.sent.min(other.last()?.sent));
    let part = |packets: &[Packet]| {
        let start = packets.partition_point(|packet| packet.sent < from);
        start..packets.partition_point(|packet| packet.sent <= to).max(start)
    };
    // the flow with fewer packets determines the times
    let (a, b) = (part(one), part(other));
    let is_swapped = b.len() < a.len();
    let (few, within, many) = if is_swapped { (other, b, one) } else { (one, a, other) };
    let step = within.len().div_ceil(MAX_TIMES).max(1);
    let (mut own, mut differences, mut theirs) = (Vec::new(), Vec::new(), Vec::new());
    for packet in few[within].iter().filter(|packet| is_sample(packet)).step_by(step) {
        let (Some(rtt), Some(there)) = (packet.rtt(), rtt_at(many, packet.sent)) else { continue };
        own.push(rtt as f64);
        theirs.push(there);
        differences.push(if is_swapped { rtt as f64 - there } else { there - rtt as f64 });
    }
    if differences.len() < SAMPLES {
        return None;
    }
    let varies = spread(&mut own).min(spread(&mut theirs));
    let apart = spread(&mut differences);
    (varies >= MIN_VARIATION_NS && apart <= COMMON * varies).then(|| differences[differences.len() / 2])
}

/// Interpolated RTT of a packet sent at time `at`, ns.
fn rtt_at(packets: &[Packet], at: u64) -> Option<f64> {
    let next = packets.partition_point(|packet| packet.sent < at);
    let after = packets[next..].iter().take(MAX_STEPS).find(|packet| is_sample(packet))?;
    let before = packets[..next].iter().rev().take(MAX_STEPS).find(|packet| is_sample(packet))?;
    // packets are not in time order if the clock was set back
    let width = after.sent.checked_sub(before.sent).filter(|&width| width <= NEIGHBOURS_NS)?;
    let (a, b) = (before.rtt()? as f64, after.rtt()? as f64);
    let share = if width == 0 { 0.5 } else { at.saturating_sub(before.sent) as f64 / width as f64 };
    Some(a + (b - a) * share)
}

/// The range between the quantiles TAIL and 1 - TAIL. Sorts the values.
fn spread(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    let tail = (values.len() as f64 * TAIL) as usize;
    values[values.len() - 1 - tail] - values[tail]
}

/// Returns the packets of a group in send order, as if one sender with the minimum propagation delay had sent them.
pub fn merge(flows: &[&[Packet]], group: &Group) -> Vec<Packet> {
    let mut all: Vec<Packet> = Vec::with_capacity(group.members.iter().map(|&(i, _)| flows[i].len()).sum());
    for &(i, later) in &group.members {
        all.extend(flows[i].iter().map(|packet| Packet { fate: sooner(packet, later), ..*packet }));
    }
    all.sort_by_key(|packet| (packet.sent, packet.frame));
    all
}

fn sooner(packet: &Packet, by: u64) -> Fate {
    let earlier = |at: u64| at.saturating_sub(by).max(packet.sent + 1);
    match packet.fate {
        Fate::Acked { at, frame, is_prompt } => Fate::Acked { at: earlier(at), frame, is_prompt },
        Fate::Resent { at, frame } => Fate::Resent { at: earlier(at), frame },
        fate => fate,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;
    const BYTES: u32 = 1000;

    /// Flows with varying windows. Each uses one of the links, whose rates are in bytes/s. A flow is (link, rtprop,
    /// start, window).
    fn play(rates: &[f64], flows: &[(usize, u64, u64, usize)]) -> Vec<Vec<Packet>> {
        let mut free = vec![0.0f64; rates.len()];
        let mut sent: Vec<Vec<Packet>> = vec![Vec::new(); flows.len()];
        let mut frame = 0;
        let ready = |packets: &[Packet], (_, _, from, window): (usize, u64, u64, usize)| {
            // each flow's window is a sawtooth
            let now = window / 2 + packets.len() / 40 % window;
            packets
                .len()
                .checked_sub(now)
                .map_or(from, |i| packets[i].acked().unwrap_or(0).max(packets[packets.len() - 1].sent))
        };
        for _ in 0..flows.len() * 2500 {
            let next = (0..flows.len()).min_by_key(|&i| ready(&sent[i], flows[i])).expect("some");
            let (link, rtprop, ..) = flows[next];
            let now = ready(&sent[next], flows[next]);
            free[link] = free[link].max(now as f64) + f64::from(BYTES) * 1e9 / rates[link];
            frame += 1;
            let fate = Fate::Acked { at: free[link] as u64 + rtprop, frame: frame + 1_000_000, is_prompt: true };
            sent[next].push(Packet { sent: now, bytes: BYTES, frame, fate });
        }
        sent
    }

    fn grouped(flows: &[Vec<Packet>]) -> Vec<Vec<(usize, u64)>> {
        let flows: Vec<&[Packet]> = flows.iter().map(Vec::as_slice).collect();
        groups(&flows).into_iter().map(|group| group.members).collect()
    }

    #[test]
    fn flows_of_one_queue_are_found_with_what_their_propagation_differs() {
        let flows = play(&[2e6], &[(0, 20 * MS, 0, 60), (0, 50 * MS, 200 * MS, 90)]);
        let found = grouped(&flows);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(found[0][0], (0, 0));
        assert!(found[0][1].1.abs_diff(30 * MS) < MS, "{found:?}");
    }

    #[test]
    fn flows_of_two_queues_stand_alone() {
        let flows = play(&[2e6, 1e6], &[(0, 20 * MS, 0, 60), (1, 50 * MS, 0, 90), (0, 30 * MS, 0, 70)]);
        let found = grouped(&flows);
        assert_eq!(
            found.iter().map(|members| members.iter().map(|m| m.0).collect()).collect::<Vec<Vec<_>>>(),
            [vec![0, 2], vec![1]]
        );
    }

    #[test]
    fn a_merged_record_is_that_of_the_link() {
        let flows = play(&[2e6], &[(0, 20 * MS, 0, 60), (0, 50 * MS, 200 * MS, 90)]);
        let flows: Vec<&[Packet]> = flows.iter().map(Vec::as_slice).collect();
        let merged = merge(&flows, &groups(&flows)[0]);
        let belief = crate::explain(&merged, |simplest| 2.0 * simplest.jitter_min_ns()).expect("a path");
        assert!((belief.simplest.rate_bytes_per_s / 2e6 - 1.0).abs() < 0.01, "{:?}", belief.simplest);
        assert!(belief.simplest.jitter_min_ns() < 2.0 * MS as f64, "{:?}", belief.simplest);
        let alone = crate::explain(flows[0], |simplest| 2.0 * simplest.jitter_min_ns()).expect("a path");
        assert!(alone.simplest.jitter_min_ns() > 5.0 * MS as f64, "{:?}", alone.simplest);
    }
}
