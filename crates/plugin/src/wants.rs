//! The interests of a controller as `fw_cc.wants`, and back.

use crate::abi::wants as bits;
use fairweir_cca::{Interests, Recovery};

/// Returns the bits that say these interests.
pub(crate) fn of(interests: Interests) -> u64 {
    let Interests { sent, lost, acked, rate_sample, own_recovery, own_ecn, exact_marks, l4s, recovery } = interests;
    let bit = |is_on: bool, bit: u64| if is_on { bit } else { 0 };
    bit(sent, bits::SENT)
        | bit(acked, bits::ACKED)
        | bit(lost, bits::LOST)
        | bit(rate_sample, bits::RATE)
        | bit(own_ecn, bits::MARKS)
        | bit(!own_recovery, bits::PRR)
        | bit(recovery == Recovery::Quic, bits::QUIC)
        | bit(exact_marks, bits::EXACT_MARKS)
        | bit(l4s, bits::L4S)
}

/// Returns the interests that `wants` says; bits without a meaning are ignored.
pub fn interests(wants: u64) -> Interests {
    let wants = |bit: u64| wants & bit != 0;
    Interests {
        sent: wants(bits::SENT),
        acked: wants(bits::ACKED),
        lost: wants(bits::LOST),
        rate_sample: wants(bits::RATE),
        own_recovery: !wants(bits::PRR),
        own_ecn: wants(bits::MARKS),
        exact_marks: wants(bits::EXACT_MARKS),
        l4s: wants(bits::L4S),
        recovery: if wants(bits::QUIC) { Recovery::Quic } else { Recovery::Tcp },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_interest_has_a_bit_of_its_own() {
        let all: Vec<Interests> = (0..=bits::ALL).map(interests).collect();
        for (wants, interest) in (0..=bits::ALL).zip(&all) {
            assert_eq!(of(*interest), wants, "{interest:?}");
        }
    }
}
