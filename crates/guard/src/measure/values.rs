//! The value of every feature.

use super::{Monitor, Window};
use crate::features::{Cell, IntervalStat, Plan, Raw, Row, Smoothed, WindowStat};
use crate::model::Model;

fn fraction(lost: u64, arrived: u64) -> f64 {
    if lost == 0 { 0.0 } else { lost as f64 / (lost + arrived) as f64 }
}

impl Monitor {
    /// Writes the plan's features at the latest arrival.
    pub fn fill(&self, plan: &Plan, row: &mut Row) {
        for (slot, cell) in plan.cells().iter().enumerate() {
            let value = match *cell {
                Cell::Raw(raw) => self.raw(raw),
                Cell::Average { group, index } => self.averages.get(group, index),
                Cell::Window { window, stat } => self.window(plan, window).and_then(|w| self.windowed(stat, &w)),
                Cell::Intervals { n, stat } => self.by_intervals(stat, n),
            };
            row.set(slot, value);
        }
    }

    /// The sample that the latest arrival adds to an average: an RTT only if one was measured.
    pub(crate) fn sample(&self, of: Smoothed) -> Option<f64> {
        match of {
            Smoothed::Rtt | Smoothed::RttRatio if self.latest.rtt.is_none() => None,
            // Without a loss at this packet, the published features use 1, where the formula would be infinite.
            Smoothed::InvSqrtLossRate => Some(match self.loss_rate() {
                p if p > 0.0 => 1.0 / p.sqrt(),
                _ => 1.0,
            }),
            Smoothed::Rtt => self.rtt_us(),
            Smoothed::RttRatio => self.rtt_ratio(),
            Smoothed::Interarrival => self.interarrival_us(),
            Smoothed::ArrivalRate => self.arrival_rate_mbps(),
            Smoothed::LossRate => Some(self.loss_rate()),
            Smoothed::Mathis => self.mathis_mbps(),
        }
    }

    fn rtt_us(&self) -> Option<f64> {
        self.rtt.latest().map(|rtt| rtt.as_nanos() as f64 / 1e3)
    }
    fn min_rtt_us(&self) -> Option<f64> {
        self.rtt.min().map(|rtt| rtt.as_nanos() as f64 / 1e3)
    }
    fn rtt_ratio(&self) -> Option<f64> {
        Some(self.rtt_us()? / self.min_rtt_us()?)
    }
    fn interarrival_us(&self) -> Option<f64> {
        Some(self.latest.gap?.as_nanos() as f64 / 1e3 / f64::from(self.latest.segs))
    }
    fn arrival_rate_mbps(&self) -> Option<f64> {
        Some(8e3 * f64::from(self.latest.wire) / self.latest.gap?.as_nanos() as f64)
    }
    fn loss_rate(&self) -> f64 {
        fraction(self.latest.lost, u64::from(self.latest.segs))
    }
    fn mathis_mbps(&self) -> Option<f64> {
        Model::Mathis.mbps(self.mss(), self.rtt_us(), self.loss_rate())
    }

    fn raw(&self, raw: Raw) -> Option<f64> {
        match raw {
            Raw::Sequence => Some(f64::from(self.latest.seq_offset)),
            Raw::Age => Some(self.age().as_nanos() as f64 / 1e3),
            Raw::Rtt => self.rtt_us(),
            Raw::MinRtt => self.min_rtt_us(),
            Raw::RttRatio => self.rtt_ratio(),
            Raw::Interarrival => self.interarrival_us(),
            Raw::ArrivalRate => self.arrival_rate_mbps(),
            Raw::Lost => Some(self.latest.lost as f64),
            Raw::LossRate => Some(self.loss_rate()),
            Raw::Mathis => self.mathis_mbps(),
            Raw::WireBytes => Some(self.sums.wire as f64),
            Raw::PayloadBytes => Some(self.payload as f64),
        }
    }

    fn windowed(&self, stat: WindowStat, window: &Window) -> Option<f64> {
        let p = fraction(window.lost, window.segs);
        let rtt_us = window.rtt_ns.map(|ns| ns / 1e3);
        let span_us = (window.span.as_nanos() > 0).then_some(window.span.as_nanos() as f64 / 1e3);
        match stat {
            WindowStat::Rtt => rtt_us,
            WindowStat::RttRatio => Some(rtt_us? / self.min_rtt_us()?),
            WindowStat::Interarrival => Some(span_us? / window.segs as f64),
            WindowStat::ArrivalRate => {
                let wire = f64::from(self.latest.wire) / f64::from(self.latest.segs.max(1));
                Some(8.0 * wire * window.segs as f64 / span_us?)
            }
            WindowStat::LossRate => Some(p),
            WindowStat::InvSqrtLossRate => (p > 0.0).then(|| 1.0 / p.sqrt()),
            WindowStat::Mathis => Model::Mathis.mbps(self.mss(), rtt_us, p),
            WindowStat::Throughput => Some(8.0 * window.wire as f64 / span_us?),
        }
    }

    fn by_intervals(&self, stat: IntervalStat, n: usize) -> Option<f64> {
        let p = self.loss_event_rate(n)?;
        match stat {
            IntervalStat::LossEventRate => Some(p),
            IntervalStat::InvSqrtLossEventRate => Some(1.0 / p.sqrt()),
            IntervalStat::Mathis => Model::Mathis.mbps(self.mss(), self.rtt_us(), p),
        }
    }
}
