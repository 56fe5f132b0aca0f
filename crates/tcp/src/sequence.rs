//! Arithmetic modulo 2^32, for sequence numbers (RFC 9293 §3.4) and timestamps (RFC 7323 §5.2).

/// Returns `to` - `from` modulo 2^32 as a signed number; negative if `to` is before `from`.
#[inline]
pub const fn distance(from: u32, to: u32) -> i32 {
    to.wrapping_sub(from) as i32
}

/// Returns the number nearest to `near` whose low 32 bits are `low`.
#[inline]
pub const fn unwrap(low: u32, near: i64) -> i64 {
    near + distance(near as u32, low) as i64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn distances_have_a_sign() {
        assert_eq!((distance(5, 7), distance(7, 5)), (2, -2));
        assert_eq!((distance(u32::MAX, 1), distance(1, u32::MAX)), (2, -2));
    }

    proptest! {
        #[test]
        fn numbers_within_half_the_space_are_found_again(
            number in -(1i64 << 40)..1i64 << 40, off in -(1i64 << 31)..1i64 << 31
        ) {
            prop_assert_eq!(unwrap(number as u32, number - off), number);
        }
    }
}
