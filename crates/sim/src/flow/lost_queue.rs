//! Packets that are lost and not retransmitted, in the order in which they are to be retransmitted.
//!
//! Linux retransmits the lowest lost packet first (`tcp_xmit_retransmit_queue` walks the retransmission queue from
//! `retransmit_skb_hint`, which `tcp_verify_retransmit_hint` moves back to each lower packet that is marked lost). This
//! matters if retransmissions are lost, too: in a full queue the first packet of a burst takes the place that the last
//! departure has left. With the lowest packet first, `snd_una` advances; with the packets in the order of their losses, a
//! packet that was lost twice follows those that were lost once, and may be lost again every time.

use crate::ring::Ring;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Numbers of lost packets. Without losses of retransmissions they arrive in order, and cost what a ring costs.
#[derive(Debug)]
pub(super) struct LostQueue {
    /// Packets in the order in which they were lost; ascending if the lowest is first.
    in_order: Ring<u64>,
    /// Packets below the last of `in_order` when they were lost; unused in the order of losses.
    earlier: BinaryHeap<Reverse<u64>>,
    /// Whether the lowest packet is first, not the one that was lost first.
    pub(super) is_lowest_first: bool,
}

impl LostQueue {
    /// Creates an empty queue in the order of losses.
    pub(super) fn new() -> LostQueue {
        LostQueue { in_order: Ring::new(), earlier: BinaryHeap::new(), is_lowest_first: false }
    }

    /// Returns whether the queue is empty.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.in_order.is_empty() && self.earlier.is_empty()
    }

    /// Returns whether the next packet is one of `earlier`.
    #[inline]
    fn has_earlier(&self) -> bool {
        self.earlier.peek().is_some_and(|Reverse(seq)| self.in_order.front().is_none_or(|first| seq < first))
    }

    /// Returns the next packet.
    #[inline]
    pub(super) fn front(&self) -> Option<u64> {
        if self.has_earlier() { self.earlier.peek().map(|Reverse(seq)| *seq) } else { self.in_order.front().copied() }
    }

    /// Removes the next packet.
    #[inline]
    pub(super) fn pop(&mut self) {
        if self.has_earlier() {
            self.earlier.pop();
        } else {
            self.in_order.pop();
        }
    }

    /// Adds a packet; a packet may be present more than once.
    pub(super) fn push(&mut self, seq: u64) {
        if self.is_lowest_first && self.in_order.back().is_some_and(|last| seq < *last) {
            self.earlier.push(Reverse(seq));
        } else {
            self.in_order.push(seq);
        }
    }

    /// Removes all packets.
    pub(super) fn clear(&mut self) {
        self.in_order.clear();
        self.earlier.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drained(mut queue: LostQueue) -> Vec<u64> {
        std::iter::from_fn(|| {
            let next = queue.front();
            queue.pop();
            next
        })
        .collect()
    }

    #[test]
    fn packets_leave_in_the_order_of_losses_or_of_their_numbers() {
        for (is_lowest_first, order) in [(false, [5, 7, 3, 9, 1]), (true, [1, 3, 5, 7, 9])] {
            let mut queue = LostQueue { is_lowest_first, ..LostQueue::new() };
            [5, 7, 3, 9, 1].into_iter().for_each(|seq| queue.push(seq));
            assert_eq!(drained(queue), order);
        }
    }

    #[test]
    fn a_lower_packet_passes_those_that_wait() {
        let mut queue = LostQueue { is_lowest_first: true, ..LostQueue::new() };
        [20, 30].into_iter().for_each(|seq| queue.push(seq));
        queue.pop();
        [4, 40].into_iter().for_each(|seq| queue.push(seq));
        assert_eq!(drained(queue), [4, 30, 40]);
    }

    #[test]
    fn a_cleared_queue_is_empty() {
        let mut queue = LostQueue { is_lowest_first: true, ..LostQueue::new() };
        [2, 1].into_iter().for_each(|seq| queue.push(seq));
        queue.clear();
        assert!(queue.is_empty() && queue.front().is_none());
    }
}
