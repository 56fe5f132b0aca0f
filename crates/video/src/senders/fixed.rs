//! A sender with a fixed rate, for an application that knows its network.

use super::{Coding, Sender, send_all};
use crate::encoder::Quality;
use crate::outgoing::Outgoing;
use fairweir_units::Rate;

/// The pacer is faster than the fixed rate by this factor, so that a large frame does not delay the next frame.
const PACING: f64 = 1.25;

/// Sends at a fixed rate.
#[derive(Debug)]
pub(super) struct Fixed {
    bytes_per_sec: f64,
}

impl Fixed {
    pub(super) fn new(rate: Rate) -> Fixed {
        Fixed { bytes_per_sec: rate.bytes_per_sec() as f64 }
    }
}

impl Sender for Fixed {
    fn on_frame(&mut self, outgoing: &mut Outgoing) -> Coding {
        let sizes = outgoing.sizes;
        Coding::Code(Quality::target(self.bytes_per_sec * outgoing.frame_secs() * sizes.payload / sizes.full()))
    }

    fn on_ready(&mut self, outgoing: &mut Outgoing) {
        outgoing.set_pacing(PACING * self.bytes_per_sec / outgoing.sizes.full());
        send_all(outgoing);
    }
}
