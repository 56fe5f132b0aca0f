//! Names of addresses, learned from DNS answers that were requested. The latest name of an address is used until its
//! answer expires.

use fairweir_units::{Dur, Time};
use simple_dns::rdata::RData;
use simple_dns::{Packet, PacketFlag, RCODE, header_buffer};
use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

/// Maximum number of addresses; beyond it, new answers replace the oldest.
const MOST: usize = 4096;
/// Minimum lifetime of an entry: programs use addresses for longer than the few seconds for which some answers are
/// valid.
const MIN_KEPT: Dur = Dur::from_secs(60);
const LONGEST_KEPT: Dur = Dur::from_secs(24 * 3600);
/// Minimum bytes of a resource record: name, type, class, TTL and length.
const MIN_RECORD: usize = 11;
/// Maximum length of a name in a message; some of its characters are escaped.
const LONGEST_NAME: usize = 255;

/// The learned names.
#[derive(Debug, Default)]
pub(crate) struct DnsCache(HashMap<IpAddr, Entry>);

#[derive(Debug)]
struct Entry {
    name: Arc<str>,
    since: Time,
    until: Time,
}

impl DnsCache {
    /// Stores the addresses in a message; a message without addresses changes nothing.
    pub(crate) fn learn(&mut self, message: &[u8], now: Time) {
        let Some(Answered { name, addresses }) = answered(message) else { return };
        for (address, kept) in addresses {
            if self.0.len() >= MOST && !self.0.contains_key(&address) {
                self.forget_the_oldest(now);
            }
            let until = now + kept.max(MIN_KEPT).min(LONGEST_KEPT);
            self.0.insert(address, Entry { name: name.clone(), since: now, until });
        }
    }

    /// Returns the name of `address`, if its answer is still valid.
    pub(crate) fn name(&self, address: IpAddr, now: Time) -> Option<Arc<str>> {
        self.0.get(&address).filter(|entry| now <= entry.until).map(|entry| entry.name.clone())
    }

    fn forget_the_oldest(&mut self, now: Time) {
        self.0.retain(|_, entry| now <= entry.until);
        if self.0.len() >= MOST
            && let Some(oldest) = self.0.iter().min_by_key(|(_, entry)| entry.since).map(|(address, _)| *address)
        {
            self.0.remove(&oldest);
        }
    }
}

/// Content of a DNS answer.
#[derive(Debug, PartialEq, Eq)]
struct Answered {
    /// The name in the query, in lower case.
    name: Arc<str>,
    /// The addresses of this name and of its aliases, each with its lifetime.
    addresses: Vec<(IpAddr, Dur)>,
}

fn answered(message: &[u8]) -> Option<Answered> {
    let counts = [header_buffer::answers, header_buffer::name_servers, header_buffer::additional_records];
    // Check the header first: the parser allocates as many records as the header claims.
    let said: usize = counts.iter().map(|count| count(message).map_or(usize::MAX / 4, usize::from)).sum();
    if said > message.len() / MIN_RECORD || header_buffer::questions(message).ok()? != 1 {
        return None;
    }
    let packet = Packet::parse(message).ok()?;
    if !packet.has_flags(PacketFlag::RESPONSE) || packet.rcode() != RCODE::NoError {
        return None;
    }
    let name = packet.questions.first()?.qname.to_string().to_ascii_lowercase();
    if name.is_empty() || name.len() > LONGEST_NAME || !name.bytes().all(is_of_a_name) {
        return None;
    }
    let addresses = packet.answers.iter().filter_map(|answer| {
        let address: IpAddr = match &answer.rdata {
            RData::A(a) => Ipv4Addr::from_bits(a.address).into(),
            RData::AAAA(aaaa) => Ipv6Addr::from_bits(aaaa.address).into(),
            _ => return None,
        };
        Some((address.to_canonical(), Dur::from_secs(u64::from(answer.ttl))))
    });
    Some(Answered { name: name.into(), addresses: addresses.collect() })
}

/// Host names consist of letters, digits and hyphens (RFC 1123 §2.1); names of services may also contain underscores.
fn is_of_a_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use simple_dns::rdata::{A, AAAA, CNAME, OPT};
    use simple_dns::{CLASS, Name, QCLASS, QTYPE, Question, ResourceRecord, TYPE};

    fn seconds(s: u64) -> Time {
        Time::ZERO + Dur::from_secs(s)
    }

    fn question(name: &str) -> Question<'_> {
        Question::new(Name::new_unchecked(name), QTYPE::TYPE(TYPE::A), QCLASS::CLASS(CLASS::IN), false)
    }

    fn answer(name: &str, ttl: u32, addresses: &[&str]) -> Vec<u8> {
        let mut packet = Packet::new_reply(7);
        packet.questions.push(question(name));
        let mut push = |rdata| {
            packet.answers.push(ResourceRecord::new(Name::new_unchecked("cdn.example"), CLASS::IN, ttl, rdata));
        };
        push(RData::CNAME(CNAME(Name::new_unchecked("cdn.example"))));
        for address in addresses {
            push(match address.parse().unwrap() {
                IpAddr::V4(v4) => RData::A(A { address: v4.to_bits() }),
                IpAddr::V6(v6) => RData::AAAA(AAAA { address: v6.to_bits() }),
            });
        }
        *packet.opt_mut() = Some(OPT { opt_codes: Vec::new(), udp_packet_size: 1232, version: 0 });
        packet.build_bytes_vec_compressed().unwrap()
    }

    fn name_of(learned: &DnsCache, address: &str, at: u64) -> Option<String> {
        learned.name(address.parse().unwrap(), seconds(at)).map(|name| name.to_string())
    }

    #[test]
    fn addresses_have_the_name_that_was_asked_for_until_their_answer_is_old() {
        let mut learned = DnsCache::default();
        learned.learn(&answer("Video.Example", 300, &["192.0.2.7", "2001:db8::7"]), seconds(0));
        for address in ["192.0.2.7", "2001:db8::7"] {
            assert_eq!(name_of(&learned, address, 300).as_deref(), Some("video.example"));
            assert_eq!(name_of(&learned, address, 301), None);
        }
        learned.learn(&answer("other.example", 1, &["192.0.2.7"]), seconds(10));
        assert_eq!(name_of(&learned, "192.0.2.7", 70).as_deref(), Some("other.example"), "the latest, for a minute");
        assert_eq!(name_of(&learned, "192.0.2.7", 71), None);
        learned.learn(&answer("long.example", u32::MAX, &["192.0.2.9"]), seconds(0));
        assert_eq!(name_of(&learned, "192.0.2.9", 24 * 3600 + 1), None);
    }

    #[test]
    fn the_oldest_go_for_new_ones() {
        let mut learned = DnsCache::default();
        let address = |i: usize| Ipv4Addr::from_bits(0x0a00_0000 + i as u32).to_string();
        for i in 0..MOST + 10 {
            learned.learn(&answer("a.example", 3600, &[&address(i)]), seconds(i as u64 / 8));
        }
        assert_eq!(learned.0.len(), MOST);
        assert!(name_of(&learned, &address(MOST + 9), 600).is_some());
        let gone = (0..MOST).filter(|&i| name_of(&learned, &address(i), 600).is_none());
        assert!(gone.clone().count() == 10 && gone.max() < Some(16), "the oldest");
    }

    #[test]
    fn an_invalid_answer_teaches_no_name() {
        let good = answer("a.example", 60, &["192.0.2.7"]);
        assert!(answered(&good).is_some());
        let with = |at: usize, value: u8| {
            let mut message = good.clone();
            message[at] = value;
            message
        };
        // Invalid: a query; an answer "no such name"; a message without a question; a header that claims 65,000
        // answers.
        for bad in [with(2, 0x01), with(3, 0x83), with(5, 0), with(6, 0xfd)] {
            assert_eq!(answered(&bad), None);
        }
        assert_eq!(answered(&answer("", 60, &["192.0.2.7"])), None);
        for odd in ["a\x1b[2J.example", ":.exanj#e", "a b.example", "a\u{e9}.example"] {
            assert_eq!(answered(&answer(odd, 60, &["192.0.2.7"])), None, "{odd:?}");
        }
        assert!(answered(&answer("_dns.a-1.example", 60, &["192.0.2.7"])).is_some());
    }

    proptest! {
        #[test]
        fn no_message_is_too_odd(
            bytes in proptest::collection::vec(any::<u8>(), 0..1300),
            places in proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..6),
            cut in any::<proptest::sample::Index>(),
        ) {
            let mut learned = DnsCache::default();
            learned.learn(&bytes, seconds(0));
            let mut message = answer("video.example", 300, &["192.0.2.7", "2001:db8::7"]);
            for (place, value) in places {
                let at = place.index(message.len());
                message[at] = value;
            }
            learned.learn(&message[..cut.index(message.len() + 1)], seconds(0));
            prop_assert!(learned.0.values().all(|entry| entry.name.bytes().all(is_of_a_name)));
        }
    }
}
