//! Tests of the threshold next to a TCP flow (draft, section 5.4): with the draft's gains the threshold grows, and GCC
//! keeps a larger share of the link than with a static threshold. GCC, paced at its target, and a Reno flow with
//! unlimited data share one bottleneck.

use super::overuse::{Gains, OveruseDetector};
use super::{Ack, Gcc};
use fairweir_units::Time;
use std::collections::VecDeque;

/// Gains that the draft recommends.
const DRAFT: Gains = Gains { up: 0.01, down: 0.00018 };
const STATIC: Gains = Gains { up: 0.0, down: 0.0 };
const WEBRTC: Gains = Gains { up: 0.0087, down: 0.039 };

const PACKET_BITS: f64 = 1200.0 * 8.0;
/// Propagation delay in each direction, s.
const PROPAGATION: f64 = 0.025;
const TICK: f64 = 0.0005;

#[derive(Clone, Copy)]
struct Packet {
    is_gcc: bool,
    sent: f64,
}

/// Results over the second half of the run.
#[derive(Debug)]
struct Shares {
    /// GCC's share of the link.
    gcc: f64,
    /// Utilization of the link by both flows.
    used: f64,
    /// Mean threshold, ms.
    threshold: f64,
    /// Mean queueing delay, ms.
    queue_ms: f64,
}

/// Reno without timeouts: the window grows by a packet per RTT, and is halved after a loss at most once per RTT.
struct Reno {
    window: f64,
    in_flight: f64,
    halved: f64,
    slow_start: bool,
}

impl Reno {
    fn acknowledge(&mut self) {
        self.in_flight -= 1.0;
        self.window += if self.slow_start { 1.0 } else { 1.0 / self.window };
    }

    fn lose(&mut self, now: f64, rtt: f64) {
        self.in_flight -= 1.0;
        if now - self.halved > rtt {
            (self.window, self.halved, self.slow_start) = ((self.window / 2.0).max(2.0), now, false);
        }
    }
}

fn at(seconds: f64) -> Time {
    Time::from_nanos((seconds * 1e9) as u64)
}

/// Runs both flows for `seconds` on a link of `bps` with a buffer of `buffer_s`; the TCP flow starts at `tcp_from`, s.
fn play(gains: Gains, bps: f64, buffer_s: f64, seconds: f64, tcp_from: f64) -> Shares {
    let mut gcc = Gcc { detector: OveruseDetector::with_gains(gains), ..Gcc::new() };
    let mut reno = Reno { window: 10.0, in_flight: 0.0, halved: -1.0, slow_start: true };
    let mut queue: VecDeque<Packet> = VecDeque::new();
    // Acknowledgements: the time at which the sender receives them, the packet, its arrival time, and the number of
    // GCC's packets lost before it.
    let mut acks: VecDeque<(f64, Packet, f64, u32)> = VecDeque::new();
    let mut losses: VecDeque<f64> = VecDeque::new();
    let (mut credit, mut pacing, mut lost) = (0.0, 0.0, 0);
    let (mut served, mut counted, mut thresholds, mut waits) = ([0.0; 2], 0.0, 0.0, 0.0);
    for tick in 0..(seconds / TICK) as u64 {
        let now = tick as f64 * TICK;
        let wait = queue.len() as f64 * PACKET_BITS / bps;
        let rtt = 2.0 * PROPAGATION + wait;
        pacing += gcc.target() * TICK;
        let mut new = 0;
        while pacing >= PACKET_BITS {
            pacing -= PACKET_BITS;
            new += 1;
        }
        let is_tcp = now >= tcp_from && reno.in_flight < reno.window;
        let burst = if is_tcp { (reno.window - reno.in_flight).ceil() as usize } else { 0 };
        for i in 0..new + burst {
            let is_gcc = i < new;
            reno.in_flight += f64::from(u8::from(!is_gcc));
            if queue.len() as f64 * PACKET_BITS < bps * buffer_s {
                queue.push_back(Packet { is_gcc, sent: now });
            } else if is_gcc {
                lost += 1;
            } else {
                losses.push_back(now + rtt);
            }
        }
        credit = if queue.is_empty() { 0.0 } else { credit + bps * TICK };
        let is_counted = now >= seconds / 2.0;
        while credit >= PACKET_BITS
            && let Some(packet) = queue.pop_front()
        {
            credit -= PACKET_BITS;
            served[usize::from(packet.is_gcc)] += f64::from(u8::from(is_counted)) * PACKET_BITS;
            let before = if packet.is_gcc { std::mem::take(&mut lost) } else { 0 };
            acks.push_back((now + 2.0 * PROPAGATION, packet, now + PROPAGATION, before));
        }
        while acks.front().is_some_and(|ack| ack.0 <= now) {
            let Some((_, packet, arrived, lost)) = acks.pop_front() else { break };
            if packet.is_gcc {
                let ack = Ack { seq: 0, group: 0, size: 1.0, sent: at(packet.sent), arrived: at(arrived), lost };
                gcc.feedback(at(now), &ack, PACKET_BITS, now - packet.sent);
            } else {
                reno.acknowledge();
            }
        }
        while losses.front().is_some_and(|&lost| lost <= now) {
            losses.pop_front();
            reno.lose(now, rtt);
        }
        if is_counted {
            counted += 1.0;
            thresholds += gcc.detector.threshold();
            waits += wait * 1e3;
        }
    }
    let capacity = bps * counted * TICK;
    Shares {
        gcc: served[1] / capacity,
        used: (served[0] + served[1]) / capacity,
        threshold: thresholds / counted,
        queue_ms: waits / counted,
    }
}

const SECONDS: f64 = 200.0;

fn alone(gains: Gains, bps: f64) -> Shares {
    play(gains, bps, 0.3, SECONDS, f64::INFINITY)
}

fn beside_tcp(gains: Gains, bps: f64, buffer_s: f64) -> Shares {
    play(gains, bps, buffer_s, SECONDS, 30.0)
}

#[test]
fn alone_the_link_is_used_with_a_short_queue_whatever_the_gains() {
    for bps in [1e6, 2e6, 3e6] {
        for gains in [DRAFT, WEBRTC] {
            let found = alone(gains, bps);
            assert!(found.gcc > 0.93 && found.queue_ms < 15.0, "{bps} {gains:?} {found:?}");
        }
    }
}

#[test]
fn next_to_tcp_the_drafts_threshold_grows_and_gcc_keeps_more_than_with_a_static_one() {
    let quiet = alone(DRAFT, 1e6).threshold;
    for buffer_s in [0.15, 0.3, 0.5] {
        let (draft, fixed) = (beside_tcp(DRAFT, 1e6, buffer_s), beside_tcp(STATIC, 1e6, buffer_s));
        assert!(draft.threshold > 1.5 * quiet && draft.threshold > 12.5, "{quiet} {draft:?}");
        assert!(draft.gcc > 1.5 * fixed.gcc && (0.55..0.75).contains(&draft.gcc), "{draft:?} {fixed:?}");
        assert!(draft.used > 0.99 && fixed.used > 0.99, "{draft:?} {fixed:?}");
    }
}

#[test]
fn webrtcs_gains_let_the_threshold_sink_and_tcp_take_most_of_the_link() {
    for buffer_s in [0.15, 0.3, 0.5] {
        let (webrtc, fixed) = (beside_tcp(WEBRTC, 1e6, buffer_s), beside_tcp(STATIC, 1e6, buffer_s));
        assert!(webrtc.threshold < 9.0 && webrtc.gcc < 0.7 * fixed.gcc, "{webrtc:?} {fixed:?}");
        assert!((0.05..0.2).contains(&webrtc.gcc), "{webrtc:?}");
    }
}
