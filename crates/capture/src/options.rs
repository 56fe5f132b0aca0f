//! TCP's options, as far as they were captured.

use crate::segment::{Options, SackBlocks, TimestampOption};
use etherparse::{TcpOptionElement, TcpOptionsIterator};

/// Reads options until they end, are cut off, or make no sense.
pub(crate) fn read(bytes: &[u8]) -> Options {
    let mut options = Options::default();
    for element in TcpOptionsIterator::from_slice(bytes).map_while(Result::ok) {
        match element {
            TcpOptionElement::Noop => {}
            TcpOptionElement::MaximumSegmentSize(mss) => options.mss = Some(mss),
            // RFC 7323 §2.3: a shift above 14 is used as 14
            TcpOptionElement::WindowScale(shift) => options.window_scale = Some(shift.min(14)),
            TcpOptionElement::SelectiveAcknowledgementPermitted => options.sack_permitted = true,
            TcpOptionElement::SelectiveAcknowledgement(first, rest) => {
                options.sack = SackBlocks::default();
                options.sack.push(first);
                rest.into_iter().flatten().for_each(|block| options.sack.push(block));
            }
            TcpOptionElement::Timestamp(value, echo) => options.timestamps = Some(TimestampOption { value, echo }),
        }
    }
    options
}
