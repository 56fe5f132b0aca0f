//! The windows that the kernel writes equal those of the pure core for every packet, and the kernel's checksums are
//! correct.

use etherparse::{NetSlice, PacketBuilder, SlicedPacket, TransportSlice};
use fairweir_guard::{FlowKey, Promise, WindowTarget};
use fairweir_guardd::{Enforcement, Programs};
use fairweir_tcp::Direction;
use nix::unistd::geteuid;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};

const MSS: u32 = 1448;
const ETHERNET: u32 = 14;
/// The index of no device, so that nothing is sent.
const NOWHERE: u32 = 0;

/// Returns whether the test lacks root privileges, and reports it.
fn is_unprivileged() -> bool {
    let is_unprivileged = !geteuid().is_root();
    if is_unprivileged {
        println!("not run: needs root");
    }
    is_unprivileged
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    Ipv4,
    Ipv4WithOptions,
    Ipv6,
    Vlan,
}

/// TCP flags of a departing ACK.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    syn: bool,
    rst: bool,
}

fn departure(kind: Kind, ack: u32, window: u16, flags: Flags) -> Vec<u8> {
    let ethernet = PacketBuilder::ethernet2([2; 6], [4; 6]);
    let builder = match kind {
        Kind::Ipv4 => ethernet.ipv4([10, 0, 0, 1], [192, 0, 2, 1], 64),
        Kind::Ipv4WithOptions => {
            let mut header =
                etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, [10, 0, 0, 1], [192, 0, 2, 1])
                    .expect("a valid length");
            // Router alert option.
            header.options = [0x94, 4, 0, 0][..].try_into().expect("four bytes");
            ethernet.ip(etherparse::IpHeaders::Ipv4(header, Default::default()))
        }
        Kind::Ipv6 => ethernet.ipv6([0xfd; 16], [0xfe; 16], 64),
        Kind::Vlan => ethernet.single_vlan(5.try_into().expect("12 bits")).ipv4([10, 0, 0, 1], [192, 0, 2, 1], 64),
    };
    let mut tcp = builder.tcp(5001, 443, 7, window).ack(ack);
    tcp = if flags.syn { tcp.syn() } else { tcp };
    tcp = if flags.rst { tcp.rst() } else { tcp };
    let mut bytes = Vec::new();
    tcp.write(&mut bytes, b"data").expect("a vector takes it");
    bytes
}

fn flow(kind: Kind) -> FlowKey {
    let (local, remote) = match kind {
        Kind::Ipv6 => (std::net::IpAddr::from([0xfd; 16]), std::net::IpAddr::from([0xfe; 16])),
        _ => ("10.0.0.1".parse().unwrap(), "192.0.2.1".parse().unwrap()),
    };
    FlowKey::new((local, 5001).into(), (remote, 443).into(), if kind == Kind::Vlan { 5 } else { 0 })
}

/// Returns the window of a frame, after checking its checksum.
fn window_of(frame: &[u8]) -> u16 {
    let packet = SlicedPacket::from_ethernet(frame).expect("a packet");
    let Some(TransportSlice::Tcp(tcp)) = packet.transport else { panic!("no TCP") };
    let expected = match packet.net.expect("an IP header") {
        NetSlice::Ipv4(ip) => tcp.calc_checksum_ipv4(ip.header().source(), ip.header().destination()),
        NetSlice::Ipv6(ip) => tcp.calc_checksum_ipv6(ip.header().source(), ip.header().destination()),
        NetSlice::Arp(_) => panic!("ARP"),
    };
    assert_eq!(tcp.checksum(), expected.expect("it has a length"), "the checksum");
    tcp.window_size()
}

fn sent(programs: &Programs, frame: &[u8]) -> u16 {
    window_of(&programs.rehearse(Direction::Outgoing, frame, 1).expect("it takes the frame").0)
}

#[test]
fn the_kernel_advertises_as_the_core_does() {
    if is_unprivileged() {
        return;
    }
    let programs = Programs::load(NOWHERE, ETHERNET, Enforcement::Rewrite).expect("the kernel takes them");
    let kinds = prop_oneof![Just(Kind::Ipv4), Just(Kind::Ipv4WithOptions), Just(Kind::Ipv6), Just(Kind::Vlan)];
    let acks = proptest::collection::vec((0u32..40_000, any::<u16>(), 0u64..1 << 31), 1..30);
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let outcome = runner.run(&(kinds, 0u8..15, any::<u32>(), acks), |(kind, scale, start, acks)| {
        programs.release(&flow(kind)).unwrap();
        let (mut promise, mut ack) = (Promise::new(scale), start);
        for (step, window, bytes) in acks {
            ack = ack.wrapping_add(step);
            let target = WindowTarget::from_bytes(bytes, MSS);
            programs.hold(&flow(kind), target, Some(scale)).unwrap();
            let advertised = sent(&programs, &departure(kind, ack, window, Flags::default()));
            prop_assert_eq!(advertised, promise.advertise(ack, window, Some(target)));
        }
        Ok(())
    });
    outcome.unwrap();
}

#[test]
fn the_kernel_keeps_the_pace_that_the_core_keeps() {
    if is_unprivileged() {
        return;
    }
    let programs = Programs::load(NOWHERE, ETHERNET, Enforcement::Rewrite).expect("the kernel takes them");
    let acks = proptest::collection::vec((0.0f64..1.0, any::<u16>(), 0.1f64..1e5, 0u64..1 << 20), 1..30);
    let mut runner = TestRunner::new(Config { cases: 200, failure_persistence: None, ..Config::default() });
    let (key, waits) = (flow(Kind::Ipv4), std::cell::Cell::new(0));
    let outcome = runner.run(&(0u8..15, any::<u32>(), acks), |(scale, start, acks)| {
        programs.release(&key).unwrap();
        programs.waiting().unwrap();
        let (mut promise, mut ack, mut left, mut was_waiting) = (Promise::new(scale), start, 0, false);
        for (part, window, mbps, bytes) in acks {
            // No data arrive beyond the advertised window.
            ack = ack.wrapping_add((f64::from(left) * part) as u32);
            let target = WindowTarget::from_bytes(bytes, MSS).paced(mbps);
            programs.hold(&key, target, Some(scale)).unwrap();
            let advertised = sent(&programs, &departure(Kind::Ipv4, ack, window, Flags::default()));
            let at = programs.decided_at(&key).expect("there is a promise");
            let expected = promise.advertise_at(ack, window, target, at);
            prop_assert_eq!(advertised, expected.window);
            // A flow that already waits is not reported again.
            let named: Vec<_> =
                expected.waits_until.filter(|_| !was_waiting).map(|until| (key, until)).into_iter().collect();
            prop_assert_eq!(programs.waiting().unwrap(), named);
            was_waiting = expected.waits_until.is_some();
            waits.set(waits.get() + u32::from(was_waiting));
            left = u32::from(advertised) << scale;
        }
        Ok(())
    });
    outcome.unwrap();
    assert!(waits.get() > 100, "{waits:?}");
}

#[test]
fn other_packets_are_left_alone() {
    if is_unprivileged() {
        return;
    }
    let mut programs = Programs::load(NOWHERE, ETHERNET, Enforcement::Rewrite).expect("the kernel takes them");
    let target = WindowTarget::from_bytes(10_000, MSS);
    programs.hold(&flow(Kind::Ipv4), target, None).unwrap();
    let ack = |programs: &Programs, ack| sent(programs, &departure(Kind::Ipv4, ack, 60_000, Flags::default()));
    assert_eq!(ack(&programs, 0), 60_000, "the scale is not known");
    assert_eq!(programs.counts().unscaled, 1);

    programs.hold(&flow(Kind::Ipv4), target, Some(0)).unwrap();
    assert_eq!((ack(&programs, 0), ack(&programs, 50_000)), (60_000, 10_000), "as data arrive");
    for flags in [Flags { syn: true, rst: false }, Flags { syn: false, rst: true }] {
        assert_eq!(sent(&programs, &departure(Kind::Ipv4, 50_000, 60_000, flags)), 60_000, "{flags:?}");
    }
    assert_eq!(sent(&programs, &departure(Kind::Ipv6, 50_000, 60_000, Flags::default())), 60_000, "another flow");
    assert_eq!(programs.counts().rewritten, 1);

    programs.release(&flow(Kind::Ipv4)).unwrap();
    assert_eq!(ack(&programs, 60_000), 60_000, "released");
    let mut summarised = 0;
    programs.drain(|packet| summarised += u64::from(packet.flow == flow(Kind::Ipv4))).unwrap();
    assert_eq!(summarised, 6);
}

/// An IPv4 ACK with these TCP options.
fn with_options(ack: u32, options: &[u8]) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([2; 6], [4; 6]).ipv4([10, 0, 0, 1], [192, 0, 2, 1], 64);
    let tcp = builder.tcp(5001, 443, 7, 60_000).ack(ack).options_raw(options).expect("they fit");
    let mut bytes = Vec::new();
    tcp.write(&mut bytes, b"").expect("a vector takes it");
    bytes
}

#[test]
fn a_signed_header_is_left_alone() {
    if is_unprivileged() {
        return;
    }
    let programs = Programs::load(NOWHERE, ETHERNET, Enforcement::Rewrite).expect("the kernel takes them");
    programs.hold(&flow(Kind::Ipv4), WindowTarget::from_bytes(10_000, MSS), Some(0)).unwrap();
    let stamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let signature = |kind: u8, length: u8| [&[kind, length][..], &vec![7; usize::from(length) - 2]].concat();
    let padded = |options: &[u8]| [options, &vec![1; options.len().next_multiple_of(4) - options.len()]].concat();
    assert_eq!(sent(&programs, &with_options(0, &stamps)), 60_000, "the first promise");
    assert_eq!(sent(&programs, &with_options(50_000, &stamps)), 10_000);
    let (md5, ao) = (signature(19, 18), signature(29, 16));
    for (step, options) in
        [md5.clone(), ao.clone(), [&stamps[..], &ao].concat(), [&md5[..], &stamps].concat()].iter().enumerate()
    {
        let ack = 60_000 + 1_000 * step as u32;
        assert_eq!(sent(&programs, &with_options(ack, &padded(options))), 60_000, "{options:?}");
    }
    assert_eq!(programs.counts().authenticated, 4);
    assert_eq!(sent(&programs, &with_options(100_000, &stamps)), 10_000);
}

#[test]
fn a_syn_of_the_host_begins_anew() {
    if is_unprivileged() {
        return;
    }
    let programs = Programs::load(NOWHERE, ETHERNET, Enforcement::Rewrite).expect("the kernel takes them");
    let key = flow(Kind::Ipv4);
    let target = WindowTarget::from_bytes(10_000, MSS);
    let ack = |ack| sent(&programs, &departure(Kind::Ipv4, ack, 60_000, Flags::default()));
    programs.hold(&key, target, Some(0)).unwrap();
    assert_eq!((ack(0), ack(50_000)), (60_000, 10_000));
    sent(&programs, &departure(Kind::Ipv4, 900_000, 60_000, Flags { syn: true, rst: false }));
    assert_eq!(ack(900_000), 60_000, "the scale of this connection is not known yet");
    assert_eq!(programs.counts().unscaled, 1);
    // User space has noticed the new connection; the promise is the new connection's, far below the previous one's.
    programs.hold(&key, target, Some(0)).unwrap();
    assert_eq!((ack(900_000), ack(950_000)), (60_000, 10_000));
    // The connection's SYN was not seen: an ACK number that no window allows is not taken as a promise.
    assert_eq!((ack(0x9000_0000), ack(0x9000_0000 + 50_000)), (60_000, 10_000));
}

#[test]
fn tcp_is_found_behind_ipv6_extension_headers_and_in_atomic_fragments() {
    if is_unprivileged() {
        return;
    }
    let mut programs = Programs::load(NOWHERE, ETHERNET, Enforcement::Rewrite).expect("the kernel takes them");
    let plain = departure(Kind::Ipv6, 1, 60_000, Flags::default());
    let (destination, fragment) = (60u8, 44u8);
    let behind = |kind: u8, count: usize, mut header: [u8; 8]| {
        let mut frame = plain.clone();
        let headers: Vec<u8> = (0..count)
            .flat_map(|i| {
                header[0] = if i + 1 < count { kind } else { 6 };
                header
            })
            .collect();
        let length = u16::from_be_bytes([frame[18], frame[19]]) + headers.len() as u16;
        frame[18..20].copy_from_slice(&length.to_be_bytes());
        frame[20] = kind;
        frame.splice(54..54, headers);
        frame
    };
    let mut summarised = |frame: &[u8]| {
        programs.rehearse(Direction::Outgoing, frame, 1).expect("it takes the frame");
        let mut summarised = 0;
        programs.drain(|packet| summarised += u64::from(packet.flow == flow(Kind::Ipv6))).unwrap();
        summarised
    };
    for count in [1, 4, 5, 16, 170] {
        assert_eq!(summarised(&behind(destination, count, [0, 0, 1, 4, 0, 0, 0, 0])), 1, "{count} headers");
    }
    assert_eq!(summarised(&behind(fragment, 1, [0, 0, 0, 0, 0, 0, 0, 7])), 1, "an atomic fragment");
    assert_eq!(summarised(&behind(fragment, 1, [0, 0, 0, 1, 0, 0, 0, 7])), 0, "the first of several");
    assert_eq!(summarised(&behind(fragment, 1, [0, 0, 0, 8, 0, 0, 0, 7])), 0, "the last of several");
    assert_eq!(summarised(&behind(51, 1, [0; 8])), 0, "authenticated: it must not be changed");
}

/// An IPv4 data packet that arrives.
fn arrival(seq: u32, payload: usize, flags: Flags) -> Vec<u8> {
    let builder = PacketBuilder::ethernet2([4; 6], [2; 6]).ipv4([192, 0, 2, 1], [10, 0, 0, 1], 64);
    let mut tcp = builder.tcp(443, 5001, seq, 500).ack(7);
    tcp = if flags.rst { tcp.rst() } else { tcp };
    let mut bytes = Vec::new();
    tcp.write(&mut bytes, &vec![0; payload]).expect("a vector takes it");
    bytes
}

#[test]
fn data_beyond_the_window_that_the_sender_was_told_are_dropped() {
    if is_unprivileged() {
        return;
    }
    let programs = Programs::load(NOWHERE, ETHERNET, Enforcement::Rewrite).expect("the kernel takes them");
    let arrives = |seq: u32, payload: usize, flags: Flags| {
        let before = programs.counts();
        programs.rehearse(Direction::Incoming, &arrival(seq, payload, flags), 1).expect("it takes the frame");
        let now = programs.counts();
        assert_eq!(now.summarised - before.summarised + now.beyond - before.beyond, 1);
        now.summarised > before.summarised
    };
    let plain = Flags::default();
    let start = u32::MAX - 70_000;
    let ack = |window| sent(&programs, &departure(Kind::Ipv4, start.wrapping_add(50_000), window, plain));
    assert!(arrives(start.wrapping_add(90_000), 1000, plain), "not held");
    programs.hold(&flow(Kind::Ipv4), WindowTarget::from_bytes(10_000, MSS), Some(0)).unwrap();
    assert!(arrives(start.wrapping_add(90_000), 1000, plain), "nothing is promised yet");
    sent(&programs, &departure(Kind::Ipv4, start, 60_000, plain));
    assert_eq!(ack(60_000), 10_000, "promised are 60,000 from the start on, the host believes in 110,000");
    for (offset, payload, flags, is_taken) in [
        (50_000, 1000, plain, true),
        (59_000, 1000, plain, true),
        (60_000, 1, plain, true),
        (59_001, 1001, plain, false),
        (60_000, 1000, plain, false),
        (109_999, 1000, plain, false),
        (110_000, 1000, plain, true),
        (0, 1000, plain, true),
        (60_000, 0, Flags { syn: false, rst: true }, true),
    ] {
        assert_eq!(arrives(start.wrapping_add(offset), payload, flags), is_taken, "{payload} bytes at {offset}");
    }
    assert_eq!(ack(10_000), 10_000);
    assert!(arrives(start.wrapping_add(60_000), 1000, plain), "the host's own window ends there as well");
    programs.release(&flow(Kind::Ipv4)).unwrap();
    assert!(arrives(start.wrapping_add(60_000), 1000, plain), "released");
}

/// Cost of a packet in the kernel: `cargo test -p fairweir-guardd --test kernel_window -- --ignored --nocapture`.
#[test]
#[ignore = "measures time"]
fn cost() {
    let programs = Programs::load(NOWHERE, ETHERNET, Enforcement::Rewrite).expect("the kernel takes them");
    programs.hold(&flow(Kind::Ipv4), WindowTarget::from_bytes(10_000, MSS), Some(0)).unwrap();
    let stamps = [1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2];
    let frames =
        [("with timestamps", with_options(0, &stamps)), ("IPv6", departure(Kind::Ipv6, 1, 500, Flags::default()))];
    for (what, frame) in frames {
        for direction in [Direction::Incoming, Direction::Outgoing] {
            let mut times: Vec<u128> =
                (0..21).map(|_| programs.rehearse(direction, &frame, 100_000).expect("it runs").1.as_nanos()).collect();
            times.sort_unstable();
            println!("{what}, {direction:?}: {} ns, fastest {} ns", times[10], times[0]);
        }
    }
}

#[test]
fn broken_packets_are_neither_told_nor_changed() {
    if is_unprivileged() {
        return;
    }
    let mut programs = Programs::load(NOWHERE, ETHERNET, Enforcement::Rewrite).expect("the kernel takes them");
    programs.hold(&flow(Kind::Ipv4), WindowTarget::from_bytes(0, MSS), Some(0)).unwrap();
    let whole = departure(Kind::Ipv4, 1 << 20, 60_000, Flags::default());
    let broken = |at: usize, value: u8| {
        let mut frame = whole.clone();
        frame[at] = value;
        frame
    };
    // Version; header length 0 and 60; UDP; a fragment; TCP's header length 0 and 60; a length beyond the frame.
    let wrong = [(14, 0x65), (14, 0x40), (14, 0x4f), (23, 17), (20, 0x20), (46, 0x00), (46, 0xf0), (16, 0xff)];
    for (at, value) in wrong {
        let frame = broken(at, value);
        assert_eq!(programs.rehearse(Direction::Outgoing, &frame, 1).unwrap().0, frame, "byte {at} = {value:#x}");
    }
    for length in ETHERNET as usize..54 {
        let frame = &whole[..length];
        // The kernel itself refuses frames without an IP header.
        if let Ok((out, _)) = programs.rehearse(Direction::Incoming, frame, 1) {
            assert_eq!(out, frame, "{length} bytes");
        }
    }
    let mut summarised = 0;
    programs.drain(|_| summarised += 1).unwrap();
    assert_eq!(summarised, 0);
}
