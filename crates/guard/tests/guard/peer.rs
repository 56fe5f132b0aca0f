//! A sender and the ACKs that it gets, as the packets that the managed host's interface sees.

use fairweir_guard::{FlowKey, Packet, Table};
use fairweir_tcp::{Direction, Flags, Timestamps};
use fairweir_units::{Dur, Time};
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub const LOCAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, 1)), 5001);
pub const PAYLOAD: u32 = 1448;
pub const HEADERS: u32 = 66;

/// The flow from port 443 of the host whose address has these bits.
pub fn key(host: u32) -> FlowKey {
    key_from(host, 443)
}

pub fn key_from(host: u32, port: u16) -> FlowKey {
    FlowKey::new(LOCAL, SocketAddr::new(IpAddr::V4(Ipv4Addr::from_bits(host)), port), 0)
}

/// A pure ACK.
pub fn packet(at_us: u64, flow: FlowKey, direction: Direction) -> Packet {
    Packet {
        at: Time::ZERO + Dur::from_micros(at_us),
        flow,
        direction,
        flags: Flags::ACK,
        seq: 1000,
        ack: 1000,
        window: 500,
        timestamps: None,
        payload: 0,
        wire: HEADERS,
        segs: 1,
        wscale: None,
    }
}

/// One sender whose RTT is known.
pub struct Peer {
    pub key: FlowKey,
    pub rtt_us: u64,
    pub seq: u32,
    /// When our ACKs left that it has not seen yet.
    acks: VecDeque<u64>,
    echo: u64,
}

impl Peer {
    pub fn new(key: FlowKey, rtt_us: u64) -> Peer {
        Peer { key, rtt_us, seq: 1000, acks: VecDeque::new(), echo: 0 }
    }

    /// `segments` that never arrive.
    pub fn lose(&mut self, segments: u32) {
        self.seq = self.seq.wrapping_add(PAYLOAD * segments);
    }

    /// The next segments arrive, merged, and echo the newest ACK that left an RTT ago; our ACK leaves. TSvals are µs.
    pub fn exchange(&mut self, at_us: u64, segments: u16) -> [Packet; 2] {
        while let Some(seen) = self.acks.pop_front_if(|left| *left + self.rtt_us <= at_us) {
            self.echo = seen;
        }
        self.acks.push_back(at_us);
        let payload = PAYLOAD * u32::from(segments);
        let data = Packet {
            seq: self.seq,
            payload,
            wire: payload + HEADERS * u32::from(segments),
            segs: segments,
            timestamps: Some(Timestamps { tsval: at_us as u32, tsecr: self.echo as u32 }),
            ..packet(at_us, self.key, Direction::Incoming)
        };
        self.seq = self.seq.wrapping_add(payload);
        let ours = Some(Timestamps { tsval: at_us as u32, tsecr: at_us as u32 });
        let ack = Packet { ack: self.seq, timestamps: ours, ..packet(at_us, self.key, Direction::Outgoing) };
        [data, ack]
    }

    /// The same, seen by `table`.
    pub fn arrive(&mut self, table: &mut Table, at_us: u64, segments: u16) {
        for packet in self.exchange(at_us, segments) {
            table.observe(&packet);
        }
    }
}

/// Senders at steady rates, Mbit/s of payload; each loses segments periodically.
pub struct Senders {
    pub peers: Vec<(Peer, f64)>,
    pub lose_every: Option<u64>,
    sent: u64,
}

impl Senders {
    pub fn new(peers: Vec<(Peer, f64)>, lose_every: Option<u64>) -> Senders {
        Senders { peers, lose_every, sent: 0 }
    }

    pub fn send(&mut self, table: &mut Table, from_us: u64, to_us: u64) {
        let mut due: Vec<f64> = vec![from_us as f64; self.peers.len()];
        let next = |due: &[f64]| due.iter().copied().enumerate().min_by(|a, b| a.1.total_cmp(&b.1));
        while let Some((index, at)) = next(&due).filter(|(_, at)| *at < to_us as f64) {
            let (peer, mbps) = &mut self.peers[index];
            self.sent += 1;
            if self.lose_every.is_some_and(|every| self.sent.is_multiple_of(every)) {
                peer.lose(1);
            }
            peer.arrive(table, at as u64, 1);
            due[index] += 8.0 * f64::from(PAYLOAD) / *mbps;
        }
    }
}
