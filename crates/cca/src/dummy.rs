//! A constant window, for tests: it shows that an algorithm needs one file and one line in the list.

use crate::algorithm::{Algorithm, BuildError, Row, Start};
use crate::{Ack, Context, Controller, Loss};
use fairweir_units::Bytes;
use serde::{Deserialize, Serialize};

/// Parameters.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Params {
    /// Window, packets.
    pub window_pkts: u64,
}

impl Default for Params {
    fn default() -> Params {
        Params { window_pkts: 10 }
    }
}

impl Row for Dummy {
    const NAME: &'static str = "dummy";
    const SUMMARY: &'static str = "a constant window";
    type Params = Params;

    fn build(start: &Start, params: Params) -> Result<Dummy, BuildError> {
        Ok(Dummy { cwnd: start.mss * params.window_pkts })
    }
}

/// Entry in the list of controllers.
pub const ALGORITHM: Algorithm = Algorithm::of::<Dummy>();

/// A constant window.
#[derive(Clone, Debug)]
pub struct Dummy {
    cwnd: Bytes,
}

impl Controller for Dummy {
    fn on_ack(&mut self, _ack: &Ack<'_>, _cx: &mut Context<'_>) {}

    fn on_loss(&mut self, _loss: &Loss<'_>, _cx: &mut Context<'_>) {}

    fn cwnd(&self) -> Bytes {
        self.cwnd
    }
}

#[test]
fn a_listed_algorithm_is_built_by_its_name_and_reads_its_parameters() {
    let start = Start { mss: Bytes(1000), initial_cwnd: Bytes(10_000), oracle_rtprop: None, first_packet: 0, seed: 1 };
    let build = |params| crate::registry::build("dummy", &params, &start);
    assert_eq!(build(serde_json::json!({"window_pkts": 3})).expect("it builds").cwnd(), Bytes(3000));
    assert_eq!(build(serde_json::Value::Null).expect("it builds").cwnd(), Bytes(10_000));
    assert!(build(serde_json::json!({"window": 3})).expect_err("rejected").to_string().contains("dummy"));
    assert!(crate::registry::algorithms().any(|a| a.summary == "a constant window"));
}
