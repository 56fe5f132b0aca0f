//! The random generator SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014).

/// A generator whose state has eight bytes, for streams of which there are many: one per flow.
///
/// ```
/// use fairweir_units::SplitMix64;
///
/// assert_eq!(SplitMix64::new(0).next_u64(), 0xE220_A839_7B1D_CDAF);
/// ```
#[derive(Clone, Debug)]
pub struct SplitMix64(u64);

impl SplitMix64 {
    /// Increment of the state with each number: 2^64 divided by the golden ratio.
    pub const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

    /// Creates the generator with a state.
    pub fn new(state: u64) -> SplitMix64 {
        SplitMix64(state)
    }

    /// Returns the next number.
    #[inline(always)]
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(Self::GAMMA);
        Self::mix(self.0)
    }

    /// Returns the number that belongs to a state.
    #[inline(always)]
    pub fn mix(state: u64) -> u64 {
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Fills `bytes` with the numbers that `next` returns, in little-endian order.
    pub fn fill(bytes: &mut [u8], mut next: impl FnMut() -> u64) {
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&next().to_le_bytes()[..chunk.len()]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_the_published_ones() {
        // The first numbers of the reference code (splitmix64.c by Vigna) from the state 0.
        let mut random = SplitMix64::new(0);
        let expected = [0xE220_A839_7B1D_CDAF, 0x6E78_9E6A_A1B9_65F4, 0x06C4_5D18_8009_454F];
        assert_eq!(expected.map(|_| random.next_u64()), expected);
    }

    #[test]
    fn bytes_are_filled_to_the_last() {
        let (mut bytes, mut random) = ([0; 11], SplitMix64::new(0));
        SplitMix64::fill(&mut bytes, || random.next_u64());
        assert_eq!(bytes[..8], 0xE220_A839_7B1D_CDAF_u64.to_le_bytes());
        assert_eq!(bytes[8..], 0x6E78_9E6A_A1B9_65F4_u64.to_le_bytes()[..3]);
    }
}
