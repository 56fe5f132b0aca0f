//! A controller's actions in a step: the batches that it sends, their grouping into FEC frames, the rate, and the
//! target size of the next video frames. A *batch* is the encoder's output for the video frames of one step; an *FEC
//! frame* is one or more batches with common repair packets.
//!
//! The *message* of an FEC frame is its k packets of batches. With n - k packets of repair (Reed-Solomon) it can be
//! decoded from any k of the n packets, so only counts matter here. M, Q and R0 are the minimum capacity, maximum queue
//! and safe rate of a belief.

use crate::form::{Amounts, Form};
use serde::{Deserialize, Serialize};

/// Maximum number of encoded batches that wait at the same time; the oldest are dropped first.
pub const MAX_WAITING: usize = 4;

/// Selects the waiting batches to send.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Send {
    /// No batch. Packets that are sent are probes only.
    None,
    /// The newest batch; older ones are dropped.
    Newest,
    /// The oldest batch; younger ones keep waiting.
    Oldest,
    /// All batches, as one FEC frame: they share repair and are decoded together.
    All,
    /// All batches, each as a separate FEC frame, decoded one by one. At most `R0` is sent unless the message is
    /// larger, so no frame needs repair.
    Each,
}

impl Send {
    /// Returns the name in files.
    pub fn name(self) -> &'static str {
        match self {
            Send::None => "none",
            Send::Newest => "newest",
            Send::Oldest => "oldest",
            Send::All => "all",
            Send::Each => "each",
        }
    }
}

/// The sizes of the batches that wait, oldest first, packets.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Waiting {
    /// Sizes; entries from `len` on are unused.
    pub sizes: [f64; MAX_WAITING],
    /// Number of waiting batches.
    pub len: usize,
}

impl Waiting {
    /// Returns the size of the newest batch, 0 without one.
    pub fn newest(&self) -> f64 {
        if self.len == 0 { 0.0 } else { self.sizes[self.len - 1] }
    }

    /// Returns the size of the oldest batch, 0 without one.
    pub fn oldest(&self) -> f64 {
        if self.len == 0 { 0.0 } else { self.sizes[0] }
    }

    /// Returns the total size, summed from the oldest batch.
    pub fn sum(&self) -> f64 {
        self.sizes[..self.len].iter().sum()
    }

    /// Returns the message of `send`: the number of packets that must arrive for all its frames to be decoded.
    pub fn message(&self, send: Send) -> f64 {
        match send {
            Send::None => 0.0,
            Send::Newest => self.newest(),
            Send::Oldest => self.oldest(),
            Send::All | Send::Each => self.sum(),
        }
    }
}

/// Action of one step, in packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Action {
    /// The batches that are sent.
    pub send: Send,
    /// Size of the message: the number of packets that must arrive for all FEC frames to be decoded.
    pub message: f64,
    /// Number of packets sent in the step; `rate - message` of them are repair.
    pub rate: f64,
    /// Target size of the video frames that are encoded next; 0 to skip them.
    pub encode: f64,
}

impl Action {
    /// Returns the number of repair packets.
    pub fn repair(&self) -> f64 {
        self.rate - self.message
    }

    /// Returns the action that sends nothing and encodes the next frames with this target size.
    pub fn hold(encode: f64) -> Action {
        Action { send: Send::None, message: 0.0, rate: 0.0, encode }
    }
}

/// An action as linear forms in M, Q and R0: a leaf of a tree, or a row of an action set.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Template {
    /// The batches that are sent.
    pub send: Send,
    /// Number of packets to send; raised to the size of the message.
    pub rate: Form,
    /// Target size of the next frames.
    pub encode: Form,
}

impl Template {
    /// Compute the action for a belief. No number is negative, only waiting batches are sent, and the rate is at least
    /// the message.
    pub fn realise(&self, amounts: &Amounts, waiting: &Waiting) -> Action {
        let send = if waiting.len == 0 { Send::None } else { self.send };
        let message = waiting.message(send);
        let mut rate = self.rate.at(amounts).max(0.0);
        if send == Send::Each {
            rate = rate.min(amounts.safe_rate);
        }
        Action { send, message, rate: rate.max(message), encode: self.encode.at(amounts).max(0.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const AMOUNTS: Amounts = Amounts { min_c: 10.0, max_q: 4.0, safe_rate: 12.0 };

    fn waiting(sizes: &[f64]) -> Waiting {
        let mut w = Waiting { len: sizes.len(), ..Waiting::default() };
        w.sizes[..sizes.len()].copy_from_slice(sizes);
        w
    }

    #[test]
    fn the_rate_covers_the_message() {
        let t = |send, rate| Template { send, rate: Form::parse(rate).unwrap(), encode: Form::parse("M").unwrap() };
        let w = waiting(&[5.0, 9.0]);
        assert_eq!(
            t(Send::All, "M").realise(&AMOUNTS, &w),
            Action { send: Send::All, message: 14.0, rate: 14.0, encode: 10.0 }
        );
        assert_eq!(t(Send::Newest, "3 M - Q").realise(&AMOUNTS, &w).repair(), 17.0);
        assert_eq!(t(Send::None, "M - 3 Q").realise(&AMOUNTS, &w).rate, 0.0);
        assert_eq!(t(Send::Each, "3 M").realise(&AMOUNTS, &waiting(&[5.0, 6.0])).rate, 12.0);
        assert_eq!(t(Send::Newest, "M").realise(&AMOUNTS, &waiting(&[])).send, Send::None);
    }
}
