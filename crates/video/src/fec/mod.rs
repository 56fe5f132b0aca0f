//! Forward error correction with bytes: a systematic Reed-Solomon erasure code over GF(256).
//!
//! Of `total` packets of equal length, the first `message` are the data themselves and the others repair them: any `message`
//! of them give the data back. The code is that of RFC 5510 for m = 8: its field polynomial (section 8.1) and its generator
//! matrix, the inverse of a square Vandermonde matrix times a wider one (section 8.2.2). We do not invert matrices: packet j
//! is the polynomial through the data at `alpha^0 .. alpha^(message-1)`, evaluated at `alpha^j`, which Lagrange's formula
//! gives directly, for repairing and for recovering alike; a test multiplies the matrices.
//!
//! The simulator counts packets and needs no bytes; live runs and other programs do.

mod code;
mod field;

pub use code::{Code, FecError, MAX_PACKETS};
