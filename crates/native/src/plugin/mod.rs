//! Users' shared libraries: controllers with the interface of `include/fairweir_cc.h`, driven as a
//! [`Controller`](fairweir_cca::Controller), and ends of whole stacks with that of `include/fairweir_endpoint.h`.

mod controller;
pub mod endpoint;
mod load;
mod table;

pub use load::{Plugin, SUFFIX, load};
