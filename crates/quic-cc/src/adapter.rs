//! A stack's controller behind [`Controller`]: packet numbers of transmissions, batches of an ACK, faults.
//!
//! **Deviations from the stacks' connections**: the handshake is not simulated, so the first RTT sample is that of the
//! first data; all packets have one size; the peer reports no ACK delay.

use crate::panics;
use crate::stack::{Acked, Limits, Stack, Transmission};
use fairweir_cca::{
    Ack, AckedPacket, Cause, Context, Controller, Fault, Interests, Loss, LostPacket, Recovery, Sender, Sent, Spacing,
    Start,
};
use fairweir_units::{Bytes, Dur, Rate, Time};
use std::collections::VecDeque;

/// A stack's controller on one flow.
#[derive(Debug)]
pub(crate) struct Adapter<S: Stack> {
    stack: S,
    name: &'static str,
    mss: u64,
    /// The outstanding transmission of each packet from `base` on.
    outstanding: VecDeque<Option<Transmission<S::Packet>>>,
    base: u64,
    next_pn: u64,
    /// Transmissions that a probe repeated, with the packet's number in our transport.
    repeated: Vec<(u64, Transmission<S::Packet>)>,
    acked: Vec<Transmission<S::Packet>>,
    /// Whether the newest of `acked` was sent once.
    is_rtt_valid: bool,
    lost: Vec<Transmission<S::Packet>>,
    is_app_limited: bool,
    newest_acked: Time,
    min_rtt: Dur,
    limits: Limits,
    fault: Option<Fault>,
}

impl<S: Stack> Adapter<S> {
    pub(crate) fn new(name: &'static str, start: &Start, stack: S) -> Adapter<S> {
        Adapter {
            limits: stack.limits(),
            stack,
            name,
            mss: start.mss.0,
            outstanding: VecDeque::new(),
            base: start.first_packet,
            next_pn: 0,
            repeated: Vec::new(),
            acked: Vec::new(),
            is_rtt_valid: false,
            lost: Vec::new(),
            is_app_limited: false,
            newest_acked: Time::ZERO,
            min_rtt: Dur::MAX,
            fault: None,
        }
    }

    /// Calls the stack and reads its decisions; a panic becomes a fault.
    fn call(&mut self, f: impl FnOnce(&mut Self)) {
        if self.fault.is_some() {
            return;
        }
        let caught = panics::catch(|| {
            f(self);
            self.limits = self.stack.limits();
        });
        if let Err(message) = caught {
            self.fault = Some(Fault(format!("{} panicked: {message}", self.name)));
            // The transport asks a controller whose window is zero for its fault.
            self.limits.cwnd = 0;
        }
    }

    /// Takes the outstanding transmission of packet `seq`.
    fn take(&mut self, seq: u64) -> Option<Transmission<S::Packet>> {
        let index = usize::try_from(seq.checked_sub(self.base)?).ok()?;
        self.outstanding.get_mut(index)?.take()
    }

    /// Passes the deliveries of an ACK to the stack, then its losses (RFC 9002 §5 to §7: `OnAckReceived`).
    fn settle(&mut self, sender: &Sender, is_persistent: bool, now: Time) {
        if !self.acked.is_empty() {
            self.acked.sort_unstable_by_key(|packet| packet.pn);
            let packets = std::mem::take(&mut self.acked);
            let newest = packets[packets.len() - 1].sent;
            self.newest_acked = newest;
            let rtt = self.is_rtt_valid.then(|| now.since(newest));
            self.min_rtt = rtt.map_or(self.min_rtt, |rtt| self.min_rtt.min(rtt));
            let inflight = sender.inflight() * self.mss + self.lost.len() as u64 * self.mss;
            let acked = Acked { packets: &packets, rtt, inflight, is_app_limited: self.is_app_limited };
            self.stack.on_acked(now, &acked);
            self.acked = packets;
            self.acked.clear();
        }
        if !self.lost.is_empty() {
            self.lost.sort_unstable_by_key(|packet| packet.pn);
            self.stack.on_lost(now, &self.lost, is_persistent);
            self.lost.clear();
        }
    }

    /// Packet `seq` was delivered by the transmission `taken`; decides what became of the transmissions that it repeats.
    fn resolve(&mut self, seq: u64, taken: Transmission<S::Packet>, now: Time) -> Transmission<S::Packet> {
        let mut newest = taken;
        while let Some(at) = self.repeated.iter().rposition(|(of, _)| *of == seq) {
            let (_, older) = self.repeated.swap_remove(at);
            if now.since(newest.sent) < self.min_rtt {
                // Too early for the repetition: the older one arrived (RFC 8985 §6.2 step 2).
                self.stack.on_discarded(&newest);
                newest = older;
            } else {
                self.lost.push(older);
            }
        }
        newest
    }
}

impl<S: Stack> Controller for Adapter<S> {
    fn on_send(&mut self, sent: &Sent<'_>, cx: &mut Context<'_>) {
        let (seq, now, inflight) = (sent.seq, cx.now, sent.sender.inflight() * self.mss);
        self.call(|this| {
            let pn = this.next_pn;
            this.next_pn += 1;
            let info = this.stack.on_sent(now, pn, inflight, this.is_app_limited);
            let Some(index) = seq.checked_sub(this.base) else { return };
            let index = usize::try_from(index).expect("packets in flight are counted in memory");
            if index >= this.outstanding.len() {
                this.outstanding.resize(index + 1, None);
            }
            if let Some(older) = this.outstanding[index].replace(Transmission { pn, sent: now, info }) {
                this.repeated.push((seq, older));
            }
        });
    }

    fn on_packet_acked(&mut self, acked: &AckedPacket, cx: &mut Context<'_>) {
        let (seq, now) = (acked.seq, cx.now);
        let (was_retransmitted, is_app_limited) = (acked.was_retransmitted, acked.is_app_limited);
        self.call(|this| {
            this.is_app_limited = is_app_limited;
            // A packet that arrives after it was declared lost, and before it is sent again, is not counted twice.
            let Some(taken) = this.take(seq) else { return };
            let packet = if this.repeated.is_empty() { taken } else { this.resolve(seq, taken, now) };
            if this.acked.iter().all(|other| other.pn <= packet.pn) {
                this.is_rtt_valid = !was_retransmitted;
            }
            this.acked.push(packet);
        });
    }

    fn on_packet_lost(&mut self, lost: &LostPacket, _cx: &mut Context<'_>) {
        let seq = lost.seq;
        self.call(|this| {
            if let Some(packet) = this.take(seq) {
                this.lost.push(packet);
            }
            while let Some(at) = this.repeated.iter().position(|(of, _)| *of == seq) {
                let (_, older) = this.repeated.swap_remove(at);
                this.lost.push(older);
            }
        });
    }

    fn on_loss(&mut self, loss: &Loss<'_>, cx: &mut Context<'_>) {
        let now = cx.now;
        self.call(|this| {
            let is_persistent = matches!(loss.cause, Cause::PersistentCongestion | Cause::Timeout);
            this.settle(loss.sender, is_persistent, now);
            if loss.cause == Cause::Ecn {
                this.stack.on_marks(now, this.newest_acked);
            }
        });
    }

    fn on_ack(&mut self, ack: &Ack<'_>, cx: &mut Context<'_>) {
        let now = cx.now;
        self.call(|this| {
            this.settle(ack.sender, false, now);
            while this.base < ack.sender.snd_una {
                this.outstanding.pop_front();
                this.base += 1;
            }
            if !this.repeated.is_empty() {
                this.repeated.retain(|(seq, _)| *seq >= this.base);
            }
        });
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.limits.cwnd)
    }

    fn pacing_rate(&self) -> Option<Rate> {
        self.limits.pacing_rate.map(Rate::from_bytes_per_sec)
    }

    fn spacing(&self) -> Spacing {
        self.limits.spacing
    }

    fn next_departure(&self) -> Option<Time> {
        self.stack.next_departure()
    }

    fn ssthresh(&self) -> Option<Bytes> {
        self.limits.ssthresh.filter(|&bytes| bytes > 0).map(Bytes)
    }

    fn interests(&self) -> Interests {
        Interests {
            sent: true,
            lost: true,
            acked: true,
            own_recovery: true,
            recovery: Recovery::Quic,
            ..Interests::default()
        }
    }

    fn fault(&mut self) -> Option<Fault> {
        self.fault.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;
    use rand_chacha::ChaCha8Rng;

    /// Records its events, and panics when a packet with a chosen number is delivered.
    #[derive(Debug, Default)]
    struct Recorder {
        log: Vec<String>,
        bad: Option<u64>,
    }

    impl Stack for Recorder {
        type Packet = u64;

        fn on_sent(&mut self, _now: Time, pn: u64, _inflight: u64, _is_app_limited: bool) -> u64 {
            pn
        }
        fn on_acked(&mut self, _now: Time, acked: &Acked<'_, u64>) {
            assert!(acked.packets.iter().all(|packet| Some(packet.pn) != self.bad), "a bad packet");
            let numbers: Vec<u64> = acked.packets.iter().map(|packet| packet.info).collect();
            self.log.push(format!("acked {numbers:?} rtt {}", acked.rtt.map_or(0, |rtt| rtt.as_nanos() / 1_000_000)));
        }
        fn on_lost(&mut self, _now: Time, lost: &[Transmission<u64>], is_persistent: bool) {
            let numbers: Vec<u64> = lost.iter().map(|packet| packet.info).collect();
            self.log.push(format!("lost {numbers:?} persistent {is_persistent}"));
        }
        fn on_marks(&mut self, _now: Time, _newest: Time) {
            self.log.push("marks".to_owned());
        }
        fn on_discarded(&mut self, packet: &Transmission<u64>) {
            self.log.push(format!("discarded {}", packet.pn));
        }
        fn limits(&self) -> Limits {
            Limits { cwnd: 30_000, pacing_rate: None, spacing: Spacing::Transport, ssthresh: None }
        }
    }

    const START: Start =
        Start { mss: Bytes(1500), initial_cwnd: Bytes(15_000), oracle_rtprop: None, first_packet: 0, seed: 1 };

    /// A transport that plays events at given milliseconds.
    struct Hand {
        adapter: Adapter<Recorder>,
        sender: Sender,
        rng: ChaCha8Rng,
    }

    impl Hand {
        fn new(bad: Option<u64>) -> Hand {
            let recorder = Recorder { log: Vec::new(), bad };
            let adapter = Adapter::new("test/recorder", &START, recorder);
            Hand { adapter, sender: Sender::new(START.mss), rng: ChaCha8Rng::seed_from_u64(1) }
        }
        fn now(ms: u64) -> Time {
            Time::from_nanos(ms * 1_000_000)
        }
        fn send(&mut self, ms: u64, seq: u64) {
            self.sender.snd_nxt = self.sender.snd_nxt.max(seq + 1);
            let sent = Sent { seq, is_retransmit: false, sender: &self.sender };
            self.adapter.on_send(&sent, &mut Context { now: Hand::now(ms), rng: &mut self.rng });
        }
        fn acked(&mut self, ms: u64, seq: u64, was_retransmitted: bool) {
            let acked = AckedPacket { seq, sent: Time::ZERO, was_retransmitted, is_app_limited: false };
            self.adapter.on_packet_acked(&acked, &mut Context { now: Hand::now(ms), rng: &mut self.rng });
        }
        fn lost(&mut self, ms: u64, seq: u64) {
            let lost = LostPacket { seq, sent: Time::ZERO };
            self.adapter.on_packet_lost(&lost, &mut Context { now: Hand::now(ms), rng: &mut self.rng });
        }
        fn settle(&mut self, ms: u64, cause: Cause) {
            let loss = Loss { cause, prior_inflight: 0, is_repeated: false, sender: &self.sender };
            self.adapter.on_loss(&loss, &mut Context { now: Hand::now(ms), rng: &mut self.rng });
        }
        fn log(&self) -> Vec<&str> {
            self.adapter.stack.log.iter().map(String::as_str).collect()
        }
    }

    #[test]
    fn deliveries_come_in_order_and_before_losses() {
        let mut hand = Hand::new(None);
        (0..4).for_each(|seq| hand.send(seq, seq));
        hand.acked(40, 3, false);
        hand.acked(40, 1, false);
        hand.lost(40, 0);
        hand.settle(40, Cause::Dupack);
        assert_eq!(hand.log(), ["acked [1, 3] rtt 37", "lost [0] persistent false"]);
    }

    #[test]
    fn a_retransmission_has_a_number_of_its_own_and_an_ambiguous_rtt() {
        let mut hand = Hand::new(None);
        (0..2).for_each(|seq| hand.send(seq, seq));
        hand.lost(40, 0);
        hand.settle(40, Cause::PersistentCongestion);
        hand.send(50, 0);
        hand.acked(90, 0, true);
        hand.settle(90, Cause::Ecn);
        assert_eq!(hand.log(), ["lost [0] persistent true", "acked [2] rtt 0", "marks"]);
    }

    #[test]
    fn a_probe_reveals_that_the_original_is_lost_unless_it_comes_too_early() {
        let mut hand = Hand::new(None);
        (0..3).for_each(|seq| hand.send(0, seq));
        hand.acked(40, 0, false);
        hand.settle(40, Cause::Dupack);
        hand.send(200, 1);
        hand.send(200, 2);
        // 5 ms after the probes, less than the minimum RTT: this is the original; 45 ms: this is the probe.
        hand.acked(205, 1, true);
        hand.acked(245, 2, true);
        hand.settle(245, Cause::Dupack);
        assert_eq!(hand.log()[1..], ["discarded 3", "acked [1, 4] rtt 0", "lost [2] persistent false"]);
    }

    #[test]
    fn a_panic_is_a_fault_that_names_the_controller_and_the_place() {
        let mut hand = Hand::new(Some(1));
        (0..2).for_each(|seq| hand.send(0, seq));
        hand.acked(40, 1, false);
        hand.settle(40, Cause::Dupack);
        assert_eq!(hand.adapter.cwnd(), Bytes::ZERO);
        let fault = hand.adapter.fault().expect("a fault").0;
        assert!(fault.starts_with("test/recorder panicked: a bad packet (adapter.rs:"), "{fault}");
        // Later events do not reach the stack.
        hand.acked(41, 0, false);
        hand.settle(41, Cause::Dupack);
        assert!(hand.log().is_empty());
    }

    #[test]
    fn every_controller_has_a_version_and_an_initial_window() {
        for algorithm in crate::ALGORITHMS {
            assert!(algorithm.version.is_some_and(|version| version.split('.').count() == 3));
            let controller = (algorithm.build)(&serde_json::Value::Null, &START).expect("the defaults");
            assert!(controller.cwnd() >= START.mss * 8, "{}", algorithm.name);
        }
    }

    #[test]
    fn parameters_are_checked() {
        for algorithm in crate::ALGORITHMS {
            let build = |params: serde_json::Value, start: &Start| (algorithm.build)(&params, start).map(|c| c.cwnd());
            let wide = build(serde_json::json!({"initial_window_bytes": 60_000}), &START).expect("a window");
            assert_eq!(wide, Bytes(60_000), "{}", algorithm.name);
            for bad in [0, 1499, 1_u64 << 40] {
                let error = build(serde_json::json!({"initial_window_bytes": bad}), &START).expect_err("out of range");
                assert!(error.to_string().contains("initial_window_bytes must lie from 1500"), "{error}");
            }
            assert!(build(serde_json::json!({"pacing": "own"}), &START).is_err());
            let error = build(serde_json::Value::Null, &Start { mss: Bytes(70_000), ..START }).expect_err("too large");
            assert!(error.to_string().contains("70000"), "{error}");
        }
    }
}
