//! The elements of one flow in one direction, in series.

use crate::{Element, ElementConfig, Packet, PrivateLink, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;

/// Elements in series, which one flow's packets pass without separate events.
///
/// Constant delays are summed in advance, and private links are an enum variant: most chains contain nothing else.
#[derive(Debug)]
pub struct Chain {
    /// Constant delay ahead of the first step.
    delay: Dur,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    part: Part,
    /// Constant delay after the element.
    delay: Dur,
}

/// The element of the hot path as an enum variant, all others boxed.
#[derive(Debug)]
enum Part {
    Link(PrivateLink),
    Other(Box<dyn Element>),
}

impl Chain {
    /// Creates a chain of a `delay`, then the elements for `configs`, which must be valid. `rng` returns a random
    /// stream for each element.
    pub fn new(delay: Dur, configs: &[ElementConfig], mut rng: impl FnMut() -> ChaCha8Rng) -> Chain {
        let mut chain = Chain { delay, steps: Vec::new() };
        for config in configs {
            let rng = rng();
            let part = match config {
                ElementConfig::Delay(c) if c.from == Time::ZERO => {
                    let last = chain.steps.last_mut().map_or(&mut chain.delay, |step| &mut step.delay);
                    *last += c.by;
                    continue;
                }
                ElementConfig::Link(c) => Part::Link(PrivateLink::new(c, rng)),
                other => Part::Other(other.build(rng)),
            };
            chain.steps.push(Step { part, delay: Dur::ZERO });
        }
        chain
    }

    /// Returns the whole chain's delay if the chain only delays packets by constants.
    pub fn constant(&self) -> Option<Dur> {
        self.steps.is_empty().then_some(self.delay)
    }

    /// Passes `packet`, which arrives at `now`, through the chain; returns its fate.
    #[inline]
    pub fn arrive(&mut self, now: Time, packet: &Packet) -> Verdict {
        let mut at = now.after(self.delay);
        let mut is_marked = false;
        for step in &mut self.steps {
            let verdict = match &mut step.part {
                Part::Link(link) => link.arrive(at, packet),
                Part::Other(element) => element.arrive(at, packet),
            };
            at = match verdict {
                Verdict::Deliver(at) => at,
                Verdict::Mark(at) => {
                    is_marked = true;
                    at
                }
                Verdict::Drop => return Verdict::Drop,
            }
            .after(step.delay);
        }
        if is_marked { Verdict::Mark(at) } else { Verdict::Deliver(at) }
    }

    /// Returns how often the chain's elements violated their own bounds ([`Element::violations`]).
    pub fn violations(&self) -> u64 {
        let of = |step: &Step| match &step.part {
            Part::Link(link) => link.violations(),
            Part::Other(element) => element.violations(),
        };
        self.steps.iter().map(of).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::ConstantConfig;
    use crate::queue::tests::packet;
    use crate::{LinkConfig, PrivateLinkConfig, jitter, loss};
    use fairweir_units::Rate;
    use proptest::prelude::*;
    use rand::SeedableRng;

    fn any_element() -> impl Strategy<Value = ElementConfig> {
        prop_oneof![
            (0..50u64, 0..2u64).prop_map(|(by, from)| ElementConfig::Delay(jitter::DelayConfig {
                by: Dur::from_micros(by),
                from: Time::from_nanos(from * 200_000),
            })),
            (1..4u64).prop_map(|limit| ElementConfig::Link(PrivateLinkConfig {
                link: LinkConfig::Constant(ConstantConfig { rate: Rate::from_mbps(700) }),
                limit: None,
                limit_packets: Some(limit),
            })),
            Just(ElementConfig::IidLoss(loss::IidLossConfig { per_billion: 200_000_000 })),
        ]
    }

    proptest! {
        #[test]
        fn a_chain_is_its_elements_in_series(
            configs in proptest::collection::vec(any_element(), 0..6),
            gaps in proptest::collection::vec(0..30_000u64, 1..60),
        ) {
            let ahead = Dur::from_micros(3);
            let mut stream = 0;
            let mut rng = || {
                stream += 1;
                ChaCha8Rng::seed_from_u64(stream)
            };
            let mut elements: Vec<_> = configs.iter().map(|c| c.build(rng())).collect();
            let mut stream = 0;
            let mut chain = Chain::new(ahead, &configs, || {
                stream += 1;
                ChaCha8Rng::seed_from_u64(stream)
            });
            let mut now = Time::ZERO;
            for gap in gaps {
                now += Dur::from_nanos(gap);
                let packet = packet(1500);
                let expected = elements.iter_mut().try_fold(now + ahead, |at, e| match e.arrive(at, &packet) {
                    Verdict::Deliver(at) | Verdict::Mark(at) => Some(at),
                    Verdict::Drop => None,
                });
                let got = chain.arrive(now, &packet);
                prop_assert_eq!(got, expected.map_or(Verdict::Drop, Verdict::Deliver));
            }
        }
    }
}
