//! Controller files: a decision tree, its shield, its source, and its proofs.

use crate::action::{Action, Send};
use crate::features::{View, features};
use crate::shield::Shield;
use crate::tree::{Node, Tree};
use fairweir_units::{Dur, Hint};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// The only supported format.
pub const FORMAT: &str = "fairweir-tree-1";

/// An invalid controller file. The caller adds the file's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{key}: {reason}")]
pub struct ControllerError {
    /// The key, such as `nodes[3].at_most`; `.` for the document.
    pub key: String,
    /// The error in the value.
    pub reason: String,
    hint: &'static str,
}

impl Hint for ControllerError {
    fn message(&self) -> String {
        self.reason.clone()
    }
    fn key(&self) -> Option<&str> {
        Some(&self.key)
    }
    fn hint(&self) -> Option<Cow<'_, str>> {
        Some(self.hint.into())
    }
}

/// Convert a serde error; the message quotes a word that is not JSON, such as `NaN`.
pub(crate) fn unreadable(
    text: &str,
    error: &serde_path_to_error::Error<serde_json::Error>,
    hint: &'static str,
) -> ControllerError {
    let inner = error.inner();
    let line = text.lines().nth(inner.line().saturating_sub(1)).unwrap_or_default();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '+' | '.');
    // The column is that of the first byte that cannot continue the value. It may be inside the word.
    let at = inner.column().saturating_sub(1).min(line.len());
    let start = line.as_bytes()[..at].iter().rposition(|&b| !is_part(char::from(b))).map_or(0, |i| i + 1);
    let word: String = line.get(start..).unwrap_or_default().chars().take_while(|&c| is_part(c)).take(40).collect();
    let is_word =
        inner.is_syntax() && word.trim_start_matches(['-', '+']).starts_with(|c: char| c.is_ascii_alphabetic());
    let reason = if is_word { format!("`{word}` is not a JSON value") } else { inner.to_string() };
    refuse(error.path().to_string(), reason, hint)
}

/// The quantities that a controller decides.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// Batches, repair, rate and the encoder's target size.
    Video,
    /// Only the rate.
    Rate,
}

/// Minimum and maximum of an unknown property of the link.
pub type Pair = [f64; 2];

/// The links for which the controller was made.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Capacity, packets per step.
    pub c: Pair,
    /// Buffer, packets.
    pub b: Pair,
}

/// Status of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// The claim holds for every belief that reaches the leaf.
    Proved,
    /// There is a counterexample.
    Refuted,
    /// The solver did not decide the claim in time.
    Unknown,
}

/// A claim about a leaf, or about the whole controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Proof {
    /// The claim's name.
    pub claim: String,
    /// Index of the leaf's node; `None` if the claim is about the controller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub leaf: Option<usize>,
    /// Outcome of the proof.
    pub status: Status,
    /// The solver and its time, or the counterexample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub detail: Option<String>,
}

/// The content of a controller file.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Controller {
    /// Always [`FORMAT`].
    pub format: String,
    /// Name of the controller.
    pub name: String,
    /// Quantities that it decides.
    pub kind: Kind,
    /// Name of the query from which it was made.
    pub query: String,
    /// SHA-256 of the query's text.
    pub query_sha256: String,
    /// The version of fairweir that made it.
    pub version: String,
    /// The length of a step, such as `50ms`.
    pub step: String,
    /// Number of points from which a belief is computed.
    pub points: usize,
    /// The links for which it was made.
    pub model: Model,
    /// Size of an encoded batch divided by its target size, minimum and maximum.
    pub encoder: Pair,
    /// Number of steps for which max C is held after it falls below the model's maximum.
    pub probe_period: u32,
    /// The decision tree.
    pub nodes: Tree,
    /// The shield, which may limit the tree's action.
    pub shield: Shield,
    /// The proofs of claims about the controller.
    pub proofs: Vec<Proof>,
    /// SHA-256 of the proved content and of the proofs. Python writes and compares it; this crate copies it unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub proofs_sha256: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    format: String,
    name: String,
    kind: Kind,
    query: String,
    query_sha256: String,
    version: String,
    step: String,
    points: usize,
    model: Model,
    #[serde(default = "exact_encoder")]
    encoder: Pair,
    #[serde(default = "default_probe_period")]
    probe_period: u32,
    nodes: Vec<Node>,
    #[serde(default)]
    shield: Shield,
    #[serde(default)]
    proofs: Vec<Proof>,
    #[serde(default)]
    proofs_sha256: Option<String>,
}

fn exact_encoder() -> Pair {
    [1.0, 1.0]
}

/// Number of steps for which the published controller holds max C.
fn default_probe_period() -> u32 {
    200
}

const FORMAT_HINT: &str = "docs/formal/game.md describes controller files; `fairweir synth` writes them";

pub(crate) fn refuse(key: impl Into<String>, reason: impl Into<String>, hint: &'static str) -> ControllerError {
    ControllerError { key: key.into(), reason: reason.into(), hint }
}

fn check_pair(key: &str, [min, max]: Pair, hint: &'static str) -> Result<(), ControllerError> {
    if min.is_finite() && max.is_finite() && 0.0 < min && min <= max {
        return Ok(());
    }
    Err(refuse(key, format!("`[{min}, {max}]` is not a range with a positive minimum"), hint))
}

impl Controller {
    /// Read a controller file.
    ///
    /// # Errors
    /// The first error, with its key.
    pub fn from_json(text: &str) -> Result<Controller, ControllerError> {
        let mut json = serde_json::Deserializer::from_str(text);
        let file: File = serde_path_to_error::deserialize(&mut json).map_err(|e| unreadable(text, &e, FORMAT_HINT))?;
        json.end().map_err(|e| refuse(".", e.to_string(), FORMAT_HINT))?;
        file.checked()
    }

    /// Returns the file's text. Reading it returns an identical controller.
    pub fn to_json(&self) -> String {
        // This cannot fail: keys are strings and numbers are finite.
        let mut text = serde_json::to_string_pretty(self).unwrap_or_default();
        text.push('\n');
        text
    }

    /// Returns the leaf's index, its action, and the action after the shield.
    pub fn decide(&self, view: &View) -> Decided {
        let x = features(view);
        let (leaf, node) = self.nodes.leaf(&x);
        let asked = node.template().realise(&view.amounts, &view.waiting);
        Decided { leaf, asked, action: self.shield.apply(asked, &view.amounts, &view.waiting) }
    }

    /// The length of a step.
    pub fn step(&self) -> Dur {
        // The value was checked when the file was read.
        self.step.parse().unwrap_or(Dur::from_millis(50))
    }
}

/// A controller's decision, with its reason.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decided {
    /// Index of the leaf's node.
    pub leaf: usize,
    /// The leaf's action before the shield.
    pub asked: Action,
    /// The action after the shield.
    pub action: Action,
}

impl File {
    fn checked(self) -> Result<Controller, ControllerError> {
        if self.format != FORMAT {
            let reason = format!("`{}` is not a format of this version", self.format);
            return Err(refuse("format", reason, "this version reads \"fairweir-tree-1\""));
        }
        let step: Result<Dur, _> = self.step.parse();
        if step.as_ref().map_or(true, |s| s.as_nanos() == 0) {
            let reason = format!("`{}` is not a positive time", self.step);
            return Err(refuse("step", reason, "write a time with its unit: \"50ms\""));
        }
        if !(3..=crate::POINTS).contains(&self.points) {
            let reason = format!("`{}` is not between 3 and {}", self.points, crate::POINTS);
            return Err(refuse("points", reason, "write 6"));
        }
        if self.probe_period == 0 {
            return Err(refuse(
                "probe_period",
                "`0` is not positive",
                "write the steps for which max C is held, as 200",
            ));
        }
        let packets = "write packets and packets per step, as [1, 200]";
        check_pair("model.c", self.model.c, packets)?;
        check_pair("model.b", self.model.b, packets)?;
        check_pair("encoder", self.encoder, "write size over target, minimum and maximum, as [0.6, 1.3]")?;
        let nodes = Tree::new(self.nodes).map_err(|fault| {
            let dot = if fault.key.is_empty() { "" } else { "." };
            refuse(
                format!("nodes[{}]{dot}{}", fault.node, fault.key),
                fault.reason,
                "node 0 is the root, children have larger indices, and every node has one parent",
            )
        })?;
        for (i, node) in nodes.nodes().iter().enumerate() {
            let Node::Leaf(leaf) = node else { continue };
            if self.kind == Kind::Rate && (leaf.send != Send::None || leaf.encode != crate::form::Form::ZERO) {
                let hint = "remove `send` and `encode`, or write \"kind\": \"video\"";
                return Err(refuse(
                    format!("nodes[{i}].leaf"),
                    "`send` and `encode` apply only to video controllers",
                    hint,
                ));
            }
        }
        for (i, proof) in self.proofs.iter().enumerate() {
            let is_leaf = |n: usize| matches!(nodes.nodes().get(n), Some(Node::Leaf(_)));
            if let Some(leaf) = proof.leaf.filter(|&n| !is_leaf(n)) {
                let reason = format!("node `{leaf}` is not a leaf");
                return Err(refuse(format!("proofs[{i}].leaf"), reason, "write the index of a leaf's node"));
            }
        }
        Ok(Controller {
            format: self.format,
            name: self.name,
            kind: self.kind,
            query: self.query,
            query_sha256: self.query_sha256,
            version: self.version,
            step: self.step,
            points: self.points,
            model: self.model,
            encoder: self.encoder,
            probe_period: self.probe_period,
            nodes,
            shield: self.shield,
            proofs: self.proofs,
            proofs_sha256: self.proofs_sha256,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const SMALL: &str = r#"{
        "format": "fairweir-tree-1", "name": "small", "kind": "video", "query": "conference", "query_sha256": "00",
        "version": "0.1.0", "step": "50ms", "points": 6, "model": {"c": [1, 200], "b": [1, 200]}, "encoder": [0.6, 1.3],
        "nodes": [
            {"feature": {"q": 1.0, "room_sum": -0.1}, "at_most": 1.25, "then": 1, "else": 2},
            {"leaf": {"name": "probe", "send": "newest", "rate": {"M": 3, "Q": -1}, "encode": {"M": 1}}},
            {"leaf": {"send": "none"}}
        ],
        "shield": [{"unless": "message <= R0", "do": "hold"}, {"cap": "rate", "at": {"M": 3, "Q": -1}}],
        "proofs": [{"claim": "decodable", "leaf": 1, "status": "proved"}],
        "proofs_sha256": "00"
    }"#;

    #[test]
    fn a_file_is_written_as_it_was_read() {
        let small = Controller::from_json(SMALL).unwrap();
        let again = Controller::from_json(&small.to_json()).unwrap();
        assert_eq!(again, small);
        assert_eq!(again.to_json(), small.to_json());
        assert_eq!(small.step(), Dur::from_millis(50));
    }

    #[test]
    fn each_mistake_is_rejected_with_its_key() {
        for (from, to, key, says) in [
            ("fairweir-tree-1", "fairweir-tree-9", "format", "`fairweir-tree-9`"),
            (r#""50ms""#, r#""50""#, "step", "`50`"),
            (r#""50ms""#, r#""0ms""#, "step", "`0ms`"),
            (r#""points": 6"#, r#""points": 7"#, "points", "`7`"),
            (r#""points": 6"#, r#""points": -1"#, "points", "-1"),
            (r#""c": [1, 200]"#, r#""c": [200, 1]"#, "model.c", "`[200, 1]`"),
            ("[0.6, 1.3]", "[0, 1.3]", "encoder", "`[0, 1.3]`"),
            (r#""at_most": 1.25"#, r#""at_most": NaN"#, "nodes[0].at_most", "`NaN`"),
            (r#""at_most": 1.25"#, r#""at_most": 1e999"#, "nodes[0].at_most", "out of range"),
            (r#""at_most": 1.25, "#, "", "nodes[0]", "`feature`, `at_most`"),
            (r#""then": 1"#, r#""then": 0"#, "nodes[0].then", "`0` is not larger"),
            (r#""else": 2"#, r#""else": 9"#, "nodes[0].else", "not an index of the 3 nodes"),
            (r#""else": 2"#, r#""else": 1"#, "nodes[0].else", "already a child"),
            (r#""q": 1.0"#, r#""queue": 1.0"#, "nodes[0].feature", "`queue`"),
            (r#"{"M": 3, "Q": -1}, "encode""#, r#"{"C": 3}, "encode""#, "nodes[1].leaf.rate", "`C`"),
            (r#""send": "newest""#, r#""send": "some""#, "nodes[1].leaf.send", "`some`"),
            (r#""send": "newest""#, r#""sned": "newest""#, "nodes[1].leaf.sned", "`sned`"),
            ("message <= R0", "message < R0", "shield[0].unless", "`message < R0`"),
            (r#""do": "hold""#, r#""do": "wait""#, "shield[0].do", "`wait`"),
            (r#""cap": "rate", "#, "", "shield[1]", "`unless` and `do`"),
            (r#""leaf": 1, "status""#, r#""leaf": 0, "status""#, "proofs[0].leaf", "`0` is not a leaf"),
            (r#""kind": "video""#, r#""kind": "rate""#, "nodes[1].leaf", "only to video controllers"),
            (r#""name": "small""#, r#""name": "small", "name": "b""#, ".", "duplicate field `name`"),
            (r#""name": "small""#, r#""name": "small", "nmae": "b""#, "nmae", "`nmae`"),
        ] {
            assert!(SMALL.contains(from), "{from}");
            let error = Controller::from_json(&SMALL.replacen(from, to, 1)).unwrap_err();
            assert_eq!(error.key, key, "{to}: {error}");
            assert!(error.reason.contains(says), "{to}: {error}");
        }
        assert_eq!(Controller::from_json(&format!("{SMALL} x")).unwrap_err().key, ".");
    }

    #[test]
    fn a_value_that_json_lacks_is_named() {
        for (to, says) in [("NaN", "`NaN` is not a JSON value"), ("-Infinity", "`-Infinity` is not a JSON value")] {
            let error = Controller::from_json(&SMALL.replacen("1.25", to, 1)).unwrap_err();
            assert_eq!((error.key.as_str(), error.reason.as_str()), ("nodes[0].at_most", says));
        }
        assert_eq!(Controller::from_json("").unwrap_err().reason, "EOF while parsing a value at line 1 column 0");
    }

    proptest! {
        /// Any text is accepted or rejected, and accepted text is written unchanged.
        #[test]
        fn a_changed_file_is_read_or_refused(at in 0..SMALL.len(), with in "[ -~]{0,3}", cut in 0..4usize) {
            let end = (at + cut).min(SMALL.len());
            let text = format!("{}{with}{}", &SMALL[..at], &SMALL[end..]);
            if let Ok(controller) = Controller::from_json(&text) {
                prop_assert_eq!(&Controller::from_json(&controller.to_json()).unwrap(), &controller);
            }
        }

        #[test]
        fn numbers_survive_to_the_bit(at_most in prop::num::f64::NORMAL, c in prop::num::f64::NORMAL) {
            let text = SMALL.replacen("1.25", &format!("{at_most:e}"), 1).replacen("-0.1", &format!("{c:e}"), 1);
            let controller = Controller::from_json(&text).unwrap();
            let again = Controller::from_json(&controller.to_json()).unwrap();
            for one in [&controller, &again] {
                let Node::Split { split, at_most: threshold, .. } = &one.nodes.nodes()[0] else { unreachable!() };
                prop_assert_eq!(threshold.to_bits(), at_most.to_bits());
                prop_assert_eq!(split.terms()[1].1.to_bits(), c.to_bits());
            }
        }

        #[test]
        fn any_text_is_no_panic(text in "\\PC{0,80}") {
            prop_assert!(Controller::from_json(&text).is_err());
        }
    }
}
