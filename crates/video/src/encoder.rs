//! Encoders: they turn a frame into a coded frame with a size and a quality. Encoders are functional (Salsify's term):
//! a frame may be coded from any earlier frame, and coding it changes no state, so that two qualities can be tried.

use crate::table::{Coded, Table};
use crate::vp8_scale;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Quality of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quality {
    /// Target size in bytes; the encoder's quantizers limit which sizes are possible.
    Target(f64),
    /// VP8's quantizer index, 0 (finest) to 127.
    Vp8Index(f64),
}

/// A frame to be coded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Number of the frame, from 0.
    pub frame: u32,
    /// The reference frame for prediction; `None` if the frame is coded without a reference.
    pub reference: Option<u32>,
    /// Requested quality.
    pub quality: Quality,
}

/// An encoder of frames.
pub trait Encoder: Send {
    /// Codes a frame.
    ///
    /// # Errors
    /// If a live encoder fails, with the reason; table encoders never fail.
    fn encode(&mut self, job: &Job) -> Result<Coded, String>;

    /// Returns the SSIM of `frame` if frame `shown` (or a blank picture for `None`) is displayed in its place.
    fn frozen(&mut self, frame: u32, shown: Option<u32>) -> f64;
}

/// An encoder that reads sizes and qualities from a table. Sizes deviate from their targets by a random factor, as with
/// real rate control.
#[derive(Clone, Debug)]
pub struct TableEncoder {
    table: Table,
    miss: Miss,
    rng: ChaCha8Rng,
}

/// Random factor between sizes and their targets, within `[min, max]`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Miss {
    /// Standard deviation of the factor's logarithm.
    pub spread: f64,
    /// Minimum factor.
    pub min: f64,
    /// Maximum factor.
    pub max: f64,
}

impl TableEncoder {
    /// Creates an encoder that uses `table`.
    pub fn new(table: Table, miss: Miss, rng: ChaCha8Rng) -> TableEncoder {
        TableEncoder { table, miss, rng }
    }

    /// Returns a random factor near 1. The sum of twelve uniform numbers is nearly normal, and before the exponential
    /// it needs no function whose last bit depends on the platform.
    fn factor(&mut self) -> f64 {
        let normal = (0..12).map(|_| self.rng.random::<f64>()).sum::<f64>() - 6.0;
        (self.miss.spread * normal).exp().clamp(self.miss.min, self.miss.max)
    }
}

impl Encoder for TableEncoder {
    fn encode(&mut self, job: &Job) -> Result<Coded, String> {
        let frame = job.frame as usize;
        let distance = job.reference.map(|r| job.frame - r);
        Ok(match job.quality {
            Quality::Target(bytes) => {
                let target = bytes * self.factor();
                self.table.at_size(frame, distance, target)
            }
            Quality::Vp8Index(index) => {
                let qp = vp8_scale::own_scale(&self.table.codec, index);
                self.table.at_qp(frame, distance, qp)
            }
        })
    }

    fn frozen(&mut self, frame: u32, shown: Option<u32>) -> f64 {
        // Before the first frame a blank picture is displayed, which counts like the oldest measured frame.
        let age = shown.map_or(usize::MAX, |s| (frame - s) as usize);
        self.table.frozen(frame as usize, age)
    }
}

/// A callback that codes a frame.
pub type EncodeCallback = Box<dyn FnMut(&Job) -> Result<Coded, String> + Send>;
/// A callback that returns the SSIM of showing an older frame.
pub type FrozenCallback = Box<dyn FnMut(u32, Option<u32>) -> f64 + Send>;

/// A live encoder that two callbacks implement.
pub struct CallbackEncoder {
    /// Codes a frame.
    pub encode: EncodeCallback,
    /// Returns the SSIM of displaying an older frame.
    pub frozen: FrozenCallback,
}

impl Encoder for CallbackEncoder {
    fn encode(&mut self, job: &Job) -> Result<Coded, String> {
        let coded = (self.encode)(job)?;
        let is_valid = (1.0..=1e8).contains(&coded.bytes) && (0.0..=1.0).contains(&coded.ssim) && coded.qp.is_finite();
        if is_valid { Ok(coded) } else { Err(format!("frame {} was coded to {coded:?}", job.frame)) }
    }

    fn frozen(&mut self, frame: u32, shown: Option<u32>) -> f64 {
        let ssim = (self.frozen)(frame, shown);
        if ssim.is_finite() { ssim.clamp(0.0, 1.0) } else { 0.0 }
    }
}
