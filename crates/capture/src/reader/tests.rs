//! Synthetic captures, byte by byte: containers, link layers, and errors.

use super::*;
use etherparse::{PacketBuilder, TcpOptionElement};
use fairweir_tcp::{Ecn, Flags};
use proptest::prelude::*;

const AT: (u32, u32) = (1_700_000_000, 123_456);

/// An IPv4 segment with 1000 bytes of payload, timestamps and a SACK block.
fn ip_packet() -> Vec<u8> {
    let options = [
        TcpOptionElement::Noop,
        TcpOptionElement::Noop,
        TcpOptionElement::Timestamp(7, 8),
        TcpOptionElement::Noop,
        TcpOptionElement::Noop,
        TcpOptionElement::SelectiveAcknowledgement((100, 200), [None, None, None]),
    ];
    let builder = PacketBuilder::ipv4([10, 0, 0, 1], [10, 0, 0, 2], 64)
        .tcp(5001, 80, u32::MAX - 499, 512)
        .ack(99)
        .options(&options)
        .expect("they fit");
    let mut bytes = Vec::new();
    builder.write(&mut bytes, &[0; 1000]).expect("memory");
    bytes
}

fn behind(header: &[u8], packet: &[u8]) -> Vec<u8> {
    [header, packet].concat()
}

fn put(out: &mut Vec<u8>, value: u32, is_big: bool) {
    out.extend(if is_big { value.to_be_bytes() } else { value.to_le_bytes() });
}

fn pcap(link: u32, magic: u32, is_big: bool, packets: &[(&[u8], u32)]) -> Vec<u8> {
    let mut out = Vec::new();
    put(&mut out, magic, is_big);
    out.extend(if is_big { [0, 2, 0, 4] } else { [2, 0, 4, 0] });
    [0, 0, 65535, link].iter().for_each(|&word| put(&mut out, word, is_big));
    for (captured, wire) in packets {
        [AT.0, AT.1, captured.len() as u32, *wire].iter().for_each(|&word| put(&mut out, word, is_big));
        out.extend_from_slice(captured);
    }
    out
}

fn pcapng(link: u16, tsresol: Option<u8>, packet: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut block = |kind: u32, body: &[u8]| {
        let padded = body.len().next_multiple_of(4);
        put(&mut out, kind, false);
        put(&mut out, 12 + padded as u32, false);
        out.extend_from_slice(body);
        out.resize(out.len() + padded - body.len(), 0);
        put(&mut out, 12 + padded as u32, false);
    };
    block(0x0a0d_0d0a, &[0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]);
    let mut interface = [&link.to_le_bytes()[..], &[0; 6]].concat();
    if let Some(resolution) = tsresol {
        interface.extend([9, 0, 1, 0, resolution, 0, 0, 0, 0, 0, 0, 0]);
    }
    block(1, &interface);
    let units = if tsresol == Some(9) { 1_000_000_000 } else { 1_000_000 };
    let stamp = u64::from(AT.0) * units + u64::from(AT.1);
    let mut body = Vec::new();
    [0, (stamp >> 32) as u32, stamp as u32, packet.len() as u32, packet.len() as u32]
        .iter()
        .for_each(|&word| put(&mut body, word, false));
    body.extend_from_slice(packet);
    block(6, &body);
    out
}

fn read(bytes: &[u8]) -> (Vec<Segment>, Counts) {
    let mut reader = Reader::new(bytes).expect("a capture");
    let segments = std::iter::from_fn(|| reader.next_segment().expect("not damaged")).collect();
    (segments, reader.counts())
}

fn only(bytes: &[u8]) -> Segment {
    let (segments, counts) = read(bytes);
    assert_eq!(segments.len(), 1, "{counts:?}");
    segments[0]
}

const MICROS: u32 = 0xa1b2_c3d4;
const NANOS: u32 = 0xa1b2_3c4d;

#[test]
fn a_segment_is_read_whole() {
    let packet = ip_packet();
    let seen = only(&pcap(101, MICROS, false, &[(&packet, packet.len() as u32)]));
    assert_eq!(seen.time, Time::from_nanos(1_700_000_000_123_456_000));
    assert_eq!((seen.frame, seen.payload, seen.ip_bytes), (1, 1000, packet.len() as u32));
    assert_eq!((seen.seq, seen.end_seq(), seen.ack), (u32::MAX - 499, 500, 99));
    assert_eq!((seen.src.to_string(), seen.dst.to_string()), ("10.0.0.1:5001".into(), "10.0.0.2:80".into()));
    assert_eq!(
        (seen.window, seen.flags.has(Flags::ACK), seen.flags.has(Flags::SYN), seen.ecn),
        (512, true, false, Ecn::NotEct)
    );
    assert_eq!(seen.options.timestamps.map(|t| (t.tsval, t.tsecr)), Some((7, 8)));
    assert_eq!(seen.options.sack.iter().collect::<Vec<_>>(), [(100, 200)]);
}

#[test]
fn containers_and_byte_orders_agree() {
    let packet = ip_packet();
    let wire = packet.len() as u32;
    let expected = only(&pcap(101, MICROS, false, &[(&packet, wire)]));
    assert_eq!(only(&pcap(101, MICROS, true, &[(&packet, wire)])), expected);
    assert_eq!(only(&pcapng(101, None, &packet)), expected);
    let nanos = Time::from_nanos(1_700_000_000_000_123_456);
    assert_eq!(only(&pcap(101, NANOS, false, &[(&packet, wire)])), Segment { time: nanos, ..expected });
    assert_eq!(only(&pcapng(101, Some(9), &packet)), Segment { time: nanos, ..expected });
}

#[test]
fn link_layers_agree() {
    let packet = ip_packet();
    let expected = only(&pcap(101, MICROS, false, &[(&packet, packet.len() as u32)]));
    let ethernet = behind(&[&[1; 12][..], &[8, 0]].concat(), &packet);
    let vlan = behind(&[&[1; 12][..], &[0x81, 0, 0, 5, 8, 0]].concat(), &packet);
    let cooked1 = behind(&[&[0; 14][..], &[8, 0]].concat(), &packet);
    let cooked2 = behind(&[&[8, 0][..], &[0; 18]].concat(), &packet);
    let loopback = behind(&[2, 0, 0, 0], &packet);
    for (link, bytes) in [(1, ethernet), (1, vlan), (113, cooked1), (276, cooked2), (0, loopback)] {
        assert_eq!(only(&pcap(link, MICROS, false, &[(&bytes, bytes.len() as u32)])), expected, "link {link}");
    }
}

#[test]
fn padding_behind_ip_is_no_payload() {
    let packet = behind(&ip_packet(), &[0; 6]);
    assert_eq!(only(&pcap(101, MICROS, false, &[(&packet, packet.len() as u32)])).payload, 1000);
}

#[test]
fn a_cut_packet_keeps_its_length_and_what_was_captured_of_its_options() {
    let packet = ip_packet();
    let seen = only(&pcap(101, MICROS, false, &[(&packet[..20 + 20 + 12], packet.len() as u32)]));
    assert_eq!((seen.payload, seen.options.sack.is_empty()), (1000, true));
    assert!(seen.options.timestamps.is_some());
    let (segments, counts) = read(&pcap(101, MICROS, false, &[(&packet[..30], packet.len() as u32)]));
    assert_eq!((segments.len(), counts.cut, counts.frames), (0, 1, 1));
}

#[test]
fn a_super_packet_without_a_length_has_that_of_the_wire() {
    let mut packet = ip_packet();
    packet[2..4].fill(0);
    let expected_headers = packet.len() as u32 - 1000;
    let seen = only(&pcap(101, MICROS, false, &[(&packet, expected_headers + 100_000)]));
    assert_eq!(seen.payload, 100_000);
}

#[test]
fn ipv6_extension_headers_are_passed_over() {
    let mut tcp = Vec::new();
    PacketBuilder::ipv6([1; 16], [2; 16], 64).tcp(1, 2, 3, 4).write(&mut tcp, &[0; 10]).expect("memory");
    // eight bytes of destination options between IP and TCP
    let mut packet = tcp[..40].to_vec();
    packet[4..6].copy_from_slice(&(8 + 20 + 10u16).to_be_bytes());
    packet[6] = 60;
    packet.extend([6, 0, 1, 4, 0, 0, 0, 0]);
    packet.extend(&tcp[40..]);
    let seen = only(&pcap(101, MICROS, false, &[(&packet, packet.len() as u32)]));
    assert_eq!((seen.payload, seen.src.port, seen.dst.port), (10, 1, 2));
}

#[test]
fn a_truncated_file_gives_what_it_has() {
    let packet = ip_packet();
    let whole = pcap(101, MICROS, false, &[(&packet, packet.len() as u32), (&packet, packet.len() as u32)]);
    let (segments, counts) = read(&whole[..whole.len() - 100]);
    assert_eq!((segments.len(), counts.is_truncated), (1, true));
    assert!(!read(&whole).1.is_truncated);
}

#[test]
fn an_invalid_capture_is_rejected() {
    assert!(matches!(Reader::new(&[][..]), Err(CaptureError::Empty)));
    assert!(matches!(Reader::new(&b"GET / HTTP/1.1, and so on, to be long enough"[..]), Err(CaptureError::Format)));
}

#[test]
fn an_unknown_link_layer_is_counted() {
    let packet = ip_packet();
    let (segments, counts) = read(&pcap(147, MICROS, false, &[(&packet, packet.len() as u32)]));
    assert_eq!((segments.len(), counts.unknown_link), (0, 1));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    /// Overwritten bytes at any position lead to an error or to counts that add up, never to a panic or an endless
    /// loop.
    #[test]
    fn damage_is_survived(changes in prop::collection::vec((0usize..1400, any::<u8>()), 1..20), is_new in any::<bool>()) {
        let packet = ip_packet();
        let mut bytes = if is_new { pcapng(101, Some(9), &packet) } else { pcap(101, MICROS, false, &[(&packet, 1068)]) };
        for (at, value) in changes {
            let at = at % bytes.len();
            bytes[at] = value;
        }
        if let Ok(mut reader) = Reader::new(&bytes[..]) {
            while let Ok(Some(_)) = reader.next_segment() {}
            let c = reader.counts();
            let others = c.unknown_link + c.not_tcp + c.fragments + c.cut + c.malformed + c.untimed;
            prop_assert_eq!(c.frames, c.segments + others);
        }
    }
}
