//! Writes captures: pcap with times in ns, headers only, raw IP without a link layer.

use etherparse::{IpEcn, IpNumber, Ipv4Header, Ipv6Header, TcpHeader, TcpOptionElement};
use fairweir_tcp::{Ecn, Flags, Segment};
use fairweir_units::{NANOS_PER_SEC, Time};
use std::io::{self, Write};
use std::net::IpAddr;

/// Magic number of a pcap file with times in ns, in the writer's byte order.
const MAGIC: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
/// LINKTYPE_RAW: a packet begins with the IP header.
const RAW_IP: u32 = 101;
/// Maximum bytes stored per packet; the largest IPv6 and TCP headers fit.
pub const SNAPLEN: usize = 128;
const TIME_TO_LIVE: u8 = 64;

/// Writes packets in the order of the calls. Callers should pass packets in time order, so that readers need not sort
/// them.
#[derive(Debug)]
pub struct Writer<W> {
    sink: W,
}

impl<W: Write> Writer<W> {
    /// Begins a file. Writes are small, so `sink` should be buffered.
    ///
    /// # Errors
    /// If a write to `sink` fails.
    pub fn new(mut sink: W) -> io::Result<Writer<W>> {
        sink.write_all(&MAGIC.to_ne_bytes())?;
        sink.write_all(&VERSION.map(u16::to_ne_bytes).concat())?;
        // time zone and accuracy, which are unused
        sink.write_all(&[0; 8])?;
        sink.write_all(&(SNAPLEN as u32).to_ne_bytes())?;
        sink.write_all(&RAW_IP.to_ne_bytes())?;
        Ok(Writer { sink })
    }

    /// Writes the beginning of an IP packet with a total of `ip_bytes` bytes.
    ///
    /// # Errors
    /// If a write to the sink fails.
    pub fn packet(&mut self, at: Time, packet: &[u8], ip_bytes: u32) -> io::Result<()> {
        let kept = &packet[..packet.len().min(SNAPLEN)];
        let (s, ns) = (at.as_nanos() / NANOS_PER_SEC, at.as_nanos() % NANOS_PER_SEC);
        for word in [s as u32, ns as u32, kept.len() as u32, ip_bytes] {
            self.sink.write_all(&word.to_ne_bytes())?;
        }
        self.sink.write_all(kept)
    }

    /// Writes a segment's headers. The checksums are those for a payload of zeros.
    ///
    /// # Errors
    /// If a write to the sink fails, if the segment does not fit in a packet, or if its two addresses are of different
    /// IP versions.
    pub fn segment(&mut self, segment: &Segment) -> io::Result<()> {
        let headers = headers(segment).ok_or_else(|| io::Error::other("a segment that no packet can carry"))?;
        self.packet(segment.time, &headers, segment.ip_bytes)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If a write to the sink fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.sink.flush()?;
        Ok(self.sink)
    }
}

/// Returns the TCP options of `segment` in the order that Linux uses, padded.
fn options(segment: &Segment) -> Vec<TcpOptionElement> {
    let given = &segment.options;
    let mut options = Vec::new();
    options.extend(given.mss.map(TcpOptionElement::MaximumSegmentSize));
    options.extend(given.sack_permitted.then_some(TcpOptionElement::SelectiveAcknowledgementPermitted));
    options.extend(given.timestamps.map(|stamps| TcpOptionElement::Timestamp(stamps.tsval, stamps.tsecr)));
    options.extend(given.window_scale.map(TcpOptionElement::WindowScale));
    let mut blocks = given.sack.iter();
    if let Some(first) = blocks.next() {
        options.push(TcpOptionElement::SelectiveAcknowledgement(first, [blocks.next(), blocks.next(), blocks.next()]));
    }
    options
}

/// Returns the IP and TCP headers.
fn headers(segment: &Segment) -> Option<Vec<u8>> {
    let mut tcp = TcpHeader::new(segment.src.port, segment.dst.port, segment.seq, segment.window);
    tcp.acknowledgment_number = segment.ack;
    tcp.set_options(&options(segment)).ok()?;
    let has = |flag| segment.flags.has(flag);
    (tcp.syn, tcp.fin, tcp.rst, tcp.ack) = (has(Flags::SYN), has(Flags::FIN), has(Flags::RST), has(Flags::ACK));
    (tcp.psh, tcp.ece, tcp.cwr) = (has(Flags::PSH), has(Flags::ECE), has(Flags::CWR));
    let payload = vec![0; segment.payload as usize];
    let tcp_bytes = tcp.header_len() + payload.len();
    let mut bytes = Vec::with_capacity(SNAPLEN);
    match (segment.src.address, segment.dst.address) {
        (IpAddr::V4(src), IpAddr::V4(dst)) => {
            let length = u16::try_from(tcp_bytes).ok()?;
            let mut ip = Ipv4Header::new(length, TIME_TO_LIVE, IpNumber::TCP, src.octets(), dst.octets()).ok()?;
            ip.ecn = bits(segment.ecn);
            ip.dont_fragment = true;
            ip.header_checksum = ip.calc_header_checksum();
            tcp.checksum = tcp.calc_checksum_ipv4(&ip, &payload).ok()?;
            bytes.extend_from_slice(&ip.to_bytes());
        }
        (IpAddr::V6(src), IpAddr::V6(dst)) => {
            let ip = Ipv6Header {
                traffic_class: bits(segment.ecn).value(),
                payload_length: u16::try_from(tcp_bytes).ok()?,
                next_header: IpNumber::TCP,
                hop_limit: TIME_TO_LIVE,
                source: src.octets(),
                destination: dst.octets(),
                ..Ipv6Header::default()
            };
            tcp.checksum = tcp.calc_checksum_ipv6(&ip, &payload).ok()?;
            bytes.extend_from_slice(&ip.to_bytes());
        }
        _ => return None,
    }
    bytes.extend_from_slice(&tcp.to_bytes());
    Some(bytes)
}

fn bits(ecn: Ecn) -> IpEcn {
    match ecn {
        Ecn::NotEct => IpEcn::ZERO,
        Ecn::Ect1 => IpEcn::ONE,
        Ecn::Ect0 => IpEcn::TWO,
        Ecn::Ce => IpEcn::THREE,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Counts, Reader};
    use fairweir_tcp::{Endpoint, Options, SackBlocks, Timestamps};
    use proptest::prelude::*;

    /// The URG flag, which is not written.
    const URG: u8 = 0x20;

    fn endpoint(is_v6: bool) -> impl Strategy<Value = Endpoint> {
        (any::<[u8; 16]>(), any::<u16>()).prop_map(move |(octets, port)| {
            let v4: [u8; 4] = [octets[0], octets[1], octets[2], octets[3]];
            Endpoint { address: if is_v6 { octets.into() } else { v4.into() }, port }
        })
    }

    fn segment(is_v6: bool) -> impl Strategy<Value = Segment> {
        let ends = (endpoint(is_v6), endpoint(is_v6));
        let numbers = (any::<u32>(), any::<u32>(), any::<u16>(), 0..9000u32, any::<u8>(), 0..4usize);
        let options = (proptest::option::of(any::<(u32, u32)>()), proptest::collection::vec(any::<(u32, u32)>(), 0..4));
        (ends, numbers, options, 1..4_000_000_000_000_000_000u64).prop_map(
            move |((src, dst), (seq, ack, window, payload, flags, ecn), (stamps, blocks), ns)| {
                let mut sack = SackBlocks::default();
                blocks.into_iter().for_each(|block| sack.push(block));
                let timestamps = stamps.map(|(tsval, tsecr)| Timestamps { tsval, tsecr });
                let options = Options { timestamps, sack, ..Options::default() };
                let flags = Flags(flags & !URG);
                let ecn = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce][ecn];
                let mut segment = Segment {
                    frame: 1,
                    time: Time::from_nanos(ns),
                    src,
                    dst,
                    seq,
                    ack,
                    flags,
                    window,
                    payload,
                    ip_bytes: 0,
                    ecn,
                    options,
                };
                let headers = headers(&segment).expect("a segment that fits");
                segment.ip_bytes = headers.len() as u32 + payload;
                segment
            },
        )
    }

    fn round_trip(segment: &Segment) -> (Option<Segment>, Counts) {
        let mut writer = Writer::new(Vec::new()).expect("a vector takes all");
        writer.segment(segment).expect("a segment that fits");
        let bytes = writer.finish().expect("a vector takes all");
        let mut reader = Reader::new(bytes.as_slice()).expect("a capture");
        (reader.next_segment().expect("a segment"), reader.counts())
    }

    proptest! {
        #[test]
        fn written_data_is_read_back(v4 in segment(false), v6 in segment(true)) {
            for segment in [v4, v6] {
                let (read, counts) = round_trip(&segment);
                prop_assert_eq!(read, Some(segment));
                prop_assert_eq!((counts.frames, counts.segments, counts.is_truncated), (1, 1, false));
            }
        }
    }

    #[test]
    fn the_options_of_a_handshake() {
        let address = |last| Endpoint { address: [10, 0, 0, last].into(), port: 80 };
        let options = Options { mss: Some(1460), window_scale: Some(7), sack_permitted: true, ..Options::default() };
        let flags = Flags::SYN;
        let mut segment = Segment {
            frame: 1,
            time: Time::from_nanos(5),
            src: address(1),
            dst: address(2),
            seq: 0,
            ack: 0,
            flags,
            window: 65535,
            payload: 0,
            ip_bytes: 0,
            ecn: Ecn::NotEct,
            options,
        };
        segment.ip_bytes = headers(&segment).expect("a segment that fits").len() as u32;
        assert_eq!(round_trip(&segment).0, Some(segment));
    }
}
