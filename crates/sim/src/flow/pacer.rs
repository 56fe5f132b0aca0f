//! Pacing: packets leave in bursts of up to `gso`, spaced by the controller's rate.

use fairweir_units::{NANOS_PER_SEC, Time};

/// Pacing state.
#[derive(Debug)]
pub(super) struct Pacer {
    /// The controller's decision, bytes per second; 0 disables pacing.
    pub(super) rate: u64,
    /// Transmission time of a packet at `rate`, ns.
    gap: u64,
    next_send: Time,
    /// Number of packets that may still leave in this burst.
    burst: u64,
    gso: u64,
    /// Expiry of the timer.
    pub(super) due_at: Time,
}

impl Pacer {
    /// Creates a pacer without a rate, for bursts of `gso` packets.
    pub(super) fn new(gso: u64) -> Pacer {
        Pacer { rate: 0, gap: 0, next_send: Time::ZERO, burst: 0, gso: gso.max(1), due_at: Time::NEVER }
    }

    /// Sets the rate, bytes per second, for packets of `mss` bytes.
    #[inline(never)]
    pub(super) fn set_rate(&mut self, rate: u64, mss: u64) {
        self.rate = rate;
        self.gap = (mss * NANOS_PER_SEC).checked_div(rate).unwrap_or(0);
    }

    /// Sets the number of packets that may leave at once, at least one.
    pub(super) fn set_burst(&mut self, packets: u64) {
        self.gso = packets.max(1);
        self.burst = self.burst.min(self.gso);
    }

    /// Returns whether a packet may be sent at `now`; if not, sets the timer.
    #[inline]
    pub(super) fn allows(&mut self, now: Time) -> bool {
        if self.burst == 0 {
            if now < self.next_send {
                self.due_at = self.next_send;
                return false;
            }
            self.burst = self.gso;
            self.next_send = now;
        }
        self.burst -= 1;
        self.next_send = Time::from_nanos(self.next_send.as_nanos() + self.gap);
        true
    }

    /// Permits the next packet at `now`.
    pub(super) fn restart(&mut self, now: Time) {
        self.burst = 0;
        self.next_send = now;
    }
}
