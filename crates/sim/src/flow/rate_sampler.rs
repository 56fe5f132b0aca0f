//! Delivery-rate samples (`tcp_rate.c`).

use super::Record;
use crate::window::Window;
use fairweir_cca::{RateSample, Sender};
use fairweir_units::{Dur, Time};

/// Starts of the two phases of a sample.
#[derive(Clone, Copy, Debug, Default)]
struct Phases {
    /// `first_tx_mstamp`: start of the send phase.
    first_sent: Time,
    /// `delivered_mstamp`: start of the ACK phase, the time of the last delivery.
    delivered_at: Time,
}

/// State of the sampler.
#[derive(Debug)]
pub(super) struct RateSampler {
    /// The phases of the next packet's sample.
    next: Phases,
    /// The phases of the packets in flight; `None` if the controller wants no rate samples.
    in_flight: Option<Window<Phases>>,
    /// `delivered` up to which samples are application-limited; 0 if none.
    pub(super) app_limited: u64,
}

impl RateSampler {
    /// Creates the state of a flow whose controller may want rate samples.
    pub(super) fn new(is_wanted: bool) -> RateSampler {
        RateSampler { next: Phases::default(), in_flight: is_wanted.then(Window::new), app_limited: 0 }
    }

    /// Nothing is in flight at `now`: a new sample starts (`tcp_rate_skb_sent`).
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.next = Phases { first_sent: now, delivered_at: now };
    }

    /// Returns the record of packet `seq`, which is sent at `now`, and stores the phases of its sample.
    #[inline]
    pub(super) fn record(&mut self, seq: u64, sender: &Sender, now: Time, flags: u32) -> Record {
        if let Some(phases) = &mut self.in_flight {
            phases.reserve(sender.snd_una, seq);
            *phases.get_mut(seq) = self.next;
        }
        let app_limited = if self.app_limited > 0 { Record::APP_LIMITED } else { 0 };
        Record { sent: now, delivered: sender.delivered as u32, flags: flags | app_limited }
    }

    /// Returns the sample of an ACK at `now` whose newest packet is `seq` and has `record` (`tcp_rate_gen`); an empty one
    /// if the controller wants none.
    #[inline]
    pub(super) fn sample(&mut self, seq: u64, record: &Record, sender: &Sender, now: Time) -> RateSample {
        let Some(in_flight) = &self.in_flight else { return RateSample::default() };
        let phases = *in_flight.get(seq);
        let since_sent = (sender.delivered as u32).wrapping_sub(record.delivered);
        let prior_delivered = sender.delivered - u64::from(since_sent);
        let interval = record.sent.since(phases.first_sent).max(now.since(phases.delivered_at));
        let is_app_limited = record.has(Record::APP_LIMITED);
        self.next = Phases { first_sent: record.sent, delivered_at: now };
        // A rate over less than the minimum RTT is an artefact of retransmission or compression.
        let is_valid = interval >= sender.min_rtt;
        RateSample {
            delivered: if is_valid { u64::from(since_sent) } else { 0 },
            interval: if is_valid { interval } else { Dur::ZERO },
            prior_delivered,
            is_app_limited,
        }
    }
}
