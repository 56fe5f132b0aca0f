//! The queueing delay as estimated by a sender, and the rounds in which it is measured.

use crate::{Ack, Sender};
use fairweir_units::Dur;

/// Returns the path's propagation delay as known to the sender: the oracle's value or, without an oracle, the minimum
/// RTT; zero before the first sample.
#[inline]
pub(crate) fn rtprop(sender: &Sender) -> Dur {
    match sender.oracle_rtprop {
        Some(rtprop) => rtprop,
        None if sender.min_rtt == Dur::MAX => Dur::ZERO,
        None => sender.min_rtt,
    }
}

/// Returns the queueing delay in `rtt`.
#[inline]
pub(crate) fn qdelay(sender: &Sender, rtt: Dur) -> Dur {
    rtt.saturating_sub(rtprop(sender))
}

/// The minimum RTT of this many ACKs at the start of a round represents the round; later bursts in the round do not
/// change it (N_RTT_SAMPLE in HyStart++, RFC 9406).
const OPENING_ACKS: u32 = 8;

/// Rounds counted in packets: a round ends when a packet that was sent after its start is acknowledged.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rounds {
    /// The round ends when this packet is acknowledged.
    end: u64,
    samples: u32,
    min_rtt: Option<Dur>,
}

/// Effect of an ACK on the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// No event: the ACK is within a round.
    Within,
    /// The round's first ACKs have arrived.
    Opened {
        /// Minimum RTT of these ACKs; it excludes the queue caused by bursts.
        min_rtt: Dur,
    },
    /// The ACK is the first of a new round.
    Over {
        /// Minimum RTT of the previous round, if it had a sample.
        min_rtt: Option<Dur>,
        /// Whether the previous round ended before its first [`OPENING_ACKS`] arrived.
        was_short: bool,
    },
}

impl Progress {
    /// Returns whether a round ended.
    #[inline]
    pub fn is_over(self) -> bool {
        matches!(self, Progress::Over { .. })
    }

    /// Returns the minimum RTT of a round's first ACKs, once per round. Slow start uses it to detect the queue early.
    #[inline]
    pub fn first_look(self) -> Option<Dur> {
        match self {
            Progress::Opened { min_rtt } => Some(min_rtt),
            Progress::Over { min_rtt, was_short: true } => min_rtt,
            Progress::Over { .. } | Progress::Within => None,
        }
    }
}

impl Rounds {
    /// Processes an ACK.
    #[inline]
    pub fn on_ack(&mut self, ack: &Ack<'_>) -> Progress {
        let mut progress = Progress::Within;
        if ack.sender.snd_una > self.end {
            progress = Progress::Over { min_rtt: self.min_rtt, was_short: self.samples < OPENING_ACKS };
            *self = Rounds { end: ack.sender.snd_nxt, ..Rounds::default() };
        }
        if let Some(rtt) = ack.rtt {
            let min_rtt = self.min_rtt.map_or(rtt, |least| least.min(rtt));
            self.min_rtt = Some(min_rtt);
            self.samples += 1;
            if self.samples == OPENING_ACKS {
                progress = Progress::Opened { min_rtt };
            }
        }
        progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{MSS, ack};

    fn sender(snd_una: u64, snd_nxt: u64) -> Sender {
        Sender { snd_una, snd_nxt, ..Sender::new(MSS) }
    }

    #[test]
    fn a_round_ends_with_the_first_packet_sent_after_its_start() {
        let mut rounds = Rounds::default();
        let ms = Dur::from_millis;
        assert_eq!(rounds.on_ack(&ack(&sender(1, 11), ms(9))), Progress::Over { min_rtt: None, was_short: true });
        assert_eq!(rounds.on_ack(&ack(&sender(11, 21), ms(7))), Progress::Within);
        let over = rounds.on_ack(&ack(&sender(12, 22), ms(3)));
        assert_eq!(over, Progress::Over { min_rtt: Some(ms(7)), was_short: true });
        assert_eq!((over.first_look(), over.is_over()), (Some(ms(7)), true));
        let over = rounds.on_ack(&ack(&sender(23, 33), ms(5)));
        assert_eq!(over, Progress::Over { min_rtt: Some(ms(3)), was_short: true });
    }

    #[test]
    fn a_long_round_is_looked_at_once_and_early() {
        let mut rounds = Rounds::default();
        let look = |rounds: &mut Rounds, snd_una| {
            rounds.on_ack(&ack(&sender(snd_una, snd_una + 100), Dur::from_millis(200 - snd_una))).first_look()
        };
        let looks: Vec<_> = (1..=12).map(|snd_una| look(&mut rounds, snd_una)).collect();
        assert_eq!(looks.iter().flatten().collect::<Vec<_>>(), [&Dur::from_millis(192)]);
        assert_eq!(looks[7], Some(Dur::from_millis(192)));
        assert_eq!(look(&mut rounds, 102), None);
    }

    #[test]
    fn an_oracle_takes_precedence_over_samples() {
        let mut s = sender(0, 1);
        assert_eq!(qdelay(&s, Dur::from_millis(30)), Dur::from_millis(30));
        s.min_rtt = Dur::from_millis(20);
        assert_eq!(qdelay(&s, Dur::from_millis(30)), Dur::from_millis(10));
        s.oracle_rtprop = Some(Dur::from_millis(25));
        assert_eq!(qdelay(&s, Dur::from_millis(30)), Dur::from_millis(5));
        assert_eq!(qdelay(&s, Dur::from_millis(24)), Dur::ZERO);
    }
}
