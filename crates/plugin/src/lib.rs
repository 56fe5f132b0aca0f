//! Congestion controllers as shared libraries: the interface of `include/fairweir_cc.h`, and [`export!`], which makes a
//! plug-in of a controller in Rust.
//!
//! A plug-in is a crate of type `cdylib` with a controller that implements [`Controller`] and [`Row`], as the built-in
//! controllers do, and one line:
//!
//! ```
//! # use fairweir_plugin::{Ack, BuildError, Bytes, Context, Controller, Loss, Row, Start};
//! # use serde::{Deserialize, Serialize};
//! /// A constant window.
//! #[derive(Debug)]
//! struct Constant(Bytes);
//!
//! #[derive(Serialize, Deserialize)]
//! #[serde(deny_unknown_fields, default)]
//! struct Params {
//!     packets: u64,
//! }
//!
//! impl Default for Params {
//!     fn default() -> Params {
//!         Params { packets: 20 }
//!     }
//! }
//!
//! impl Row for Constant {
//!     const NAME: &'static str = "constant";
//!     const SUMMARY: &'static str = "a constant window";
//!     type Params = Params;
//!     fn build(start: &Start, params: Params) -> Result<Constant, BuildError> {
//!         Ok(Constant(start.mss * params.packets))
//!     }
//! }
//!
//! impl Controller for Constant {
//!     fn on_ack(&mut self, _: &Ack<'_>, _: &mut Context<'_>) {}
//!     fn on_loss(&mut self, _: &Loss<'_>, _: &mut Context<'_>) {}
//!     fn cwnd(&self) -> Bytes {
//!         self.0
//!     }
//! }
//!
//! fairweir_plugin::export!(Constant);
//! ```

#[allow(missing_docs, reason = "include/fairweir_cc.h documents the fields")]
pub mod abi;
#[allow(missing_docs, reason = "include/fairweir_endpoint.h documents the fields")]
pub mod endpoint;
mod export;
pub mod wants;

pub use export::{Table, table};
pub use fairweir_cca::{
    Ack, AckedPacket, BuildError, CaState, Cause, Context, Controller, Decision, Fault, Interests, Loss, LostPacket,
    RateSample, Row, Sender, Sent, Start,
};
pub use fairweir_units::{Bytes, Dur, Rate, Time};

/// Exports a type that implements [`Row`] as this library's controller.
///
/// The plug-in's version is that of the crate which calls the macro.
#[macro_export]
macro_rules! export {
    ($row:ty) => {
        /// The table of this plug-in (`fairweir_cc.h`).
        #[unsafe(no_mangle)]
        pub extern "C" fn fairweir_cc_v1() -> *const $crate::abi::Cc {
            static TABLE: std::sync::OnceLock<$crate::Table> = std::sync::OnceLock::new();
            TABLE.get_or_init(|| $crate::table::<$row>(env!("CARGO_PKG_VERSION"))).as_ptr()
        }
    };
}
