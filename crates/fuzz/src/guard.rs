//! Arbitrary packets for the guard's table and policies, and arbitrary files for the capture reader.

use arbitrary::{Result, Unstructured};
use fairweir_capture::Reader;
use fairweir_guard::policy::{Class, Classify, Config, Labels, Policies};
use fairweir_guard::{Feature, FlowKey, Limits, Packet, Promise, Table};
use fairweir_tcp::{Direction, Flags, Timestamps};
use fairweir_units::{Bytes, Dur, Time};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Minimum window of the guard's policies: two full segments on Ethernet.
const MIN_WINDOW: u64 = 2 * 1460;

/// A model that returns a constant.
#[derive(Debug)]
struct AllNear;

impl Classify for AllNear {
    fn features(&self) -> Vec<Feature> {
        Vec::new()
    }

    fn classify(&self, rows: &[&[Option<f64>]]) -> Vec<Class> {
        vec![Class::Near; rows.len()]
    }
}

/// Parses a policy file: it must be rejected with a line and a reason, or yield policies that a flow table can apply.
///
/// # Panics
/// If the file is neither rejected with a line and a reason nor accepted.
pub fn policies(text: &str) {
    match Config::from_toml(text) {
        Ok(config) => {
            let classifier = config.flow.is_some().then(|| Box::new(AllNear) as Box<dyn Classify>);
            let policies = Policies::new(&config, classifier).expect("a model where one is named");
            drop(Table::new(Limits::default(), [0; 16], policies.plan()));
        }
        Err(e) => assert!(e.line > 0 && !e.reason.is_empty(), "of `{text}`"),
    }
}

/// Reads a capture file to its end. The result must be an error with a hint, or no more segments than fit in the file.
///
/// # Panics
/// If there are more segments than fit in the file, or if the reader panics.
pub fn capture(bytes: &[u8]) {
    let mut reader = match Reader::new(bytes) {
        Ok(reader) => reader,
        Err(e) => return assert!(!e.to_string().is_empty() && !e.hint().is_empty()),
    };
    let mut segments = 0;
    while let Ok(Some(_)) = reader.next_segment() {
        segments += 1;
        assert!(segments <= bytes.len(), "a segment takes more than a byte");
    }
}

/// Processes packets, decisions and ACKs derived from `bytes`: memory is bounded, values are valid, and windows never
/// shrink.
///
/// # Panics
/// If one of these properties is violated.
pub fn guard(bytes: &[u8]) {
    // An error means that the bytes are used up; everything before was checked.
    let _ = watch(&mut Unstructured::new(bytes));
}

fn watch(from: &mut Unstructured<'_>) -> Result<()> {
    let config = Config::from_toml(from.choose(&Config::examples())?).expect("policies");
    let classifier = config.flow.is_some().then(|| Box::new(AllNear) as Box<dyn Classify>);
    let mut policies = Policies::new(&config, classifier).expect("a model where one is named");
    let limits = Limits {
        open: from.int_in_range(0..=5)?,
        per_source: from.int_in_range(0..=5)?,
        unverified: from.int_in_range(0..=5)?,
        idle: Dur::from_millis(from.int_in_range(0..=2000)?),
        budget: Bytes(from.int_in_range(0..=40_000)?),
        needs_proof: from.arbitrary()?,
    };
    let mut table = Table::new(limits, from.arbitrary()?, policies.plan());
    let mut promise = Promise::new(from.arbitrary()?);
    while !from.is_empty() {
        let packet = packet(from)?;
        table.observe(&packet);
        assert!(table.iter().count() <= limits.open && table.unverified() <= limits.unverified.max(1));
        assert!(table.bytes() <= limits.budget || table.iter().count() <= 1, "{} of {}", table.bytes(), limits.budget);
        if from.ratio(1, 8)? {
            table.expire(packet.at);
        }
        if from.ratio(1, 4)? {
            for (_, decision) in policies.decide(&table, |_| Labels::default()) {
                assert!(decision.rate_mbps.is_none_or(f64::is_finite), "{decision:?}");
                assert!(decision.window.is_none_or(|window| window.bytes() >= MIN_WINDOW), "{decision:?}");
                assert!(!decision.why.to_string().is_empty());
                assert!(promise.advertise(packet.ack, packet.window, decision.window) <= packet.window);
            }
        }
    }
    Ok(())
}

/// Returns a number near others, so that packets refer to each other, or an arbitrary number.
fn number(from: &mut Unstructured<'_>) -> Result<u32> {
    if from.ratio(7, 8)? { from.int_in_range(0..=20_000) } else { from.arbitrary() }
}

fn packet(from: &mut Unstructured<'_>) -> Result<Packet> {
    let host = from.int_in_range(0..=7u16)?;
    let address = if host < 6 {
        IpAddr::V4(Ipv4Addr::from_bits(u32::from(host)))
    } else {
        IpAddr::V6(Ipv6Addr::from_bits(u128::from(host) << 64))
    };
    let local = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 1);
    let at = if from.ratio(7, 8)? { from.int_in_range(0..=4_000_000_000)? } else { from.arbitrary()? };
    Ok(Packet {
        at: Time::from_nanos(at),
        flow: FlowKey::new(local, SocketAddr::new(address, 443), 0),
        direction: if from.arbitrary()? { Direction::Incoming } else { Direction::Outgoing },
        flags: Flags(if from.ratio(7, 8)? { 0x10 } else { from.arbitrary()? }),
        seq: number(from)?,
        ack: number(from)?,
        window: from.arbitrary()?,
        timestamps: Some(Timestamps { tsval: number(from)?, tsecr: number(from)? }).filter(|stamps| stamps.tsval != 7),
        payload: number(from)?,
        wire: number(from)?,
        segs: from.arbitrary()?,
        wscale: from.arbitrary()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_packets_are_watched(bytes in proptest::collection::vec(any::<u8>(), 0..6_000)) {
            guard(&bytes);
        }

        #[test]
        fn any_text_is_policies_or_a_message(
            text in r#"\[?\[?(service|cap|weights|rledbat|flow)\]?\]?\n((group|rate|model|service|capacity) = ('(all|flow|1Mbps|reno)'|.{0,3})\n){0,3}"#
        ) {
            policies(&text);
        }

        #[test]
        fn any_file_is_a_capture_or_a_message(
            magic in prop_oneof![Just(0xa1b2_c3d4u32), Just(0xa1b2_3c4d), Just(0x0a0d_0d0a)],
            bytes in proptest::collection::vec(any::<u8>(), 0..400),
        ) {
            capture(&[&magic.to_le_bytes()[..], &bytes].concat());
        }
    }
}
