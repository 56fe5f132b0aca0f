//! Intervals of real numbers whose ends are rounded outward, so that they contain the exact result for any rounding.
//!
//! IEEE 754 requires `+ - * /` to round to a nearest number, so the exact result lies between the neighbors of the
//! rounded result. No other function of the platform is used.

use std::ops::{Add, Div, Mul, Neg, Sub};

/// All reals between two numbers, both included.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower end.
    pub lo: f64,
    /// The upper end.
    pub hi: f64,
}

impl Interval {
    /// Returns the interval from `lo` to `hi`.
    ///
    /// # Panics
    ///
    /// If `lo > hi`, which is an error of the caller.
    pub fn new(lo: f64, hi: f64) -> Self {
        assert!(lo <= hi, "ends out of order: {lo} {hi}");
        Self { lo, hi }
    }

    /// Returns the interval that contains only `x`.
    pub const fn point(x: f64) -> Self {
        Self { lo: x, hi: x }
    }

    /// Returns the smallest interval that contains both intervals.
    pub fn hull(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Returns the intersection, or `None` if it is empty.
    pub fn meet(self, other: Self) -> Option<Self> {
        let (lo, hi) = (self.lo.max(other.lo), self.hi.min(other.hi));
        (lo <= hi).then_some(Self { lo, hi })
    }

    /// Returns the range of `max(x, y)` over all members x and y.
    pub fn max(self, other: Self) -> Self {
        Self { lo: self.lo.max(other.lo), hi: self.hi.max(other.hi) }
    }

    /// Returns the range of `min(x, y)` over all members x and y.
    pub fn min(self, other: Self) -> Self {
        Self { lo: self.lo.min(other.lo), hi: self.hi.min(other.hi) }
    }

    /// Removes the term `term` from a sum of intervals and returns the sum of the other terms.
    ///
    /// This is not `self - term`, which would count the width of `term` twice.
    pub fn without(self, term: Self) -> Self {
        outward(self.lo - term.lo, self.hi - term.hi)
    }

    /// Returns whether `x` is in the interval.
    pub fn contains(self, x: f64) -> bool {
        self.lo <= x && x <= self.hi
    }
}

fn outward(lo: f64, hi: f64) -> Interval {
    Interval { lo: lo.next_down(), hi: hi.next_up() }
}

impl Add for Interval {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        outward(self.lo + other.lo, self.hi + other.hi)
    }
}

impl Sub for Interval {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        outward(self.lo - other.hi, self.hi - other.lo)
    }
}

impl Neg for Interval {
    type Output = Self;
    fn neg(self) -> Self {
        Self { lo: -self.hi, hi: -self.lo }
    }
}

impl Mul for Interval {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        let products = [self.lo * other.lo, self.lo * other.hi, self.hi * other.lo, self.hi * other.hi];
        let lo = products.into_iter().fold(f64::INFINITY, f64::min);
        let hi = products.into_iter().fold(f64::NEG_INFINITY, f64::max);
        outward(lo, hi)
    }
}

impl Div for Interval {
    type Output = Self;

    /// # Panics
    ///
    /// If the divisor is not positive; no caller divides by a quantity that may be zero.
    fn div(self, other: Self) -> Self {
        assert!(other.lo > 0.0, "divisor must be positive: {} to {}", other.lo, other.hi);
        let lo = if self.lo >= 0.0 { self.lo / other.hi } else { self.lo / other.lo };
        let hi = if self.hi >= 0.0 { self.hi / other.lo } else { self.hi / other.hi };
        outward(lo, hi)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use num_rational::BigRational;
    use proptest::prelude::*;

    fn exact(x: f64) -> BigRational {
        BigRational::from_float(x).expect("a finite number")
    }

    fn encloses(interval: Interval, x: &BigRational) -> bool {
        exact(interval.lo) <= *x && *x <= exact(interval.hi)
    }

    /// Generates an interval and a member of it.
    fn interval() -> impl Strategy<Value = (Interval, f64)> {
        // Rounding errors show in intervals of zero width and at the ends.
        let width = prop_oneof![Just(0.0), 0.0..1e2_f64];
        let at = prop_oneof![Just(0.0), Just(1.0), 0.0..=1.0_f64];
        (-1e3..1e3_f64, width, at).prop_map(|(lo, width, at)| {
            let interval = Interval::new(lo, lo + width);
            (interval, (lo + width * at).clamp(interval.lo, interval.hi))
        })
    }

    proptest! {
        #[test]
        fn results_enclose_the_exact_ones((a, x) in interval(), (b, y) in interval()) {
            let (ex, ey) = (exact(x), exact(y));
            prop_assert!(encloses(a + b, &(&ex + &ey)));
            prop_assert!(encloses(a - b, &(&ex - &ey)));
            prop_assert!(encloses(a * b, &(&ex * &ey)));
            prop_assert!(encloses(-a, &-&ex));
            prop_assert!(encloses((a + b).without(b), &ex));
            let divisor = Interval::new(b.lo.abs() + 0.5, b.lo.abs() + 0.5 + (b.hi - b.lo));
            for end in [divisor.lo, divisor.hi] {
                prop_assert!(encloses(a / divisor, &(&ex / exact(end))));
            }
        }
    }

    #[test]
    fn a_tenth_is_enclosed_and_not_hit() {
        let tenth = Interval::point(1.0) / Interval::point(10.0);
        assert!(tenth.lo < tenth.hi);
        assert!(encloses(tenth, &BigRational::new(1.into(), 10.into())));
    }

    #[test]
    fn min_and_max_act_on_members() {
        let (a, b) = (Interval::new(1.0, 4.0), Interval::new(2.0, 3.0));
        assert_eq!(a.max(b), Interval::new(2.0, 4.0));
        assert_eq!(a.min(b), Interval::new(1.0, 3.0));
        assert_eq!(a.meet(b), Some(b));
        assert_eq!(Interval::point(1.0).meet(b), None);
        assert_eq!(Interval::point(1.0).hull(b), Interval::new(1.0, 3.0));
    }

    #[test]
    #[should_panic(expected = "divisor must be positive")]
    fn division_by_what_may_be_zero_is_a_mistake() {
        let _ = Interval::point(1.0) / Interval::new(0.0, 1.0);
    }
}
