//! exp, ln and pow, computed with basic IEEE 754 operations. Unlike those of the C library, the results are identical
//! on every machine. The relative error is below 1e-13, except for results close to overflow or underflow.

/// The leading 32 bits of ln 2; products with small integers are exact.
const LN_2_HI: f64 = 6.931_471_803_691_238e-1;
/// ln 2 minus [`LN_2_HI`].
const LN_2_LO: f64 = 1.908_214_929_270_587_7e-10;
/// exp overflows above this.
const EXP_MAX: f64 = 709.0;
/// exp returns zero below this, because its value would be subnormal.
const EXP_MIN: f64 = -708.0;
/// Number of Taylor terms of exp on |r| <= ln(2)/2; the first omitted term is below 1e-17.
const EXP_TERMS: u32 = 14;
/// Number of terms of the atanh series of ln on |s| <= 0.172; the first omitted term is below 1e-18.
const LN_TERMS: u32 = 12;

/// Returns e to the power `x`; 0 below -708, infinity above 709, NaN for NaN.
pub fn exp(x: f64) -> f64 {
    if x.is_nan() {
        return x;
    }
    if x > EXP_MAX {
        return f64::INFINITY;
    }
    if x < EXP_MIN {
        return 0.0;
    }
    let doublings = (x / std::f64::consts::LN_2).round();
    let r = (x - doublings * LN_2_HI) - doublings * LN_2_LO;
    let mut sum = 1.0;
    for term in (1..=EXP_TERMS).rev() {
        sum = 1.0 + sum * r / f64::from(term);
    }
    sum * power_of_two(doublings as i64)
}

/// Returns the natural logarithm of `x`; minus infinity for zero, NaN for negative `x`.
pub fn ln(x: f64) -> f64 {
    if x.is_nan() || x < 0.0 {
        return f64::NAN;
    }
    if x == 0.0 {
        return f64::NEG_INFINITY;
    }
    if x.is_infinite() {
        return x;
    }
    let (mut mantissa, mut exponent) = split(x);
    if mantissa > std::f64::consts::SQRT_2 {
        mantissa /= 2.0;
        exponent += 1;
    }
    // ln m = 2 atanh((m - 1) / (m + 1))
    let s = (mantissa - 1.0) / (mantissa + 1.0);
    let square = s * s;
    let mut sum = 0.0;
    for term in (0..LN_TERMS).rev() {
        sum = sum * square + 1.0 / f64::from(2 * term + 1);
    }
    exponent as f64 * LN_2_HI + (2.0 * s * sum + exponent as f64 * LN_2_LO)
}

/// Returns `x` to the power `y`, for `x >= 0`; NaN for negative `x`.
pub fn pow(x: f64, y: f64) -> f64 {
    if y == 0.0 {
        return 1.0;
    }
    exp(y * ln(x))
}

/// Returns 2 to the power `n`, for `n` in -1022..=1023.
fn power_of_two(n: i64) -> f64 {
    f64::from_bits(((n + 1023) as u64) << 52)
}

/// Returns mantissa and exponent of a positive finite `x`: `x = mantissa * 2^exponent`, with the mantissa in [1, 2).
fn split(x: f64) -> (f64, i64) {
    const TWO_TO_54: f64 = 18_014_398_509_481_984.0;
    let (x, shift) = if x < f64::MIN_POSITIVE { (x * TWO_TO_54, 54) } else { (x, 0) };
    let bits = x.to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i64 - 1023;
    let mantissa = f64::from_bits((bits & ((1 << 52) - 1)) | (1023 << 52));
    (mantissa, exponent - shift)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn close(ours: f64, theirs: f64) -> bool {
        (ours - theirs).abs() <= 1e-12 * theirs.abs()
    }

    #[test]
    fn edges_are_those_of_the_real_functions() {
        assert_eq!(exp(0.0), 1.0);
        assert_eq!(exp(f64::NEG_INFINITY), 0.0);
        assert_eq!(exp(f64::INFINITY), f64::INFINITY);
        assert!(exp(f64::NAN).is_nan());
        assert_eq!(ln(1.0), 0.0);
        assert_eq!(ln(0.0), f64::NEG_INFINITY);
        assert!(ln(-1.0).is_nan());
        assert_eq!(pow(0.0, 0.9), 0.0);
        assert_eq!(pow(0.0, 0.0), 1.0);
        assert_eq!(pow(1.0, 1e6), 1.0);
    }

    #[test]
    fn results_are_these_bits_everywhere() {
        assert_eq!(exp(-3.0).to_bits(), 0x3fa9_7db0_ccce_b0af);
        assert_eq!(ln(10.0).to_bits(), 0x4002_6bb1_bbb5_5516);
        assert_eq!(pow(96.0, 0.9).to_bits(), 0x404e_68eb_2d77_b854);
    }

    proptest! {
        #[test]
        fn exp_agrees_with_the_library(x in -700.0..700.0) {
            prop_assert!(close(exp(x), x.exp()), "{} {}", exp(x), x.exp());
        }

        #[test]
        fn ln_agrees_with_the_library(exponent in -300.0..300.0, near_one in 0.5..2.0) {
            let x = 10f64.powf(exponent);
            prop_assert!(close(ln(x), x.ln()), "{} {}", ln(x), x.ln());
            prop_assert!((ln(near_one) - near_one.ln()).abs() <= 1e-15 + 1e-12 * near_one.ln().abs());
        }

        #[test]
        fn pow_agrees_with_the_library(x in 1e-6..1e6, y in -4.0..4.0) {
            prop_assert!(close(pow(x, y), x.powf(y)), "{} {}", pow(x, y), x.powf(y));
        }
    }
}
