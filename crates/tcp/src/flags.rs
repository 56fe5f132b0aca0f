//! The flags of the TCP header.

/// A set of flags, as the bits of the header's 14th byte (RFC 9293 §3.1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(pub u8);

impl Flags {
    /// The sender has no more data.
    pub const FIN: Flags = Flags(0x01);
    /// Opens one direction of the connection.
    pub const SYN: Flags = Flags(0x02);
    /// Resets the connection.
    pub const RST: Flags = Flags(0x04);
    /// The sender has no more data to send at present.
    pub const PSH: Flags = Flags(0x08);
    /// The acknowledgement number is valid.
    pub const ACK: Flags = Flags(0x10);
    /// The receiver reports a congestion mark (RFC 3168).
    pub const ECE: Flags = Flags(0x40);
    /// The sender has responded to a congestion mark.
    pub const CWR: Flags = Flags(0x80);

    /// Returns whether all flags of `wanted` are set.
    #[inline]
    pub const fn has(self, wanted: Flags) -> bool {
        self.0 & wanted.0 == wanted.0
    }

    /// Returns the union of both sets.
    #[inline]
    pub const fn and(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Sets or clears `flags`.
    #[inline]
    pub const fn set(&mut self, flags: Flags, is_set: bool) {
        self.0 = if is_set { self.0 | flags.0 } else { self.0 & !flags.0 };
    }

    /// Number of sequence numbers that the flags occupy: one each for SYN and FIN (RFC 9293 §3.4).
    #[inline]
    pub const fn sequence_numbers(self) -> u32 {
        self.has(Flags::SYN) as u32 + self.has(Flags::FIN) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_the_bits_of_the_header() {
        let mut header = etherparse::TcpHeader::new(1, 2, 3, 4);
        (header.fin, header.psh, header.ece) = (true, true, true);
        let byte = header.to_bytes()[13];
        assert_eq!(Flags(byte), Flags::FIN.and(Flags::PSH).and(Flags::ECE));
        (header.fin, header.psh, header.ece) = (false, false, false);
        (header.syn, header.rst, header.ack, header.cwr) = (true, true, true, true);
        let flags = Flags(header.to_bytes()[13]);
        assert_eq!(flags, Flags::SYN.and(Flags::RST).and(Flags::ACK).and(Flags::CWR));
        assert!(flags.has(Flags::SYN.and(Flags::ACK)) && !flags.has(Flags::SYN.and(Flags::FIN)));
    }

    #[test]
    fn syn_and_fin_occupy_a_sequence_number_each() {
        let mut flags = Flags::SYN.and(Flags::ACK);
        assert_eq!(flags.sequence_numbers(), 1);
        flags.set(Flags::FIN, true);
        assert_eq!(flags.sequence_numbers(), 2);
        flags.set(Flags::SYN.and(Flags::FIN), false);
        assert_eq!((flags, flags.sequence_numbers()), (Flags::ACK, 0));
    }
}
