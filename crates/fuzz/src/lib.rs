//! Arbitrary bytes into everything that parses text or packets or runs scenarios. Each function takes a fuzzer's input
//! and panics if a property is violated; the tests next to them try a bounded number of inputs, the targets of `fuzz/`
//! any number.

mod explain;
mod guard;
mod parsers;
mod parts;
mod scenario;

pub use explain::{explain, segments};
pub use guard::{capture, guard, policies};
pub use parsers::{trace, units};
pub use scenario::scenario;
