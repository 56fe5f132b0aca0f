//! The receiver: determines which frames are complete, decodable and shown.

use crate::outgoing::{Frame, Group};
use fairweir_units::{Dur, Time};

/// The receiver's state of a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Received {
    /// Time at which enough packets of its group had arrived.
    pub(crate) complete: Option<Time>,
    /// Time at which it was decoded.
    pub(crate) decoded: Option<Time>,
    /// Time at which it was shown: after decoding, unless a newer frame had been shown.
    pub(crate) shown: Option<Time>,
}

/// Decodes frames once their references are decoded. A group's frames are complete when enough of its packets have
/// arrived.
#[derive(Debug)]
pub(crate) struct Receiver {
    decode_time: Dur,
    frames: Vec<Received>,
    /// Number of packets that arrived, by group.
    arrived: Vec<u32>,
    /// Complete frames whose reference is not yet decoded.
    blocked: Vec<u32>,
    newest_shown: Option<u32>,
}

impl Receiver {
    pub(crate) fn new(decode_time: Dur) -> Receiver {
        Receiver { decode_time, frames: Vec::new(), arrived: Vec::new(), blocked: Vec::new(), newest_shown: None }
    }

    /// Returns the state of a frame.
    pub(crate) fn frame(&self, frame: u32) -> Received {
        self.frames.get(frame as usize).copied().unwrap_or_default()
    }

    /// Processes the arrival of a packet of group `id`.
    pub(crate) fn arrive(&mut self, now: Time, id: u32, group: &Group, frames: &[Frame]) {
        let id = id as usize;
        if self.arrived.len() <= id {
            self.arrived.resize(id + 1, 0);
        }
        self.arrived[id] += 1;
        if self.arrived[id] != group.message {
            return;
        }
        if self.frames.len() < frames.len() {
            self.frames.resize(frames.len(), Received::default());
        }
        for &frame in &group.frames {
            self.frames[frame as usize].complete = Some(now);
            self.blocked.push(frame);
        }
        self.blocked.sort_unstable();
        let blocked = std::mem::take(&mut self.blocked);
        for frame in blocked {
            // Frames are visited in order of capture, so that a frame decoded here can be the reference of a later one.
            let is_decodable = match frames[frame as usize].reference {
                None => true,
                Some(reference) => self.frame(reference).decoded.is_some(),
            };
            if is_decodable {
                self.decode(now, frame);
            } else if !frames[frame as usize].is_broken {
                // A frame known to be broken never becomes decodable.
                self.blocked.push(frame);
            }
        }
    }

    fn decode(&mut self, now: Time, frame: u32) {
        let received = &mut self.frames[frame as usize];
        received.decoded = Some(now);
        if self.newest_shown.is_none_or(|newest| newest < frame) {
            self.newest_shown = Some(frame);
            received.shown = Some(now.after(self.decode_time));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outgoing::Stage;

    fn at(ms: u64) -> Time {
        Time::from_nanos(ms * 1_000_000)
    }

    fn frame(reference: Option<u32>) -> Frame {
        Frame { captured: Time::ZERO, stage: Stage::Captured, reference, coded: None, is_broken: false }
    }

    fn group(frames: &[u32], message: u32, total: u32) -> Group {
        let frames = frames.to_vec();
        Group { frames, message, total, size: 1.0, handed: Time::ZERO, acknowledged: 0, lost: 0, first: None }
    }

    #[test]
    fn any_k_of_n_packets_complete_a_group() {
        let (frames, group) = ([frame(None)], group(&[0], 2, 4));
        let mut receiver = Receiver::new(Dur::from_millis(5));
        receiver.arrive(at(10), 0, &group, &frames);
        assert_eq!(receiver.frame(0), Received::default());
        receiver.arrive(at(20), 0, &group, &frames);
        receiver.arrive(at(30), 0, &group, &frames);
        assert_eq!((receiver.frame(0).decoded, receiver.frame(0).shown), (Some(at(20)), Some(at(25))));
    }

    #[test]
    fn a_late_frame_holds_its_successors_back_and_is_not_shown_after_a_newer_one() {
        // Frame 1 is late, frame 2 is predicted from frame 1, and frame 3 recovers by a prediction from frame 0.
        let frames = [frame(None), frame(Some(0)), frame(Some(1)), frame(Some(0))];
        let groups: Vec<Group> = (0..4).map(|f| group(&[f], 1, 1)).collect();
        let mut receiver = Receiver::new(Dur::ZERO);
        for (ms, id) in [(1, 0), (3, 2), (4, 3), (9, 1)] {
            receiver.arrive(at(ms), id, &groups[id as usize], &frames);
        }
        let shown: Vec<_> = (0..4).map(|f| receiver.frame(f).shown).collect();
        assert_eq!(shown, [Some(at(1)), None, None, Some(at(4))]);
        assert_eq!((receiver.frame(1).decoded, receiver.frame(2).decoded), (Some(at(9)), Some(at(9))));
    }
}
