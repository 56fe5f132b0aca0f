//! Salsify: each frame is coded twice, and the version that fits the network is sent.
//!
//! **Source**: S. Fouladi et al., "Salsify: low-latency network video through tighter integration between a video codec
//! and a transport protocol", NSDI 2018, section 3; constants of its published sender and receiver.
//!
//! **Deviations**: the sender computes the receiver's estimate from acknowledgements; for codecs other than VP8, VP8's
//! quantizer indices are converted to equal quantizer steps on the codec's scale; losses put the sender into its
//! conservative mode for 5 s (in Salsify, an unknown state of the receiver's decoder does); incomplete frames are never
//! shown.

use super::{Ack, Coding, Recovery, Sender, send_all};
use crate::encoder::Quality;
use crate::outgoing::Outgoing;
use crate::table::Coded;
use fairweir_units::{Dur, Time};

/// Maximum time for which a frame may occupy the network, s.
const MAX_DELAY_S: f64 = 0.1;
/// Weight of a new sample in the mean interval between arrivals.
const ALPHA: f64 = 0.1;
/// Changes of VP8's quantizer index for the two versions, its initial value, and its bounds.
const FINER: f64 = 17.0;
const COARSER: f64 = 23.0;
const FIRST_QUANTIZER: f64 = 64.0;
const MIN_QUANTIZER: f64 = 3.0;
const MAX_QUANTIZER: f64 = 127.0;
/// Packets are sent five times as fast as they arrive, but at intervals within these bounds.
const PACING: f64 = 5.0;
const MIN_INTERVAL_S: f64 = 0.5e-3;
const MAX_INTERVAL_S: f64 = 2e-3;
/// Maximum consecutive frames skipped.
const MAX_SKIPPED: u32 = 3;
/// Time after a loss for which frames are predicted only from frames that the receiver is known to have.
const CONSERVATIVE: Dur = Dur::from_secs(5);

/// Salsify's sender.
#[derive(Debug)]
pub(super) struct Salsify {
    /// Mean interval between arrivals, s; `None` before the first interval.
    interval: Option<f64>,
    last_arrival: Option<Time>,
    last_group: Option<u32>,
    quantizer: f64,
    tried: (f64, f64),
    skipped: u32,
    conservative_until: Time,
    now: Time,
}

impl Salsify {
    pub(super) fn new() -> Salsify {
        Salsify {
            interval: None,
            last_arrival: None,
            last_group: None,
            quantizer: FIRST_QUANTIZER,
            tried: (0.0, 0.0),
            skipped: 0,
            conservative_until: Time::ZERO,
            now: Time::ZERO,
        }
    }

    /// Returns the maximum size of a frame, bytes.
    fn budget(&self, outgoing: &Outgoing) -> f64 {
        let Some(interval) = self.interval else { return f64::INFINITY };
        let on_their_way = outgoing.ledger.packets_in_flight() as f64 + outgoing.backlog();
        outgoing.sizes.payload * (MAX_DELAY_S / interval.max(1e-6) - on_their_way).max(0.0)
    }

    /// Processes the interval since the last arrival, minus the sender's pause between two frames.
    fn observe(&mut self, arrived: Time, pause: f64) {
        let Some(last) = self.last_arrival.replace(arrived) else {
            self.interval = Some(0.0);
            return;
        };
        let gap = (arrived.since(last).as_secs_f64() - pause).max(0.0);
        self.interval = self.interval.map(|average| average + ALPHA * (gap - average));
    }
}

impl Sender for Salsify {
    fn on_frame(&mut self, outgoing: &mut Outgoing) -> Coding {
        self.now = outgoing.now;
        self.tried = ((self.quantizer - FINER).max(MIN_QUANTIZER), (self.quantizer + COARSER).min(MAX_QUANTIZER));
        Coding::Try(Quality::Vp8Index(self.tried.0), Quality::Vp8Index(self.tried.1))
    }

    fn choose(&mut self, outgoing: &Outgoing, tried: &[Coded; 2]) -> Option<usize> {
        let budget = self.budget(outgoing);
        let chosen = if tried[0].bytes <= budget {
            0
        } else if tried[1].bytes <= budget || self.skipped >= MAX_SKIPPED {
            1
        } else {
            self.skipped += 1;
            return None;
        };
        self.skipped = 0;
        self.quantizer = if chosen == 0 { self.tried.0 } else { self.tried.1 };
        Some(chosen)
    }

    fn on_ready(&mut self, outgoing: &mut Outgoing) {
        let interval = (self.interval.unwrap_or(0.0) / PACING).clamp(MIN_INTERVAL_S, MAX_INTERVAL_S);
        outgoing.set_pacing(1.0 / interval);
        send_all(outgoing);
    }

    fn on_ack(&mut self, outgoing: &mut Outgoing, ack: &Ack) {
        self.now = outgoing.now;
        // The first packet of a frame contains the sender's pause before the frame.
        let pause = match self.last_group.replace(ack.group) {
            Some(last) if last != ack.group => {
                let handed = |group: u32| outgoing.groups()[group as usize].handed;
                handed(ack.group).since(handed(last)).as_secs_f64()
            }
            _ => 0.0,
        };
        self.observe(ack.arrived, pause);
        if ack.lost > 0 {
            self.conservative_until = outgoing.now.after(CONSERVATIVE);
        }
    }

    fn recovery(&self) -> Recovery {
        if self.now < self.conservative_until { Recovery::Acknowledged } else { Recovery::Reference }
    }
}
