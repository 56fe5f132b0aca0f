//! The network of a scenario: its hops, and the lanes of its flows over them, with their random streams and the order
//! of simultaneous events. Both worlds use it, so that the same packets at the same times have the same fate.

use crate::{Config, FlowSpec, MeteredHop, element_stream, hop_stream, host_stream};
use fairweir_path::{Chain, ElementConfig, Lane, Processing, TieKey, Visit};
use fairweir_units::Dur;

/// Assigns tie keys. The key of a flow's own events is the flow's index. The departures of hops that decide on leave
/// follow, then the arrivals at hops.
struct Keys(u32);

impl Keys {
    fn next(&mut self) -> TieKey {
        let key = TieKey(self.0);
        self.0 += 1;
        key
    }
}

/// Returns the hops of `config`, which must be valid, and each flow's lanes for data and for ACKs.
pub fn network(config: &Config) -> (Vec<MeteredHop>, Vec<[Lane; 2]>) {
    let mut keys = Keys(config.flows.len() as u32);
    let mut hops: Vec<MeteredHop> = config
        .links
        .iter()
        .enumerate()
        .map(|(index, spec)| MeteredHop::new(spec, hop_stream(config.seed, index)))
        .collect();
    for hop in hops.iter_mut().filter(|hop| hop.hop.decides_on_leave()) {
        hop.tie = Some(keys.next());
    }
    let lanes = config.flows.iter().enumerate().map(|(flow, spec)| lanes(config.seed, flow, spec, &mut keys)).collect();
    (hops, lanes)
}

/// Returns a flow's lanes. Its elements get their random streams in the order of the specification.
fn lanes(seed: u64, flow: usize, spec: &FlowSpec, keys: &mut Keys) -> [Lane; 2] {
    let mut elements = 0;
    let mut stream = || {
        elements += 1;
        element_stream(seed, flow, elements)
    };
    let mut chain = |delay: Dur, elements: &[ElementConfig]| Chain::new(delay, elements, &mut stream);
    let (ingress, egress) = (chain(Dur::ZERO, &spec.ingress), chain(spec.forward_delay, &spec.egress));
    let (reverse, reverse_egress) = (chain(spec.reverse_delay, &spec.reverse), chain(Dur::ZERO, &spec.reverse_egress));
    let mut visits = |path: &[usize], is_first_immediate: bool| -> Vec<Visit> {
        let visit = |(stage, &hop): (usize, &usize)| {
            let tie = if stage == 0 && is_first_immediate { None } else { Some(keys.next()) };
            Visit { hop, tie }
        };
        path.iter().enumerate().map(visit).collect()
    };
    let data = Lane::new(ingress, visits(&spec.path, spec.ingress.is_empty()), egress);
    let mut acks = Lane::new(reverse, visits(&spec.ack_path, false), reverse_egress);
    acks.processing = Processing::up_to(spec.processing, host_stream(seed, flow));
    [data, acks]
}
