//! The network between sender and receiver: delay, elements and a hop of `fairweir-path` ahead, delay and elements
//! back.

use fairweir_path::{Chain, ConfigError, ElementConfig, Hop, HopConfig, Packet, Verdict, check_dur};
use fairweir_units::{Bytes, Dur, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// The network, in base units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// The link and its queue.
    pub hop: HopConfig,
    /// Delay from the sender to the link, ns.
    pub forward_ns: Dur,
    /// Delay of acknowledgements, ns.
    pub back_ns: Dur,
    /// Elements between the link and the receiver, such as jitter and loss.
    #[serde(default)]
    pub forward: Vec<ElementConfig>,
    /// Elements that acknowledgements pass.
    #[serde(default)]
    pub back: Vec<ElementConfig>,
}

impl NetworkConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        self.hop.validate()?;
        if matches!(self.hop.queue, fairweir_path::QueueConfig::Codel(_)) {
            let hint = "use a droptail, red or ecn-threshold queue";
            return Err(ConfigError::new("queue.kind", "decides at departure, which video runs do not simulate", hint));
        }
        check_dur("forward_ns", self.forward_ns)?;
        check_dur("back_ns", self.back_ns)?;
        for (name, elements) in [("forward", &self.forward), ("back", &self.back)] {
            for (i, element) in elements.iter().enumerate() {
                element.validate().map_err(|e| e.within(&i.to_string()).within(name))?;
            }
        }
        Ok(())
    }
}

/// The network of one session, FIFO in both directions.
#[derive(Debug)]
pub(crate) struct Network {
    forward_ns: Dur,
    hop: Hop,
    forward: Chain,
    back: Chain,
    sent: u64,
    returned: u64,
}

/// Fate of a packet in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It arrives at the receiver.
    Arrives(Time),
    /// It is lost.
    Lost,
}

impl Network {
    pub(crate) fn new(config: &NetworkConfig, seed: u64) -> Network {
        let mut stream = 0;
        let mut rng = || {
            stream += 1;
            let mut rng = ChaCha8Rng::seed_from_u64(seed);
            rng.set_stream(stream);
            rng
        };
        Network {
            forward_ns: config.forward_ns,
            hop: Hop::new(&config.hop, rng()),
            forward: Chain::new(Dur::ZERO, &config.forward, &mut rng),
            back: Chain::new(config.back_ns, &config.back, &mut rng),
            sent: 0,
            returned: 0,
        }
    }

    /// A packet of `bytes` on the wire leaves the sender at `now`.
    pub(crate) fn send(&mut self, now: Time, bytes: f64) -> Fate {
        let packet = Packet { seq: self.sent, bytes: Bytes(bytes.round() as u64), sent: now, is_ecn_capable: false };
        self.sent += 1;
        let (Verdict::Deliver(at) | Verdict::Mark(at)) = self.hop.arrive(now.after(self.forward_ns), &packet) else {
            return Fate::Lost;
        };
        match self.forward.arrive(at, &packet) {
            Verdict::Deliver(at) | Verdict::Mark(at) => Fate::Arrives(at),
            Verdict::Drop => Fate::Lost,
        }
    }

    /// The receiver acknowledges a packet at `now`.
    pub(crate) fn acknowledge(&mut self, now: Time) -> Fate {
        let packet = Packet { seq: self.returned, bytes: Bytes(40), sent: now, is_ecn_capable: false };
        self.returned += 1;
        match self.back.arrive(now, &packet) {
            Verdict::Deliver(at) | Verdict::Mark(at) => Fate::Arrives(at),
            Verdict::Drop => Fate::Lost,
        }
    }

    /// Mean rate of the link over a time, bits per second.
    pub(crate) fn mean_bps(&self, from: Time, to: Time) -> f64 {
        self.hop.link().mean_rate(from, to).bits_per_sec() as f64
    }
}
