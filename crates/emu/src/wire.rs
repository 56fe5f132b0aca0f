//! Parses the fields of a frame that the emulator needs, and sets the CE mark.

use crate::address::flow_between;
use crate::tun::VNET_HEADER_BYTES;
use etherparse::{IpNumber, Ipv4HeaderSlice, TcpHeaderSlice};
use fairweir_path::Ecn;
use fairweir_tcp::{Options, SackBlocks};

/// Offsets in the IPv4 header of the byte with the ECN bits and of the checksum.
const TOS_OFFSET: usize = 1;
const CHECKSUM_OFFSET: usize = 10;
/// The ECN field and its value CE (RFC 3168 §5).
const ECN_BITS: u8 = 0b11;
const CE: u8 = 0b11;
/// Offset of `gso_size`, in the machine's byte order, in `struct virtio_net_hdr`.
const GSO_SIZE_OFFSET: usize = 4;

/// An IPv4 packet of a flow. If the device segments, the frame contains several packets with a common header.
#[derive(Clone, Debug)]
pub(crate) struct View<'a> {
    pub(crate) flow: usize,
    /// Bytes on the wire, including the headers of each packet.
    pub(crate) bytes: u64,
    /// Number of packets on the wire.
    pub(crate) packets: u32,
    pub(crate) ecn: Ecn,
    pub(crate) tcp: Option<TcpHeaderSlice<'a>>,
    /// Bytes of TCP payload.
    pub(crate) data_bytes: u32,
}

impl<'a> View<'a> {
    /// Parses the packet after the first `header_bytes` of `frame`; returns `None` if the packet belongs to no flow.
    #[inline]
    pub(crate) fn new(frame: &'a [u8], header_bytes: usize) -> Option<View<'a>> {
        let packet = frame.get(header_bytes..)?;
        let ip = Ipv4HeaderSlice::from_slice(packet).ok()?;
        let flow = flow_between(ip.source(), ip.destination())?;
        let total = usize::from(ip.total_len());
        let headers = ip.slice().len();
        let mut view = View {
            flow,
            bytes: total as u64,
            packets: 1,
            // RFC 3168 §5; no sender sends CE
            ecn: match ip.ecn().value() {
                0b01 => Ecn::Ect1,
                0b10 => Ecn::Ect0,
                _ => Ecn::NotEct,
            },
            tcp: None,
            data_bytes: 0,
        };
        if ip.protocol() == IpNumber::TCP {
            let tcp = TcpHeaderSlice::from_slice(packet.get(headers..)?).ok()?;
            let headers = headers + tcp.slice().len();
            view.data_bytes = total.checked_sub(headers)? as u32;
            view.tcp = Some(tcp);
            let segment = if header_bytes == VNET_HEADER_BYTES { segment_bytes(frame) } else { 0 };
            if segment > 0 {
                view.packets = view.data_bytes.div_ceil(segment).max(1);
                view.bytes += u64::from(view.packets - 1) * headers as u64;
            }
        }
        Some(view)
    }

    /// Returns the SACK blocks as ranges `[start, end)` of sequence numbers.
    pub(crate) fn sacks(&self) -> SackBlocks {
        self.tcp.as_ref().map_or_else(SackBlocks::default, |tcp| Options::parse(tcp.options()).sack)
    }
}

/// Returns the payload size of each packet into which the device segments the frame; 0 if the frame is one packet.
fn segment_bytes(frame: &[u8]) -> u32 {
    u32::from(u16::from_ne_bytes([frame[GSO_SIZE_OFFSET], frame[GSO_SIZE_OFFSET + 1]]))
}

/// Sets the CE mark of an ECN-capable packet.
pub(crate) fn mark_ce(packet: &mut [u8]) {
    let before = u16::from_be_bytes([packet[0], packet[TOS_OFFSET]]);
    packet[TOS_OFFSET] = packet[TOS_OFFSET] & !ECN_BITS | CE;
    let after = u16::from_be_bytes([packet[0], packet[TOS_OFFSET]]);
    // RFC 1624 §3: HC' = ~(~HC + ~m + m').
    let checksum = u16::from_be_bytes([packet[CHECKSUM_OFFSET], packet[CHECKSUM_OFFSET + 1]]);
    let mut sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
    sum = (sum & 0xFFFF) + (sum >> 16);
    sum = (sum & 0xFFFF) + (sum >> 16);
    let [high, low] = (!(sum as u16)).to_be_bytes();
    (packet[CHECKSUM_OFFSET], packet[CHECKSUM_OFFSET + 1]) = (high, low);
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::address::{receiver, sender};
    use etherparse::{IpEcn, Ipv4Header, TcpHeader, TcpOptionElement};
    use proptest::prelude::*;

    /// Builds a data packet of `flow` as the sender's kernel sends it.
    pub(crate) fn data_packet(flow: usize, seq: u32, bytes: usize, ecn: u8) -> Vec<u8> {
        data_packet_of(40_000, flow, seq, bytes, ecn)
    }

    /// Builds a data packet of `flow` sent from `port`.
    pub(crate) fn data_packet_of(port: u16, flow: usize, seq: u32, bytes: usize, ecn: u8) -> Vec<u8> {
        let tcp = TcpHeader::new(port, crate::address::PORT, seq, 65_535);
        packet(sender(flow).octets(), receiver(flow).octets(), &tcp, bytes, ecn)
    }

    /// Builds the SYN of `flow`'s connection, whose data start after `seq`.
    pub(crate) fn syn_packet(flow: usize, seq: u32) -> Vec<u8> {
        let mut tcp = TcpHeader::new(40_000, crate::address::PORT, seq, 65_535);
        tcp.syn = true;
        packet(sender(flow).octets(), receiver(flow).octets(), &tcp, 0, 0)
    }

    /// Builds an ACK of `flow`.
    pub(crate) fn ack_packet(flow: usize, ack: u32, sacks: &[(u32, u32)]) -> Vec<u8> {
        let mut tcp = TcpHeader::new(crate::address::PORT, 40_000, 1, 65_535);
        (tcp.ack, tcp.acknowledgment_number) = (true, ack);
        if let Some((first, more)) = sacks.split_first() {
            let more = std::array::from_fn(|i| more.get(i).copied());
            tcp.set_options(&[TcpOptionElement::SelectiveAcknowledgement(*first, more)]).unwrap();
        }
        packet(receiver(flow).octets(), sender(flow).octets(), &tcp, 0, 0)
    }

    fn packet(source: [u8; 4], destination: [u8; 4], tcp: &TcpHeader, bytes: usize, ecn: u8) -> Vec<u8> {
        let length = (tcp.header_len() + bytes) as u16;
        let mut ip = Ipv4Header::new(length, 64, IpNumber::TCP, source, destination).unwrap();
        ip.ecn = IpEcn::try_new(ecn).unwrap();
        ip.header_checksum = ip.calc_header_checksum();
        let mut packet = [&ip.to_bytes()[..], &tcp.to_bytes()[..]].concat();
        packet.resize(packet.len() + bytes, 0);
        packet
    }

    proptest! {
        #[test]
        fn a_view_reads_what_was_written(flow in 0..60_000usize, seq: u32, bytes in 0..1448usize, ecn in 0..4u8) {
            let packet = data_packet(flow, seq, bytes, ecn);
            let view = View::new(&packet, 0).unwrap();
            prop_assert_eq!((view.flow, view.bytes, view.packets), (flow, 40 + bytes as u64, 1));
            prop_assert_eq!(view.ecn, [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::NotEct][usize::from(ecn)]);
            prop_assert_eq!((view.data_bytes, view.tcp.unwrap().sequence_number()), (bytes as u32, seq));
        }

        #[test]
        fn a_mark_leaves_the_checksum_right(flow in 0..60_000usize, ecn in 1..3u8) {
            let mut packet = data_packet(flow, 0, 100, ecn);
            mark_ce(&mut packet);
            let ip = Ipv4HeaderSlice::from_slice(&packet).unwrap();
            prop_assert_eq!(ip.ecn().value(), 3);
            prop_assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
        }

        #[test]
        fn any_bytes_are_survived(frame in proptest::collection::vec(any::<u8>(), 0..100)) {
            for header_bytes in [0, VNET_HEADER_BYTES] {
                if let Some(view) = View::new(&frame, header_bytes) {
                    prop_assert!(view.sacks().iter().count() <= 4);
                }
            }
        }
    }

    #[test]
    fn all_sack_blocks_are_read() {
        let blocks = [(30, 40), (10, 20), (50, 60)];
        let packet = ack_packet(7, 5, &blocks);
        let view = View::new(&packet, 0).unwrap();
        assert_eq!((view.flow, view.data_bytes), (7, 0));
        assert_eq!(view.sacks().iter().collect::<Vec<_>>(), blocks);
    }

    #[test]
    fn a_frame_of_many_packets_counts_each_ones_headers() {
        let mut frame = vec![0; VNET_HEADER_BYTES];
        frame[GSO_SIZE_OFFSET..][..2].copy_from_slice(&1448u16.to_ne_bytes());
        frame.extend(data_packet(0, 0, 1448 * 3 + 1, 0));
        let view = View::new(&frame, VNET_HEADER_BYTES).unwrap();
        assert_eq!((view.packets, view.bytes), (4, 4 * 40 + 1448 * 3 + 1));
    }
}
