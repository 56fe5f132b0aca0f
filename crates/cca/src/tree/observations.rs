//! The packets that a sender sent, and those delivered and lost, with their times. They are converted to a [`Window`],
//! from which `fairweir_game` computes a belief about the link.

use fairweir_game::{EPS, POINTS, Window};
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;

/// Number of steps from the point before a window to the window's last point.
const STEPS: u64 = POINTS as u64;

/// A cumulative count of packets over time; old entries can be removed.
#[derive(Clone, Debug, Default)]
struct Counter {
    /// Number of packets whose times were removed.
    forgotten: u64,
    /// The time of each packet, in order.
    times: VecDeque<Time>,
}

impl Counter {
    /// Counts `packets` at the time `at`, which may be before the time of the last packet counted.
    fn add(&mut self, at: Time, packets: u64) {
        let is_latest = self.times.back().is_none_or(|&last| last <= at);
        for _ in 0..packets {
            if is_latest {
                self.times.push_back(at);
            } else {
                let place = self.times.partition_point(|&t| t <= at);
                self.times.insert(place, at);
            }
        }
    }

    /// Returns the number of packets up to and including `time`; 0 for a time before the connection.
    fn by(&self, time: Option<Time>) -> u64 {
        time.map_or(0, |time| self.forgotten + self.times.partition_point(|&t| t <= time) as u64)
    }

    fn total(&self) -> u64 {
        self.forgotten + self.times.len() as u64
    }

    /// Removes the times of the packets up to `time`; the packets still count.
    fn forget(&mut self, time: Time) {
        let old = self.times.partition_point(|&t| t <= time);
        self.times.drain(..old);
        self.forgotten += old as u64;
    }
}

/// Packets of a connection; a retransmission counts as a further packet.
#[derive(Clone, Debug, Default)]
pub(super) struct Observations {
    /// Packets by the time at which they were sent.
    sent: Counter,
    /// Packets by the time at which their ACK arrived.
    delivered: Counter,
    /// Lost packets by the time at which they were sent.
    lost: Counter,
}

impl Observations {
    pub(super) fn on_send(&mut self, now: Time) {
        self.sent.add(now, 1);
    }

    pub(super) fn on_ack(&mut self, now: Time, acked: u64) {
        self.delivered.add(now, acked);
    }

    /// Records the loss of a packet that was sent at `sent`.
    pub(super) fn on_packet_lost(&mut self, sent: Time) {
        self.lost.add(sent, 1);
    }

    /// Returns the window whose points are one `step` apart and whose last point is `now`.
    ///
    /// `sent` at a point counts packets sent up to one `rtprop` before the point, because only these can have been
    /// delivered by the point. Packets that were delivered or lost before the window are subtracted, so that amounts
    /// are as precise on a long connection as on a new one.
    pub(super) fn window(&self, now: Time, step: Dur, rtprop: Dur) -> Window {
        let points = (0..STEPS).map(|t| before(now, step * (STEPS - 1 - t)));
        let latest = self.delivered.by(Some(now));
        let first = before(now, step * STEPS);
        let delivered_before = self.delivered.by(first);
        let lost_before = self.lost.by(first.and_then(|at| before(at, rtprop)));
        let since = |count: u64, by: u64| count.saturating_sub(by) as f64;
        let mut window = Window { visible: 0, ..Window::fresh() };
        let mut is_visible = true;
        for (t, at) in points.enumerate() {
            let left = at.and_then(|at| before(at, rtprop));
            let (delivered, lost) = (self.delivered.by(at), self.lost.by(left));
            // A packet that was declared lost but arrived counts as lost and as delivered. Until its retransmission
            // counts as sent, the sum can exceed the number of packets sent.
            let sent = self.sent.by(left).max(delivered + lost);
            window.delivered[t] = since(delivered, delivered_before);
            window.sent[t] = since(sent, delivered_before + lost_before);
            is_visible &= sent <= latest + lost;
            if is_visible {
                window.visible = t + 1;
                window.lost[t] = since(lost, lost_before);
            }
        }
        let in_all = since(self.sent.total(), delivered_before + lost_before);
        window.sent_next = in_all.max(window.sent[POINTS - 1]);
        debug_assert!(window.sent_next + EPS >= window.delivered_last());
        window
    }

    /// Removes the times of packets that no window at `now` or later needs, if its step is at most `step` and its
    /// rtprop at most `rtprop`.
    pub(super) fn forget(&mut self, now: Time, step: Dur, rtprop: Dur) {
        // Twice as long as needed, because a step begins late if no ACK arrives.
        if let Some(time) = before(now, step * (2 * STEPS) + rtprop) {
            for counter in [&mut self.sent, &mut self.delivered, &mut self.lost] {
                counter.forget(time);
            }
        }
    }
}

fn before(time: Time, by: Dur) -> Option<Time> {
    time.as_nanos().checked_sub(by.as_nanos()).map(Time::from_nanos)
}

#[cfg(test)]
mod tests {
    use super::*;
    use fairweir_game::{BeliefSource, LinkModel, believe, observed};
    use proptest::prelude::*;

    fn ms(x: u64) -> Time {
        Time::from_nanos(x * 1_000_000)
    }

    const STEP: Dur = Dur::from_millis(50);

    #[test]
    fn an_idle_connection_has_an_idle_window() {
        let window = Observations::default().window(ms(400), STEP, STEP);
        assert_eq!(window, Window::fresh());
        assert_eq!(Observations::default().window(Time::ZERO, STEP, STEP), Window::fresh());
    }

    #[test]
    fn packets_belong_to_the_point_at_which_they_could_be_delivered() {
        let mut seen = Observations::default();
        for t in 0..100 {
            seen.on_send(ms(10 * t));
            // Every tenth packet is lost; the sender detects the loss by the ACKs of three later packets.
            if t >= 5 && (t - 5) % 10 != 9 {
                seen.on_ack(ms(10 * t), 1);
            }
            if t >= 8 && (t - 8) % 10 == 9 {
                seen.on_packet_lost(ms(10 * (t - 8)));
            }
        }
        let window = seen.window(ms(990), STEP, STEP);
        assert_eq!(window.visible, POINTS);
        assert_eq!(window.sent, [5.0, 10.0, 15.0, 20.0, 25.0, 30.0].map(|sent| sent + window.sent[0] - 5.0));
        assert_eq!(window.lost_known() - window.lost[0], 2.0);
        assert_eq!(window.sent_next - window.sent[5], 5.0);
        let mut forgetful = seen.clone();
        forgetful.forget(ms(990), STEP, STEP);
        assert!(forgetful.sent.times.len() < 70);
        assert_eq!(forgetful.window(ms(990), STEP, STEP), window);
    }

    #[test]
    fn a_slow_link_is_seen_with_its_rate_and_its_queue() {
        let mut seen = Observations::default();
        for t in 0..700 {
            // The sender offers 10 packets per step; the link serves 5.
            if t % 5 == 0 {
                seen.on_send(ms(t));
            }
            if t % 10 == 0 && t >= 50 {
                seen.on_ack(ms(t), 1);
            }
        }
        let belief = believe(&seen.window(ms(699), STEP, STEP), &LinkModel::default());
        assert_eq!(belief.from, BeliefSource::Window);
        assert!((4.0..=5.0).contains(&belief.bounds.c.min) && belief.bounds.c.max < 7.5, "{belief:?}");
        assert!(belief.bounds.q.max > 50.0, "{belief:?}");
    }

    proptest! {
        /// Every window satisfies the conditions that `crates/game` checks for windows from files.
        #[test]
        fn every_window_is_consistent(
            events in prop::collection::vec((0..4u8, 0..40u64, 1..4u64), 1..400), step in 1..90u64, rtprop in 1..90u64,
        ) {
            let (mut seen, mut now, mut flying) = (Observations::default(), 0, VecDeque::new());
            for (kind, wait, packets) in events {
                now += wait;
                match kind {
                    0 | 1 => for _ in 0..packets {
                        seen.on_send(ms(now));
                        flying.push_back(now);
                    },
                    2 => {
                        let due = flying.iter().take_while(|&&left| left + rtprop <= now).count().min(packets as usize);
                        flying.drain(..due);
                        seen.on_ack(ms(now), due as u64);
                    }
                    _ => if let Some(left) = flying.pop_front() {
                        seen.on_packet_lost(ms(left));
                    },
                }
                let window = seen.window(ms(now), Dur::from_millis(step), Dur::from_millis(rtprop));
                let document = serde_json::json!([{
                    "sent": window.sent, "delivered": window.delivered, "lost": window.lost[..window.visible],
                    "lost_before": window.lost_before, "sent_next": window.sent_next,
                }]);
                let read = observed::windows_from_json(&document.to_string());
                prop_assert!(read.is_ok(), "{:?}: {document}", read.err());
            }
        }
    }
}
