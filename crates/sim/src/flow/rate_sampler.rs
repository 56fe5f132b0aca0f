//! Delivery-rate samples (`tcp_rate.c`).

use super::Record;
use fairweir_cca::{RateSample, Sender};
use fairweir_units::{Dur, Time};

/// State of the sampler.
#[derive(Debug, Default)]
pub(super) struct RateSampler {
    /// `first_tx_mstamp`: start of the next sample's send phase.
    first_sent: Time,
    /// `delivered_mstamp`: time of the last delivery.
    delivered_at: Time,
    /// `delivered` up to which samples are application-limited; 0 if none.
    pub(super) app_limited: u64,
}

impl RateSampler {
    /// Nothing is in flight at `now`: a new sample starts (`tcp_rate_skb_sent`).
    #[inline]
    pub(super) fn restart(&mut self, now: Time) {
        self.first_sent = now;
        self.delivered_at = now;
    }

    /// Returns the record of a packet that is sent at `now`.
    #[inline]
    pub(super) fn record(&self, now: Time, delivered: u64, flags: u32) -> Record {
        let app_limited = if self.app_limited > 0 { Record::APP_LIMITED } else { 0 };
        Record {
            sent: now,
            first_sent: self.first_sent,
            delivered_at: self.delivered_at,
            delivered: delivered as u32,
            flags: flags | app_limited,
        }
    }

    /// Returns the sample of an ACK at `now` whose newest packet has `record` (`tcp_rate_gen`).
    #[inline]
    pub(super) fn sample(&mut self, record: &Record, sender: &Sender, now: Time) -> RateSample {
        let since_sent = (sender.delivered as u32).wrapping_sub(record.delivered);
        let prior_delivered = sender.delivered - u64::from(since_sent);
        let interval = record.sent.since(record.first_sent).max(now.since(record.delivered_at));
        let is_app_limited = record.has(Record::APP_LIMITED);
        self.first_sent = record.sent;
        self.delivered_at = now;
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
