//! A packet and its fate, as known to the sender.

/// Fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Acknowledged at this time, ns.
    Acked {
        /// Time, ns.
        at: u64,
        /// Frame number of the acknowledgement.
        frame: u32,
        /// Whether this is the newest packet of an ACK that was not delayed: an ACK that covers at least two packets,
        /// has SACK blocks, or comes shortly after another. Other ACKs may be late by the receiver's delayed-ACK timer,
        /// which is not jitter of the path.
        is_prompt: bool,
    },
    /// The retransmission of a packet, acknowledged at this time. The ACK may be for the first transmission, which was
    /// then not lost (Karn). The packet passed the link, but its delay is unknown.
    Resent {
        /// Time, ns.
        at: u64,
        /// Frame number of the acknowledgement.
        frame: u32,
    },
    /// The packet was retransmitted before it was acknowledged.
    Lost,
    /// Undetermined: the capture ended before the packet was acknowledged or retransmitted.
    Open,
}

/// A packet of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packet {
    /// Send time, ns.
    pub sent: u64,
    /// Size of the IP packet, bytes.
    pub bytes: u32,
    /// Frame number in the file. 32 bits suffice: a capture of 2^32 packets would have 350 GB of headers.
    pub frame: u32,
    /// Fate of the packet.
    pub fate: Fate,
}

impl Packet {
    /// Time of its acknowledgement, ns.
    pub fn acked(&self) -> Option<u64> {
        match self.fate {
            Fate::Acked { at, .. } | Fate::Resent { at, .. } => Some(at),
            Fate::Lost | Fate::Open => None,
        }
    }
    /// RTT, ns; `None` if the packet was not acknowledged or if it is ambiguous which transmission the ACK is for.
    pub fn rtt(&self) -> Option<u64> {
        match self.fate {
            Fate::Acked { at, .. } => Some(at.saturating_sub(self.sent)),
            Fate::Resent { .. } | Fate::Lost | Fate::Open => None,
        }
    }
}

#[cfg(test)]
pub(crate) mod testing {
    //! Random CBR-delay paths, and their records as the sender sees them.

    use super::*;
    use proptest::prelude::*;

    /// A path and the record of packets that were sent over it.
    #[derive(Clone, Debug)]
    pub(crate) struct Path {
        pub rate: f64,
        pub rtprop: u64,
        pub jitter: u64,
        pub buffer: f64,
        pub packets: Vec<Packet>,
    }

    /// Paths with 2 to 120 packets, idle or overloaded, with or without losses.
    pub(crate) fn paths() -> impl Strategy<Value = Path> {
        let packet = (0u64..3_000_000, 100u32..1500, 0u64..=1000);
        (
            1_000_000u64..20_000_000,
            1u64..20_000_000,
            1u64..8_000_000,
            3000u32..40_000,
            prop::collection::vec(packet, 2..120),
        )
            .prop_map(|(rate, rtprop, jitter, buffer, sends)| {
                play(rate as f64, rtprop, jitter, f64::from(buffer), &sends)
            })
    }

    /// For each packet: the time since the previous packet, ns; its size, bytes; its share of the jitter, thousandths.
    pub(crate) type Sends = Vec<(u64, u32, u64)>;

    /// Returns the sender's record of packets sent over a path.
    pub(crate) fn play(rate: f64, rtprop: u64, jitter: u64, buffer: f64, sends: &[(u64, u32, u64)]) -> Path {
        let (mut now, mut free, mut last) = (0u64, 0.0f64, 0u64);
        let mut packets = Vec::new();
        for (i, &(gap, bytes, share)) in sends.iter().enumerate() {
            let frame = 2 * i as u32 + 1;
            now += gap;
            let queued = (free - now as f64).max(0.0) * rate / 1e9;
            if queued + f64::from(bytes) > buffer {
                packets.push(Packet { sent: now, bytes, frame, fate: Fate::Lost });
                continue;
            }
            free = free.max(now as f64) + f64::from(bytes) * 1e9 / rate;
            let at = free.ceil() as u64 + rtprop + jitter * share / 1000;
            last = last.max(at);
            let fate = Fate::Acked { at: last, frame: frame + 1, is_prompt: true };
            packets.push(Packet { sent: now, bytes, frame, fate });
        }
        Path { rate, rtprop, jitter, buffer, packets }
    }

    /// A link with a varying rate and intermittent jitter.
    #[derive(Clone, Debug, Default)]
    pub(crate) struct Link {
        /// Times, ns, from which each rate holds, and the rates, bytes/s.
        steps: Vec<(u64, f64)>,
        jitter: u64,
        free: f64,
        served: u64,
    }

    impl Link {
        pub(crate) fn new(steps: &[(u64, f64)], jitter: u64) -> Link {
            Link { steps: steps.to_vec(), jitter, ..Link::default() }
        }
        /// Returns the departure time of a packet that arrives at `now`.
        fn serve(&mut self, now: u64, bytes: u32) -> u64 {
            self.served += 1;
            let (mut at, mut left) = (self.free.max(now as f64), f64::from(bytes));
            while left > 0.0 {
                let step = self.steps.partition_point(|&(from, _)| from as f64 <= at) - 1;
                let rate = self.steps[step].1 / 1e9;
                let until = self.steps.get(step + 1).map_or(f64::INFINITY, |&(from, _)| from as f64);
                let sent = left.min(rate * (until - at));
                at = if sent < left { until } else { at + sent / rate };
                left -= sent;
            }
            self.free = at;
            at.ceil() as u64 + self.jitter * (self.served * 7919 % 101) / 100
        }
    }

    /// A sender with a fixed window, counted in packets of 1000 bytes.
    pub(crate) fn windowed(link: &mut Link, rtprop: u64, window: usize, count: usize) -> Vec<Packet> {
        let mut packets: Vec<Packet> = Vec::new();
        let mut last = 0;
        for i in 0..count {
            let sent = i.checked_sub(window).and_then(|i| packets[i].acked()).unwrap_or(0);
            last = (link.serve(sent, 1000) + rtprop).max(last + 1);
            let frame = 2 * i as u32 + 1;
            packets.push(Packet {
                sent,
                bytes: 1000,
                frame,
                fate: Fate::Acked { at: last, frame: frame + 1, is_prompt: true },
            });
        }
        packets
    }
}
