//! VP8's quantizer index, on which Salsify moves, against other codecs' scales.

/// AC quantizer steps of indices 0 to 127 (RFC 6386, section 14.1), as runs: first step, increment, how many.
const RUNS: [(f64, f64, u32); 5] =
    [(4.0, 1.0, 55), (60.0, 2.0, 29), (119.0, 3.0, 19), (177.0, 4.0, 14), (234.0, 5.0, 11)];
/// A coefficient of VP8's transform is twice that of an orthonormal one; H.264's QP 0 is a step of 0.625 on that, and doubles
/// every 6.
const VP8_GAIN: f64 = 2.0;
const H264_STEP: f64 = 0.625;

/// Largest index.
pub(crate) const MAX_INDEX: f64 = 127.0;
/// libvpx's scale, of 0 to 63.
const LIBVPX_MAX: f64 = 63.0;

/// Returns the AC step of an index, which may lie between two.
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

/// Returns the quantizer of a codec's own scale that quantizes as VP8's `index` does.
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
