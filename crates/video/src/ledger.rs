//! A sender's record of its packets: sent, acknowledged and lost amounts over time, in full packets.

use fairweir_units::Time;

/// A sent packet.
#[derive(Clone, Copy, Debug)]
pub struct SentPacket {
    /// Time at which it was sent.
    pub at: Time,
    /// Number of its group of frames.
    pub group: u32,
    /// Its bytes on the wire divided by those of a full packet.
    pub size: f64,
    /// Sum of the sizes of all packets up to and including this one.
    pub sum: f64,
}

/// All packets sent and their fates, as far as they are known. The path is FIFO, so a gap in the acknowledgements is a
/// loss.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    packets: Vec<SentPacket>,
    /// Times of acknowledgements, with the total acknowledged by then.
    delivered: Vec<(Time, f64)>,
    /// Numbers of lost packets, with the total lost up to each of them. Losses are detected in order.
    lost: Vec<(usize, f64)>,
    /// All packets below this number are known to be delivered or lost.
    resolved: usize,
}

impl Ledger {
    pub(crate) fn send(&mut self, at: Time, group: u32, size: f64) -> usize {
        let sum = self.sent() + size;
        self.packets.push(SentPacket { at, group, size, sum });
        self.packets.len() - 1
    }

    /// Records the acknowledgement of packet `seq`. Returns the numbers of the packets that are now known to be lost.
    pub(crate) fn acknowledge(&mut self, now: Time, seq: usize) -> std::ops::Range<usize> {
        let lost = self.resolved..seq;
        for seq in lost.clone() {
            let sum = self.lost() + self.packets[seq].size;
            self.lost.push((seq, sum));
        }
        self.resolved = seq + 1;
        let sum = self.delivered() + self.packets[seq].size;
        self.delivered.push((now, sum));
        lost
    }

    /// Returns packet number `seq`.
    pub fn packet(&self, seq: usize) -> &SentPacket {
        &self.packets[seq]
    }

    /// Returns the total amount sent, packets.
    pub fn sent(&self) -> f64 {
        self.packets.last().map_or(0.0, |p| p.sum)
    }

    /// Returns the total amount acknowledged, packets.
    pub fn delivered(&self) -> f64 {
        self.delivered.last().map_or(0.0, |d| d.1)
    }

    /// Returns the total amount known to be lost, packets.
    pub fn lost(&self) -> f64 {
        self.lost.last().map_or(0.0, |l| l.1)
    }

    /// Returns the amount sent that is neither acknowledged nor known to be lost, packets.
    pub fn in_flight(&self) -> f64 {
        (self.sent() - self.delivered() - self.lost()).max(0.0)
    }

    /// Returns the number of packets (of any size) in flight.
    pub fn packets_in_flight(&self) -> usize {
        self.packets.len() - self.resolved
    }

    /// Returns the time at which the oldest packet in flight was sent.
    pub fn oldest_in_flight(&self) -> Option<Time> {
        self.packets.get(self.resolved).map(|p| p.at)
    }

    /// Returns the number of packets sent up to and including `time`.
    pub fn count_by(&self, time: Time) -> usize {
        self.packets.partition_point(|p| p.at <= time)
    }

    /// Returns the total size of the first `count` packets.
    pub fn sum_of(&self, count: usize) -> f64 {
        if count == 0 { 0.0 } else { self.packets[count - 1].sum }
    }

    /// Returns the amount acknowledged up to and including `time`.
    pub fn delivered_by(&self, time: Time) -> f64 {
        match self.delivered.partition_point(|d| d.0 <= time) {
            0 => 0.0,
            n => self.delivered[n - 1].1,
        }
    }

    /// Returns the amount among the first `count` packets that is now known to be lost.
    pub fn lost_among(&self, count: usize) -> f64 {
        match self.lost.partition_point(|l| l.0 < count) {
            0 => 0.0,
            n => self.lost[n - 1].1,
        }
    }

    /// Returns whether the fates of the first `count` packets are known.
    pub fn is_resolved(&self, count: usize) -> bool {
        count <= self.resolved
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gap_is_a_loss_and_sums_are_by_time() {
        let at = |ms: u64| Time::from_nanos(ms * 1_000_000);
        let mut ledger = Ledger::default();
        for i in 0..5 {
            assert_eq!(ledger.send(at(10 * i), 0, 0.5), i as usize);
        }
        assert_eq!(ledger.acknowledge(at(60), 0), 0..0);
        assert_eq!(ledger.acknowledge(at(90), 3), 1..3);
        assert_eq!((ledger.sent(), ledger.delivered(), ledger.lost(), ledger.in_flight()), (2.5, 1.0, 1.0, 0.5));
        assert_eq!((ledger.count_by(at(20)), ledger.sum_of(3)), (3, 1.5));
        assert_eq!((ledger.delivered_by(at(89)), ledger.delivered_by(at(90))), (0.5, 1.0));
        assert_eq!((ledger.lost_among(1), ledger.lost_among(2), ledger.lost_among(5)), (0.0, 0.5, 1.0));
        assert!(ledger.is_resolved(4) && !ledger.is_resolved(5));
        assert_eq!(ledger.packets_in_flight(), 1);
    }
}
