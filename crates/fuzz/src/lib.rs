//! Any bytes, into whatever reads text or packets or plays scenarios. Each function takes what a fuzzer makes up and panics if
//! something does not hold; the tests beside them try a bounded number, the targets of `fuzz/` as many as are wanted.

mod explain;
mod guard;
mod parsers;
mod parts;
mod scenario;

pub use explain::{explain, segments};
pub use guard::{capture, guard, policies};
pub use parsers::{trace, units};
pub use scenario::scenario;
