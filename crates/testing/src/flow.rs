//! A flow of a test: its controller, and how a scenario file names that controller.

use crate::quantity::parse;
use fairweir_cca::{Algorithm, BuildError, Controller, Row, Start, registry};
use fairweir_units::Dur;
use serde_json::{Map, Value};
use std::fmt;
use std::sync::Arc;

/// Builds a flow's controller from its parameters.
type Make = dyn Fn(&Value, &Start) -> Result<Box<dyn Controller>, BuildError> + Send + Sync;

/// A flow with unlimited data, and its controller.
#[derive(Clone)]
pub struct Flow {
    name: String,
    is_builtin: bool,
    make: Arc<Make>,
    params: Map<String, Value>,
    plugin: Option<String>,
    rtprop: Option<Dur>,
    ack_every: u64,
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow").field("name", &self.name).field("params", &self.params).finish_non_exhaustive()
    }
}

impl Flow {
    /// Creates a flow with the controller that `make` returns; messages call it `name`.
    ///
    /// `make` is called once per run, at the start of the flow.
    pub fn new<C: Controller + 'static>(name: &str, make: impl Fn(&Start) -> C + Send + Sync + 'static) -> Flow {
        Flow::try_new(name, move |start| Ok(make(start)))
    }

    /// Creates a flow with a controller whose construction can fail, such as a QUIC stack's.
    pub fn try_new<C: Controller + 'static>(
        name: &str,
        make: impl Fn(&Start) -> Result<C, BuildError> + Send + Sync + 'static,
    ) -> Flow {
        Flow::build(name, false, move |_, start| Ok(Box::new(make(start)?)))
    }

    /// Creates a flow with the controller `R`, which has a name and parameters ([`Flow::param`]). The same type is
    /// exported as a plug-in by `fairweir_plugin::export!`.
    pub fn of<R: Row>() -> Flow {
        Flow::build(R::NAME, false, Algorithm::of::<R>().build)
    }

    /// Creates a flow with the built-in controller `name`, such as `"reno"`, `"cubic"` or `"bbr"`: those in Rust, which
    /// [`Flow::builtin_names`] lists.
    ///
    /// # Panics
    /// If there is no such controller.
    ///
    /// ```
    /// # use fairweir_testing::{Dumbbell, Flow, SHARE};
    /// let gentle = Flow::named("cubic").param("beta", 0.85);
    /// Dumbbell::new("12Mbps", "20ms").against(&gentle, &Flow::named("cubic")).assert(&SHARE, 0.5..);
    /// ```
    #[track_caller]
    pub fn named(name: &str) -> Flow {
        let Some(algorithm) = registry::algorithms().find(|algorithm| algorithm.name == name) else {
            let names: Vec<&str> = Flow::builtin_names().collect();
            panic!("no congestion controller `{name}`\n\nhint: {}", names.join(", "));
        };
        Flow::build(name, true, algorithm.build)
    }

    /// Returns the names that [`Flow::named`] accepts.
    pub fn builtin_names() -> impl Iterator<Item = &'static str> {
        registry::algorithms().map(|algorithm| algorithm.name)
    }

    fn build(
        name: &str,
        is_builtin: bool,
        make: impl Fn(&Value, &Start) -> Result<Box<dyn Controller>, BuildError> + Send + Sync + 'static,
    ) -> Flow {
        Flow {
            name: name.to_owned(),
            is_builtin,
            make: Arc::new(make),
            params: Map::new(),
            plugin: None,
            rtprop: None,
            ack_every: 1,
        }
    }

    /// Sets a parameter of a controller from [`Flow::of`] or [`Flow::named`]; one with a dimension is a text, such as
    /// `"10s"`. The controller checks it when the flow starts. Closures have no parameters, and ignore it.
    pub fn param(mut self, key: &str, value: impl Into<Value>) -> Flow {
        self.params.insert(key.to_owned(), value.into());
        self
    }

    /// Sets the path of the shared library that has the same controller as a plug-in (`fairweir_plugin::export!`).
    /// Scenarios in messages refer to it, so that `fairweir run` repeats the test's run.
    ///
    /// The random numbers of a plug-in ([`Context::rng`](fairweir_cca::Context::rng)) are another sample than those in a
    /// test; a controller that draws none behaves identically.
    pub fn plugin(mut self, path: &str) -> Flow {
        self.plugin = Some(path.to_owned());
        self
    }

    /// Sets the flow's propagation delay, if it differs from the dumbbell's.
    ///
    /// # Panics
    /// If `rtprop` is not a time, such as `"80ms"`.
    #[track_caller]
    pub fn rtprop(mut self, rtprop: &str) -> Flow {
        self.rtprop = Some(parse("rtprop", rtprop));
        self
    }

    /// Makes the receiver send one ACK for `packets` packets (delayed ACKs).
    pub fn ack_every(mut self, packets: u64) -> Flow {
        self.ack_every = packets;
        self
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the controller's name in a scenario file, and whether `fairweir run` can find it.
    pub(crate) fn scenario_name(&self) -> (&str, bool) {
        match &self.plugin {
            Some(path) => (path, true),
            None => (&self.name, self.is_builtin),
        }
    }

    pub(crate) fn params(&self) -> &Map<String, Value> {
        &self.params
    }

    pub(crate) fn own_rtprop(&self) -> Option<Dur> {
        self.rtprop
    }

    pub(crate) fn packets_per_ack(&self) -> u64 {
        self.ack_every
    }

    pub(crate) fn controller(&self, start: &Start) -> Result<Box<dyn Controller>, BuildError> {
        let params = if self.params.is_empty() { Value::Null } else { Value::Object(self.params.clone()) };
        (self.make)(&params, start)
    }
}
