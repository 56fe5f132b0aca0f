//! Users' shared libraries with the interface of `include/fairweir_cc.h`, driven as a
//! [`Controller`](fairweir_cca::Controller).

mod controller;
mod load;
mod table;

pub use load::{Plugin, SUFFIX, load};
