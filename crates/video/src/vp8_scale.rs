//! Conversion of VP8's quantizer index, which Salsify controls, to other codecs' scales.

/// AC quantizer steps of indices 0 to 127 (RFC 6386, section 14.1), as runs: first step, increment, length.
const RUNS: [(f64, f64, u32); 5] =
    [(4.0, 1.0, 55), (60.0, 2.0, 29), (119.0, 3.0, 19), (177.0, 4.0, 14), (234.0, 5.0, 11)];
/// A coefficient of VP8's transform is twice that of an orthonormal transform. For an orthonormal transform, H.264's QP
/// 0 has a step of 0.625, and the step doubles every 6 QPs.
const VP8_GAIN: f64 = 2.0;
const H264_STEP: f64 = 0.625;

/// Maximum index.
pub(crate) const MAX_INDEX: f64 = 127.0;
/// Maximum of libvpx's scale, which starts at 0.
const LIBVPX_MAX: f64 = 63.0;

/// Returns the AC step of an index, which need not be an integer.
fn step(index: f64) -> f64 {
    let mut left = index.clamp(0.0, MAX_INDEX);
    for (first, increment, count) in RUNS {
        if left < f64::from(count) {
            return first + increment * left;
        }
        left -= f64::from(count);
    }
    284.0
}

/// Returns the quantizer on the codec's scale that quantizes like VP8's `index`.
pub(crate) fn own_scale(codec: &str, index: f64) -> f64 {
    if codec.contains("264") {
        6.0 * (step(index) / VP8_GAIN / H264_STEP).log2()
    } else {
        index / MAX_INDEX * LIBVPX_MAX
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_those_of_rfc_6386() {
        let expected = [(0.0, 4.0), (54.0, 58.0), (55.0, 60.0), (83.0, 116.0), (84.0, 119.0), (102.0, 173.0)];
        for (index, ac) in expected.into_iter().chain([(116.0, 229.0), (127.0, 284.0)]) {
            assert_eq!(step(index), ac, "{index}");
        }
        assert!((own_scale("x264", 127.0) - 46.97).abs() < 0.01);
        assert_eq!(own_scale("vp8", 127.0), 63.0);
    }
}
