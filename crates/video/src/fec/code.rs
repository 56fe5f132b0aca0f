//! The erasure code: computes repair packets from data packets, and data packets from any sufficient set of packets.

use std::borrow::Cow;

use fairweir_units::Hint;
use thiserror::Error;

use super::field;

/// Maximum number of packets of a code: the number of nonzero elements of the field (RFC 5510, section 8.1).
pub const MAX_PACKETS: usize = field::ORDER;

/// Error: an invalid code or invalid packets.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum FecError {
    /// Numbers of packets for which there is no code.
    #[error("no erasure code has {message} data packets among {total} packets")]
    Counts {
        /// Number of data packets.
        message: usize,
        /// Number of data and repair packets.
        total: usize,
    },
    /// A number of data packets that differs from the code's.
    #[error("{found} data packets, expected {expected}")]
    Message {
        /// Number of data packets of the code.
        expected: usize,
        /// Number of data packets passed.
        found: usize,
    },
    /// Packets of different lengths.
    #[error("packet {index} has {found} bytes, but the first packet has {expected}")]
    Length {
        /// The packet's number in the code.
        index: usize,
        /// Length of the first packet, bytes.
        expected: usize,
        /// Length of this packet, bytes.
        found: usize,
    },
    /// A packet number that the code does not have.
    #[error("index {index} is not below the {total} packets of the code")]
    Index {
        /// The packet number.
        index: usize,
        /// Number of packets of the code.
        total: usize,
    },
    /// A packet that was passed twice.
    #[error("packet {index} is given twice")]
    Twice {
        /// The packet's number.
        index: usize,
    },
    /// Too few packets to recover the data.
    #[error("{found} packets are too few: the code needs {needed}")]
    TooFew {
        /// Number of data packets of the code.
        needed: usize,
        /// Number of packets passed.
        found: usize,
    },
}

impl Hint for FecError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(match self {
            Self::Counts { .. } => Cow::from("1 <= data packets <= all packets <= 255"),
            Self::Message { .. } => "give all data packets of the code, in their order".into(),
            Self::Length { .. } => "pad packets to one length, and carry their own length in them".into(),
            Self::Index { .. } => "packets count from 0: data first, then repair".into(),
            Self::Twice { .. } => "drop duplicates: each packet counts once".into(),
            Self::TooFew { .. } => "any set of as many packets as there are data packets is enough".into(),
        })
    }
}

/// A systematic code of `total` packets, of which the first `message` are data.
#[derive(Clone, Debug)]
pub struct Code {
    message: usize,
    total: usize,
    /// A row for each repair packet: the coefficients of the data packets.
    rows: Vec<Vec<u8>>,
}

impl Code {
    /// Creates a code.
    ///
    /// # Errors
    /// Unless `1 <= message <= total <= 255`.
    pub fn new(message: usize, total: usize) -> Result<Self, FecError> {
        if message == 0 || message > total || total > MAX_PACKETS {
            return Err(FecError::Counts { message, total });
        }
        let data: Vec<usize> = (0..message).collect();
        let lagrange = Lagrange::new(&data);
        let rows = (message..total).map(|place| lagrange.factors(place)).collect();
        Ok(Self { message, total, rows })
    }

    /// Returns the number of data packets.
    pub fn message(&self) -> usize {
        self.message
    }

    /// Returns the number of data and repair packets.
    pub fn total(&self) -> usize {
        self.total
    }

    /// Returns the repair packets of the data packets; entry `i` is packet `message + i` of the code.
    ///
    /// # Errors
    /// If the number of packets is not the code's number of data packets, or packets have different lengths.
    pub fn repair<P: AsRef<[u8]>>(&self, data: &[P]) -> Result<Vec<Vec<u8>>, FecError> {
        if data.len() != self.message {
            return Err(FecError::Message { expected: self.message, found: data.len() });
        }
        let packets: Vec<(usize, &[u8])> = data.iter().map(AsRef::as_ref).enumerate().collect();
        let length = one_length(&packets)?;
        Ok(self.rows.iter().map(|row| combine(row, &packets, length)).collect())
    }

    /// Returns the data packets, recovered from at least `message` packets, which are passed with their numbers in any
    /// order.
    ///
    /// # Errors
    /// If there are too few packets, a packet is passed twice, the code has no packet of a passed number, or packets
    /// have different lengths. Wrong bytes are not detected: this code repairs missing packets, not altered packets.
    pub fn recover<P: AsRef<[u8]>>(&self, received: &[(usize, P)]) -> Result<Vec<Vec<u8>>, FecError> {
        let mut packets: Vec<(usize, &[u8])> = received.iter().map(|(index, bytes)| (*index, bytes.as_ref())).collect();
        if let Some(&(index, _)) = packets.iter().find(|(index, _)| *index >= self.total) {
            return Err(FecError::Index { index, total: self.total });
        }
        let length = one_length(&packets)?;
        // Sort data packets first: data packets that arrived need no arithmetic.
        packets.sort_unstable_by_key(|(index, _)| *index);
        if let Some(pair) = packets.windows(2).find(|pair| pair[0].0 == pair[1].0) {
            return Err(FecError::Twice { index: pair[0].0 });
        }
        if packets.len() < self.message {
            return Err(FecError::TooFew { needed: self.message, found: packets.len() });
        }
        packets.truncate(self.message);
        let places: Vec<usize> = packets.iter().map(|(index, _)| *index).collect();
        let lagrange = Lagrange::new(&places);
        let data = (0..self.message).map(|place| match places.binary_search(&place) {
            Ok(at) => packets[at].1.to_vec(),
            Err(_) => combine(&lagrange.factors(place), &packets, length),
        });
        Ok(data.collect())
    }
}

/// Lagrange interpolation through the values at some powers of `alpha`.
struct Lagrange {
    places: Vec<u8>,
    /// For each place, the product of its differences from the other places.
    weights: Vec<u8>,
}

impl Lagrange {
    /// Prepares the interpolation between `alpha^i` for the packet numbers `i`, which must be distinct.
    fn new(indices: &[usize]) -> Self {
        let places: Vec<u8> = indices.iter().map(|&i| field::power(i)).collect();
        let difference = |x: u8, i: usize| {
            let others = places.iter().enumerate().filter(|(j, _)| *j != i);
            others.fold(1, |product, (_, &other)| field::multiply(product, x ^ other))
        };
        let weights = places.iter().enumerate().map(|(i, &x)| difference(x, i)).collect();
        Self { places, weights }
    }

    /// Returns the coefficient of each known value in the value of packet `index`, which must not be a known packet.
    fn factors(&self, index: usize) -> Vec<u8> {
        let x = field::power(index);
        let all = self.places.iter().fold(1, |product, &place| field::multiply(product, x ^ place));
        let parts = self.places.iter().zip(&self.weights);
        parts.map(|(&place, &weight)| field::divide(all, field::multiply(x ^ place, weight))).collect()
    }
}

fn one_length(packets: &[(usize, &[u8])]) -> Result<usize, FecError> {
    let expected = packets.first().map_or(0, |(_, bytes)| bytes.len());
    match packets.iter().find(|(_, bytes)| bytes.len() != expected) {
        Some(&(index, bytes)) => Err(FecError::Length { index, expected, found: bytes.len() }),
        None => Ok(expected),
    }
}

fn combine(factors: &[u8], packets: &[(usize, &[u8])], length: usize) -> Vec<u8> {
    let mut sum = vec![0; length];
    for (&factor, (_, bytes)) in factors.iter().zip(packets) {
        field::add_scaled(&mut sum, bytes, factor);
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use proptest::sample::subsequence;

    use super::*;

    /// Generates `message` and `total` of a code, its data, and the numbers of the packets that arrive, in order of
    /// arrival.
    fn transmissions() -> impl Strategy<Value = (usize, usize, Vec<Vec<u8>>, Vec<usize>)> {
        (1..=60_usize, 0..=60_usize, 0..40_usize).prop_flat_map(|(message, repair, length)| {
            let data = prop::collection::vec(prop::collection::vec(any::<u8>(), length), message);
            let arrived = subsequence((0..message + repair).collect::<Vec<_>>(), message..=message + repair);
            (Just(message), Just(message + repair), data, arrived.prop_shuffle())
        })
    }

    fn packets(code: &Code, data: &[Vec<u8>]) -> Vec<Vec<u8>> {
        [data.to_vec(), code.repair(data).unwrap()].concat()
    }

    proptest! {
        #[test]
        fn any_sufficient_set_of_packets_recovers_the_data((message, total, data, arrived) in transmissions()) {
            let code = Code::new(message, total).unwrap();
            let all = packets(&code, &data);
            let received: Vec<(usize, &[u8])> = arrived.iter().map(|&i| (i, all[i].as_slice())).collect();
            prop_assert_eq!(code.recover(&received).unwrap(), data);
        }

        #[test]
        fn one_packet_less_is_rejected((message, total, data, arrived) in transmissions()) {
            let code = Code::new(message, total).unwrap();
            let all = packets(&code, &data);
            let received: Vec<(usize, &[u8])> = arrived[..message - 1].iter().map(|&i| (i, all[i].as_slice())).collect();
            prop_assert_eq!(code.recover(&received), Err(FecError::TooFew { needed: message, found: message - 1 }));
        }
    }

    #[test]
    fn every_set_of_four_of_nine_recovers() {
        let code = Code::new(4, 9).unwrap();
        let data: Vec<Vec<u8>> = (0..4_u8).map(|i| (0..9).map(|j| i.wrapping_mul(83) ^ (j * 29)).collect()).collect();
        let all = packets(&code, &data);
        let mut sets = 0;
        for chosen in (0_u32..1 << 9).filter(|bits| bits.count_ones() == 4) {
            let received: Vec<(usize, &Vec<u8>)> =
                (0..9).filter(|i| chosen >> i & 1 == 1).map(|i| (i, &all[i])).collect();
            assert_eq!(code.recover(&received).unwrap(), data);
            sets += 1;
        }
        assert_eq!(sets, 126);
    }

    /// RFC 5510, section 8.2.2: GM = (V_k,k)^-1 * V_k,n, so V_k,k * GM = V_k,n, where v_i,j = alpha^(i*j).
    #[test]
    fn the_generator_matrix_is_that_of_rfc_5510() {
        for (message, total) in [(1, 255), (2, 5), (7, 20), (100, 255), (254, 255)] {
            let code = Code::new(message, total).unwrap();
            let vandermonde = |i: usize, j: usize| field::power(i * j % field::ORDER);
            for i in 0..message {
                for j in message..total {
                    let row = &code.rows[j - message];
                    let sum = (0..message).fold(0, |sum, l| sum ^ field::multiply(vandermonde(i, l), row[l]));
                    assert_eq!(sum, vandermonde(i, j), "{message} of {total}: row {i}, column {j}");
                }
            }
        }
    }

    #[test]
    fn the_largest_codes_recover_from_repair_alone() {
        for (message, total) in [(127, 254), (1, 255), (128, 255)] {
            let code = Code::new(message, total).unwrap();
            let data: Vec<Vec<u8>> = (0..message).map(|i| vec![i as u8, 255 - i as u8]).collect();
            let all = packets(&code, &data);
            let received: Vec<(usize, &Vec<u8>)> = (total - message..total).rev().map(|i| (i, &all[i])).collect();
            assert_eq!(code.recover(&received).unwrap(), data);
        }
    }

    #[test]
    fn invalid_input_is_rejected() {
        for (message, total) in [(0, 4), (5, 4), (3, 256), (256, 256)] {
            assert_eq!(Code::new(message, total).unwrap_err(), FecError::Counts { message, total });
        }
        let code = Code::new(2, 3).unwrap();
        assert_eq!(code.repair(&[b"one"]), Err(FecError::Message { expected: 2, found: 1 }));
        let unequal = FecError::Length { index: 1, expected: 3, found: 4 };
        assert_eq!(code.repair(&[b"one".as_slice(), b"four"]), Err(unequal));
        let unequal = FecError::Length { index: 0, expected: 3, found: 4 };
        assert_eq!(code.recover(&[(2, b"one".as_slice()), (0, b"four")]), Err(unequal));
        assert_eq!(code.recover(&[(0, b"a"), (3, b"b")]), Err(FecError::Index { index: 3, total: 3 }));
        assert_eq!(code.recover(&[(1, b"a"), (1, b"a")]), Err(FecError::Twice { index: 1 }));
        assert_eq!(code.recover::<&[u8]>(&[]), Err(FecError::TooFew { needed: 2, found: 0 }));
    }
}
