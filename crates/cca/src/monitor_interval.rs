//! Monitor intervals, the experiments of the PCC family: send at a rate for some time, then measure the outcome.
//!
//! A plan is a list of rates to try. Each gets an interval; intervals follow each other without a gap, each from the
//! sending of one packet to that of another. When feedback for all of them has arrived, the plan is complete and its
//! reports are returned. Packets sent after the last interval of a plan belong to no interval.
//!
//! Packets belong to intervals by the time they were last sent. The rate and the loss rate come from counts of sent and
//! lost packets alone, so that ACKs which cover several packets, or are themselves lost, do not bias them.

use crate::{Ack, LostPacket};
use fairweir_units::{Bytes, Dur, NANOS_PER_SEC, Rate, Time};
use std::collections::VecDeque;

/// An interval's feedback is complete when this many packets sent after it are delivered: the transport has then
/// declared its losses (RFC 6675 §2, DupThresh).
const REORDERING_PKTS: u64 = 3;

/// Experiments in progress.
#[derive(Clone, Debug)]
pub(crate) struct Monitor {
    mss: Bytes,
    min_packets: u64,
    /// Rates still to try, first one next.
    planned: VecDeque<Rate>,
    /// The interval that packets sent now belong to.
    open: Option<Interval>,
    /// Intervals sent whose feedback is incomplete.
    awaited: VecDeque<Interval>,
    reports: Vec<Report>,
}

/// Outcome of an interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Report {
    /// The planned rate.
    pub target: Rate,
    /// The rate at which packets left, Mbps; less than planned if cwnd or the application were in the way.
    pub rate_mbps: f64,
    /// Packets sent.
    pub sent: u64,
    /// Packets lost divided by packets sent.
    pub loss_rate: f64,
    /// The rate at which packets arrived, Mbps, as shown by the spacing of ACKs; at most `rate_mbps`.
    pub throughput_mbps: f64,
    /// Slope of the RTT over the send time (least squares), seconds per second.
    pub rtt_gradient: f64,
    /// RTT samples.
    pub rtts: RttStats,
}

/// RTT samples of an interval, s.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct RttStats {
    /// Number of samples.
    pub n: u64,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation.
    pub deviation: f64,
    /// Root mean square distance from the line whose slope is the gradient.
    pub residual: f64,
    /// The interval's length.
    pub interval: f64,
}

impl Report {
    /// The loss rate less two standard errors of a rare event's count, or zero: a lower bound that excludes chance.
    pub fn loss_rate_at_least(&self) -> f64 {
        (self.loss_rate - 2.0 * (self.loss_rate / self.sent as f64).sqrt()).max(0.0)
    }
}

#[derive(Clone, Copy, Debug)]
struct Interval {
    target: Rate,
    start: Time,
    /// Earliest end of the interval.
    due: Time,
    /// When the first packet left that does not belong to it.
    end: Time,
    sent: u64,
    lost: u64,
    /// Time when feedback on its packets began, and when feedback on later ones did.
    feedback_start: Option<Time>,
    feedback_end: Option<Time>,
    delivered_after: u64,
    rtts: Regression,
}

impl Monitor {
    /// Creates a monitor without plan; intervals will have at least `min_packets`.
    pub fn new(mss: Bytes, min_packets: u64) -> Monitor {
        Monitor {
            mss,
            min_packets,
            planned: VecDeque::new(),
            open: None,
            awaited: VecDeque::new(),
            reports: Vec::new(),
        }
    }

    /// Discards the current experiments and starts the experiments `rates`.
    pub fn plan(&mut self, rates: impl IntoIterator<Item = Rate>) {
        self.planned.clear();
        self.planned.extend(rates);
        self.open = None;
        self.awaited.clear();
        self.reports.clear();
    }

    /// Returns the rate of the current interval or, if there is none, of the next interval.
    pub fn rate(&self) -> Option<Rate> {
        self.open.map(|i| i.target).or_else(|| self.planned.front().copied())
    }

    /// Processes a sent packet. `length` returns the length of an interval that begins with it.
    pub fn on_send(&mut self, now: Time, length: impl FnOnce() -> Dur) {
        if let Some(open) = &mut self.open {
            if now < open.due || open.sent < self.min_packets {
                open.sent += 1;
                return;
            }
            open.end = now;
            self.awaited.push_back(*open);
            self.open = None;
        }
        if let Some(target) = self.planned.pop_front() {
            self.open = Some(Interval::new(target, now, now + length()));
        }
    }

    /// Processes a lost packet, which belongs to the interval in which it was sent.
    pub fn on_packet_lost(&mut self, lost: &LostPacket) {
        if let Some(interval) = self.holding(lost.sent) {
            interval.lost = (interval.lost + 1).min(interval.sent);
        }
    }

    /// Processes an ACK.
    pub fn on_ack(&mut self, now: Time, ack: &Ack<'_>) {
        if ack.newest.is_none() {
            return;
        }
        let sent = ack.newest_sent;
        if let Some(interval) = self.holding(sent) {
            interval.feedback_start.get_or_insert(now);
            if let Some(rtt) = ack.rtt {
                interval.rtts.add(sent.since(interval.start), rtt);
            }
        }
        for interval in self.awaited.iter_mut().take_while(|i| i.end <= sent) {
            interval.feedback_end.get_or_insert(now);
            interval.delivered_after += ack.acked;
        }
        while let Some(interval) = self.awaited.front().filter(|i| i.delivered_after >= REORDERING_PKTS) {
            self.reports.push(interval.report(self.mss));
            self.awaited.pop_front();
        }
    }

    /// The reports of all experiments of the plan, in its order, once all are in; they are handed out once.
    pub fn take_reports(&mut self) -> Option<Vec<Report>> {
        let is_done = self.planned.is_empty() && self.open.is_none() && self.awaited.is_empty();
        (is_done && !self.reports.is_empty()).then(|| std::mem::take(&mut self.reports))
    }

    /// Returns the interval to which a packet sent at that time belongs.
    fn holding(&mut self, sent: Time) -> Option<&mut Interval> {
        self.open
            .iter_mut()
            .find(|i| i.start <= sent)
            .or_else(|| self.awaited.iter_mut().find(|i| i.start <= sent && sent < i.end))
    }
}

impl Interval {
    fn new(target: Rate, start: Time, due: Time) -> Interval {
        Interval {
            target,
            start,
            due,
            end: Time::NEVER,
            sent: 1,
            lost: 0,
            feedback_start: None,
            feedback_end: None,
            delivered_after: 0,
            rtts: Regression::default(),
        }
    }

    fn report(&self, mss: Bytes) -> Report {
        let sending = self.end.since(self.start);
        let feedback = match (self.feedback_start, self.feedback_end) {
            (Some(start), Some(end)) => end.since(start),
            _ => sending,
        };
        Report {
            target: self.target,
            rate_mbps: (mss * self.sent / sending).as_mbps_f64(),
            sent: self.sent,
            loss_rate: self.lost as f64 / self.sent as f64,
            throughput_mbps: (mss * (self.sent - self.lost) / sending.max(feedback)).as_mbps_f64(),
            rtt_gradient: self.rtts.slope(),
            rtts: self.rtts.stats(sending),
        }
    }
}

/// Sums of a least-squares line through durations, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Regression {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Regression {
    fn add(&mut self, x: Dur, y: Dur) {
        let (x, y) = (x.as_nanos() as f64, y.as_nanos() as f64);
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.xy += x * y;
        self.yy += y * y;
    }

    /// Returns the slope of the line; zero if the points do not determine a line.
    fn slope(&self) -> f64 {
        let spread = self.n * self.xx - self.x * self.x;
        if self.n < 2.0 || spread <= 0.0 { 0.0 } else { (self.n * self.xy - self.x * self.y) / spread }
    }

    /// Returns mean, deviation and residual of the durations in an interval of that length.
    fn stats(&self, interval: Dur) -> RttStats {
        if self.n < 1.0 {
            return RttStats { interval: interval.as_secs_f64(), ..RttStats::default() };
        }
        let mean = self.y / self.n;
        let variance = (self.yy / self.n - mean * mean).max(0.0);
        let explained = self.slope() * (self.xy / self.n - self.x / self.n * mean);
        let to_s = 1.0 / NANOS_PER_SEC as f64;
        RttStats {
            n: self.n as u64,
            mean: mean * to_s,
            deviation: variance.sqrt() * to_s,
            residual: (variance - explained).max(0.0).sqrt() * to_s,
            interval: interval.as_secs_f64(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RateSample, Sender};
    use proptest::prelude::*;

    const MSS: Bytes = Bytes(1500);

    fn ms(t: u64) -> Time {
        Time::from_nanos(t * 1_000_000)
    }

    fn ack(sender: &Sender, sent: Time, rtt: Dur) -> Ack<'_> {
        Ack {
            acked: 1,
            cum_acked: 1,
            lost: 0,
            marked: 0,
            prior_inflight: 1,
            rtt: Some(rtt),
            newest: Some(0),
            newest_sent: sent,
            rate: RateSample::default(),
            sender,
        }
    }

    /// Sends a packet each ms from 0 on, then acknowledges those for which `is_lost` is false, with `rtt` of the send
    /// time.
    fn play(monitor: &mut Monitor, packets: u64, is_lost: impl Fn(u64) -> bool, rtt: impl Fn(u64) -> Dur) {
        let sender = Sender::new(MSS);
        for t in 0..packets {
            monitor.on_send(ms(t), || Dur::from_millis(20));
        }
        for t in 0..packets {
            if is_lost(t) {
                monitor.on_packet_lost(&LostPacket { seq: t, sent: ms(t) });
            } else {
                monitor.on_ack(ms(t) + rtt(t), &ack(&sender, ms(t), rtt(t)));
            }
        }
    }

    #[test]
    fn packets_count_where_they_were_sent() {
        let mut monitor = Monitor::new(MSS, 10);
        let rates = [Rate::from_mbps(12), Rate::from_mbps(13)];
        monitor.plan(rates);
        assert_eq!(monitor.rate(), Some(rates[0]));
        // Intervals are 0..20 and 20..40; the first one loses 2 of 20, the second 1.
        play(&mut monitor, 50, |t| [0, 19, 20, 45].contains(&t), |_| Dur::from_millis(100));
        let reports = monitor.take_reports().expect("feedback is complete");
        assert_eq!(reports.iter().map(|r| r.target).collect::<Vec<_>>(), rates);
        assert_eq!(reports.iter().map(|r| r.loss_rate).collect::<Vec<_>>(), [0.1, 0.05]);
        assert!(reports.iter().all(|r| r.rate_mbps == 12.0 && r.rtt_gradient.abs() < 1e-9));
        assert_eq!(monitor.take_reports(), None);
        assert_eq!(monitor.rate(), None);
    }

    #[test]
    fn feedback_waits_for_losses_to_be_declared() {
        let mut monitor = Monitor::new(MSS, 10);
        monitor.plan([Rate::from_mbps(12)]);
        play(&mut monitor, 22, |_| false, |_| Dur::from_millis(100));
        assert_eq!(monitor.take_reports(), None, "two packets after the interval are not enough");
    }

    #[test]
    fn a_growing_queue_shows_as_slope_and_as_missing_throughput() {
        let mut monitor = Monitor::new(MSS, 10);
        monitor.plan([Rate::from_mbps(12)]);
        // Sent at 12 Mbps, delivered at 10: each ms of sending adds 0.2 ms of queue.
        play(&mut monitor, 30, |_| false, |t| Dur::from_micros(100_000 + 200 * t));
        let report = monitor.take_reports().expect("feedback is complete")[0];
        assert!((report.rtt_gradient - 0.2).abs() < 1e-9);
        assert!((report.throughput_mbps - 10.0).abs() < 1e-4);
    }

    #[test]
    fn the_residual_is_the_noise_around_the_slope() {
        let mut monitor = Monitor::new(MSS, 10);
        monitor.plan([Rate::from_mbps(12)]);
        // 20 samples that rise by 0.2 ms each, and 1 ms more and less by turns
        play(&mut monitor, 30, |_| false, |t| Dur::from_micros(100_000 + 200 * t + 2_000 * (t / 2 % 2)));
        let stats = monitor.take_reports().expect("feedback is complete")[0].rtts;
        assert_eq!((stats.n, stats.interval), (20, 0.02));
        assert!((stats.mean - 0.1029).abs() < 1e-9, "{stats:?}");
        // deviation: 0.2 ms sqrt((20^2 - 1) / 12) and 1 ms, which are correlated; the residual is 1 ms less that part
        assert!((1.5e-3..1.7e-3).contains(&stats.deviation), "{stats:?}");
        assert!((0.95e-3..1.0e-3).contains(&stats.residual), "{stats:?}");
    }

    #[test]
    fn a_new_plan_forgets_the_old_one() {
        let mut monitor = Monitor::new(MSS, 2);
        monitor.plan([Rate::from_mbps(12)]);
        monitor.on_send(ms(0), || Dur::from_millis(1));
        monitor.plan([Rate::from_mbps(6)]);
        assert_eq!(monitor.rate(), Some(Rate::from_mbps(6)));
        play(&mut monitor, 50, |_| false, |_| Dur::from_millis(100));
        assert_eq!(monitor.take_reports().map(|r| r.len()), Some(1));
    }

    proptest! {
        #[test]
        fn reports_are_sane_whatever_happens(
            steps in proptest::collection::vec((0u8..4, 0u64..5_000_000, 0u64..50), 1..300)
        ) {
            let sender = Sender::new(MSS);
            let mut monitor = Monitor::new(MSS, 4);
            let mut now = Time::ZERO;
            let mut sent = vec![Time::ZERO];
            for (kind, ns, back) in steps {
                now += Dur::from_nanos(ns);
                let earlier = sent[sent.len().saturating_sub(1 + back as usize)];
                match kind {
                    0 | 1 => {
                        monitor.on_send(now, || Dur::from_nanos(ns));
                        sent.push(now);
                    }
                    2 => monitor.on_ack(now, &ack(&sender, earlier, now.since(earlier))),
                    _ => monitor.on_packet_lost(&LostPacket { seq: 0, sent: earlier }),
                }
                if let Some(reports) = monitor.take_reports() {
                    for r in reports {
                        prop_assert!((0.0..=1.0).contains(&r.loss_rate));
                        prop_assert!(r.rtt_gradient.is_finite());
                        prop_assert!(r.throughput_mbps <= r.rate_mbps);
                    }
                }
                if monitor.rate().is_none() {
                    monitor.plan([Rate::from_mbps(1), Rate::from_mbps(2)]);
                }
            }
        }
    }
}
