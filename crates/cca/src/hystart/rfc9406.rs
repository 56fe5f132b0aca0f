//! HyStart++: slow start ends when the RTT rises, before packets are lost.
//!
//! HyStart++ records the minimum RTT of each round of slow start. When it exceeds the minimum of the previous round by
//! a threshold, cwnd grows at a quarter of the speed (conservative slow start) for some rounds. If the RTT falls in
//! these rounds, the rise was noise and slow start resumes; otherwise slow start ends.
//!
//! **Source**: RFC 9406 §4.2. **Deviations**: none for unpaced senders (the cap of 8 packets per ACK applies).

use crate::Ack;
use fairweir_units::Dur;

/// Minimum and maximum of the threshold (RFC 9406 §4.3).
const MIN_RTT_THRESH: Dur = Dur::from_millis(4);
const MAX_RTT_THRESH: Dur = Dur::from_millis(16);
/// The threshold is the previous round's minimum RTT divided by this, within the bounds above.
const MIN_RTT_DIVISOR: u64 = 8;
/// Samples required for a round's minimum RTT.
const N_RTT_SAMPLE: u32 = 8;
/// Divisor of the growth in conservative slow start.
const CSS_GROWTH_DIVISOR: u64 = 4;
/// Number of rounds of conservative slow start.
const CSS_ROUNDS: u32 = 5;
/// Maximum number of packets that one ACK may add to cwnd without pacing.
const L: u64 = 8;

/// State of HyStart++.
#[derive(Clone, Debug)]
enum Phase {
    SlowStart,
    Conservative {
        /// Minimum RTT of the round in which the RTT rose.
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
    /// Acknowledged packets that do not yet add a packet in conservative slow start.
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

    /// Returns the number of packets to add to cwnd for this ACK, or `None` if slow start ends.
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

    /// Starts a new round; returns `None` if the last round of conservative slow start ended.
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
