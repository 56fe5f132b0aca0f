//! A controller's data: encoded batches that wait, FEC frames in flight, and their fates.
//!
//! A *batch* is the encoder's output for the video frames of one step, and an *FEC frame* is one or more batches with
//! common repair packets. A batch's age counts the steps since its encoding began. On a link without jitter and queue,
//! a batch that is sent as soon as possible is received at age 3.

use crate::action::{Action, MAX_WAITING, Send, Waiting};
use crate::model::EPS;
use crate::window::{Observation, Window};

/// Maximum number of FEC frames in flight at the same time. If one more is sent, the oldest counts as late. (A step
/// sends at most [`MAX_WAITING`] frames.)
pub const MAX_GROUPS: usize = 12;

/// An encoded batch that waits.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Batch {
    /// Size, packets.
    pub size: f64,
    /// Steps since its encoding began.
    pub age: u32,
}

/// An FEC frame in flight.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Group {
    /// Number of points since its packets were sent. They arrive at the point that is `back` points before the next
    /// point.
    pub back: u32,
    /// Number of packets of its step that must be accepted and delivered to decode it: its own message, and the
    /// messages of the FEC frames sent before it in that step.
    pub need: f64,
    /// Size of its message, packets.
    pub message: f64,
    /// Number of batches in it.
    pub batches: u32,
    /// Steps since the encoding of its oldest batch began.
    pub age: u32,
}

/// Fates of batches since the state was created.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Counts {
    /// Decoded within the deadline.
    pub received: u32,
    /// Sent, but lost or decoded after the deadline.
    pub late: u32,
    /// Never sent.
    pub dropped: u32,
    /// Total message packets of the received batches.
    pub message: f64,
    /// Sum of the ages of the received batches, steps.
    pub delay: f64,
}

/// Deadlines of batches, in steps since their encoding began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Deadlines {
    /// A waiting batch older than this is dropped.
    pub stale: u32,
    /// A batch that is decoded later than this is late.
    pub late: u32,
}

/// The batches and FEC frames of a controller.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Frames {
    batches: [Batch; MAX_WAITING],
    waiting: usize,
    /// Target size of the batch that is being encoded, packets; 0 if frames are skipped.
    pub encoding: f64,
    groups: [Group; MAX_GROUPS],
    in_flight: usize,
    /// Fates of batches.
    pub counts: Counts,
}

impl Frames {
    /// Creates the state without frames.
    pub fn new() -> Frames {
        Frames {
            batches: [Batch::default(); MAX_WAITING],
            waiting: 0,
            encoding: 0.0,
            groups: [Group::default(); MAX_GROUPS],
            in_flight: 0,
            counts: Counts::default(),
        }
    }

    /// Returns the batches that wait, oldest first.
    pub fn batches(&self) -> &[Batch] {
        &self.batches[..self.waiting]
    }

    /// Returns the FEC frames in flight, oldest first.
    pub fn groups(&self) -> &[Group] {
        &self.groups[..self.in_flight]
    }

    /// Returns the sizes of the batches that wait.
    pub fn sizes(&self) -> Waiting {
        let mut waiting = Waiting { len: self.waiting, ..Waiting::default() };
        for (size, batch) in waiting.sizes.iter_mut().zip(self.batches()) {
            *size = batch.size;
        }
        waiting
    }

    /// Append an encoded batch to the waiting batches. If all places are taken, drop the oldest.
    pub fn push(&mut self, batch: Batch) {
        if self.waiting == MAX_WAITING {
            self.drop_oldest();
        }
        self.batches[self.waiting] = batch;
        self.waiting += 1;
    }

    fn drop_oldest(&mut self) {
        self.batches.copy_within(1.., 0);
        self.waiting -= 1;
        self.counts.dropped += 1;
    }

    fn launch(&mut self, group: Group) {
        if self.in_flight == MAX_GROUPS {
            self.counts.late += self.groups[0].batches;
            self.groups.copy_within(1.., 0);
            self.in_flight -= 1;
        }
        self.groups[self.in_flight] = group;
        self.in_flight += 1;
    }

    /// Apply the step's action: packets sent become FEC frames, the batch in the encoder is finished with `factor`
    /// times its target size, and the encoding of the next batch begins.
    pub fn act(&mut self, action: &Action, factor: f64, deadlines: Deadlines) {
        self.send(action.send);
        for batch in &mut self.batches[..self.waiting] {
            batch.age += 1;
        }
        while self.waiting > 0 && self.batches[0].age > deadlines.stale {
            self.drop_oldest();
        }
        if self.encoding > 0.0 {
            self.push(Batch { size: self.encoding * factor, age: 1 });
        }
        self.encoding = action.encode;
    }

    fn send(&mut self, send: Send) {
        let n = self.waiting;
        if n == 0 || send == Send::None {
            return;
        }
        let of = |batches: &[Batch], need: f64| Group {
            back: 0,
            need,
            message: batches.iter().map(|b| b.size).sum(),
            batches: batches.len() as u32,
            age: batches[0].age,
        };
        let batches = self.batches;
        match send {
            Send::None => {}
            Send::Newest => {
                self.launch(of(&batches[n - 1..n], batches[n - 1].size));
                self.counts.dropped += n as u32 - 1;
                self.waiting = 0;
            }
            Send::Oldest => {
                self.launch(of(&batches[..1], batches[0].size));
                self.batches.copy_within(1.., 0);
                self.waiting -= 1;
            }
            Send::All => {
                self.launch(of(&batches[..n], self.sizes().sum()));
                self.waiting = 0;
            }
            Send::Each => {
                let mut need = 0.0;
                for i in 0..n {
                    need += batches[i].size;
                    self.launch(of(&batches[i..=i], need));
                }
                self.waiting = 0;
            }
        }
    }

    /// Determine received and late FEC frames from the observation at the new point. `before` is the window without
    /// that point. Call this after [`Frames::act`] in each step.
    pub fn observe(&mut self, before: &Window, new: &Observation, deadlines: Deadlines) {
        let sent = |t: usize| if t < before.len { before.sent[t] } else { before.sent_next };
        let accepted = |t: usize| (t < new.visible).then(|| sent(t) - new.lost[t]);
        let mut left = 0;
        for i in 0..self.in_flight {
            let mut group = self.groups[i];
            group.age += 1;
            let fate = match group.back {
                // The frame's packets were just sent: they arrive at the point after the new one.
                0 => Fate::Unknown,
                back => match (before.len + 1).checked_sub(back as usize) {
                    Some(point) if point >= 1 => match (accepted(point - 1), accepted(point)) {
                        (Some(until), Some(now)) if now - until + 100.0 * EPS < group.need => Fate::Lost,
                        (Some(until), _) if new.delivered + 100.0 * EPS >= until + group.need => Fate::Decoded,
                        _ => Fate::Unknown,
                    },
                    // The frame's packets are older than the window.
                    _ => Fate::Unknown,
                },
            };
            match fate {
                Fate::Decoded if group.age <= deadlines.late => {
                    self.counts.received += group.batches;
                    self.counts.message += group.message;
                    self.counts.delay += f64::from(group.age * group.batches);
                }
                Fate::Unknown if group.age <= deadlines.late => {
                    group.back += 1;
                    self.groups[left] = group;
                    left += 1;
                }
                _ => self.counts.late += group.batches,
            }
        }
        self.in_flight = left;
    }

    /// Returns the number of batches in flight.
    pub fn batches_in_flight(&self) -> u32 {
        self.groups().iter().map(|g| g.batches).sum()
    }

    /// Returns the age of the oldest FEC frame in flight, 0 without one.
    pub fn group_age(&self) -> u32 {
        self.groups().iter().map(|g| g.age).max().unwrap_or(0)
    }
}

impl Default for Frames {
    fn default() -> Frames {
        Frames::new()
    }
}

enum Fate {
    Decoded,
    Lost,
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Link;

    const DEADLINES: Deadlines = Deadlines { stale: 3, late: 6 };

    /// Play actions on a link with jitter `haste`; return the frames after each step.
    fn play(link: &mut Link, actions: &[Action], haste: f64) -> Vec<Frames> {
        let (mut frames, mut window, mut arriving) = (Frames::new(), Window::fresh(), 0.0);
        let mut all = vec![];
        for action in actions {
            frames.act(action, 1.0, DEADLINES);
            link.step(arriving, haste);
            arriving = action.rate;
            let seen = link.observe(&window);
            frames.observe(&window, &seen, DEADLINES);
            window.slide(&seen, action.rate);
            all.push(frames);
        }
        all
    }

    fn send(send: Send, rate: f64) -> Action {
        Action { send, message: rate, rate, encode: 4.0 }
    }

    #[test]
    fn a_batch_is_encoded_sent_and_received_a_step_each() {
        let all = play(
            &mut Link::new(10.0, 5.0),
            &[send(Send::None, 0.0), send(Send::None, 0.0), send(Send::Newest, 4.0), send(Send::None, 0.0)],
            1.0,
        );
        assert_eq!((all[0].batches().len(), all[1].batches()), (0, &[Batch { size: 4.0, age: 1 }][..]));
        assert_eq!((all[2].batches_in_flight(), all[2].counts.received), (1, 0));
        assert_eq!((all[3].batches_in_flight(), all[3].counts.received), (0, 1));
        assert_eq!((all[3].counts.message, all[3].counts.delay), (4.0, 3.0));
    }

    #[test]
    fn repair_makes_up_for_what_is_lost() {
        // 15 of 20 packets are accepted.
        for (message, received) in [(15.0, 1), (16.0, 0)] {
            let first = Action { encode: message, ..send(Send::None, 0.0) };
            let probe = Action { send: Send::Newest, message, rate: 20.0, encode: 0.0 };
            let quiet = Action { encode: 0.0, ..send(Send::None, 0.0) };
            let all = play(&mut Link::new(10.0, 5.0), &[first, quiet, probe, quiet, quiet, quiet, quiet, quiet], 1.0);
            let counts = all[7].counts;
            assert_eq!((counts.received, counts.late, all[7].batches_in_flight()), (received, 1 - received, 0));
        }
    }

    #[test]
    fn each_is_decoded_before_all() {
        let wait = Action { encode: 8.0, ..send(Send::None, 0.0) };
        let quiet = Action { encode: 0.0, ..send(Send::None, 0.0) };
        for (how, received) in [(Send::Each, 1), (Send::All, 0)] {
            let actions = [wait, wait, quiet, send(how, 16.0), quiet, quiet];
            let all = play(&mut Link::new(10.0, 50.0), &actions, 1.0);
            assert_eq!(all[4].counts.received, received, "10 of 16 packets");
            assert_eq!(all[5].counts.received, 2);
        }
    }

    #[test]
    fn a_batch_that_waits_too_long_is_dropped() {
        let all = play(&mut Link::new(10.0, 5.0), &[send(Send::None, 0.0); 6], 1.0);
        assert_eq!((all[5].batches().len(), all[5].counts.dropped), (3, 2));
        let all = play(
            &mut Link::new(10.0, 5.0),
            &[send(Send::None, 0.0), send(Send::None, 0.0), send(Send::None, 0.0), send(Send::Newest, 4.0)],
            1.0,
        );
        assert_eq!(all[3].counts.dropped, 1, "older ones than the newest");
    }

    #[test]
    fn every_batch_has_one_fate() {
        let mut frames = Frames::new();
        let window = Window::fresh();
        let nothing = Observation { delivered: 0.0, visible: 1, lost: [0.0; crate::POINTS + 1] };
        let mut begun = 0;
        for t in 0..60 {
            let how = [Send::None, Send::Each, Send::All, Send::Oldest, Send::Newest, Send::Each, Send::None][t % 7];
            begun += u32::from(frames.encoding > 0.0);
            frames.act(&send(how, 4.0), 1.0, DEADLINES);
            frames.observe(&window, &nothing, DEADLINES);
            let c = frames.counts;
            assert_eq!(
                c.received + c.late + c.dropped + frames.batches().len() as u32 + frames.batches_in_flight(),
                begun
            );
        }
        assert!(frames.counts.late > 10 && frames.counts.received == 0);
    }
}
