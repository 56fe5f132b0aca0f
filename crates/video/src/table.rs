//! An encoder's measurements of some content: bytes and SSIM of every frame at every quantizer.

use serde::Deserialize;

/// The supported format.
const FORMAT: &str = "fairweir-video-table-1";
/// Size of a frame without a reference, divided by its size when predicted over the largest stride. This is a
/// simplification, because tables contain no key frames.
const INTRA_FACTOR: f64 = 3.0;
/// Relative growth of a frame's size per frame of distance beyond the largest measured stride, and its maximum factor.
const BEYOND: f64 = 0.1;
const MAX_BEYOND: f64 = 2.0;

/// Errors of a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct TableError {
    /// The key in the file, such as `bytes[0][3]`.
    pub key: String,
    /// Why the value is invalid.
    pub reason: String,
}

impl TableError {
    fn new(key: impl Into<String>, reason: impl Into<String>) -> TableError {
        TableError { key: key.into(), reason: reason.into() }
    }
}

impl fairweir_units::Hint for TableError {
    fn message(&self) -> String {
        self.reason.clone()
    }

    fn key(&self) -> Option<&str> {
        Some(&self.key)
    }

    fn hint(&self) -> Option<std::borrow::Cow<'_, str>> {
        Some("`fairweir video tables` measures encoders and writes such files".into())
    }
}

/// Sizes and qualities of looped content, by stride (distance to the reference), quantizer and frame.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Table {
    format: String,
    /// Name of the content, such as `talking-head`.
    pub content: String,
    /// Name of the codec, such as `x264`.
    pub codec: String,
    /// Frames per second.
    pub fps: f64,
    /// Quantizers in increasing order, from fine to coarse.
    qps: Vec<f64>,
    /// Distances to the reference in increasing order, starting with 1.
    strides: Vec<u32>,
    /// Bytes of coded frames, indexed by stride, quantizer and frame.
    bytes: Vec<Vec<Vec<f64>>>,
    /// SSIM of coded frames, 0 to 1, indexed by stride, quantizer and frame.
    ssim: Vec<Vec<Vec<f64>>>,
    /// SSIM of displaying the frame `k` frames earlier, indexed by `k - 1` and frame.
    frozen: Vec<Vec<f64>>,
}

/// A coded frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Coded {
    /// Its size, bytes.
    pub bytes: f64,
    /// SSIM compared with the captured frame, 0 to 1.
    pub ssim: f64,
    /// Its quantizer.
    pub qp: f64,
}

impl Table {
    /// Parses and checks a table's JSON text.
    ///
    /// # Errors
    /// If the JSON is invalid, an array has the wrong length, or a number is out of range.
    pub fn parse(text: &str) -> Result<Table, TableError> {
        let table: Table = serde_json::from_str(text).map_err(|e| TableError::new("table", e.to_string()))?;
        table.check()?;
        Ok(table)
    }

    fn check(&self) -> Result<(), TableError> {
        if self.format != FORMAT {
            let format: String = self.format.chars().take(40).collect();
            return Err(TableError::new("format", format!("must be `{FORMAT}`: `{format}`")));
        }
        if !(self.fps.is_finite() && self.fps > 0.0 && self.fps <= 1000.0) {
            return Err(TableError::new("fps", format!("must be between 0 and 1000: `{}`", self.fps)));
        }
        let increases = |xs: &[f64]| xs.windows(2).all(|w| w[1] > w[0]) && xs.iter().all(|x| x.is_finite());
        if self.qps.len() < 2 || !increases(&self.qps) {
            return Err(TableError::new("qps", "must have at least two quantizers in increasing order"));
        }
        if self.strides.first() != Some(&1) || !self.strides.windows(2).all(|w| w[1] > w[0]) {
            return Err(TableError::new("strides", "must be 1 and then increase"));
        }
        let frames = self.bytes.first().and_then(|b| b.first()).map_or(0, Vec::len);
        if frames < 2 {
            return Err(TableError::new("bytes[0][0]", format!("must have at least two frames: `{frames}`")));
        }
        self.check_cube("bytes", &self.bytes, frames, |x| (1.0..=1e8).contains(&x))?;
        self.check_cube("ssim", &self.ssim, frames, |x| (0.0..=1.0).contains(&x))?;
        if self.frozen.is_empty() {
            return Err(TableError::new("frozen", "must have at least one row"));
        }
        for (k, row) in self.frozen.iter().enumerate() {
            check_row(&format!("frozen[{k}]"), row, frames, |x| (0.0..=1.0).contains(&x))?;
        }
        for (s, by_qp) in self.bytes.iter().enumerate() {
            let means: Vec<f64> = by_qp.iter().map(|row| row.iter().sum::<f64>() / row.len() as f64).collect();
            if let Some(q) = means.windows(2).position(|w| w[1] > w[0]) {
                let reason = "must not be larger on average than at the finer quantizer before it";
                return Err(TableError::new(format!("bytes[{s}][{}]", q + 1), reason));
            }
        }
        Ok(())
    }

    fn check_cube(
        &self,
        key: &str,
        cube: &[Vec<Vec<f64>>],
        frames: usize,
        is_valid: impl Fn(f64) -> bool + Copy,
    ) -> Result<(), TableError> {
        check_len(key, cube.len(), self.strides.len(), "a stride")?;
        for (s, by_qp) in cube.iter().enumerate() {
            check_len(&format!("{key}[{s}]"), by_qp.len(), self.qps.len(), "a quantizer")?;
            for (q, row) in by_qp.iter().enumerate() {
                check_row(&format!("{key}[{s}][{q}]"), row, frames, is_valid)?;
            }
        }
        Ok(())
    }

    /// Returns the number of frames, which are repeated in a loop.
    pub fn frames(&self) -> usize {
        self.bytes[0][0].len()
    }

    /// Returns the SSIM of still displaying the frame `age` frames before `frame`.
    pub fn frozen(&self, frame: usize, age: usize) -> f64 {
        let row = &self.frozen[age.clamp(1, self.frozen.len()) - 1];
        row[frame % row.len()]
    }

    /// Codes `frame` at quantizer `qp` from the reference `distance` frames earlier, or without a reference if `None`.
    ///
    /// Between two quantizers the logarithm of the size and the SSIM in dB are interpolated linearly.
    pub fn at_qp(&self, frame: usize, distance: Option<u32>, qp: f64) -> Coded {
        let (stride, factor) = self.stride(distance);
        let frame = frame % self.frames();
        let last = self.qps.len() - 1;
        let qp = qp.clamp(self.qps[0], self.qps[last]);
        let upper = self.qps.partition_point(|&x| x < qp).clamp(1, last);
        let weight = (qp - self.qps[upper - 1]) / (self.qps[upper] - self.qps[upper - 1]);
        self.between(stride, factor, frame, upper, weight)
    }

    /// Codes `frame` with a size as close to `target` bytes as the quantizers allow.
    pub fn at_size(&self, frame: usize, distance: Option<u32>, target: f64) -> Coded {
        let (stride, factor) = self.stride(distance);
        let frame = frame % self.frames();
        let size = |q: usize| self.bytes[stride][q][frame] * factor;
        let last = self.qps.len() - 1;
        // Only the mean size decreases with the quantizer; a single frame's size may not. Use the first crossing.
        let Some(upper) = (0..=last).find(|&q| size(q) <= target) else {
            return self.between(stride, factor, frame, last, 1.0);
        };
        if upper == 0 {
            return self.between(stride, factor, frame, 1, 0.0);
        }
        let (fine, coarse) = (size(upper - 1), size(upper));
        let weight = if fine > coarse { (fine / target).ln() / (fine / coarse).ln() } else { 1.0 };
        self.between(stride, factor, frame, upper, weight.clamp(0.0, 1.0))
    }

    fn between(&self, stride: usize, factor: f64, frame: usize, upper: usize, weight: f64) -> Coded {
        let log_bytes = |q: usize| (self.bytes[stride][q][frame] * factor).ln();
        let db = |q: usize| ssim_db(self.ssim[stride][q][frame]);
        let mix = |fine: f64, coarse: f64| fine + (coarse - fine) * weight;
        Coded {
            bytes: mix(log_bytes(upper - 1), log_bytes(upper)).exp(),
            ssim: from_db(mix(db(upper - 1), db(upper))),
            qp: mix(self.qps[upper - 1], self.qps[upper]),
        }
    }

    /// Returns the index of the stride for a distance, and the factor on its sizes.
    fn stride(&self, distance: Option<u32>) -> (usize, f64) {
        let last = self.strides.len() - 1;
        let Some(distance) = distance else { return (last, INTRA_FACTOR) };
        let at = self.strides.partition_point(|&s| s < distance).min(last);
        let beyond = f64::from(distance.saturating_sub(self.strides[last]));
        (at, (1.0 + BEYOND * beyond).min(MAX_BEYOND))
    }
}

fn check_len(key: &str, len: usize, expected: usize, what: &str) -> Result<(), TableError> {
    if len == expected {
        return Ok(());
    }
    Err(TableError::new(key, format!("must have {expected} entries, one for each {}: `{len}`", &what[2..])))
}

fn check_row(key: &str, row: &[f64], frames: usize, is_valid: impl Fn(f64) -> bool) -> Result<(), TableError> {
    check_len(key, row.len(), frames, "a frame")?;
    match row.iter().position(|&x| !is_valid(x)) {
        Some(i) => Err(TableError::new(format!("{key}[{i}]"), format!("is out of range: `{}`", row[i]))),
        None => Ok(()),
    }
}

/// Converts an SSIM to dB: -10 log10(1 - SSIM), at most 40 dB, which stands for no visible difference.
pub fn ssim_db(ssim: f64) -> f64 {
    -10.0 * (1.0 - ssim).max(1e-4).log10()
}

fn from_db(db: f64) -> f64 {
    1.0 - 10f64.powf(-db / 10.0)
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// Returns a table from a rate-distortion formula: 40 kB at QP 20, halved every 6 QPs; SSIM 22 dB at QP 20,
    /// decreasing by 0.5 dB per QP.
    pub(crate) fn formula(frames: usize) -> String {
        let qps: Vec<f64> = (0..11).map(|i| 20.0 + 3.0 * f64::from(i)).collect();
        let cube = |value: &dyn Fn(u32, f64, usize) -> f64| -> Vec<Vec<Vec<f64>>> {
            (1..=4).map(|s| qps.iter().map(|&q| (0..frames).map(|f| value(s, q, f)).collect()).collect()).collect()
        };
        let bytes = cube(&|s, q, f| {
            let wave = 1.0 + 0.1 * ((f % 7) as f64 - 3.0) / 3.0;
            (30_000.0 * 2f64.powf(-(q - 20.0) / 6.0) * (1.0 + 0.15 * f64::from(s - 1)) * wave).round().max(40.0)
        });
        let ssim = cube(&|_, q, _| 1.0 - 10f64.powf(-(22.0 - 0.45 * (q - 20.0)) / 10.0));
        let frozen: Vec<Vec<f64>> = (1..=12).map(|k| vec![1.0 - 0.03 * f64::from(k).min(10.0); frames]).collect();
        serde_json::json!({"format": FORMAT, "content": "formula", "codec": "none", "fps": 30.0, "qps": qps,
            "strides": [1, 2, 3, 4], "bytes": bytes, "ssim": ssim, "frozen": frozen})
        .to_string()
    }

    pub(crate) fn table() -> Table {
        Table::parse(&formula(21)).unwrap()
    }

    #[test]
    fn a_size_asked_for_is_met_between_the_quantizers() {
        let table = table();
        for target in [1000.0, 5000.0, 12_345.0, 25_000.0] {
            let coded = table.at_size(3, Some(1), target);
            assert!((coded.bytes - target).abs() < 1e-6 * target, "{coded:?}");
            let again = table.at_qp(3, Some(1), coded.qp);
            assert!((again.bytes - coded.bytes).abs() < 1e-6 * target && (again.ssim - coded.ssim).abs() < 1e-9);
        }
        assert!(table.at_size(3, Some(1), 1.0).bytes > 500.0);
        assert!(table.at_size(3, Some(1), 1e9).bytes < 40_000.0);
        assert!(table.at_qp(3, Some(4), 30.0).bytes > table.at_qp(3, Some(1), 30.0).bytes);
        assert!(table.at_qp(3, Some(9), 30.0).bytes > table.at_qp(3, Some(4), 30.0).bytes);
        assert!(table.at_qp(3, None, 30.0).bytes > table.at_qp(3, Some(9), 30.0).bytes);
    }

    #[test]
    fn a_table_of_the_wrong_length_or_range_is_rejected_with_its_key() {
        let key = |change: &dyn Fn(&mut serde_json::Value)| {
            let mut json: serde_json::Value = serde_json::from_str(&formula(21)).unwrap();
            change(&mut json);
            Table::parse(&json.to_string()).unwrap_err().key
        };
        assert_eq!(key(&|t| t["bytes"][1][2].as_array_mut().unwrap().truncate(20)), "bytes[1][2]");
        assert_eq!(key(&|t| t["ssim"].as_array_mut().unwrap().truncate(3)), "ssim");
        assert_eq!(key(&|t| t["ssim"][0][0][4] = serde_json::json!(1.5)), "ssim[0][0][4]");
        assert_eq!(key(&|t| t["bytes"][3][9][0] = serde_json::json!(-1.0)), "bytes[3][9][0]");
        assert_eq!(key(&|t| t["qps"][1] = serde_json::json!(10.0)), "qps");
        assert_eq!(key(&|t| t["frozen"] = serde_json::json!([])), "frozen");
        assert_eq!(key(&|t| t["strides"][0] = serde_json::json!(2)), "strides");
        assert_eq!(key(&|t| t["format"] = serde_json::json!("other")), "format");
        assert_eq!(key(&|t| t["fps"] = serde_json::json!(0)), "fps");
        assert_eq!(Table::parse("{").unwrap_err().key, "table");
    }
}
