//! The frame that advertises a larger window to a waiting sender: the last ACK that the host sent, without data and
//! without the options that must not be repeated.

use crate::record::Promised;
use etherparse::checksum::Sum16BitWords;

const ETHERNET: usize = 14;
const ETHERTYPE: usize = 12;
const TCP_HEADER: usize = 20;
const TCP: u8 = 6;
/// Keeps all flags except FIN, SYN, RST, PSH and URG.
const WITHOUT_FLAGS: u8 = 0x2f;
const OPTION_END: u8 = 0;
const OPTION_NOP: u8 = 1;
const OPTION_SACK: u8 = 5;

/// Builds the frame; returns `None` if the headers are invalid. The frame has the host's own window; the program at the
/// device replaces it.
pub(crate) fn frame(last: &Promised, link_header: u32) -> Option<Vec<u8>> {
    let link = link_header as usize;
    let mut packet = last.headers.get(link.min(last.ip)..)?.to_vec();
    let (ip, transport) = (last.ip.checked_sub(link)?, last.transport.checked_sub(link)?);
    (ip < transport && transport + TCP_HEADER <= packet.len()).then_some(())?;
    finish_tcp(&mut packet[transport..], last.next_seq);
    finish_ip(&mut packet[ip..], transport - ip)?;
    // The kernel requires an Ethernet header, and removes it if the device has none.
    let mut frame = match link {
        0 => [&[0; ETHERTYPE][..], if packet[ip] >> 4 == 6 { &[0x86, 0xdd] } else { &[0x08, 0x00] }].concat(),
        _ => last.headers.get(..ETHERNET)?.to_vec(),
    };
    if last.tag[0] != 0 {
        frame.splice(ETHERTYPE..ETHERTYPE, last.tag.iter().flat_map(|half| half.to_be_bytes()));
    }
    frame.append(&mut packet);
    Some(frame)
}

fn finish_tcp(tcp: &mut [u8], next_seq: u32) {
    tcp[4..8].copy_from_slice(&next_seq.to_be_bytes());
    tcp[13] &= !WITHOUT_FLAGS;
    tcp[18..20].fill(0);
    // Remove SACK blocks: repeated blocks would report that segments arrived twice (RFC 2883).
    let mut options = &mut tcp[TCP_HEADER..];
    while let [kind, ..] = *options {
        let length = match (kind, options.get(1)) {
            (OPTION_END, _) => return,
            (OPTION_NOP, _) => 1,
            (_, Some(&length)) if (2..=options.len()).contains(&usize::from(length)) => usize::from(length),
            _ => return,
        };
        if kind == OPTION_SACK {
            options[..length].fill(OPTION_NOP);
        }
        options = &mut options[length..];
    }
}

/// Writes the IP header's length and the checksums of IP and TCP.
fn finish_ip(ip: &mut [u8], header: usize) -> Option<()> {
    let length = u16::try_from(ip.len()).ok()?;
    let addresses = if ip[0] >> 4 == 6 {
        const FIXED: usize = 40;
        ip.get(..FIXED)?;
        ip[4..6].copy_from_slice(&(length - FIXED as u16).to_be_bytes());
        // Clear ECN: only data packets are sent as ECT.
        ip[1] &= 0xcf;
        8..FIXED
    } else {
        const FIXED: usize = 20;
        ip.get(..FIXED)?;
        ip[2..4].copy_from_slice(&length.to_be_bytes());
        ip[1] &= 0xfc;
        ip[10..12].fill(0);
        let sum = Sum16BitWords::new().add_slice(&ip[..header]).ones_complement();
        ip[10..12].copy_from_slice(&sum.to_ne_bytes());
        12..FIXED
    };
    let (before, tcp) = ip.split_at_mut(header);
    tcp[16..18].fill(0);
    let sum = Sum16BitWords::new()
        .add_slice(before.get(addresses)?)
        .add_2bytes([0, TCP])
        .add_2bytes((tcp.len() as u16).to_be_bytes())
        .add_slice(tcp)
        .ones_complement();
    tcp[16..18].copy_from_slice(&sum.to_ne_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};

    /// NOP, NOP, timestamps, NOP, NOP, SACK with one block.
    const OPTIONS: [u8; 24] = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, OPTION_SACK, 10, 0, 0, 0, 9, 0, 0, 0, 99];

    /// A segment with data and FIN sent over Ethernet, with its headers.
    fn sent(v6: bool) -> Promised {
        let link = PacketBuilder::ethernet2([2; 6], [4; 6]);
        let ip = if v6 { link.ipv6([0xfd; 16], [0xfe; 16], 64) } else { link.ipv4([10, 0, 0, 1], [192, 0, 2, 1], 64) };
        let tcp = ip.tcp(5001, 443, 1000, 4321).ack(77).psh().fin().ece();
        let mut headers = Vec::new();
        tcp.options_raw(&OPTIONS).expect("they fit").write(&mut headers, &[7; 500]).expect("a vector takes it");
        // ECT(0), as for data; the checksums are left for the device to compute.
        headers[ETHERNET + 1] |= if v6 { 0x20 } else { 0x02 };
        headers.truncate(headers.len() - 500);
        let transport = headers.len() - TCP_HEADER - OPTIONS.len();
        Promised { is_waiting: true, next_seq: 1501, tag: [0; 2], ip: ETHERNET, transport, headers }
    }

    fn check(frame: &[u8], v6: bool) {
        let packet = SlicedPacket::from_ethernet(frame).expect("lengths fit");
        let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("no TCP") };
        let (sum, ecn) = match packet.net.expect("an IP header") {
            NetSlice::Ipv4(ip) => {
                assert_eq!(ip.header().header_checksum(), ip.header().to_header().calc_header_checksum());
                let sum = tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination());
                (sum, ip.header().ecn().value())
            }
            NetSlice::Ipv6(ip) => {
                let sum = tcp.calc_checksum_ipv6(ip.header().source(), ip.header().destination());
                (sum, ip.header().traffic_class() & 3)
            }
            NetSlice::Arp(_) => panic!("ARP"),
        };
        assert_eq!(tcp.checksum(), sum.expect("it has a length"));
        assert_eq!((tcp.sequence_number(), tcp.acknowledgment_number(), tcp.window_size()), (1501, 77, 4321));
        assert_eq!((tcp.ack(), tcp.ece(), tcp.fin(), tcp.psh(), tcp.payload().len()), (true, true, false, false, 0));
        assert_eq!(tcp.options()[..12], OPTIONS[..12], "timestamps stay");
        assert_eq!(tcp.options()[12..], [OPTION_NOP; 12]);
        assert_eq!((ecn, packet.link.is_some(), v6), (0, true, frame[ETHERNET + packet.link_exts.len() * 4] >> 4 == 6));
    }

    #[test]
    fn an_ack_without_data_and_with_right_checksums() {
        for v6 in [false, true] {
            check(&frame(&sent(v6), ETHERNET as u32).unwrap(), v6);
            let tagged = frame(&Promised { tag: [0x8100, 5], ..sent(v6) }, ETHERNET as u32).unwrap();
            assert_eq!(tagged[ETHERTYPE..ETHERTYPE + 4], [0x81, 0, 0, 5]);
            check(&tagged, v6);
        }
    }

    #[test]
    fn a_device_without_a_header_has_one_for_the_kernel() {
        for v6 in [false, true] {
            let mut last = sent(v6);
            last.headers.drain(..ETHERNET);
            (last.ip, last.transport) = (0, last.transport - ETHERNET);
            check(&frame(&last, 0).unwrap(), v6);
        }
    }

    #[test]
    fn headers_that_are_none_are_not_sent() {
        let good = sent(false);
        for length in 0..good.transport + TCP_HEADER {
            assert_eq!(frame(&Promised { headers: good.headers[..length].to_vec(), ..good.clone() }, 14), None);
        }
        for (ip, transport) in [(14, 14), (40, 34), (14, 70), (0, 34)] {
            assert_eq!(frame(&Promised { ip, transport, ..good.clone() }, 14), None, "{ip} {transport}");
        }
    }
}
