//! An element that delays no packet. Tests use it to show that an element is one file and one line.

use crate::{ConfigError, Element, ElementSpec, Packet, Verdict};
use fairweir_units::{Dur, Time};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`DummyElement`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DummyElementConfig {}

impl ElementSpec for DummyElementConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Element> {
        Box::new(DummyElement)
    }

    fn longest_hold(&self) -> Option<Dur> {
        Some(Dur::ZERO)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "dummy"}"#]
    }
}

/// An element that delays no packet.
#[derive(Debug)]
pub struct DummyElement;

impl Element for DummyElement {
    fn arrive(&mut self, now: Time, _packet: &Packet) -> Verdict {
        Verdict::Deliver(now)
    }
}

#[test]
fn a_listed_element_is_read_checked_built_and_among_the_examples() {
    use crate::{ElementConfig, queue::tests::packet};
    use rand::SeedableRng;
    let text = DummyElementConfig::examples()[0];
    let config: ElementConfig = serde_json::from_str(text).expect("its name is known");
    assert_eq!(config.validate(), Ok(()));
    assert_eq!((config.shortest_hold(), config.longest_hold()), (Dur::ZERO, Some(Dur::ZERO)));
    let verdict = config.build(ChaCha8Rng::seed_from_u64(1)).arrive(Time::ZERO, &packet(1500));
    assert_eq!(verdict, Verdict::Deliver(Time::ZERO));
    assert!(ElementConfig::examples().contains(&text));
}
