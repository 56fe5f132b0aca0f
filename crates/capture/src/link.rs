//! Link layers: the offset of the IP header in a captured packet.

use etherparse::{EtherType, LaxSlicedPacket};

/// The supported link layers. Their numbers are the LINKTYPE values of tcpdump.org.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Link {
    /// Ethernet, with or without VLAN tags.
    Ethernet,
    /// IP without a link header, as on TUN devices.
    RawIp,
    /// Linux "cooked", version 1: 16 bytes.
    LinuxCooked1,
    /// Linux "cooked", version 2: 20 bytes.
    LinuxCooked2,
    /// BSD loopback: an address family in four bytes, in either byte order.
    Loopback,
    /// Any other link layer.
    Unknown(i32),
}

impl Link {
    /// Returns the link layer of a LINKTYPE number.
    pub fn of(number: i32) -> Link {
        match number {
            1 => Link::Ethernet,
            // 12 and 14 are DLT_RAW on some systems; these numbers are invalid in files, but occur
            12 | 14 | 101 | 228 | 229 => Link::RawIp,
            113 => Link::LinuxCooked1,
            276 => Link::LinuxCooked2,
            0 | 108 => Link::Loopback,
            other => Link::Unknown(other),
        }
    }

    /// Splits a packet into its layers; `None` if the link layer is truncated or unknown.
    pub(crate) fn slice(self, packet: &[u8]) -> Option<LaxSlicedPacket<'_>> {
        match self {
            Link::Ethernet => LaxSlicedPacket::from_ethernet(packet).ok(),
            Link::RawIp => LaxSlicedPacket::from_ip(packet).ok(),
            Link::LinuxCooked1 => {
                Some(LaxSlicedPacket::from_ether_type(ether_type(packet.get(14..16)?)?, packet.get(16..)?))
            }
            Link::LinuxCooked2 => {
                Some(LaxSlicedPacket::from_ether_type(ether_type(packet.get(0..2)?)?, packet.get(20..)?))
            }
            // the IP version is more reliable than the family, whose numbers differ between systems
            Link::Loopback => LaxSlicedPacket::from_ip(packet.get(4..)?).ok(),
            Link::Unknown(_) => None,
        }
    }
}

fn ether_type(bytes: &[u8]) -> Option<EtherType> {
    Some(EtherType(u16::from_be_bytes(bytes.try_into().ok()?)))
}
