//! Whether a run is observed, decided at compile time: a run without observer has no overhead.

use fairweir_scenario::{Observer, PacketEvent};

/// A run's observer; the type determines at compile time whether there is one.
pub(crate) trait Watch {
    /// Whether an observer is attached.
    const IS_WATCHED: bool;
    /// Reports an event.
    fn report(&mut self, event: PacketEvent);
    /// [`Observer::is_done`]
    fn is_done(&self) -> bool;
    /// [`Observer::edge`]
    fn edge(&mut self, flow: u32, cum: u64) -> Option<u64>;
}

/// No observer.
#[derive(Debug)]
pub(crate) struct Unwatched;

impl Watch for Unwatched {
    const IS_WATCHED: bool = false;
    #[inline(always)]
    fn report(&mut self, _: PacketEvent) {}
    fn is_done(&self) -> bool {
        false
    }
    fn edge(&mut self, _: u32, _: u64) -> Option<u64> {
        None
    }
}

/// With an observer.
pub(crate) struct Watched<'a>(pub(crate) &'a mut dyn Observer);

impl Watch for Watched<'_> {
    const IS_WATCHED: bool = true;
    fn report(&mut self, event: PacketEvent) {
        self.0.on_packet(event);
    }
    fn is_done(&self) -> bool {
        self.0.is_done()
    }
    fn edge(&mut self, flow: u32, cum: u64) -> Option<u64> {
        self.0.edge(flow, cum)
    }
}
