//! Delay, quality and frame rate, measured at the receiver with one definition for all senders.

use crate::encoder::Encoder;
use crate::table::ssim_db;
use serde::Serialize;

/// Final record of a captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FrameRecord {
    /// When it was captured, ms.
    pub captured_ms: f64,
    /// Its fate: `shown`, `lost` (sent and never decodable), `late` (decoded after a newer one), `skipped` (not coded),
    /// `dropped` (coded and not sent), `pending` (in transit at the end).
    pub fate: Fate,
    /// When its packets were handed to the pacer, ms.
    pub sent_ms: Option<f64>,
    /// When it was shown, ms.
    pub shown_ms: Option<f64>,
    /// Its coded size, bytes.
    pub bytes: f64,
    /// Packets that suffice to restore its group.
    pub message: u32,
    /// Packets sent for its group, message and repair.
    pub total: u32,
    /// Distance to its reference in frames; 0: coded without one.
    pub distance: u32,
    /// SSIM of the picture on display for it, dB: its own, or that of the frame still shown.
    pub ssim_db: f64,
}

/// Fate of a captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// Decoded and displayed.
    Shown,
    /// Sent and never decoded.
    Lost,
    /// Decoded when a newer frame had been shown.
    Late,
    /// Never coded.
    Skipped,
    /// Coded and never sent.
    Dropped,
    /// In transit when the run ended.
    Pending,
}

/// Metrics of one run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Metrics {
    /// Frames captured in the time that counts.
    pub captured: u64,
    /// Frames shown among them.
    pub shown: u64,
    /// Frames never coded.
    pub skipped: u64,
    /// Displayed frames per second.
    pub fps: f64,
    /// Median time from capture to display over frames shown, ms.
    pub delay_p50_ms: f64,
    /// 95th percentile of that time, ms.
    pub delay_p95_ms: f64,
    /// SSIM of the picture on display for each captured frame, frozen ones included: 25th percentile, dB.
    pub ssim_p25_db: f64,
    /// Median of that SSIM, dB.
    pub ssim_p50_db: f64,
    /// Mean of that SSIM, dB.
    pub ssim_mean_db: f64,
}

/// The `p`-quantile of sorted numbers, linearly interpolated; NaN if there are none.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = p * last as f64;
    let low = at.floor() as usize;
    sorted[low] + (sorted[(low + 1).min(last)] - sorted[low]) * (at - low as f64)
}

/// Fills in the SSIM of the picture on display for each frame: its own, or that of the newest frame shown before it.
pub(crate) fn fill_display(records: &mut [FrameRecord], own: impl Fn(usize) -> f64, encoder: &mut dyn Encoder) {
    let mut newest = None;
    for (i, record) in records.iter_mut().enumerate() {
        let ssim = if record.fate == Fate::Shown {
            newest = Some(i as u32);
            own(i)
        } else {
            encoder.frozen(i as u32, newest)
        };
        record.ssim_db = ssim_db(ssim);
    }
}

impl Metrics {
    /// Computes the metrics of frames captured at `fps` a second.
    pub fn of(records: &[FrameRecord], fps: f64) -> Metrics {
        let mut delays: Vec<f64> = records.iter().filter_map(|r| Some(r.shown_ms? - r.captured_ms)).collect();
        delays.sort_by(f64::total_cmp);
        let mut qualities: Vec<f64> = records.iter().map(|r| r.ssim_db).collect();
        qualities.sort_by(f64::total_cmp);
        let shown = delays.len() as f64;
        Metrics {
            captured: records.len() as u64,
            shown: delays.len() as u64,
            skipped: records.iter().filter(|r| r.fate == Fate::Skipped).count() as u64,
            fps: if records.is_empty() { 0.0 } else { fps * shown / records.len() as f64 },
            delay_p50_ms: quantile(&delays, 0.5),
            delay_p95_ms: quantile(&delays, 0.95),
            ssim_p25_db: quantile(&qualities, 0.25),
            ssim_p50_db: quantile(&qualities, 0.5),
            ssim_mean_db: qualities.iter().sum::<f64>() / qualities.len().max(1) as f64,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_neighbours() {
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0, 5.0], 0.5), 3.0);
        assert_eq!(quantile(&[1.0, 2.0], 0.25), 1.25);
        assert!(quantile(&[], 0.5).is_nan());
    }
}
