//! Arithmetic in GF(256) with the polynomial of RFC 5510, section 8.1: x^8 + x^4 + x^3 + x^2 + 1.
//!
//! Addition and subtraction are exclusive or. `alpha` = 2 generates all nonzero elements.

/// The field's polynomial; bit i is the coefficient of x^i.
const POLYNOMIAL: u16 = 0b1_0001_1101;
/// Number of nonzero elements, which is the order of `alpha`.
pub const ORDER: usize = 255;

/// Powers of `alpha`, by exponent. The table has two periods, so that the sum of two logarithms needs no remainder.
const EXP: [u8; 2 * ORDER] = exponentials();
/// Logarithm to the base `alpha`; entry 0 is not used.
const LOG: [u8; 256] = logarithms();
/// Table of all products (64 KiB), with a row for each first factor.
static PRODUCTS: [[u8; 256]; 256] = products();

const fn exponentials() -> [u8; 2 * ORDER] {
    let mut table = [0; 2 * ORDER];
    let mut element: u16 = 1;
    let mut i = 0;
    while i < 2 * ORDER {
        table[i] = element as u8;
        element <<= 1;
        if element > 255 {
            element ^= POLYNOMIAL;
        }
        i += 1;
    }
    table
}

const fn logarithms() -> [u8; 256] {
    let mut table = [0; 256];
    let mut i = 0;
    while i < ORDER {
        table[EXP[i] as usize] = i as u8;
        i += 1;
    }
    table
}

const fn products() -> [[u8; 256]; 256] {
    let mut table = [[0; 256]; 256];
    let mut a = 1;
    while a < 256 {
        let mut b = 1;
        while b < 256 {
            table[a][b] = EXP[LOG[a] as usize + LOG[b] as usize];
            b += 1;
        }
        a += 1;
    }
    table
}

/// Returns `alpha` to the power of `i`, which must be below 255.
pub fn power(i: usize) -> u8 {
    EXP[i]
}

/// Returns the product of two elements.
pub fn multiply(a: u8, b: u8) -> u8 {
    PRODUCTS[a as usize][b as usize]
}

/// Returns `a / b`.
///
/// # Panics
/// If `b` is zero.
pub fn divide(a: u8, b: u8) -> u8 {
    assert_ne!(b, 0, "division by zero in GF(256)");
    if a == 0 { 0 } else { EXP[LOG[a as usize] as usize + ORDER - LOG[b as usize] as usize] }
}

/// Adds `factor` times `source` to `sum`, byte by byte.
pub fn add_scaled(sum: &mut [u8], source: &[u8], factor: u8) {
    let row = &PRODUCTS[factor as usize];
    for (s, byte) in sum.iter_mut().zip(source) {
        *s ^= row[*byte as usize];
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Multiplies bit by bit, by the definition of the product of polynomials.
    fn slow(a: u8, b: u8) -> u8 {
        let mut product: u16 = 0;
        for i in 0..8 {
            if b >> i & 1 == 1 {
                product ^= u16::from(a) << i;
            }
        }
        for i in (8..16).rev() {
            if product >> i & 1 == 1 {
                product ^= POLYNOMIAL << (i - 8);
            }
        }
        u8::try_from(product).unwrap()
    }

    #[test]
    fn products_are_those_of_polynomials_and_quotients_undo_them() {
        for a in 0..=255 {
            for b in 0..=255 {
                assert_eq!(multiply(a, b), slow(a, b));
                if b != 0 {
                    assert_eq!(divide(multiply(a, b), b), a);
                }
            }
        }
    }

    #[test]
    fn alpha_reaches_every_element_but_zero() {
        let mut reached: Vec<u8> = (0..ORDER).map(power).collect();
        reached.sort_unstable();
        assert_eq!(reached, (1..=255).collect::<Vec<u8>>());
    }
}
