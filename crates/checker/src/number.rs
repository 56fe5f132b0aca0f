//! Exact fractions: of machine words while they fit, of any length beyond.

use crate::{MAX_WORD, Result, ensure};
use num_integer::Integer;
use num_rational::{BigRational, Ratio};
use num_traits::Zero;
use std::cmp::Ordering;

/// Bits of the numerator and of the denominator of each number that is computed.
const MAX_BITS: u64 = 4096;

/// A fraction in lowest terms; `Big` only where it does not fit, so that equal numbers look the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Number {
    Small(Ratio<i64>),
    Big(Box<BigRational>),
}

impl Number {
    pub(crate) const ZERO: Number = Number::Small(Ratio::new_raw(0, 1));
    pub(crate) const ONE: Number = Number::Small(Ratio::new_raw(1, 1));
    pub(crate) const MINUS_ONE: Number = Number::Small(Ratio::new_raw(-1, 1));

    fn new(big: BigRational) -> Result<Number> {
        ensure(big.numer().bits().max(big.denom().bits()) <= MAX_BITS, "a number of too many bits")?;
        Ok(match (i64::try_from(big.numer()), i64::try_from(big.denom())) {
            (Ok(over), Ok(under)) => Number::Small(Ratio::new_raw(over, under)),
            _ => Number::Big(Box::new(big)),
        })
    }

    fn big(&self) -> BigRational {
        match self {
            Number::Small(small) => BigRational::new_raw((*small.numer()).into(), (*small.denom()).into()),
            Number::Big(big) => (**big).clone(),
        }
    }

    /// Returns `self + factor * other`.
    pub(crate) fn plus(&self, factor: &Number, other: &Number) -> Result<Number> {
        if let (Number::Small(a), Number::Small(f), Number::Small(b)) = (self, factor, other)
            && let Some(sum) = plus_small(*a, *f, *b)
        {
            return Ok(Number::Small(sum));
        }
        Number::new(self.big() + factor.big() * other.big())
    }

    pub(crate) fn times(&self, other: &Number) -> Result<Number> {
        Number::ZERO.plus(self, other)
    }

    pub(crate) fn inverse(&self) -> Result<Number> {
        ensure(self.sign().is_ne(), "a division by zero")?;
        Number::new(self.big().recip())
    }

    /// Compares with zero.
    pub(crate) fn sign(&self) -> Ordering {
        match self {
            Number::Small(small) => small.numer().cmp(&0),
            Number::Big(big) => big.numer().cmp(&Zero::zero()),
        }
    }

    /// Parses `12` or `12.50`.
    pub(crate) fn decimal(word: &str) -> Result<Number> {
        let (whole, part) = word.split_once('.').unwrap_or((word, ""));
        let fraction = format!("{whole}{part}/1{}", "0".repeat(part.len()));
        Number::new(fraction.parse().map_err(|_| "not a decimal number")?)
    }

    /// Parses `-3` or `3/4`, in lowest terms.
    pub(crate) fn rational(word: &str) -> Result<Number> {
        let (over, under) = word.split_once('/').unwrap_or((word, "1"));
        if let (Some(a), Some(b)) = (integer(over), integer(under))
            && (over == word || (b > 1 && a.gcd(&b) == 1))
        {
            return Ok(Number::Small(Ratio::new_raw(a, b)));
        }
        ensure(word.len() <= MAX_WORD, "a word that is too long")?;
        let big = word.parse().ok().filter(|big: &BigRational| big.to_string() == word);
        Number::new(big.ok_or("not a fraction in lowest terms")?)
    }
}

/// Parses a literal, or the number of a clause: an integer other than 0, of at most 18 digits.
pub(crate) fn integer(word: &str) -> Option<i64> {
    let digits = word.strip_prefix('-').unwrap_or(word);
    let is_digits = digits.len() <= 18 && !digits.starts_with('0') && digits.bytes().all(|c| c.is_ascii_digit());
    if is_digits { word.parse().ok() } else { None }
}

/// Returns `a + f * b` if nothing on the way to it is too long.
fn plus_small(a: Ratio<i64>, f: Ratio<i64>, b: Ratio<i64>) -> Option<Ratio<i64>> {
    let (product, under) = (f.numer().checked_mul(*b.numer())?, f.denom().checked_mul(*b.denom())?);
    if under == *a.denom() {
        return Some(Ratio::new(a.numer().checked_add(product)?, under));
    }
    let over = a.numer().checked_mul(under)?.checked_add(product.checked_mul(*a.denom())?)?;
    Some(Ratio::new(over, under.checked_mul(*a.denom())?))
}
