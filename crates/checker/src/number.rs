//! Exact fractions: of machine words while they fit, of any length beyond.

use crate::{MAX_WORD, Result, reject, shown};
use num_integer::Integer;
use num_rational::{BigRational, Ratio};
use num_traits::Signed;
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
        if big.numer().bits() > MAX_BITS || big.denom().bits() > MAX_BITS {
            return reject("a number of too many bits");
        }
        Ok(match (i64::try_from(big.numer()), i64::try_from(big.denom())) {
            (Ok(over), Ok(under)) if over != i64::MIN => Number::Small(Ratio::new_raw(over, under)),
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

    /// Returns `1 / self`; it is not zero.
    pub(crate) fn inverse(&self) -> Result<Number> {
        Number::new(self.big().recip())
    }

    /// Compares with zero.
    pub(crate) fn sign(&self) -> Ordering {
        match self {
            Number::Small(small) => small.numer().cmp(&0),
            Number::Big(big) if big.is_negative() => Ordering::Less,
            Number::Big(_) => Ordering::Greater,
        }
    }

    /// Parses `12` or `12.50`, as a question has it.
    pub(crate) fn decimal(word: &str) -> Option<Number> {
        let (whole, part) = word.split_once('.').unwrap_or((word, "0"));
        let is_digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|c| c.is_ascii_digit());
        if !is_digits(whole) || !is_digits(part) || (whole.starts_with('0') && whole != "0") {
            return None;
        }
        if let (Some(over), "0") = (integer(whole), part) {
            return Some(Number::Small(over.into()));
        }
        Number::new(format!("{whole}{part}/1{}", "0".repeat(part.len())).parse().ok()?).ok()
    }

    /// Parses `-3` or `3/4`, in lowest terms, as a certificate has it.
    pub(crate) fn rational(word: &str) -> Result<Number> {
        let (over, under) = word.split_once('/').unwrap_or((word, "1"));
        match (integer(over), integer(under)) {
            (Some(over), Some(1)) if !word.contains('/') => return Ok(Number::Small(over.into())),
            (Some(over), Some(under)) if under > 1 && over.gcd(&under) == 1 => {
                return Ok(Number::Small(Ratio::new_raw(over, under)));
            }
            _ => {}
        }
        let number: Option<BigRational> = if word.len() <= MAX_WORD { word.parse().ok() } else { None };
        match number.filter(|number| number.to_string() == word) {
            Some(number) => Number::new(number),
            None => reject(format!("not a fraction in lowest terms: {}", shown(word))),
        }
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
    let ((a, a_under), (f, f_under), (b, b_under)) = (a.into_raw(), f.into_raw(), b.into_raw());
    let (product, under) = (f.checked_mul(b)?, f_under.checked_mul(b_under)?);
    let sum = if under == a_under {
        Ratio::new(a.checked_add(product)?, under)
    } else {
        let over = a.checked_mul(under)?.checked_add(product.checked_mul(a_under)?)?;
        Ratio::new(over, under.checked_mul(a_under)?)
    };
    Some(sum).filter(|sum| *sum.numer() != i64::MIN)
}
