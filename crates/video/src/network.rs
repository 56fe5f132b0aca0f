//! The network between sender and receiver: in the forward direction a delay, a hop of `fairweir-path` and elements; in
//! the reverse direction a delay and elements.

use fairweir_path::{Chain, ConfigError, Ecn, ElementConfig, Hop, HopConfig, Packet, QueueConfig, Verdict, check_dur};
use fairweir_units::{Bytes, Dur, Time};
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

/// Configuration of the network, in base units.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkConfig {
    /// The link and its queue.
    pub hop: HopConfig,
    /// Propagation delay from the sender to the link, ns.
    pub forward_ns: Dur,
    /// Propagation delay of acknowledgements, ns.
    pub back_ns: Dur,
    /// Elements between the link and the receiver, such as jitter and loss.
    #[serde(default)]
    pub forward: Vec<ElementConfig>,
    /// Elements in the path of acknowledgements.
    #[serde(default)]
    pub back: Vec<ElementConfig>,
}

impl NetworkConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        self.hop.validate()?;
        if matches!(self.hop.queue, QueueConfig::Codel(_) | QueueConfig::Dualpi2(_)) {
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
    /// The packet arrives at the receiver at this time.
    Arrives(Time),
    /// The packet is lost.
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

    /// Sends a packet of `bytes` on the wire at `now`, and returns its fate.
    pub(crate) fn send(&mut self, now: Time, bytes: f64) -> Fate {
        let packet = Packet { seq: self.sent, bytes: Bytes(bytes.round() as u64), sent: now, ecn: Ecn::NotEct };
        self.sent += 1;
        let (Verdict::Deliver(at) | Verdict::Mark(at)) = self.hop.arrive(now.after(self.forward_ns), &packet) else {
            return Fate::Lost;
        };
        match self.forward.arrive(at, &packet) {
            Verdict::Deliver(at) | Verdict::Mark(at) => Fate::Arrives(at),
            Verdict::Drop => Fate::Lost,
        }
    }

    /// Sends the acknowledgement of a packet at `now`, and returns its fate.
    pub(crate) fn acknowledge(&mut self, now: Time) -> Fate {
        let packet = Packet { seq: self.returned, bytes: Bytes(40), sent: now, ecn: Ecn::NotEct };
        self.returned += 1;
        match self.back.arrive(now, &packet) {
            Verdict::Deliver(at) | Verdict::Mark(at) => Fate::Arrives(at),
            Verdict::Drop => Fate::Lost,
        }
    }

    /// Returns the mean rate of the link between `from` and `to`, bits per second.
    pub(crate) fn mean_bps(&self, from: Time, to: Time) -> f64 {
        self.hop.link().mean_rate(from, to).bits_per_sec() as f64
    }
}
