//! Whether two runs of one scenario are identical.

use crate::case::Case;
use fairweir_scenario::{Observer, PacketEvent};
use fairweir_sim::SimError;

/// Maximum number of events that are compared; they take 160 MB.
const MAX_EVENTS: usize = 4_000_000;

/// The events of a run, up to [`MAX_EVENTS`].
#[derive(Default)]
struct Log(Vec<PacketEvent>);

impl Observer for Log {
    fn on_packet(&mut self, event: PacketEvent) {
        if self.0.len() < MAX_EVENTS {
            self.0.push(event);
        }
    }
}

/// The first event in which two runs differ.
pub(crate) struct Difference {
    pub(crate) first: String,
    pub(crate) second: String,
}

/// Runs `case` twice with `seed`, and returns the first difference.
///
/// # Errors
/// If a run fails.
pub(crate) fn first_difference(case: &Case, seed: u64) -> Result<Option<Difference>, SimError> {
    let (mut first, mut second) = (Log::default(), Log::default());
    case.observe(seed, &mut first)?;
    case.observe(seed, &mut second)?;
    let n = first.0.len().max(second.0.len());
    let ids = case.ids();
    Ok((0..n)
        .find(|&i| first.0.get(i) != second.0.get(i))
        .map(|i| Difference { first: describe(first.0.get(i), &ids), second: describe(second.0.get(i), &ids) }))
}

fn describe(event: Option<&PacketEvent>, ids: &[String]) -> String {
    let Some(event) = event else { return "has no further packet".to_owned() };
    let id = &ids[event.flow() as usize];
    match event {
        PacketEvent::SynSent { at, .. } => format!("{id} sends a SYN at {at}"),
        PacketEvent::SynArrived { at, .. } => format!("a SYN of {id} arrives at {at}"),
        PacketEvent::SynAckArrived { at, .. } => format!("a SYN-ACK reaches {id} at {at}"),
        PacketEvent::Sent { seq, at, .. } => format!("{id} sends packet {seq} at {at}"),
        PacketEvent::Dropped { number, at, .. } => format!("transmission {number} of {id} is dropped at {at}"),
        PacketEvent::Arrived { number, at, .. } => format!("transmission {number} of {id} arrives at {at}"),
        PacketEvent::AckSent { number, at, .. } => format!("the receiver of {id} sends ACK {number} at {at}"),
        PacketEvent::AckDropped { number, .. } => format!("ACK {number} to {id} is dropped"),
        PacketEvent::AckArrived { number, at, .. } => format!("ACK {number} reaches {id} at {at}"),
    }
}
