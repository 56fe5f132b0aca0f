//! Senders: they decide when a frame is coded, its size, and when its packets are sent.

mod fixed;
pub mod gcc;
mod known;
mod salsify;
mod syntra;
mod vegas;

use crate::encoder::Quality;
use crate::network::NetworkConfig;
use crate::outgoing::Outgoing;
use crate::table::Coded;
use fairweir_game::LinkModel;
use fairweir_game::controller::{Controller, ControllerError, Kind};
use fairweir_game::query::Query;
use fairweir_path::{ConfigError, check_positive_dur};
use fairweir_units::{Dur, Hint, Rate, Time};
use serde::{Deserialize, Serialize};
use syntra::PerFrame;
use syntra::beliefs::{Beliefs, Observing};
use syntra::planned::{SearchControl, TreeControl};
use syntra::published::Published;
use syntra::rules::Rules;

/// Decision about a captured frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Coding {
    /// The frame is not coded.
    Skip,
    /// Code the frame.
    Code(Quality),
    /// Code the frame twice; [`Sender::choose`] then selects a version.
    Try(Quality, Quality),
}

/// How a sender recovers from losses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Recovery {
    /// Lost packets are sent again, and frames wait for them.
    Retransmit,
    /// The next frame is predicted from the newest frame that is not known to be lost.
    Reference,
    /// The next frame is predicted from the newest frame known to be decoded.
    Acknowledged,
}

/// An acknowledged packet.
#[derive(Clone, Copy, Debug)]
pub struct Ack {
    /// The packet's number.
    pub seq: usize,
    /// The packet's group of frames.
    pub group: u32,
    /// The packet's bytes on the wire divided by those of a full packet.
    pub size: f64,
    /// Time at which the packet was sent.
    pub sent: Time,
    /// Time at which the receiver got the packet.
    pub arrived: Time,
    /// Number of packets before this one that are now known to be lost.
    pub lost: u32,
}

/// A sender's explanation of a decision.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Decision {
    /// Time, ms.
    pub at_ms: f64,
    /// Name of the rule or leaf that decided.
    pub leaf: String,
    /// Minimum link rate that is consistent with the observations, packets per step.
    pub min_c: f64,
    /// Maximum link rate that is consistent with the observations, packets per step; `None` if there is no bound.
    pub max_c: Option<f64>,
    /// Maximum queue that is consistent with the observations, packets.
    pub max_q: f64,
    /// Maximum rate that cannot cause a loss, packets per step.
    pub safe_rate: f64,
    /// The observations on which the belief rests.
    pub belief: String,
    /// Amount in the pacer, packets.
    pub backlog: f64,
    /// Frames that the decision sent.
    pub frames: Vec<u32>,
    /// Number of packets that suffice to restore these frames.
    pub message: u32,
    /// Number of repair packets.
    pub repair: u32,
    /// Target size of the encoder, bytes; 0 if the frame is skipped.
    pub encode_bytes: f64,
}

/// A sender of video.
pub trait Sender: Send {
    /// Called when a frame is captured; returns whether and how to code it.
    fn on_frame(&mut self, outgoing: &mut Outgoing) -> Coding;

    /// Returns the index of the coded version to send; `None` if neither is sent and the frame is skipped.
    fn choose(&mut self, _outgoing: &Outgoing, _tried: &[Coded; 2]) -> Option<usize> {
        Some(0)
    }

    /// Called when the time for coding has passed. Unless the frame was skipped, it is now in [`Outgoing::waiting`].
    fn on_ready(&mut self, outgoing: &mut Outgoing);

    /// Called when a packet is acknowledged.
    fn on_ack(&mut self, _outgoing: &mut Outgoing, _ack: &Ack) {}

    /// Returns the time at which [`Sender::on_timer`] is due.
    fn next_timer(&self) -> Time {
        Time::NEVER
    }

    /// Called at the time that [`Sender::next_timer`] returned.
    fn on_timer(&mut self, _outgoing: &mut Outgoing) {}

    /// Returns how the sender currently recovers from losses.
    fn recovery(&self) -> Recovery {
        Recovery::Reference
    }

    /// Takes the explanation of the decision made in the last call, if any.
    fn take_decision(&mut self) -> Option<Decision> {
        None
    }
}

/// The kind of a sender and its parameters.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SenderConfig {
    /// Sends at a fixed rate.
    Fixed {
        /// Rate of bytes on the wire.
        rate: Rate,
    },
    /// Knows the link's future capacity.
    Known {},
    /// Google congestion control.
    Gcc {},
    /// WebRTC's media path with a TCP Vegas window.
    Vegas {},
    /// Salsify.
    Salsify {},
    /// Syntra frame by frame, with hand-written rules.
    Rules(SyntraConfig),
    /// Syntra's published controller, which decides once per step.
    Published(SyntraConfig),
    /// Syntra frame by frame, with a controller file.
    Tree {
        /// The file's JSON text.
        controller: String,
    },
    /// Syntra frame by frame, with a search for every frame.
    Search {
        /// The query's JSON text.
        query: String,
    },
}

/// Parameters common to Syntra's senders.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SyntraConfig {
    /// Interval between two points of a belief's window, ns.
    pub step_ns: Dur,
    /// Number of steps for which max C is kept once it is known.
    pub probe_period: u32,
    /// Error added to the estimated rtprop, ns.
    pub rtprop_error_ns: i64,
}

impl Default for SyntraConfig {
    /// Returns the published step and probe period, without an error.
    fn default() -> SyntraConfig {
        SyntraConfig { step_ns: Dur::from_millis(50), probe_period: 200, rtprop_error_ns: 0 }
    }
}

impl SyntraConfig {
    fn validate(&self) -> Result<(), ConfigError> {
        check_positive_dur("step_ns", self.step_ns)?;
        if self.probe_period == 0 {
            return Err(ConfigError::new("probe_period", "must be positive: `0`", "the published value is 200 steps"));
        }
        Ok(())
    }

    fn beliefs(&self) -> Beliefs {
        Beliefs::new(Observing {
            step: self.step_ns,
            probe_period: self.probe_period,
            rtprop_error_ns: self.rtprop_error_ns,
            model: LinkModel::default(),
        })
    }
}

/// Name and summary of every sender.
pub const SENDERS: [(&str, &str); 9] = [
    ("fixed", "a fixed rate, without congestion control"),
    ("known", "a sender that knows what the link will carry: what is left to gain by any other"),
    ("gcc", "WebRTC's Google congestion control: delay gradient and loss (draft-ietf-rmcat-gcc-02)"),
    ("vegas", "WebRTC's media path with a TCP Vegas window of 10 queued packets"),
    ("salsify", "Salsify: two codings of each frame, the one that fits 100 ms of the link (NSDI'18)"),
    ("published", "Syntra's published tree: once per step of 50 ms, on batches of frames (thesis 4.5)"),
    ("rules", "Syntra frame by frame, with rules by hand"),
    ("tree", "Syntra frame by frame, with a controller file"),
    ("search", "Syntra frame by frame, with a search of the game at every frame"),
];

impl SenderConfig {
    pub(crate) fn validate(&self) -> Result<(), ConfigError> {
        match self {
            SenderConfig::Fixed { rate } => fairweir_path::check_rate("rate", *rate),
            SenderConfig::Rules(config) | SenderConfig::Published(config) => config.validate(),
            SenderConfig::Tree { .. } | SenderConfig::Search { .. } => self.of_observations().map(drop),
            SenderConfig::Known {} | SenderConfig::Gcc {} | SenderConfig::Vegas {} | SenderConfig::Salsify {} => Ok(()),
        }
    }

    /// Builds the sender; only the sender that knows the link uses `network` and the coding time `encode`.
    pub(crate) fn build(&self, network: &NetworkConfig, encode: Dur) -> Result<Box<dyn Sender>, ConfigError> {
        match self {
            SenderConfig::Known {} => Ok(Box::new(known::Known::new(network, encode))),
            _ => self.of_observations(),
        }
    }

    /// Builds a sender that observes the network only through acknowledgements.
    fn of_observations(&self) -> Result<Box<dyn Sender>, ConfigError> {
        Ok(match self {
            SenderConfig::Known {} => {
                return Err(ConfigError::new("kind", "`known` does not learn", "build it with its network"));
            }
            SenderConfig::Fixed { rate } => Box::new(fixed::Fixed::new(*rate)),
            SenderConfig::Gcc {} => Box::new(gcc::Gcc::new()),
            SenderConfig::Vegas {} => Box::new(vegas::Vegas::new()),
            SenderConfig::Salsify {} => Box::new(salsify::Salsify::new()),
            SenderConfig::Rules(config) => Box::new(PerFrame::new(Rules::new(), config.beliefs())),
            SenderConfig::Published(config) => Box::new(Published::new(config.beliefs())),
            SenderConfig::Tree { controller } => {
                let controller = Controller::from_json(controller).map_err(|e| from_game("controller", &e))?;
                if controller.kind != Kind::Video {
                    let hint = "this controller controls only a rate: run it as a congestion controller";
                    return Err(ConfigError::new("controller.kind", "is not `video`", hint));
                }
                let config = SyntraConfig {
                    step_ns: controller.step(),
                    probe_period: controller.probe_period,
                    ..SyntraConfig::default()
                };
                Box::new(PerFrame::new(TreeControl::new(controller), config.beliefs()))
            }
            SenderConfig::Search { query } => {
                let query = Query::from_json(query).map_err(|e| from_game("query", &e))?;
                if query.kind != Kind::Video {
                    return Err(ConfigError::new(
                        "query.kind",
                        "is not `video`",
                        "write kind = \"video\": a rate query has no frames",
                    ));
                }
                // The step was checked when the query was read.
                let step_ns = query.step.parse().unwrap_or(SyntraConfig::default().step_ns);
                let config = SyntraConfig { step_ns, probe_period: query.probe_period, ..SyntraConfig::default() };
                Box::new(PerFrame::new(SearchControl::new(query), config.beliefs()))
            }
        })
    }
}

fn from_game(key: &str, error: &ControllerError) -> ConfigError {
    let hint = error.hint().map_or(String::new(), |hint| hint.into_owned());
    ConfigError::new(format!("{key}.{}", error.key), error.reason.clone(), hint)
}

/// Passes all waiting frames to the pacer, each as a separate group without repair packets.
fn send_all(outgoing: &mut Outgoing) {
    while let Some(&frame) = outgoing.waiting().first() {
        outgoing.send(&[frame], 0);
    }
}
