//! Delay, quality and frame rate, measured at the receiver with the same definition for all senders.

use crate::encoder::Encoder;
use crate::table::ssim_db;
use serde::Serialize;

/// Final record of a captured frame.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct FrameRecord {
    /// Time of its capture, ms.
    pub captured_ms: f64,
    /// Its fate: `shown`, `lost` (sent and never decodable), `late` (decoded after a newer frame was shown), `skipped`
    /// (not coded), `dropped` (coded and not sent) or `pending` (in transit at the end).
    pub fate: Fate,
    /// Time at which its packets were passed to the pacer, ms.
    pub sent_ms: Option<f64>,
    /// Time at which it was shown, ms.
    pub shown_ms: Option<f64>,
    /// Its coded size, bytes.
    pub bytes: f64,
    /// Number of packets that suffice to restore its group.
    pub message: u32,
    /// Number of packets sent for its group, including repair packets.
    pub total: u32,
    /// Distance to its reference, frames; 0 if it was coded without a reference.
    pub distance: u32,
    /// SSIM, dB, of the picture displayed for this frame: this frame, or an older frame that is still displayed.
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
    /// Decoded after a newer frame was shown.
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
    /// Number of frames captured in the measured time.
    pub captured: u64,
    /// Number of these frames that were shown.
    pub shown: u64,
    /// Number of these frames that were never coded.
    pub skipped: u64,
    /// Displayed frames per second.
    pub fps: f64,
    /// Median time from capture to display of the shown frames, ms.
    pub delay_p50_ms: f64,
    /// 95th percentile of the time from capture to display, ms.
    pub delay_p95_ms: f64,
    /// 25th percentile of the SSIM of the picture displayed for each captured frame, including frozen pictures, dB.
    pub ssim_p25_db: f64,
    /// Median of this SSIM, dB.
    pub ssim_p50_db: f64,
    /// Mean of this SSIM, dB.
    pub ssim_mean_db: f64,
}

/// Returns the `p`-quantile of sorted numbers, linearly interpolated, or NaN if there are no numbers.
pub fn quantile(sorted: &[f64], p: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let at = p * last as f64;
    let low = at.floor() as usize;
    sorted[low] + (sorted[(low + 1).min(last)] - sorted[low]) * (at - low as f64)
}

/// Sets each frame's SSIM to that of the picture displayed for it: the frame itself, or the newest frame shown before
/// it.
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
    /// Computes the metrics of frames that are captured at `fps` frames per second.
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
