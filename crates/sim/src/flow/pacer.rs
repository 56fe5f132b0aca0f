//! Pacing: packets leave in bursts, spaced by the controller's rate, or at times that the controller computes.

use super::autosizing;
use fairweir_cca::Spacing;
use fairweir_units::{Dur, NANOS_PER_SEC, Time};

/// Pacing state.
#[derive(Debug)]
pub(super) struct Pacer {
    /// The controller's decision, bytes per second; 0 disables pacing.
    pub(super) rate: u64,
    /// Time from one packet to the next within a burst's time at `rate`, ns; 0 with a bucket or departure times.
    gap: u64,
    /// When the next burst may start; never with a bucket, so that each burst asks it.
    next_send: Time,
    /// Number of packets that may still leave in this burst.
    burst: u64,
    /// Packets of a burst.
    gso: u64,
    /// How the transport corrects late packets; `None` if it does not.
    credit: Option<Credit>,
    /// Maximum of `gso`, which then follows the rate ([`autosizing`]); `None` if it is constant.
    autosizes_to: Option<u64>,
    spacing: State,
    /// Expiry of the timer.
    pub(super) due_at: Time,
}

#[derive(Debug)]
enum State {
    Bursts,
    Bucket(Bucket),
    Departures,
}

/// Linux's correction for delayed packets (`tcp_update_skb_after_send` of tcp_output.c): a packet that leaves after its time,
/// because cwnd was full or a timer was late, shortens its gap by the delay, at most by half. The first packets have no gap.
#[derive(Debug, Default)]
struct Credit {
    /// Delay of this burst by which its gaps have not yet been shortened, ns.
    delay: u64,
    /// Packets sent, up to `PACED_FROM`.
    sent: u64,
}

/// The first packet of a flow after which there is a gap (`data_segs_out`).
const PACED_FROM: u64 = 10;

impl Credit {
    /// Returns the time until the next packet, ns, where the rate asks for `gap`.
    fn shorten(&mut self, gap: u64) -> u64 {
        if self.sent < PACED_FROM {
            self.sent += 1;
            if self.sent < PACED_FROM {
                return 0;
            }
        }
        let credit = self.delay.min(gap / 2);
        self.delay -= credit;
        gap - credit
    }
}

/// A bucket of bytes that is refilled at the current rate when it is asked.
#[derive(Debug)]
struct Bucket {
    /// Bytes it holds, without those of the packets in `Pacer::burst`.
    tokens: u64,
    capacity: u64,
    /// Bytes it holds when the timer expires.
    resumes_with: u64,
    filled_at: Time,
    mss: u64,
}

impl Bucket {
    /// Adds what `rate` bytes per second gained since the last refill.
    fn refill(&mut self, rate: u64, now: Time) {
        let elapsed = u128::from(now.since(self.filled_at).as_nanos());
        let gained = u128::from(rate) * elapsed / u128::from(NANOS_PER_SEC);
        // A part of a byte is not lost: its time counts again at the next refill.
        if gained > 0 {
            let tokens = u64::try_from(gained).unwrap_or(u64::MAX).saturating_add(self.tokens);
            (self.tokens, self.filled_at) = (tokens.min(self.capacity), now);
        }
    }

    /// Takes the whole packets that it holds at `now`, and returns their number.
    #[cold]
    #[inline(never)]
    fn draw(&mut self, rate: u64, now: Time) -> u64 {
        self.refill(rate, now);
        let packets = self.tokens / self.mss;
        self.tokens -= packets * self.mss;
        packets
    }

    /// When it holds `resumes_with` at `rate`.
    #[cold]
    #[inline(never)]
    fn resumes_at(&self, rate: u64) -> Time {
        let missing = u128::from(self.resumes_with.saturating_sub(self.tokens));
        let wait = (missing * u128::from(NANOS_PER_SEC)).div_ceil(u128::from(rate.max(1)));
        Time::from_nanos(self.filled_at.as_nanos().saturating_add(u64::try_from(wait).unwrap_or(u64::MAX)))
    }
}

impl Pacer {
    /// Creates a pacer without a rate, for bursts of `gso` packets.
    pub(super) fn new(gso: u64) -> Pacer {
        let (next_send, due_at) = (Time::ZERO, Time::NEVER);
        let spacing = State::Bursts;
        Pacer {
            rate: 0,
            gap: 0,
            next_send,
            burst: 0,
            gso: gso.max(1),
            credit: None,
            autosizes_to: None,
            spacing,
            due_at,
        }
    }

    /// Lets the size of bursts follow the rate; they have at most as many packets as up to now.
    pub(super) fn autosize(&mut self) {
        self.autosizes_to = Some(self.gso);
    }

    /// Lets late packets be followed sooner.
    pub(super) fn grant_credit(&mut self) {
        self.credit = Some(Credit::default());
    }

    /// Sets the rate, bytes per second, of a flow with this minimum RTT and packets of `mss` bytes.
    #[inline(never)]
    pub(super) fn set_rate(&mut self, rate: u64, min_rtt: Dur, mss: u64) {
        self.rate = rate;
        if let State::Bursts = self.spacing {
            self.gap = (mss * NANOS_PER_SEC).checked_div(rate).unwrap_or(0);
            if let Some(limit) = self.autosizes_to {
                self.gso = autosizing::burst(rate, min_rtt, mss, limit);
            }
        }
    }

    /// Sets how packets of `mss` bytes are spaced. An algorithm does not return to the transport's bursts.
    pub(super) fn set_spacing(&mut self, spacing: Spacing, mss: u64) {
        match spacing {
            Spacing::Transport => {}
            Spacing::Departures => {
                self.spacing = State::Departures;
                (self.gap, self.gso, self.burst) = (0, 1, 0);
            }
            Spacing::Bucket { capacity, resumes_with } => {
                let capacity = capacity.0.max(mss);
                let resumes_with = resumes_with.0.clamp(mss, capacity);
                if let State::Bucket(bucket) = &mut self.spacing {
                    (bucket.capacity, bucket.resumes_with) = (capacity, resumes_with);
                    self.burst = self.burst.min(capacity / mss);
                    bucket.tokens = bucket.tokens.min(capacity - self.burst * mss);
                } else {
                    let filled_at = Time::ZERO;
                    self.spacing = State::Bucket(Bucket { tokens: capacity, capacity, resumes_with, filled_at, mss });
                    (self.gap, self.burst, self.next_send) = (0, 0, Time::NEVER);
                }
            }
        }
    }

    /// Returns whether a packet may be sent at `now`; if not, sets the timer.
    #[inline]
    pub(super) fn allows(&mut self, now: Time) -> bool {
        if self.burst == 0 {
            if now < self.next_send {
                let State::Bucket(bucket) = &mut self.spacing else {
                    self.due_at = self.next_send;
                    return false;
                };
                self.burst = bucket.draw(self.rate, now);
                if self.burst == 0 {
                    self.due_at = bucket.resumes_at(self.rate);
                    return false;
                }
            } else {
                if let Some(credit) = &mut self.credit {
                    credit.delay = now.since(self.next_send).as_nanos();
                }
                self.burst = self.gso;
                self.next_send = now;
            }
        }
        self.burst -= 1;
        let gap = self.credit.as_mut().map_or(self.gap, |credit| credit.shorten(self.gap));
        self.next_send = Time::from_nanos(self.next_send.as_nanos() + gap);
        true
    }

    /// A packet was sent; `departure` is when the controller permits the next one.
    #[inline]
    pub(super) fn on_sent(&mut self, departure: impl FnOnce() -> Option<Time>) {
        if let State::Departures = self.spacing {
            self.next_send = departure().unwrap_or(Time::ZERO);
        }
    }

    /// Permits the next packet at `now`.
    pub(super) fn restart(&mut self, now: Time) {
        match &mut self.spacing {
            State::Bursts => (self.burst, self.next_send) = (0, now),
            State::Bucket(bucket) => bucket.tokens = bucket.tokens.max(bucket.mss),
            State::Departures => self.next_send = now,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_units::Bytes;

    const MSS: u64 = 1500;

    fn at(us: u64) -> Time {
        Time::from_nanos(us * 1000)
    }

    fn sent(pacer: &mut Pacer, now: Time) -> u64 {
        (0..1000).take_while(|_| pacer.allows(now)).count() as u64
    }

    #[test]
    fn a_burst_starts_when_the_time_of_the_last_one_is_over() {
        let mut pacer = Pacer::new(4);
        pacer.set_rate(1_500_000, Dur::MAX, MSS);
        assert_eq!(sent(&mut pacer, at(0)), 4);
        assert_eq!(pacer.due_at, at(4000));
        assert_eq!((sent(&mut pacer, at(3999)), sent(&mut pacer, at(4000))), (0, 4));
    }

    #[test]
    fn the_first_packets_have_no_gap() {
        let mut pacer = Pacer::new(1);
        pacer.grant_credit();
        pacer.set_rate(1_500_000, Dur::MAX, MSS);
        assert_eq!((sent(&mut pacer, at(0)), pacer.due_at), (10, at(1000)));
        assert_eq!(sent(&mut pacer, at(1000)), 1);
    }

    #[test]
    fn a_late_packet_is_followed_sooner_but_not_sooner_than_half_a_gap() {
        let mut pacer = Pacer::new(1);
        pacer.credit = Some(Credit { sent: PACED_FROM, ..Credit::default() });
        // A packet takes 1 ms.
        pacer.set_rate(1_500_000, Dur::MAX, MSS);
        assert_eq!((sent(&mut pacer, at(0)), pacer.due_at), (1, at(1000)));
        assert_eq!((sent(&mut pacer, at(1200)), pacer.due_at), (1, at(2000)));
        assert_eq!((sent(&mut pacer, at(2000)), pacer.due_at), (1, at(3000)));
        assert_eq!((sent(&mut pacer, at(9000)), pacer.due_at), (1, at(9500)));
        assert_eq!((sent(&mut pacer, at(9500)), pacer.due_at), (1, at(10_500)));
    }

    #[test]
    fn a_late_burst_is_followed_by_the_next_sooner() {
        let mut pacer = Pacer::new(4);
        pacer.credit = Some(Credit { sent: PACED_FROM, ..Credit::default() });
        pacer.set_rate(1_500_000, Dur::MAX, MSS);
        assert_eq!((sent(&mut pacer, at(0)), pacer.due_at), (4, at(4000)));
        assert_eq!((sent(&mut pacer, at(5500)), pacer.due_at), (4, at(8000)));
        assert_eq!((sent(&mut pacer, at(18_000)), pacer.due_at), (4, at(20_000)));
    }

    #[test]
    fn bursts_follow_the_rate() {
        let mut pacer = Pacer::new(44);
        pacer.autosize();
        for (rate, packets) in [(1_500_000, 2), (12_500_000, 8), (125_000_000, 43)] {
            pacer.set_rate(rate, Dur::from_millis(40), MSS);
            pacer.restart(at(0));
            assert_eq!(sent(&mut pacer, at(0)), packets);
        }
    }

    #[test]
    fn a_bucket_is_refilled_at_the_rate_of_now() {
        let mut pacer = Pacer::new(1);
        let bucket = Spacing::Bucket { capacity: Bytes(10 * MSS), resumes_with: Bytes(10 * MSS) };
        pacer.set_rate(15_000, Dur::MAX, MSS);
        pacer.set_spacing(bucket, MSS);
        assert_eq!(sent(&mut pacer, at(0)), 10);
        // A packet takes 100 ms, the bucket a second.
        assert_eq!((sent(&mut pacer, at(40_000)), pacer.due_at), (0, at(1_000_000)));
        // A rate a hundred times as high counts from the last refill: 1 ms a packet.
        pacer.set_rate(1_500_000, Dur::MAX, MSS);
        assert_eq!(sent(&mut pacer, at(43_000)), 3);
        assert_eq!(sent(&mut pacer, at(2_000_000)), 10);
    }

    #[test]
    fn a_bucket_resumes_with_what_the_controller_asks_for() {
        for (packets, due) in [(1, 1000), (10, 10_000)] {
            let mut pacer = Pacer::new(1);
            let resumes_with = Bytes(packets * MSS);
            pacer.set_rate(1_500_000, Dur::MAX, MSS);
            pacer.set_spacing(Spacing::Bucket { capacity: Bytes(10 * MSS), resumes_with }, MSS);
            assert_eq!((sent(&mut pacer, at(0)), pacer.due_at), (10, at(due)));
            assert_eq!(sent(&mut pacer, at(due)), packets);
        }
    }

    #[test]
    fn refills_of_less_than_a_byte_add_up() {
        let mut pacer = Pacer::new(1);
        pacer.set_rate(1, Dur::MAX, 10);
        pacer.set_spacing(Spacing::Bucket { capacity: Bytes(10), resumes_with: Bytes(10) }, 10);
        assert_eq!(sent(&mut pacer, at(0)), 1);
        let packets: u64 = (1..=100).map(|tenth| sent(&mut pacer, at(tenth * 100_000))).sum();
        assert_eq!(packets, 1);
    }

    #[test]
    fn a_smaller_bucket_takes_back_what_it_cannot_hold() {
        let mut pacer = Pacer::new(1);
        let bucket = |packets| Spacing::Bucket { capacity: Bytes(packets * MSS), resumes_with: Bytes(MSS) };
        pacer.set_rate(1_500_000, Dur::MAX, MSS);
        pacer.set_spacing(bucket(10), MSS);
        assert!(pacer.allows(at(0)));
        pacer.set_spacing(bucket(2), MSS);
        assert_eq!(sent(&mut pacer, at(0)), 2);
    }

    #[test]
    fn departure_times_are_the_controllers() {
        let mut pacer = Pacer::new(8);
        pacer.set_rate(1_500_000, Dur::MAX, MSS);
        pacer.set_spacing(Spacing::Departures, MSS);
        assert!(pacer.allows(at(0)));
        pacer.on_sent(|| Some(at(500)));
        assert!(!pacer.allows(at(499)));
        assert_eq!(pacer.due_at, at(500));
        assert!(pacer.allows(at(500)));
        pacer.on_sent(|| None);
        assert!(pacer.allows(at(500)));
    }
}
