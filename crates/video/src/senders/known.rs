//! A sender that knows the link's future capacity: an upper bound for all other senders.
//!
//! The next frames get equal sizes, the largest with which each frame leaves the link within two frame intervals after
//! reaching it. The queue therefore holds about one frame, and is empty when the link stops.
//!
//! **Deviations** from perfect knowledge: the sender does not know by how much the encoder will miss its target, nor
//! which packets are lost or delayed after the link. If the link's rates are random, the sender uses another random
//! draw of them.

use super::{Coding, Sender, send_all};
use crate::encoder::Quality;
use crate::network::NetworkConfig;
use crate::outgoing::Outgoing;
use fairweir_path::Hop;
use fairweir_units::{Dur, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// Maximum time for a frame to leave the link, frame intervals.
const INTERVALS: u64 = 2;
/// Number of frames that are planned together.
const HORIZON: u64 = 6;
/// Minimum target, packets; a frame with a smaller target is skipped.
const MIN_TARGET: f64 = 0.2;
/// Interval over which the link's future capacity is queried.
const SPAN: Dur = Dur::from_millis(1);
/// Maximum time to wait for a frame to leave the link.
const MAX_WAIT: Dur = Dur::from_secs(2);

/// The sender, with a copy of the link.
pub(super) struct Known {
    hop: Hop,
    forward: Dur,
    encode: Dur,
    /// Time at which the link has sent all packets handed over so far.
    free: Time,
    /// Bytes that the link can still send at that time.
    left: f64,
    /// Time at which the captured frame's packets can reach the link.
    reaches: Time,
}

impl Known {
    pub(super) fn new(network: &NetworkConfig, encode: Dur) -> Known {
        let hop = Hop::new(&network.hop, ChaCha8Rng::seed_from_u64(0));
        Known { hop, forward: network.forward_ns, encode, free: Time::ZERO, left: 0.0, reaches: Time::ZERO }
    }

    /// Returns the bytes that the link can send at once at `from`; 0 if the link has been idle since `free`.
    fn left(&self, from: Time) -> f64 {
        if from == self.free { self.left } else { 0.0 }
    }

    /// Returns the bytes that the link carries between `from` and `to`.
    fn carried(&self, from: Time, to: Time) -> f64 {
        self.hop.link().mean_rate(from, to).bytes_per_sec() as f64 * to.since(from).as_secs_f64()
    }
}

impl Sender for Known {
    fn on_frame(&mut self, outgoing: &mut Outgoing) -> Coding {
        self.reaches = outgoing.now.after(self.encode).after(self.forward);
        let from = self.reaches.max(self.free);
        let sizes = outgoing.sizes;
        let by = |frames: u64| self.reaches.after(outgoing.frame_interval.mul_ratio(INTERVALS + frames - 1, 1));
        let left = self.left(from);
        let carried = |until: Time| if until > from { left + self.carried(from, until) } else { 0.0 };
        let share = |frames: u64| carried(by(frames)) / frames as f64;
        let packets = (1..=HORIZON).map(share).fold(f64::INFINITY, f64::min) / sizes.full();
        if packets < MIN_TARGET {
            return Coding::Skip;
        }
        Coding::Code(Quality::target(packets * sizes.full() - packets.ceil() * sizes.header))
    }

    fn on_ready(&mut self, outgoing: &mut Outgoing) {
        let Some(&frame) = outgoing.waiting().last() else { return };
        let bytes = outgoing.amount(frame) * outgoing.sizes.full();
        let start = self.reaches.max(self.free);
        let mut sent = self.left(start);
        self.free = start;
        while sent < bytes && self.free.since(start) < MAX_WAIT {
            sent += self.carried(self.free, self.free.after(SPAN));
            self.free = self.free.after(SPAN);
        }
        self.left = (sent - bytes).max(0.0);
        // Pace the frame over the time until it has left the link, so that no burst overflows a short buffer.
        let secs = self.free.since(self.reaches).as_secs_f64().max(1e-3);
        let backlog = outgoing.backlog() + outgoing.amount(frame);
        outgoing.set_pacing(backlog / secs);
        send_all(outgoing);
    }
}
