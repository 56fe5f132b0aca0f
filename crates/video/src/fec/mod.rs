//! Forward error correction of bytes: a systematic Reed-Solomon erasure code over GF(256).
//!
//! Of `total` packets of equal length, the first `message` packets are the data, and the others are repair packets: any
//! `message` packets suffice to restore the data. The code is that of RFC 5510 for m = 8, with its field polynomial
//! (section 8.1) and its generator matrix, the product of the inverse of a square Vandermonde matrix and a wider
//! Vandermonde matrix (section 8.2.2). This implementation inverts no matrices: packet j is the polynomial through the
//! data at `alpha^0 .. alpha^(message-1)`, evaluated at `alpha^j`. Lagrange's formula evaluates it directly, both to
//! repair and to recover. A test compares the result with the product of the matrices.
//!
//! The simulator counts packets and needs no bytes; live runs and other programs use the bytes.

mod code;
mod field;

pub use code::{Code, FecError, MAX_PACKETS};
