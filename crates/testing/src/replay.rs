//! The scenario file of a run, which `fairweir run` repeats.

use crate::case::{Case, Path};
use crate::flow::Flow;
use fairweir_units::{Dur, Time};
use serde_json::{Map, Value};

/// Returns the scenario of the run of `case` with `seed`, in TOML.
pub(crate) fn scenario(case: &Case, seed: u64) -> String {
    let Path { rate, buffer, duration, warmup, .. } = &case.path;
    let mut text = format!(
        "duration = \"{duration}\"\nwarmup = \"{warmup}\"\nseed = {seed}\nnoise = \"none\"\ntransport = \"ideal\"\n\n\
         [link.bottleneck]\nrate = \"{rate}\"\nbuffer = \"{buffer}\"\n"
    );
    for ((flow, id), start) in case.flows.iter().zip(case.ids()).zip(case.starts(seed)) {
        text += &table(case, flow, &id, start);
    }
    text
}

/// Returns the table of a flow.
fn table(case: &Case, flow: &Flow, id: &str, start: Time) -> String {
    let (name, is_known) = flow.scenario_name();
    let comment = if is_known { "" } else { " # replace by the plug-in of this controller (Flow::plugin)" };
    let (id, cca, rtprop) = (quoted(id), controller(name, flow), case.rtprop(flow));
    let mut text = format!("\n[[flow]]\nid = {id}\ncca = {cca}{comment}\nrtprop = \"{rtprop}\"\nstart = \"{start}\"\n");
    let jitter = case.path.jitter;
    if jitter > Dur::ZERO {
        text += &format!("jitter = {{ kind = \"uniform\", max = \"{jitter}\" }}\n");
    }
    if flow.packets_per_ack() != 1 {
        text += &format!("delayed_ack = {{ every = {} }}\n", flow.packets_per_ack());
    }
    text
}

fn controller(name: &str, flow: &Flow) -> String {
    if flow.params().is_empty() {
        return quoted(name);
    }
    format!("{{ name = {}, {} }}", quoted(name), pairs(flow.params()))
}

/// Returns `text` as a basic string. JSON escapes what TOML must, except for DEL.
fn quoted(text: &str) -> String {
    Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

fn pairs(table: &Map<String, Value>) -> String {
    table.iter().map(|(key, value)| format!("{} = {}", quoted(key), toml(value))).collect::<Vec<_>>().join(", ")
}

fn toml(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(values) => format!("[{}]", values.iter().map(toml).collect::<Vec<_>>().join(", ")),
        Value::Object(table) => format!("{{ {} }}", pairs(table)),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scenario_has_all_that_determines_the_run() {
        let path = Path {
            rate: "12.5Mbps".parse().expect("a rate"),
            rtprop: Dur::from_millis(40),
            buffer: "1.25bdp".parse().expect("a size"),
            jitter: Dur::from_micros(1500),
            duration: Dur::from_secs(9),
            warmup: Dur::from_secs(3),
        };
        let mine = Flow::of::<Constant>().param("packets", 7).plugin("target/release/lib\"mine.so").rtprop("80ms");
        let case = Case { path, flows: vec![mine, Flow::named("reno").ack_every(2)] };
        let (found, starts) = (scenario(&case, 4), case.starts(4));
        assert_eq!(
            found,
            format!(
                r#"duration = "9s"
warmup = "3s"
seed = 4
noise = "none"
transport = "ideal"

[link.bottleneck]
rate = "12.5Mbps"
buffer = "1.25bdp"

[[flow]]
id = "constant-1"
cca = {{ name = "target/release/lib\"mine.so", "packets" = 7 }}
rtprop = "80ms"
start = "{}"
jitter = {{ kind = "uniform", max = "1.5ms" }}

[[flow]]
id = "reno-2"
cca = "reno"
rtprop = "40ms"
start = "{}"
jitter = {{ kind = "uniform", max = "1.5ms" }}
delayed_ack = {{ every = 2 }}
"#,
                starts[0], starts[1]
            )
        );
    }

    #[test]
    fn text_is_escaped() {
        assert_eq!(quoted("\u{7f}\n\""), r#""\u007f\n\"""#);
    }

    use crate::{Ack, BuildError, Bytes, Context, Controller, Loss, Row, Start};

    #[derive(Debug)]
    struct Constant(Bytes);

    impl Row for Constant {
        const NAME: &'static str = "constant";
        const SUMMARY: &'static str = "a constant window";
        type Params = std::collections::BTreeMap<String, u64>;
        fn build(start: &Start, params: Self::Params) -> Result<Constant, BuildError> {
            Ok(Constant(start.mss * params.get("packets").copied().unwrap_or(20)))
        }
    }

    impl Controller for Constant {
        fn on_ack(&mut self, _: &Ack<'_>, _: &mut Context<'_>) {}
        fn on_loss(&mut self, _: &Loss<'_>, _: &mut Context<'_>) {}
        fn cwnd(&self) -> Bytes {
            self.0
        }
    }
}
