//! TCP options, as far as they were captured.

use etherparse::{TcpOptionElement, TcpOptionsIterator};

/// The timestamps option (RFC 7323 §3), in the units of each end's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timestamps {
    /// The sender's clock.
    pub tsval: u32,
    /// The latest value received from the other side.
    pub tsecr: u32,
}

/// Up to four SACK blocks (RFC 2018): the first sequence number of a block, and the one after its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SackBlocks {
    blocks: [(u32, u32); 4],
    len: u8,
}

impl SackBlocks {
    /// Returns the blocks; the most recently changed block is first.
    pub fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.blocks[..usize::from(self.len)].iter().copied()
    }
    /// Returns whether there is no block.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
    /// Adds a block. A header has no room for a fifth block, which is ignored.
    pub fn push(&mut self, block: (u32, u32)) {
        if let Some(slot) = self.blocks.get_mut(usize::from(self.len)) {
            *slot = block;
            self.len += 1;
        }
    }
}

/// The options that concern the path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// Maximum segment size that the sender of this option accepts, bytes.
    pub mss: Option<u16>,
    /// Window scale: a shift, at most 14.
    pub window_scale: Option<u8>,
    /// Whether selective acknowledgements are permitted.
    pub sack_permitted: bool,
    /// Timestamps.
    pub timestamps: Option<Timestamps>,
    /// Data that arrived above the acknowledgement number.
    pub sack: SackBlocks,
}

impl Options {
    /// Parses options up to the end, or up to the first truncated or invalid option.
    pub fn parse(bytes: &[u8]) -> Options {
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
                TcpOptionElement::Timestamp(tsval, tsecr) => options.timestamps = Some(Timestamps { tsval, tsecr }),
            }
        }
        options
    }
}
