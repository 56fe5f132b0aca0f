//! A named controller: its parameters, how to build it, and the errors of building it.

use crate::Controller;
use fairweir_units::{Bytes, Dur, Hint};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::borrow::Cow;

/// Information for a controller when its flow starts.
#[derive(Clone, Copy, Debug)]
pub struct Start {
    /// Size of a packet, as counted in cwnd.
    pub mss: Bytes,
    /// Initial window (RFC 6928: 10 packets, unless the scenario sets another).
    pub initial_cwnd: Bytes,
    /// The path's true two-way propagation delay; `None` unless the scenario grants an oracle.
    pub oracle_rtprop: Option<Dur>,
    /// Number of the flow's first packet: 0 except in tests of behavior beyond 2^32 packets.
    pub first_packet: u64,
    /// Seed for algorithms with their own random number generator: those in C, plug-ins and controllers of QUIC stacks.
    pub seed: u64,
}

/// Errors of building a controller.
#[derive(Clone, Debug, thiserror::Error)]
pub enum BuildError {
    /// Unknown name.
    #[error("no congestion controller `{0}`")]
    UnknownName(String),
    /// An unknown parameter, or an invalid value of a parameter.
    #[error("parameters of `{name}`: {reason}")]
    BadParams {
        /// The algorithm.
        name: String,
        /// Error message of serde or of the algorithm.
        reason: String,
    },
    /// A C source that is not a controller, or that cannot be compiled or loaded on this machine.
    #[error("`{path}`: {reason}")]
    BadSource {
        /// The file.
        path: String,
        /// Description of the error, or the compiler's output.
        reason: String,
        /// How to fix it.
        hint: String,
    },
}

impl Hint for BuildError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            BuildError::BadSource { hint, .. } => Some(hint.into()),
            _ => None,
        }
    }
}

impl BuildError {
    /// The controller in question, as the scenario names it.
    pub fn name(&self) -> &str {
        match self {
            BuildError::UnknownName(name) | BuildError::BadParams { name, .. } => name,
            BuildError::BadSource { path, .. } => path,
        }
    }
}

/// A named controller.
#[derive(Clone, Copy, Debug)]
pub struct Algorithm {
    /// The name that scenarios and the command line use.
    pub name: &'static str,
    /// One line: description and source.
    pub summary: &'static str,
    /// Version of the software that it comes from, if that is not fairweir.
    pub version: Option<&'static str>,
    /// Every parameter with its default, as JSON.
    pub defaults: fn() -> Value,
    /// Builds the controller from parameters (a JSON object; absent keys have their defaults).
    pub build: Build,
}

/// Builds a controller from its parameters and the information known when its flow starts.
pub type Build = fn(&Value, &Start) -> Result<Box<dyn Controller>, BuildError>;

/// An algorithm as its source file describes it; [`Algorithm::of`] converts it to an entry of the list of controllers.
pub trait Row: Controller + Sized + 'static {
    /// The name that scenarios and the command line use.
    const NAME: &'static str;
    /// One line: description and source.
    const SUMMARY: &'static str;
    /// Its parameters, with their defaults.
    type Params: Default + Serialize + DeserializeOwned;

    /// Builds the controller of a flow.
    ///
    /// # Errors
    /// If a parameter is outside its range.
    fn build(start: &Start, params: Self::Params) -> Result<Self, BuildError>;
}

impl Algorithm {
    /// Returns the list entry of `C`.
    pub const fn of<C: Row>() -> Algorithm {
        Algorithm {
            name: C::NAME,
            summary: C::SUMMARY,
            version: None,
            defaults: defaults::<C::Params>,
            build: |params, start| Ok(Box::new(C::build(start, typed(C::NAME, params)?)?)),
        }
    }
}

/// Reads `params` into an algorithm's typed parameters.
///
/// # Errors
/// On an unknown key or a value of the wrong kind.
pub fn typed<P: DeserializeOwned + Default>(name: &str, params: &Value) -> Result<P, BuildError> {
    if params.is_null() {
        return Ok(P::default());
    }
    serde_json::from_value(params.clone())
        .map_err(|e| BuildError::BadParams { name: name.to_owned(), reason: e.to_string() })
}

/// The default parameters `P` as JSON.
pub fn defaults<P: Serialize + Default>() -> Value {
    serde_json::to_value(P::default()).unwrap_or(Value::Null)
}
