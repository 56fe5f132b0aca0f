//! A queue that admits no packet. Tests use it to show that a queue is one file and one line.

use super::{Admission, Backlog, Queue, QueueSpec};
use crate::{ConfigError, Packet};
use fairweir_units::Time;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Parameters of [`DummyQueue`].
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DummyQueueConfig {}

impl QueueSpec for DummyQueueConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        Ok(())
    }

    fn build(&self, _rng: ChaCha8Rng) -> Box<dyn Queue> {
        Box::new(DummyQueue)
    }

    fn examples() -> &'static [&'static str] {
        &[r#"{"kind": "dummy"}"#]
    }
}

/// A queue that drops every packet.
#[derive(Debug)]
pub struct DummyQueue;

impl Queue for DummyQueue {
    fn admit(&mut self, _now: Time, _packet: &Packet, _backlog: Backlog) -> Admission {
        Admission::Drop
    }
}

#[test]
fn a_listed_queue_is_read_checked_built_and_among_the_examples() {
    use crate::queue::{QueueConfig, tests::packet};
    use rand::SeedableRng;
    let text = DummyQueueConfig::examples()[0];
    let config: QueueConfig = serde_json::from_str(text).expect("its name is known");
    assert_eq!(config.validate(), Ok(()));
    let mut queue = config.build(ChaCha8Rng::seed_from_u64(1));
    assert_eq!(queue.admit(Time::ZERO, &packet(1500), Backlog::default()), Admission::Drop);
    assert!(QueueConfig::examples().contains(&text));
}
