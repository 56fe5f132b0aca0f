//! Random streams. Each component of a scenario has its own stream, derived from the scenario's seed and the
//! component's kind and index.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

const CONTROLLER: u64 = 1;
const HOP: u64 = 2;
const ELEMENT: u64 = 3;
const HOST: u64 = 4;

/// Returns the random stream of a flow's controller.
pub fn controller_stream(seed: u64, flow: usize) -> ChaCha8Rng {
    stream_of(seed, CONTROLLER, flow)
}

/// Returns the seed of a controller that has a random number generator of its own.
pub fn controller_seed(seed: u64, flow: usize) -> u64 {
    seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ flow as u64
}

/// Returns the random stream of link number `hop`.
pub fn hop_stream(seed: u64, hop: usize) -> ChaCha8Rng {
    stream_of(seed, HOP, hop)
}

/// Return the random stream of a flow's element number `element`, counted from 1 in the order ingress, egress, reverse,
/// reverse egress.
pub fn element_stream(seed: u64, flow: usize, element: usize) -> ChaCha8Rng {
    stream_of(seed, ELEMENT, flow << 8 | element)
}

/// Returns the random stream of a sender's host.
pub fn host_stream(seed: u64, flow: usize) -> ChaCha8Rng {
    stream_of(seed, HOST, flow)
}

fn stream_of(seed: u64, kind: u64, index: usize) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(kind << 48 | index as u64);
    rng
}
