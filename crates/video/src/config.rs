//! Configuration of a session, in base units.

use crate::encoder::Miss;
use crate::network::NetworkConfig;
use crate::senders::SenderConfig;
use fairweir_path::{ConfigError, check_dur};
use fairweir_units::{Dur, Time};
use serde::Deserialize;

/// Configuration of a session: one sender, one network, one encoder.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Config {
    /// Time during which frames are captured, ns.
    pub duration_ns: Dur,
    /// Frames captured before this time are not counted, ns.
    #[serde(default)]
    pub from_ns: Dur,
    /// Frames per second.
    pub fps: f64,
    /// Payload of a full packet, bytes.
    pub payload_bytes: u64,
    /// Bytes of headers of a packet on the wire.
    pub header_bytes: u64,
    /// Time to code a frame, from its capture, ns.
    pub encode_ns: Dur,
    /// Time to decode a frame, from its completion to its display, ns.
    pub decode_ns: Dur,
    /// Standard deviation of the logarithm of size / target size.
    pub encoder_spread: f64,
    /// Minimum and maximum of size / target size.
    pub encoder_factors: (f64, f64),
    /// Seed of all random streams.
    pub seed: u64,
    /// The network.
    pub network: NetworkConfig,
    /// The sender.
    pub sender: SenderConfig,
    /// Whether to record every decision.
    #[serde(default)]
    pub explain: bool,
    /// Whether to record every frame.
    #[serde(default)]
    pub frames: bool,
    /// Whether to record every packet and every group.
    #[serde(default)]
    pub packets: bool,
}

/// Frames captured within this time before the end are not counted, because they may still be in transit.
pub(crate) const TAIL: Dur = Dur::from_secs(2);

impl Config {
    /// Checks that the session can be run.
    ///
    /// # Errors
    /// The first key with an invalid value.
    pub fn validate(&self) -> Result<(), ConfigError> {
        check_dur("duration_ns", self.duration_ns)?;
        if self.duration_ns < Dur::from_secs(3) {
            let reason = format!("must be at least 3s: `{}`", self.duration_ns);
            return Err(ConfigError::new("duration_ns", reason, "frames of the last 2 s are not measured"));
        }
        if self.from_ns + TAIL >= self.duration_ns {
            let reason = format!("leaves no measured frames in {}: `{}`", self.duration_ns, self.from_ns);
            return Err(ConfigError::new("from_ns", reason, "it must be at least 2 s before the end"));
        }
        if !(self.fps.is_finite() && (1.0..=240.0).contains(&self.fps)) {
            return Err(ConfigError::new(
                "fps",
                format!("must be between 1 and 240: `{}`", self.fps),
                "cameras give 30",
            ));
        }
        check_range("payload_bytes", self.payload_bytes, 100, 65_000)?;
        check_range("header_bytes", self.header_bytes, 0, 500)?;
        check_dur("encode_ns", self.encode_ns)?;
        if self.encode_ns >= self.frame_interval() {
            let reason = format!("must be shorter than a frame interval: `{}`", self.encode_ns);
            return Err(ConfigError::new("encode_ns", reason, "the encoder codes one frame at a time"));
        }
        check_dur("decode_ns", self.decode_ns)?;
        let (min, max) = self.encoder_factors;
        if !(0.01..=1.0).contains(&min) || !(1.0..=100.0).contains(&max) {
            let reason = format!("must be a minimum up to 1 and a maximum from 1: `{min}`, `{max}`");
            return Err(ConfigError::new("encoder_factors", reason, "write two factors such as 0.6 and 1.3"));
        }
        if !(0.0..=1.0).contains(&self.encoder_spread) {
            let reason = format!("must be between 0 and 1: `{}`", self.encoder_spread);
            return Err(ConfigError::new("encoder_spread", reason, "write a fraction: 0.1 is 10 %"));
        }
        self.network.validate().map_err(|e| e.within("network"))?;
        self.sender.validate().map_err(|e| e.within("sender"))
    }

    pub(crate) fn miss(&self) -> Miss {
        Miss { spread: self.encoder_spread, min: self.encoder_factors.0, max: self.encoder_factors.1 }
    }

    pub(crate) fn frame_interval(&self) -> Dur {
        Dur::from_secs_f64(1.0 / self.fps)
    }

    pub(crate) fn end(&self) -> Time {
        Time::ZERO.after(self.duration_ns)
    }
}

fn check_range(key: &str, value: u64, min: u64, max: u64) -> Result<(), ConfigError> {
    if (min..=max).contains(&value) {
        return Ok(());
    }
    let reason = format!("must be between {min} and {max}: `{value}`");
    Err(ConfigError::new(key, reason, "a full packet carries about 1400 bytes"))
}
