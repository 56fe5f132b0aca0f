//! Determines from the constant delays of the flows' paths which hops may process their arrivals in batches, and the
//! maximum length of a batch.

use crate::{Config, FlowSpec};
use fairweir_path::ElementConfig;
use fairweir_units::Dur;

/// The times that limit how a hop may batch its arrivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Minimum time until a packet that is not yet among the arrivals can reach the hop.
    pub lookahead: Dur,
    /// Minimum time until a packet's effect at the hop is visible elsewhere.
    pub effect_delay: Dur,
}

/// Source or effect of a hop's packets, with the minimum delay between them.
#[derive(Clone, Copy, Debug)]
enum Edge {
    /// A packet sent by a sender or by a receiver's timer reaches `hop`.
    Into { hop: usize, delay: Dur },
    /// A packet at `from` causes an action at a sender or receiver.
    OutOf { from: usize, delay: Dur },
    /// A packet that left `from` reaches `hop`.
    Between { from: usize, hop: usize, delay: Dur },
}

/// Returns the timing of each hop of `config` that may handle its arrivals in batches.
pub fn hop_timings(config: &Config) -> Vec<Option<Timing>> {
    let edges: Vec<Edge> = config.flows.iter().flat_map(edges_of(config)).collect();
    // Half of a delay is assigned to the sender's waiting time, half to the receiver's lookahead.
    let mut effect_delay = vec![Dur::MAX; config.links.len()];
    for edge in &edges {
        if let Edge::OutOf { from, delay } | Edge::Between { from, delay, .. } = *edge {
            effect_delay[from] = effect_delay[from].min(delay / 2);
        }
    }
    let mut lookahead = vec![Dur::MAX; config.links.len()];
    for edge in &edges {
        let (hop, delay) = match *edge {
            Edge::Into { hop, delay } => (hop, delay),
            Edge::Between { from, hop, delay } => (hop, delay.saturating_sub(effect_delay[from])),
            Edge::OutOf { .. } => continue,
        };
        lookahead[hop] = lookahead[hop].min(delay);
    }
    let timing = |hop: usize| {
        let timing = Timing { lookahead: lookahead[hop], effect_delay: effect_delay[hop] };
        let is_used = timing.lookahead < Dur::MAX;
        (is_used && timing.lookahead > Dur::ZERO).then_some(timing)
    };
    (0..config.links.len()).map(timing).collect()
}

/// Returns the maximum delay with which events reach an observer after their time.
pub fn observers_lag(config: &Config) -> Dur {
    hop_timings(config).into_iter().flatten().map(|timing| timing.effect_delay).max().unwrap_or(Dur::ZERO)
}

fn edges_of(config: &Config) -> impl Fn(&FlowSpec) -> Vec<Edge> + '_ {
    |flow| {
        let mut edges = vec![Edge::Into { hop: flow.path[0], delay: min_transit(Dur::ZERO, &flow.ingress) }];
        for (&from, &hop) in flow.path.iter().zip(&flow.path[1..]) {
            edges.push(Edge::Between { from, hop, delay: config.links[from].delay });
        }
        let last = flow.path[flow.path.len() - 1];
        let to_receiver = min_transit(flow.forward_delay, &flow.egress);
        let back = min_transit(flow.reverse_delay, &flow.reverse);
        let to_sender = min_transit(Dur::ZERO, &flow.reverse_egress);
        let may_delay_acks = flow.receiver.ack_every > 1;
        if may_delay_acks {
            edges.push(Edge::OutOf { from: last, delay: to_receiver });
        }
        let Some(&first_back) = flow.ack_path.first() else {
            edges.push(Edge::OutOf { from: last, delay: to_receiver + back + to_sender });
            return edges;
        };
        edges.push(Edge::Between { from: last, hop: first_back, delay: to_receiver + back });
        if may_delay_acks {
            edges.push(Edge::Into { hop: first_back, delay: back });
        }
        for (&from, &hop) in flow.ack_path.iter().zip(&flow.ack_path[1..]) {
            edges.push(Edge::Between { from, hop, delay: config.links[from].delay });
        }
        edges.push(Edge::OutOf { from: flow.ack_path[flow.ack_path.len() - 1], delay: to_sender });
        edges
    }
}

/// Returns the minimum time a packet takes for `delay` and `elements`.
fn min_transit(delay: Dur, elements: &[ElementConfig]) -> Dur {
    elements.iter().map(ElementConfig::shortest_hold).fold(delay, |sum, hold| sum + hold)
}
