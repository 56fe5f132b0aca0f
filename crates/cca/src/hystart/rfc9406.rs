//! HyStart++: leave slow start when the round-trip time rises, before packets are lost.
//!
//! Per round of slow start record the minimum RTT. When it exceeds the last round's by a threshold, grow at a quarter
//! of the speed (conservative slow start) for some rounds; if the RTT falls back meanwhile, the rise was noise and slow
//! start continues; otherwise slow start is over.
//!
//! **Source**: RFC 9406 §4.2. **Deviations**: none for unpaced senders (the cap of 8 packets per ACK applies).

use crate::Ack;
use fairweir_units::Dur;

/// Bounds of the rise that counts, RFC 9406 §4.3.
const MIN_RTT_THRESH: Dur = Dur::from_millis(4);
const MAX_RTT_THRESH: Dur = Dur::from_millis(16);
/// Part of the last round's RTT that is a rise.
const MIN_RTT_DIVISOR: u64 = 8;
/// Samples required for a round's minimum RTT.
const N_RTT_SAMPLE: u32 = 8;
/// Growth in conservative slow start is divided by this.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// Rounds of conservative slow start.
const CSS_ROUNDS: u32 = 5;
/// Maximum packets that one ACK may add without pacing.
const L: u64 = 8;

/// State of the search for the end of slow start.
#[derive(Clone, Debug)]
enum Phase {
    SlowStart,
    Conservative {
        /// Smallest RTT of the round that raised the alarm.
        baseline: Dur,
        rounds: u32,
    },
}

/// HyStart++ on one connection.
#[derive(Clone, Debug)]
pub(crate) struct HyStartPlusPlus {
    phase: Phase,
    round_end: u64,
    last_round_min: Dur,
    round_min: Dur,
    samples: u32,
    /// Acknowledged packets short of one packet of conservative growth.
    remainder: u64,
}

impl HyStartPlusPlus {
    pub(crate) fn new() -> HyStartPlusPlus {
        HyStartPlusPlus {
            phase: Phase::SlowStart,
            round_end: 0,
            last_round_min: Dur::MAX,
            round_min: Dur::MAX,
            samples: 0,
            remainder: 0,
        }
    }

    /// Packets to add to cwnd for this ACK, or `None` if slow start is over.
    pub(crate) fn growth(&mut self, ack: &Ack<'_>) -> Option<u64> {
        if let Some(rtt) = ack.rtt {
            self.round_min = self.round_min.min(rtt);
            self.samples += 1;
        }
        let has_samples = self.samples >= N_RTT_SAMPLE && self.round_min < Dur::MAX;
        match &self.phase {
            Phase::SlowStart if has_samples && self.last_round_min < Dur::MAX => {
                let threshold = (self.last_round_min / MIN_RTT_DIVISOR).clamp(MIN_RTT_THRESH, MAX_RTT_THRESH);
                if self.round_min >= self.last_round_min + threshold {
                    self.phase = Phase::Conservative { baseline: self.round_min, rounds: 0 };
                }
            }
            Phase::Conservative { baseline, .. } if has_samples && self.round_min < *baseline => {
                self.phase = Phase::SlowStart;
            }
            _ => {}
        }
        if ack.sender.snd_una > self.round_end {
            self.start_round(ack.sender.snd_nxt)?;
        }
        let acked = ack.acked.min(L);
        Some(match self.phase {
            Phase::SlowStart => acked,
            Phase::Conservative { .. } => {
                let total = self.remainder + acked;
                self.remainder = total % CSS_GROWTH_DIVISOR;
                total / CSS_GROWTH_DIVISOR
            }
        })
    }

    /// A round ends; `None` if it was the last of conservative slow start.
    fn start_round(&mut self, snd_nxt: u64) -> Option<()> {
        self.round_end = snd_nxt;
        self.last_round_min = self.round_min;
        self.round_min = Dur::MAX;
        self.samples = 0;
        if let Phase::Conservative { rounds, .. } = &mut self.phase {
            *rounds += 1;
            if *rounds >= CSS_ROUNDS {
                return None;
            }
        }
        Some(())
    }
}
