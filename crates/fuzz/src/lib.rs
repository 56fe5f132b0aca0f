//! Fuzzing of all code that parses text or packets, or runs scenarios. Each function takes a fuzzer's input and panics
//! if a property is violated. The tests in the same file try a bounded number of inputs; the targets in `fuzz/` have no
//! bound.

mod explain;
mod guard;
mod parsers;
mod parts;
mod scenario;

pub use explain::{explain, segments};
pub use guard::{capture, guard, policies};
pub use parsers::{trace, units};
pub use scenario::scenario;
