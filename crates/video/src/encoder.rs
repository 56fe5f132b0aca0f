//! Encoders: a frame in, its size and quality out. They are functional (Salsify's term): a frame may be coded from any
//! earlier frame, and coding it changes no state, so that two qualities can be tried.

use crate::table::{Coded, Table};
use crate::vp8_scale;
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

/// Quality of a frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Quality {
    /// Target size in bytes, as far as the encoder's quantizers allow.
    Target(f64),
    /// VP8's quantizer index, 0 (finest) to 127.
    Vp8Index(f64),
}

/// A frame to be coded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Job {
    /// Number of the frame, from 0.
    pub frame: u32,
    /// The frame it is predicted from; `None`: from nothing.
    pub reference: Option<u32>,
    /// Requested quality.
    pub quality: Quality,
}

/// An encoder of frames.
pub trait Encoder: Send {
    /// Codes a frame.
    ///
    /// # Errors
    /// The reason for a live encoder's failure; tables never fail.
    fn encode(&mut self, job: &Job) -> Result<Coded, String>;

    /// Returns the SSIM of showing `shown` (or nothing yet) in place of `frame`.
    fn frozen(&mut self, frame: u32, shown: Option<u32>) -> f64;
}

/// An encoder from a table. Sizes miss their targets by a random factor, as rate control does.
#[derive(Clone, Debug)]
pub struct TableEncoder {
    table: Table,
    miss: Miss,
    rng: ChaCha8Rng,
}

/// Factor between sizes and their targets: about `spread` (standard deviation), within `[min, max]`.
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
    /// An encoder from `table`.
    pub fn new(table: Table, miss: Miss, rng: ChaCha8Rng) -> TableEncoder {
        TableEncoder { table, miss, rng }
    }

    /// Returns a factor near 1: the sum of twelve uniform numbers is nearly normal, and needs no function whose last
    /// bit depends on the platform before the exponential.
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
        // Before the first frame a blank picture: counted like the oldest measured frame.
        let age = shown.map_or(usize::MAX, |s| (frame - s) as usize);
        self.table.frozen(frame as usize, age)
    }
}

/// A callback that codes a frame.
pub type EncodeCallback = Box<dyn FnMut(&Job) -> Result<Coded, String> + Send>;
/// A callback that returns the SSIM of showing an older frame.
pub type FrozenCallback = Box<dyn FnMut(u32, Option<u32>) -> f64 + Send>;

/// A live encoder behind two callbacks.
pub struct CallbackEncoder {
    /// The coder of frames.
    pub encode: EncodeCallback,
    /// Returns the SSIM of showing an older frame.
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
